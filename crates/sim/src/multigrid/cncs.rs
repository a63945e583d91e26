//! Triggers to groups of the demonstrator at CNCS (EFU formats of 2018, section 2.5).
//!
//! Each module has a trigger of its own and tells the largest wire and the largest grid, and the amplitude of the second
//! wire. What the other three data words are is not known: they are 0.

use super::physics::MultiGridPhysics;
use super::triggered_packets::Filling;
use super::triggers::{Trigger, Triggers};
use super::vmmr::{TICK_PS, disturb, ticks};
use super::wiring::WIRES;
use crate::electronics::Hit;
use crate::layout::Layout;
use crate::packet::SimulatedPacket;
use crate::readout::{Disturbance, Pulse, Readout, Source};
use evforge_detect::multigrid::settings::CncsSettings;
use evforge_wire::cncs::{GROUP_BYTES, Group, GroupEncoder, LARGEST_PACKET, TIME_BITS};

/// Port that packets are sent from and to: that of the reference by default.
const PORT: u16 = 9000;

/// The read-out of the demonstrator.
#[derive(Clone, Debug)]
pub struct CncsReadout {
    triggers: Triggers,
    sender: Sender,
}

#[derive(Clone, Debug)]
struct Sender {
    tick_ps: u64,
    source: Source,
    filling: Filling,
    encoder: GroupEncoder,
}

impl CncsReadout {
    /// The readout of a detector with these channels.
    pub fn new(settings: &CncsSettings, physics: &MultiGridPhysics, layout: &Layout) -> Self {
        let mut encoder = GroupEncoder::default();
        encoder.begin();
        let sender = Sender {
            tick_ps: settings.time.tick.unwrap_or(TICK_PS).max(1),
            // Nothing is counted: a source is needed for its clock only.
            source: Source::new(0, 1),
            filling: Filling::new(physics, LARGEST_PACKET, PORT, 0),
            encoder,
        };
        Self { triggers: Triggers::new(layout.places(), physics, usize::MAX), sender }
    }
}

/// The group of a trigger.
fn group(trigger: &Trigger, time: u64) -> Group {
    // The largest amplitude of each plane with its position, and the largest but one.
    let mut largest = [(0, 0); 2];
    let mut second = [0; 2];
    for (place, amplitude) in &trigger.readouts {
        let plane = usize::from(place.plane != WIRES);
        let (best, _) = largest[plane];
        if *amplitude > best {
            second[plane] = best;
            largest[plane] = (*amplitude, place.coordinate);
        } else {
            second[plane] = second[plane].max(*amplitude);
        }
    }
    let [(wire, wire_position), (grid, grid_position)] = largest;
    Group {
        module: trigger.module as u8,
        values: [wire, second[0], wire_position, 0, grid, 0, grid_position, 0],
        time: (time & ((1 << TIME_BITS) - 1)) as u32,
    }
}

impl Sender {
    fn take(&mut self, pulse: &Pulse, trigger: &Trigger, packets: &mut Vec<SimulatedPacket>) {
        let group = group(trigger, ticks(pulse, &self.source, trigger.begin_ps, self.tick_ps));
        let length = self.encoder.packet().len();
        if let Some(due_ps) = self.filling.due_ps(length, GROUP_BYTES, trigger.read_ps) {
            self.send(pulse, due_ps, packets);
        }
        let has_room = self.encoder.push(&group);
        debug_assert!(has_room, "a group fits into a packet");
    }

    fn send(&mut self, pulse: &Pulse, sent_ps: u64, packets: &mut Vec<SimulatedPacket>) {
        packets.push(self.filling.packet(self.encoder.packet(), pulse, sent_ps));
        self.encoder.begin();
    }
}

impl Readout for CncsReadout {
    fn sources(&self) -> Vec<String> {
        vec!["CNCS".into()]
    }

    fn first_pulse(&self, _start_ns: u64) -> u64 {
        // Clocks may step back: the first pulse is not at the start of their time.
        1
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let Self { triggers, sender } = self;
        triggers.pulse(hits, |trigger| sender.take(pulse, trigger, packets));
        if !sender.encoder.packet().is_empty() {
            sender.send(pulse, sender.filling.last_due_ps(pulse), packets);
        }
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        disturb(&mut self.sender.source, disturbance)
    }
}

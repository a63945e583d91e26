//! Triggers to packets of VMMR modules behind an SIS3153 (EFU formats of 2018, sections 2.1 and 2.2).

use super::physics::MultiGridPhysics;
use super::triggered_packets::Filling;
use super::triggers::{Trigger, Triggers};
use super::wiring::bus_and_channel;
use crate::electronics::Hit;
use crate::layout::Layout;
use crate::packet::SimulatedPacket;
use crate::readout::{Disturbance, Pulse, Readout, Source};
use evforge_detect::multigrid::settings::MesytecSettings;
use evforge_wire::mesytec::{
    DatagramEncoder, HEADER, LARGEST_PACKET, TriggerEnd, VmmrReadout as Measured, Word, write_trigger_words,
};

/// Port that packets are sent from and to (section 2.1).
const PORT: u16 = 57344;
/// A tick of the modules' clock in picoseconds, where times are left in ticks: 16 MHz (section 2.2).
pub(super) const TICK_PS: u64 = 62_500;
/// Bits of the counter of triggers (section 2.1).
const TRIGGER_COUNT_BITS: u32 = 24;
/// Readouts of a trigger: its header counts at most 1023 words (section 2.2).
const MOST_READOUTS: usize = 1000;

/// VMMR modules and their SIS3153.
#[derive(Clone, Debug)]
pub struct VmmrReadout {
    triggers: Triggers,
    interface: Interface,
}

/// The SIS3153.
#[derive(Clone, Debug)]
struct Interface {
    tick_ps: u64,
    source: Source,
    filling: Filling,
    words: Vec<Word>,
    encoder: DatagramEncoder,
}

impl VmmrReadout {
    /// The readout of a detector with these channels.
    pub fn new(settings: &MesytecSettings, physics: &MultiGridPhysics, layout: &Layout) -> Self {
        let mut encoder = DatagramEncoder::default();
        encoder.begin(0, 0);
        let interface = Interface {
            tick_ps: settings.time.tick.unwrap_or(TICK_PS).max(1),
            source: Source::new(0, TRIGGER_COUNT_BITS),
            filling: Filling::new(physics, LARGEST_PACKET, PORT, HEADER),
            words: Vec::new(),
            encoder,
        };
        Self { triggers: Triggers::new(layout.places(), physics, MOST_READOUTS), interface }
    }
}

impl Interface {
    fn take(&mut self, pulse: &Pulse, trigger: &mut Trigger, packets: &mut Vec<SimulatedPacket>) {
        let time = ticks(pulse, &self.source, trigger.begin_ps, self.tick_ps);
        let end = TriggerEnd { time, external_trigger: false };
        // Channels come in pairs, the second one first (EFU paper, section 4.2).
        trigger.readouts.sort_unstable_by_key(|(place, _)| place.coordinate ^ 1);
        let measured = trigger.readouts.iter().map(|(place, adc)| {
            let (bus, channel) = bus_and_channel(place.coordinate);
            Measured { bus, channel, adc: *adc, ..Measured::default() }
        });
        self.words.clear();
        write_trigger_words(0, measured, end, &mut self.words);
        let (length, more) = (self.encoder.packet().len(), DatagramEncoder::trigger_bytes(&self.words));
        if let Some(due_ps) = self.filling.due_ps(length, more, trigger.read_ps) {
            self.send(pulse, due_ps, packets);
        }
        let has_room = self.encoder.push(self.source.count() as u32, &self.words);
        debug_assert!(has_room, "the longest trigger fits into a packet");
    }

    fn send(&mut self, pulse: &Pulse, sent_ps: u64, packets: &mut Vec<SimulatedPacket>) {
        packets.push(self.filling.packet(self.encoder.packet(), pulse, sent_ps));
        self.encoder.begin(0, 0);
    }
}

/// What a clock with such ticks shows so much after the start of a pulse.
pub(super) fn ticks(pulse: &Pulse, source: &Source, time_ps: u64, tick_ps: u64) -> u64 {
    let picoseconds = u128::from(pulse.start_ns) * 1000 + u128::from(source.shown_ps(time_ps));
    (picoseconds / u128::from(tick_ps)) as u64
}

/// Lets the clock step, which is all that can happen to a readout whose packets are not numbered.
pub(super) fn disturb(source: &mut Source, disturbance: Disturbance) -> bool {
    let is_clock = matches!(disturbance, Disturbance::ClockStep { source: 0, .. });
    if is_clock {
        source.disturb(disturbance);
    }
    is_clock
}

impl Readout for VmmrReadout {
    fn sources(&self) -> Vec<String> {
        vec!["SIS3153".into()]
    }

    fn first_pulse(&self, _start_ns: u64) -> u64 {
        // Clocks may step back: the first pulse is not at the start of their time.
        1
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let Self { triggers, interface } = self;
        triggers.pulse(hits, |trigger| interface.take(pulse, trigger, packets));
        if !interface.encoder.is_empty() {
            interface.send(pulse, interface.filling.last_due_ps(pulse), packets);
        }
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        disturb(&mut self.interface.source, disturbance)
    }
}

//! Hits to triggers of VMMR modules behind an SIS3153 (EFU formats of 2018, sections 2.1 and 2.2).
//!
//! The first signal triggers. Whatever comes within the window after it is read with it, on all buses and with the time
//! of the trigger; what comes in the dead time after that is lost.

use super::physics::MultiGridPhysics;
use super::wiring::bus_and_channel;
use crate::electronics::Hit;
use crate::layout::Layout;
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Pulse, Readout, Source};
use evforge_detect::multigrid::settings::MesytecSettings;
use evforge_wire::mesytec::{
    DatagramEncoder, HEADER, LARGEST_PACKET, TriggerEnd, VmmrReadout as Measured, Word, write_trigger_words,
};
use std::net::Ipv4Addr;

/// Port that packets are sent from and to (section 2.1).
const PORT: u16 = 57344;
/// Where the SIS3153 is.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// A tick of the modules' clock in picoseconds, where times are left in ticks: 16 MHz (section 2.2).
const TICK_PS: u64 = 62_500;
/// Bits of the counter of triggers (section 2.1).
const TRIGGER_COUNT_BITS: u32 = 24;

/// Readouts of a trigger: its header counts at most 1023 words (section 2.2), and what is more is lost.
const MOST_READOUTS: usize = 1000;

/// The trigger under way.
#[derive(Clone, Debug, Default)]
struct Trigger {
    /// When it began, in picoseconds since the start of the pulse.
    begin_ps: u64,
    /// Bus and channel, and amplitude.
    readouts: Vec<(u16, u16)>,
}

/// VMMR modules and their SIS3153.
#[derive(Clone, Debug)]
pub struct VmmrReadout {
    /// Address of each channel.
    addresses: Vec<u16>,
    tick_ps: u64,
    window_ps: u64,
    dead_time_ps: u64,
    flush_ps: u64,
    packet_bytes: usize,
    source: Source,
    trigger: Trigger,
    /// Nothing triggers before, in picoseconds since the start of the pulse.
    ready_ps: u64,
    words: Vec<Word>,
    encoder: DatagramEncoder,
    /// When the oldest trigger of the packet was read.
    oldest_ps: u64,
}

impl VmmrReadout {
    /// The readout of a detector with these channels.
    pub fn new(settings: &MesytecSettings, physics: &MultiGridPhysics, layout: &Layout) -> Self {
        let mut encoder = DatagramEncoder::default();
        encoder.begin(0, 0);
        Self {
            addresses: layout.places().iter().map(|place| place.coordinate).collect(),
            tick_ps: settings.time.tick.unwrap_or(TICK_PS).max(1),
            window_ps: physics.trigger_window.picoseconds,
            dead_time_ps: physics.trigger_dead_time.picoseconds,
            flush_ps: physics.packet_flush.picoseconds,
            packet_bytes: physics.packet_bytes.min(LARGEST_PACKET),
            source: Source::new(0, TRIGGER_COUNT_BITS),
            trigger: Trigger::default(),
            ready_ps: 0,
            words: Vec::new(),
            encoder,
            oldest_ps: 0,
        }
    }

    /// Reads the trigger under way.
    fn read(&mut self, pulse: &Pulse, packets: &mut Vec<SimulatedPacket>) {
        let Trigger { begin_ps, readouts } = &mut self.trigger;
        let read_ps = *begin_ps + self.window_ps;
        let picoseconds = u128::from(pulse.start_ns) * 1000 + u128::from(self.source.shown_ps(*begin_ps));
        let end =
            TriggerEnd { time: (picoseconds / u128::from(self.tick_ps)) as u64, external_trigger: false };
        // Channels come in pairs, the second one first (EFU paper, section 4.2).
        readouts.sort_unstable_by_key(|(address, _)| address ^ 1);
        let measured = readouts.drain(..).map(|(address, adc)| {
            let (bus, channel) = bus_and_channel(address);
            Measured { bus, channel, adc, ..Measured::default() }
        });
        self.words.clear();
        write_trigger_words(0, measured, end, &mut self.words);
        let is_old = read_ps >= self.oldest_ps + self.flush_ps;
        let is_full =
            self.encoder.packet().len() + DatagramEncoder::trigger_bytes(&self.words) > self.packet_bytes;
        if !self.encoder.is_empty() && (is_old || is_full) {
            let due_ps = if is_old { self.oldest_ps + self.flush_ps } else { read_ps };
            self.send(pulse, due_ps, packets);
        }
        if self.encoder.is_empty() {
            self.oldest_ps = read_ps;
        }
        let has_room = self.encoder.push(self.source.count() as u32, &self.words);
        debug_assert!(has_room, "the longest trigger fits into a packet");
        self.ready_ps = read_ps + self.dead_time_ps;
    }

    fn send(&mut self, pulse: &Pulse, sent_ps: u64, packets: &mut Vec<SimulatedPacket>) {
        let bytes = self.encoder.packet().to_vec();
        let sender = Sender { source: 0, number: None, header: HEADER };
        let sent_ns = pulse.start_ns + sent_ps / 1000;
        packets.push(SimulatedPacket::new(bytes, ADDRESS, PORT, sent_ns).of(sender));
        self.encoder.begin(0, 0);
    }
}

impl Readout for VmmrReadout {
    fn sources(&self) -> Vec<String> {
        vec!["SIS3153".into()]
    }

    fn first_pulse(&self) -> u64 {
        // Clocks may step back: the first pulse is not at the start of their time.
        1
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        self.ready_ps = 0;
        for hit in hits {
            if !self.trigger.readouts.is_empty() && hit.time_ps > self.trigger.begin_ps + self.window_ps {
                self.read(pulse, packets);
            }
            if self.trigger.readouts.is_empty() {
                if hit.time_ps < self.ready_ps {
                    continue;
                }
                self.trigger.begin_ps = hit.time_ps;
            }
            let Some(address) = self.addresses.get(hit.channel as usize) else { continue };
            if self.trigger.readouts.len() < MOST_READOUTS {
                self.trigger.readouts.push((*address, hit.amplitude));
            }
        }
        if !self.trigger.readouts.is_empty() {
            self.read(pulse, packets);
        }
        if !self.encoder.is_empty() {
            let end_ps = (pulse.end_ns - pulse.start_ns) * 1000;
            let due_ps = self.oldest_ps + self.flush_ps;
            self.send(pulse, due_ps.min(end_ps.max(self.oldest_ps)), packets);
        }
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        // Packets are not numbered.
        let is_clock = matches!(disturbance, Disturbance::ClockStep { source: 0, .. });
        if is_clock {
            self.source.disturb(disturbance);
        }
        is_clock
    }
}

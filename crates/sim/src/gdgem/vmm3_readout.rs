//! Hits to packets of VMM3 and VMM3a on SRS front-end cards (EFU formats of 2018, sections 4.2 and 4.3).
//!
//! Readouts count crossings from a marker of their chip on. A card sends a packet when it is full, when its oldest
//! readout has waited for long, and at the end of a pulse.

use super::wiring::{Wired, Wiring};
use crate::electronics::Hit;
use crate::layout::Layout;
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Pulse, Readout, Source};
use evforge_detect::gdgem::settings::{GdGemSettings, ReadoutFormat, TimeConvention};
use evforge_wire::srs_vmm::{
    BUNCH_CROSSINGS, FRAME_COUNTER_BITS, TimeMarker, TriggerMarker, Vmm3Encoder, Vmm3Variant, VmmReadout,
};
use std::net::Ipv4Addr;

/// UDP port that front-end cards send from and to (section 4.3).
pub const SRS_PORT: u16 = 6006;

/// Bytes of the header (section 4.2).
const HEADER: usize = 16;
/// Chips of a card.
const CHIPS: usize = 16;
/// Trigger times have no lower bits (section 4.3, "TRG").
const TRIGGER_TIME_STEP: i64 = 1024;
/// Raw trigger offset that stands for the turn before the marker (section 4.3).
const TURN_BEFORE: u8 = 31;
/// A card sends what it has when its oldest readout is so old. Chosen.
const FLUSH_PS: u64 = 5_000_000_000;

/// How a card of this detector counts time.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Tick of the markers in picoseconds.
    marker_tick: i64,
    /// Crossings of a turn, which the trigger offset counts.
    turn: i64,
    /// Turns that a marker is good for.
    turns: i64,
    /// Whether there is an offset for the turn before the marker.
    has_turn_before: bool,
    /// Whether markers are those of the triggered mode.
    is_triggered: bool,
    /// Time between two markers in picoseconds: a turn less than they are good for, because they are rounded to ticks.
    run: i64,
}

impl Clock {
    fn new(settings: &GdGemSettings) -> Self {
        let crossings = i64::from(BUNCH_CROSSINGS);
        let (turn, turns) = match settings.time.convention {
            TimeConvention::SignedOffset => (crossings, 16),
            // Section 4.4: a period is one crossing less than the counter has values.
            TimeConvention::TriggerPeriod2018 => (crossings - 1, 32),
        };
        Self {
            marker_tick: settings.time.marker_tick as i64,
            turn,
            turns,
            has_turn_before: settings.time.convention == TimeConvention::SignedOffset,
            is_triggered: settings.format == ReadoutFormat::Vmm3aTriggered,
            run: (turns - 1) * turn * settings.time.bunch_crossing as i64,
        }
    }

    /// Offset, crossing and fine time of a time counted from a marker; none if it is too far from it.
    #[inline]
    fn split(&self, wired: &Wired, since: i64) -> Option<(u8, u16, u8)> {
        let (crossings, tdc) = wired.fine_time.split(since);
        let (turn, crossing) = (crossings.div_euclid(self.turn), crossings.rem_euclid(self.turn));
        let offset = match turn {
            turn if (0..self.turns).contains(&turn) => turn as u8,
            -1 if self.has_turn_before => TURN_BEFORE,
            _ => return None,
        };
        Some((offset, crossing as u16, tdc))
    }
}

/// A front-end card.
#[derive(Clone, Debug)]
struct Card {
    fec: u16,
    source: Source,
    encoder: Vmm3Encoder,
    /// Number of the packet that is being filled, if one is.
    number: Option<u64>,
    /// Time of the latest marker of each chip in picoseconds of the card's clock.
    markers: [Option<i64>; CHIPS],
    triggers: [u16; CHIPS],
    oldest_ps: u64,
    newest_ps: u64,
}

impl Card {
    fn new(fec: u16, variant: Vmm3Variant) -> Self {
        Self {
            fec,
            source: Source::new(1, FRAME_COUNTER_BITS),
            encoder: Vmm3Encoder::new(variant),
            number: None,
            markers: [None; CHIPS],
            triggers: [0; CHIPS],
            oldest_ps: 0,
            newest_ps: 0,
        }
    }

    /// Adds a readout or a marker. A packet is begun for it, and one that is full is sent before.
    fn push(&mut self, out: &mut Outlet<'_>, push: impl Fn(&mut Vmm3Encoder) -> bool) {
        if self.number.is_none() || !push(&mut self.encoder) {
            self.send(out);
            let number = self.source.count();
            self.number = Some(number);
            self.oldest_ps = out.now_ps;
            let stamp = (out.start_ps + out.now_ps as i64) / out.clock.marker_tick;
            self.encoder.begin(number as u32, self.fec, stamp as u32);
            let is_added = push(&mut self.encoder);
            debug_assert!(is_added, "an empty packet has room");
        }
        self.newest_ps = out.now_ps;
    }

    fn take(&mut self, wired: &Wired, hit: &Hit, out: &mut Outlet<'_>) {
        if self.number.is_some() && hit.sent_ps >= self.oldest_ps + FLUSH_PS {
            self.newest_ps = self.oldest_ps + FLUSH_PS;
            self.send(out);
        }
        let chip = usize::from(wired.chip);
        let time = (out.start_ps + self.source.offset_ps() + hit.time_ps as i64).max(0);
        let known = self.markers[chip].and_then(|marker| out.clock.split(wired, time - marker));
        let split = known.or_else(|| {
            // A quarter of a turn early: the fine time may reach back behind the marker.
            let run = (time - out.clock.run / 64).max(0) / out.clock.run * out.clock.run;
            let marker = run / out.clock.marker_tick;
            self.mark(wired.chip, marker, out);
            out.clock.split(wired, time - marker * out.clock.marker_tick)
        });
        // Before the clock's zero there is no time.
        let Some((trigger_offset, bunch_crossing, tdc)) = split else { return };
        let readout = VmmReadout {
            chip: wired.chip,
            channel: wired.channel,
            bunch_crossing,
            tdc,
            adc: wired.amplitude.of(hit.amplitude),
            over_threshold: true,
            trigger_offset,
        };
        self.push(out, |encoder| encoder.push_readout(&readout));
    }

    /// Tells the receiver the time, in ticks, that the chip counts from.
    fn mark(&mut self, chip: u8, stamp: i64, out: &mut Outlet<'_>) {
        self.markers[usize::from(chip)] = Some(stamp * out.clock.marker_tick);
        if !out.clock.is_triggered {
            let marker = TimeMarker { chip, stamp: stamp as u64 };
            self.push(out, |encoder| encoder.push_marker(&marker));
            return;
        }
        let trigger = (stamp as u64).next_multiple_of(TRIGGER_TIME_STEP as u64);
        let count = self.triggers[usize::from(chip)];
        self.triggers[usize::from(chip)] = count.wrapping_add(1);
        for marker in [
            TriggerMarker::EventCounter { chip, count },
            TriggerMarker::TriggerTime { chip, stamp: trigger },
            TriggerMarker::RelativeTime { chip, ticks: (trigger - stamp as u64) as u16 },
        ] {
            self.push(out, |encoder| encoder.push_marker(&marker.into()));
        }
    }

    fn send(&mut self, out: &mut Outlet<'_>) {
        let Some(number) = self.number.take() else { return };
        let address = Ipv4Addr::new(10, 0, 0, self.fec as u8);
        let sent_ns = (out.start_ps as u64 + self.newest_ps) / 1000;
        let packet = SimulatedPacket::new(self.encoder.packet().to_vec(), address, SRS_PORT, sent_ns);
        out.packets.push(packet.of(Sender { source: out.source, number: Some(number), header: HEADER }));
    }
}

/// Where the packets of a pulse go, and what time it is.
struct Outlet<'a> {
    clock: Clock,
    /// The source that packets are of.
    source: usize,
    start_ps: i64,
    /// Since the start of the pulse.
    now_ps: u64,
    packets: &'a mut Vec<SimulatedPacket>,
}

/// The front-end cards of a detector.
#[derive(Clone, Debug)]
pub struct Vmm3Readout {
    clock: Clock,
    wiring: Wiring,
    cards: Vec<Card>,
}

impl Vmm3Readout {
    /// The cards of a detector with these channels, whose settings have been checked.
    pub fn new(settings: &GdGemSettings, layout: &Layout) -> Self {
        let variant = match settings.format {
            ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => Vmm3Variant::Vmm3a,
            ReadoutFormat::Vmm2 | ReadoutFormat::Vmm3Of2018 => Vmm3Variant::Of2018,
        };
        let wiring = Wiring::new(settings, layout);
        let cards = wiring.fecs.iter().map(|fec| Card::new(*fec, variant)).collect();
        Self { clock: Clock::new(settings), wiring, cards }
    }
}

impl Readout for Vmm3Readout {
    fn sources(&self) -> Vec<String> {
        self.wiring.sources()
    }

    fn first_pulse(&self, _start_ns: u64) -> u64 {
        // Clocks may step back: the first pulse is not at the start of their time.
        1
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let first = packets.len();
        let start_ps = i64::try_from(u128::from(pulse.start_ns) * 1000).unwrap_or(i64::MAX / 2);
        let mut out = Outlet { clock: self.clock, source: 0, start_ps, now_ps: 0, packets };
        for hit in hits {
            let Some(Some(wired)) = self.wiring.channels.get(hit.channel as usize) else { continue };
            out.source = usize::from(wired.fec);
            out.now_ps = hit.sent_ps;
            if let Some(card) = self.cards.get_mut(out.source) {
                card.take(wired, hit, &mut out);
            }
        }
        for (source, card) in self.cards.iter_mut().enumerate() {
            out.source = source;
            card.send(&mut out);
        }
        packets[first..].sort_by_key(|packet| packet.origin.arrival_ns);
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        let Some(card) = self.cards.get_mut(disturbance.source()) else { return false };
        card.source.disturb(disturbance);
        if !matches!(disturbance, Disturbance::CounterBeforeWrap { .. }) {
            // Every chip is given the time again.
            card.markers = [None; CHIPS];
        }
        if matches!(disturbance, Disturbance::Restart { .. }) {
            card.triggers = [0; CHIPS];
        }
        true
    }
}

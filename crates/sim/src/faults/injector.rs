//! Makes faults happen, pulse by pulse.

use super::log::{FaultLog, Injected, SenderReport, SentPackets};
use super::settings::{Action, Edge, Fault, Kind, Part};
use super::wire::{OnItsWay, Release, Wire};
use crate::error::SimulationError;
use crate::packet::SimulatedPacket;
use crate::random::{Stream, stream};
use crate::readout::{Disturbance, Readout};
use rand::RngExt;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;

/// A fault with its source looked up.
#[derive(Debug)]
struct Planned {
    fault: Fault,
    source: Option<usize>,
}

/// A packet and where it is in the stream.
#[derive(Clone, Copy)]
struct Place {
    source: usize,
    packet: u64,
    packet_of_source: u64,
    is_first: bool,
    is_last: bool,
    is_first_of_source: bool,
    is_last_of_source: bool,
}

/// Makes faults happen to the packets of one simulation.
#[derive(Debug)]
pub struct FaultInjector {
    planned: Vec<Planned>,
    random: SmallRng,
    wire: Wire,
    log: FaultLog,
    sent: Vec<SentPackets>,
    /// Packets of each source that must be left alone, because one is put behind them.
    protected: Vec<u32>,
    /// Faults whose particulars are not known before the packet has left.
    open: BTreeMap<u64, Injected>,
    next_entry: u64,
    pulse: u64,
    packets: u64,
    impossible: u64,
}

impl FaultInjector {
    /// Faults for packets of these sources, as [`Readout::sources`] names them.
    ///
    /// # Errors
    /// If a fault names a source that is not there.
    pub fn new(faults: &[Fault], sources: Vec<String>, seed: u64) -> Result<Self, SimulationError> {
        let planned = faults.iter().map(|fault| {
            let source = match &fault.selection.source {
                None => None,
                Some(name) => Some(sources.iter().position(|source| source == name).ok_or_else(|| {
                    let all = sources.join("`, `");
                    let kind = fault.kind.name();
                    SimulationError(format!(
                        "a fault `{kind}` names the source `{name}`, which is not there: the sources are `{all}`"
                    ))
                })?),
            };
            Ok(Planned { fault: fault.clone(), source })
        });
        Ok(Self {
            planned: planned.collect::<Result<_, _>>()?,
            random: stream(seed, Stream::Faults),
            wire: Wire::new(sources.len()),
            sent: vec![SentPackets::default(); sources.len()],
            protected: vec![0; sources.len()],
            log: FaultLog { sources, faults: Vec::new() },
            open: BTreeMap::new(),
            next_entry: 0,
            pulse: 0,
            packets: 0,
            impossible: 0,
        })
    }

    /// True if there are faults to inject.
    pub fn is_any(&self) -> bool {
        !self.planned.is_empty()
    }

    /// What has happened so far. Packets that still wait are not in it.
    pub fn log(&self) -> &FaultLog {
        &self.log
    }

    /// How often electronics were to be disturbed where that is impossible: they have no counter, or no clock.
    pub fn impossible(&self) -> u64 {
        self.impossible
    }

    /// How many packets there were.
    pub fn report(&self) -> SenderReport {
        let sources = self.log.sources.iter().zip(&self.sent).zip(&self.wire.on_wire);
        SenderReport {
            sources: sources
                .map(|((name, sent), &on_wire)| (name.clone(), SentPackets { on_wire, ..*sent }))
                .collect(),
        }
    }

    /// Disturbs the electronics before the packets of the next pulse are made.
    pub fn disturb(&mut self, readout: &mut dyn Readout) {
        for planned in &self.planned {
            let Fault { kind, action, selection } = &planned.fault;
            if !kind.is_of_electronics() || !contains(selection.pulses.as_deref(), self.pulse) {
                continue;
            }
            let sources = planned.source.map_or(0..self.log.sources.len(), |source| source..source + 1);
            for source in sources {
                if !draw(&mut self.random, selection.probability) {
                    continue;
                }
                let mut entry = Injected::new(*kind, self.pulse, source);
                let disturbance = match *action {
                    Action::CounterWrap { count } => {
                        entry.count = Some(u64::from(count));
                        Disturbance::CounterBeforeWrap { source, packets: count }
                    }
                    Action::ClockStep { by_ps } => {
                        entry.time_ps = Some(by_ps);
                        Disturbance::ClockStep { source, by_ps }
                    }
                    _ => Disturbance::Restart { source },
                };
                if readout.disturb(disturbance) {
                    self.log.faults.push(entry);
                } else {
                    self.impossible += 1;
                }
            }
        }
    }

    /// The packets of the next pulse come, in the order in which the electronics send them; `sent` gets what goes to
    /// the wire meanwhile, in that order.
    pub fn pulse(&mut self, packets: Vec<SimulatedPacket>, sent: &mut Vec<SimulatedPacket>) {
        let mut edges = vec![(usize::MAX, 0); self.sent.len()];
        for (index, packet) in packets.iter().enumerate() {
            if let Some((first, last)) = edges.get_mut(packet.sender.source) {
                (*first, *last) = ((*first).min(index), index);
            }
        }
        let count = packets.len();
        for (index, packet) in packets.into_iter().enumerate() {
            let source = packet.sender.source;
            let Some((made, edges)) = self.sent.get_mut(source).zip(edges.get(source)) else {
                // A source that the readout has not named: nothing can be told of it, and nothing happens to it.
                sent.push(packet);
                continue;
            };
            let place = Place {
                source,
                packet: self.packets,
                packet_of_source: made.made,
                is_first: index == 0,
                is_last: index + 1 == count,
                is_first_of_source: edges.0 == index,
                is_last_of_source: edges.1 == index,
            };
            made.made += 1;
            made.first = made.first.or(packet.sender.number);
            made.last = packet.sender.number;
            self.packets += 1;
            self.take(packet, &place, sent);
            self.settle();
        }
        self.pulse += 1;
    }

    /// Nothing more comes: what still waits goes to the wire.
    pub fn finish(&mut self, sent: &mut Vec<SimulatedPacket>) {
        self.wire.finish(sent);
        self.settle();
    }

    fn take(&mut self, mut packet: SimulatedPacket, place: &Place, sent: &mut Vec<SimulatedPacket>) {
        self.wire.advance(packet.origin.arrival_ns, sent);
        let is_protected = match self.protected.get_mut(place.source) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        let mut is_hit = is_protected;
        let (mut is_lost, mut copies, mut waits) = (false, Vec::new(), None);
        for index in 0..self.planned.len() {
            let Planned { fault, source } = &self.planned[index];
            let Fault { kind, action, selection } = fault;
            if kind.is_of_electronics() || !selects(fault, *source, place, self.pulse) {
                continue;
            }
            let (kind, action, is_named) = (*kind, *action, selection.packets.is_some());
            let hold_of = *source;
            if !draw(&mut self.random, selection.probability) {
                continue;
            }
            let mut entry = Injected::new(kind, self.pulse, place.source);
            entry.packet = Some(place.packet);
            entry.packet_of_source = Some(place.packet_of_source);
            entry.number = packet.sender.number;
            if let Action::Burst { .. } | Action::Pause { .. } = action {
                let release = match action {
                    Action::Burst { count } => Release::Count(count),
                    Action::Pause { by_ns } => {
                        entry.time_ps = i64::try_from(by_ns.saturating_mul(1000)).ok();
                        Release::At(packet.origin.arrival_ns.saturating_add(by_ns))
                    }
                    _ => continue,
                };
                if self.wire.hold(hold_of, release, self.next_entry) {
                    self.open(entry);
                }
                continue;
            }
            if is_lost || (is_hit && !is_named) {
                continue;
            }
            match action {
                Action::Lose => is_lost = true,
                Action::Repeat { times, behind } => {
                    entry.count = Some(u64::from(times));
                    copies.push((times, behind));
                }
                Action::Reorder { behind } => {
                    if waits.is_some() {
                        continue;
                    }
                    waits = Some((Wait::Behind(behind), entry));
                    if let Some(protected) = self.protected.get_mut(place.source) {
                        *protected = (*protected).max(behind);
                    }
                }
                Action::Delay { by_ns } => {
                    if waits.is_some() {
                        continue;
                    }
                    entry.time_ps = i64::try_from(by_ns.saturating_mul(1000)).ok();
                    let until = packet.origin.arrival_ns.saturating_add(by_ns);
                    waits = Some((Wait::Until(until), entry));
                }
                Action::Truncate { bytes } => {
                    let length = packet.bytes.len();
                    let left = match bytes {
                        Some(left) => left,
                        None if length == 0 => continue,
                        None => self.random.random_range(0..length),
                    };
                    if left >= length {
                        continue;
                    }
                    packet.bytes.truncate(left);
                    entry.bytes = Some(left);
                }
                Action::Corrupt { bit, part } => {
                    let Some(bit) = bit.or_else(|| any_bit(&packet, part, &mut self.random)) else {
                        continue;
                    };
                    let Some(byte) = packet.bytes.get_mut(bit / 8) else { continue };
                    *byte ^= 1 << (bit % 8);
                    entry.bit = Some(bit);
                }
                _ => continue,
            }
            is_hit = true;
            if !matches!(action, Action::Reorder { .. } | Action::Delay { .. }) {
                self.log.faults.push(entry);
            }
        }
        if is_lost {
            return;
        }
        let what = OnItsWay { packet, number: place.packet_of_source, is_copy: false, entry: None };
        let copy = OnItsWay { is_copy: true, ..what.clone() };
        match waits {
            None => self.wire.send(what, sent),
            Some((wait, entry)) => {
                let what = OnItsWay { entry: Some(self.open(entry)), ..what };
                match wait {
                    Wait::Behind(packets) => self.wire.wait_behind(what, packets),
                    Wait::Until(time_ns) => self.wire.wait_until(what, time_ns),
                }
            }
        }
        for (times, behind) in copies {
            for _ in 0..times {
                match behind {
                    0 => self.wire.send(copy.clone(), sent),
                    _ => self.wire.wait_behind(copy.clone(), behind),
                }
            }
        }
    }

    /// Keeps a fault of which something is still to be told.
    fn open(&mut self, entry: Injected) -> u64 {
        let number = self.next_entry;
        self.next_entry += 1;
        self.open.insert(number, entry);
        number
    }

    /// Takes what has become known of faults over into the log.
    fn settle(&mut self) {
        for settled in self.wire.settled.drain(..) {
            let Some(mut entry) = self.open.remove(&settled.entry) else { continue };
            match entry.kind {
                Kind::Burst | Kind::Pause => entry.count = Some(settled.count),
                _ => entry.passed_by = Some(settled.count),
            }
            self.log.faults.push(entry);
        }
    }
}

/// What a packet waits for.
enum Wait {
    Behind(u32),
    Until(u64),
}

/// True if `numbers` has this one, or there are none to choose from. They are in order.
fn contains(numbers: Option<&[u64]>, number: u64) -> bool {
    numbers.is_none_or(|numbers| numbers.binary_search(&number).is_ok())
}

fn draw(random: &mut SmallRng, probability: Option<f64>) -> bool {
    probability.is_none_or(|probability| random.random_bool(probability))
}

/// True if the fault may hit a packet at this place; the probability is not asked.
fn selects(fault: &Fault, source: Option<usize>, place: &Place, pulse: u64) -> bool {
    let selection = &fault.selection;
    let (number, is_first, is_last) = match source {
        None => (place.packet, place.is_first, place.is_last),
        Some(_) => (place.packet_of_source, place.is_first_of_source, place.is_last_of_source),
    };
    source.is_none_or(|source| source == place.source)
        && contains(selection.packets.as_deref(), number)
        && contains(selection.pulses.as_deref(), pulse)
        && match selection.of_pulse {
            None => true,
            Some(Edge::First) => is_first,
            Some(Edge::Last) => is_last,
        }
}

/// Any bit of a part of the packet; none if the packet has no such part.
fn any_bit(packet: &SimulatedPacket, part: Option<Part>, random: &mut SmallRng) -> Option<usize> {
    let header = packet.sender.header.min(packet.bytes.len());
    let bytes = match part {
        None => 0..packet.bytes.len(),
        Some(Part::Header) => 0..header,
        Some(Part::Data) => header..packet.bytes.len(),
    };
    (!bytes.is_empty()).then(|| random.random_range(bytes.start * 8..bytes.end * 8))
}

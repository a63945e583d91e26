//! Records of CAEN digitisers, and packets of jadaq.

use crate::channels::{Channels, Span};
use crate::report::{Line, line, listed, sequence_in_words, sequence_json};
use evforge_core::quantity::grouped;
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::caen::{ElementType, JadaqPacket, JadaqVersion, RecordPacket, SEQUENCE_BITS};
use evforge_wire::recognise::Format;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Digitisers that are told apart: a number of 32 bits may be anything.
const MOST: usize = 256;

/// What one digitizer has sent.
#[derive(Debug)]
struct Digitizer {
    readouts: u64,
    channels: Channels,
    adc: Span,
    tracker: Option<SequenceTracker>,
}

/// Digitisers with their channels.
#[derive(Debug)]
pub struct CaenContent {
    format: Format,
    digitizers: BTreeMap<u32, Digitizer>,
    readouts: u64,
    /// Readouts of digitisers that are not told apart any more.
    not_kept: u64,
    ends_of_run: u64,
    element_types: BTreeMap<&'static str, u64>,
    times: Neighbours,
}

/// Digitisers that one sender has at most.
const DIGITIZERS: usize = 16;
/// Pairs of neighbouring records that say anything.
const ENOUGH: u64 = 16;
/// Ticks between neighbouring records of a packet: the records of a packet were made shortly one after the other.
const NEAR: u32 = 1 << 22;

/// The times of records next to one another in a packet.
#[derive(Debug, Default)]
struct Neighbours {
    pairs: u64,
    /// Those that are no further apart than [`NEAR`].
    near: u64,
    /// Those that are not at the same time.
    apart: u64,
}

impl Neighbours {
    fn take(&mut self, earlier: u32, later: u32) {
        let ahead = later.wrapping_sub(earlier);
        self.pairs += 1;
        self.near += u64::from(ahead.min(ahead.wrapping_neg()) <= NEAR);
        self.apart += u64::from(ahead != 0);
    }
}

impl CaenContent {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            digitizers: BTreeMap::new(),
            readouts: 0,
            not_kept: 0,
            ends_of_run: 0,
            element_types: BTreeMap::new(),
            times: Neighbours::default(),
        }
    }

    /// Whether anything speaks for records of 8 bytes, which have no signature: few digitisers, several channels and amplitudes, and
    /// times that follow one another.
    pub fn is_evident(&self) -> bool {
        let Neighbours { pairs, near, apart } = self.times;
        let channels: BTreeSet<u16> =
            self.digitizers.values().flat_map(|seen| seen.channels.iter()).collect();
        pairs >= ENOUGH
            && 10 * near >= 9 * pairs
            && 4 * apart >= pairs
            && self.digitizers.len() <= DIGITIZERS
            && channels.len() > 1
            && self.digitizers.values().any(|seen| seen.adc.ends().is_some_and(|(least, most)| least < most))
    }

    /// The digitisers with their channels.
    pub fn digitizers(&self) -> impl Iterator<Item = (u32, &Channels)> {
        self.digitizers.iter().map(|(number, seen)| (*number, &seen.channels))
    }

    fn digitizer(&mut self, number: u32) -> Option<&mut Digitizer> {
        if self.digitizers.len() >= MOST && !self.digitizers.contains_key(&number) {
            return None;
        }
        Some(self.digitizers.entry(number).or_insert_with(|| Digitizer {
            readouts: 0,
            channels: Channels::default(),
            adc: Span::default(),
            tracker: None,
        }))
    }

    fn take_readout(&mut self, digitizer: u32, channel: u16, adc: u16) {
        self.readouts += 1;
        match self.digitizer(digitizer) {
            Some(seen) => {
                seen.readouts += 1;
                seen.channels.insert(channel);
                seen.adc.take(adc);
            }
            None => self.not_kept += 1,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8], arrival_ns: u64) {
        match self.format {
            Format::CaenRecords => {
                let Ok(packet) = RecordPacket::parse(bytes) else { return };
                let sound = || packet.records().filter(|record| !record.is_end_of_run());
                for (earlier, later) in sound().zip(sound().skip(1)) {
                    self.times.take(earlier.time, later.time);
                }
                for record in packet.records() {
                    if record.is_end_of_run() {
                        self.ends_of_run += 1;
                    } else {
                        self.take_readout(u32::from(record.digitizer), u16::from(record.channel), record.adc);
                    }
                }
            }
            Format::JadaqOfJune2018 => self.take_jadaq(bytes, JadaqVersion::OfJune2018, arrival_ns),
            _ => self.take_jadaq(bytes, JadaqVersion::V1_3, arrival_ns),
        }
    }

    fn take_jadaq(&mut self, bytes: &[u8], version: JadaqVersion, arrival_ns: u64) {
        if let Some(numbering) = JadaqPacket::numbering(bytes, version)
            && let Some(seen) = self.digitizer(numbering.digitizer)
        {
            let tracker =
                seen.tracker.get_or_insert_with(|| SequenceTracker::of_packets(SEQUENCE_BITS, u64::BITS));
            let stamp = Stamp::of(bytes, arrival_ns, Some(numbering.global_time));
            tracker.observe_packet(u64::from(numbering.sequence), stamp);
        }
        let Ok(packet) = JadaqPacket::parse(bytes, version) else { return };
        let name = match packet.element_type {
            ElementType::OfJune2018 => "elements of 8 bytes",
            ElementType::List422 => "List422",
            ElementType::List8222 => "List8222",
        };
        *self.element_types.entry(name).or_default() += packet.len() as u64;
        for element in packet.elements() {
            self.take_readout(packet.digitizer, element.channel, element.charge);
        }
    }

    pub(super) fn readouts(&self) -> u64 {
        self.readouts
    }

    pub(super) fn places(&self) -> String {
        format!("digitisers {}", listed(self.digitizers.keys()))
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![line("readouts", grouped(self.readouts))];
        for (name, count) in &self.element_types {
            lines.push(line("elements", format!("{} of {name}", grouped(*count))));
        }
        if self.ends_of_run > 0 {
            lines.push(line("end of run", format!("{} records", grouped(self.ends_of_run))));
        }
        for (number, seen) in &self.digitizers {
            let mut text =
                format!("{} readouts, {}, amplitude {}", grouped(seen.readouts), seen.channels, seen.adc);
            if let Some(tracker) = &seen.tracker {
                text += &format!("; {}", sequence_in_words(tracker));
            }
            lines.push(line(format!("digitizer {number}"), text));
        }
        if self.not_kept > 0 {
            let text = format!("{} readouts of further digitisers", grouped(self.not_kept));
            lines.push(line("not told apart", text));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let digitizer = |(number, seen): (&u32, &Digitizer)| {
            json!({
                "digitizer": number, "readouts": seen.readouts, "channels": seen.channels.ends(),
                "channels_seen": seen.channels.len(), "amplitude": seen.adc.ends(),
                "sequence": seen.tracker.as_ref().map(sequence_json),
            })
        };
        json!({
            "readouts": { "count": self.readouts, "not_told_apart": self.not_kept },
            "ends_of_run": self.ends_of_run,
            "elements": self.element_types,
            "digitizers": self.digitizers.iter().map(digitizer).collect::<Vec<_>>(),
        })
    }
}

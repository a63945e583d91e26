//! A capture that is sent again and again: from memory, with numbers that go on and times that are later each time
//! ([`evforge_wire::later`]). So a capture of milliseconds is minutes of a detector.
//!
//! A pass is later than the one before by the time that the capture takes on the clocks of its readout, and a little more, so that the
//! last neutron of a pass and the first of the next are two. With the ESS readout it is a whole number of pulses if the capture begins and ends
//! with one.

use evforge_core::counter::CounterSnapshot;
use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
use evforge_core::packet_source::{Fill, PacketSource, SourceError};
use evforge_core::run_state::InputFault;
use evforge_wire::later::{LONGEST_FRAME_NS, Movable, Step};
use evforge_wire::recognise::{Format, recognise};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Bytes of packets that are kept in memory at most.
const MOST: usize = 1 << 30;
/// Between two passes is this share of one.
const GAP: u64 = 50;
/// Packets that are looked at to tell the format.
const LOOKED_AT: usize = 1000;

/// A packet in memory.
struct Kept {
    bytes: Vec<u8>,
    original_length: usize,
    origin: PacketOrigin,
}

/// The packets of a capture, pass by pass.
pub struct LoopedCapture {
    path: PathBuf,
    stage: &'static str,
    counters: CounterSnapshot,
    faults: Vec<InputFault>,
    packets: Vec<Kept>,
    movable: Movable,
    /// What all packets are moved by, and how numbers of each source go on.
    step: Step,
    counts: BTreeMap<(SocketAddr, u32), u64>,
    /// Passes that are left, this one included; none for ever.
    left: Option<u64>,
    next: usize,
    delivered: u64,
}

/// From the first to the last of numbers that begin anew after so many bits.
#[derive(Clone, Copy, Debug)]
struct Span {
    latest: u64,
    /// Relative to the first one.
    place: i64,
    lowest: i64,
    highest: i64,
}

impl Span {
    fn begin(first: u64) -> Self {
        Self { latest: first, place: 0, lowest: 0, highest: 0 }
    }

    fn add(&mut self, number: u64, bits: u32) {
        let shift = 64 - bits;
        // The shorter way round, forth or back.
        let distance = (number.wrapping_sub(self.latest) << shift).cast_signed() >> shift;
        self.latest = number;
        self.place = self.place.saturating_add(distance);
        self.lowest = self.lowest.min(self.place);
        self.highest = self.highest.max(self.place);
    }

    fn length(&self) -> u64 {
        self.highest.abs_diff(self.lowest)
    }
}

/// The spans of all clocks, or of all sources of numbers.
#[derive(Default)]
struct Spans(BTreeMap<(SocketAddr, u32), Span>);

impl Spans {
    fn add(&mut self, source: SocketAddr, number: u32, value: u64, bits: u32) {
        self.0.entry((source, number)).or_insert_with(|| Span::begin(value)).add(value, bits);
    }

    fn longest(&self) -> u64 {
        self.0.values().map(Span::length).max().unwrap_or(0)
    }
}

impl LoopedCapture {
    /// Reads a capture to its end, to send it so many times (none: until somebody ends it).
    ///
    /// # Errors
    /// If it cannot be read, is larger than 1 GiB, has no packets, or packets of a format that cannot be moved.
    pub fn read(mut source: Box<dyn PacketSource>, times: Option<u64>) -> Result<Self, SourceError> {
        let path = source.path().to_owned();
        let packets = packets(source.as_mut())?;
        let format = format(&packets).ok_or_else(|| {
            format!(
                "{}: no format is recognised in it: `evforge inspect` says what is in a capture",
                path.display()
            )
        })?;
        let movable = Movable::of(format).ok_or_else(|| {
            format!(
                "{}: packets of {} cannot be sent again later: leave out --loop",
                path.display(),
                format.name()
            )
        })?;
        let (mut times_seen, mut numbers, mut arrivals) =
            (Spans::default(), Spans::default(), Spans::default());
        for Kept { bytes, origin, .. } in &packets {
            movable.visit_times(bytes, &mut |clock, time| {
                times_seen.add(origin.source, clock, time, movable.time_bits());
            });
            movable.visit_numbers(bytes, &mut |source, number| {
                numbers.add(origin.source, source, number, movable.number_bits());
            });
            if origin.arrival_clock != ArrivalClock::None {
                arrivals.add(([0, 0, 0, 0], 0).into(), 0, origin.arrival_ns, 64);
            }
        }
        let later = |longest: u64| longest + longest / GAP + 1;
        let step = Step {
            // Bunch crossings of the ESS are two ticks.
            ticks: match movable {
                Movable::Ess => {
                    let longest = times_seen.longest();
                    let ticks = pass_of_pulses(&packets, longest).unwrap_or_else(|| later(longest));
                    ticks - ticks % 2
                }
                // The last frame takes as long as any other.
                Movable::Isis => {
                    let longest = times_seen.longest();
                    later(longest).max(longest + LONGEST_FRAME_NS)
                }
                _ => later(times_seen.longest()),
            },
            nanoseconds: later(arrivals.longest()),
            count: 0,
        };
        let counts = numbers.0.iter().map(|(source, span)| (*source, span.length() + 1)).collect();
        Ok(Self {
            path,
            stage: source.stage(),
            counters: source.counters(),
            faults: source.faults(),
            packets,
            movable,
            step,
            counts,
            left: times,
            next: 0,
            delivered: 0,
        })
    }

    /// Makes the packets those of the next pass.
    fn move_on(&mut self) {
        for Kept { bytes, origin, .. } in &mut self.packets {
            let mut source = None;
            self.movable.visit_numbers(bytes, &mut |number, _| source = Some(number));
            let count = source.and_then(|number| self.counts.get(&(origin.source, number)));
            self.movable.move_on(bytes, Step { count: count.copied().unwrap_or(0), ..self.step });
            if origin.arrival_clock != ArrivalClock::None {
                origin.arrival_ns = origin.arrival_ns.saturating_add(self.step.nanoseconds);
            }
        }
    }
}

/// With the ESS readout: the time of all pulses, the last one to its end; none if no packet names the pulse before its own.
fn pass_of_pulses(packets: &[Kept], from_first_to_last: u64) -> Option<u64> {
    let period = packets.iter().filter_map(|kept| evforge_wire::later::pulse_period(&kept.bytes)).min()?;
    Some(from_first_to_last + period)
}

fn packets(source: &mut dyn PacketSource) -> Result<Vec<Kept>, SourceError> {
    let mut slab = PacketSlab::new(4096, 8 << 20);
    let (mut packets, mut memory) = (Vec::new(), 0);
    loop {
        slab.clear();
        let fill = source.fill(&mut slab)?;
        for packet in slab.batch().iter() {
            memory += packet.bytes.len();
            packets.push(Kept {
                bytes: packet.bytes.to_vec(),
                original_length: packet.original_length as usize,
                origin: packet.origin,
            });
        }
        if memory > MOST {
            return Err(format!(
                "{}: --loop keeps a capture in memory, at most {} MiB of packets: cut it shorter (editcap -c, or evforge record --rotate-size)",
                source.path().display(),
                MOST >> 20
            )
            .into());
        }
        if fill == Fill::End {
            return Ok(packets);
        }
    }
}

/// The format that most of the packets are most certainly of.
fn format(packets: &[Kept]) -> Option<Format> {
    let mut votes = BTreeMap::<Format, u64>::new();
    for kept in packets.iter().take(LOOKED_AT) {
        if let Some(best) = recognise(&kept.bytes).best() {
            *votes.entry(best.format).or_default() += 1 + best.certainty as u64;
        }
    }
    votes.into_iter().max_by_key(|(_, votes)| *votes).map(|(format, _)| format)
}

impl PacketSource for LoopedCapture {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        if self.packets.is_empty() || self.left == Some(0) {
            return Ok(Fill::End);
        }
        loop {
            while let Some(Kept { bytes, original_length, origin }) = self.packets.get(self.next) {
                if !slab.push(bytes, *original_length, *origin) {
                    return Ok(Fill::More);
                }
                self.next += 1;
                self.delivered += 1;
            }
            self.left = self.left.map(|left| left - 1);
            if self.left == Some(0) {
                return Ok(Fill::End);
            }
            self.next = 0;
            self.move_on();
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn packets(&self) -> u64 {
        self.delivered
    }

    fn position(&self) -> u64 {
        0
    }

    fn total_bytes(&self) -> Option<u64> {
        None
    }

    fn stage(&self) -> &'static str {
        self.stage
    }

    fn counters(&self) -> CounterSnapshot {
        self.counters.clone()
    }

    fn faults(&self) -> Vec<InputFault> {
        self.faults.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_goes_the_shorter_way_round() {
        let mut span = Span::begin(250);
        for number in [254, 3, 1, 9, 200] {
            span.add(number, 8);
        }
        assert_eq!((span.lowest, span.highest, span.length()), (-50, 15, 65));
    }
}

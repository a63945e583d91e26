//! Readouts of a packet to hits: time, digital geometry, mask, threshold.

use super::counters::MultiBladeCounters;
use super::wiring::{NoPlace, Place, Wiring};
use crate::module_windows::{ClusterWatcher, ModuleWindows, Windows};
use crate::multiblade::cassettes::{BladeHit, Cassettes};
use crate::source_clocks::ClocksOfPacket;
use evforge_core::clock::WrappingClock;
use evforge_wire::caen::{JadaqPacket, Record, RecordPacket};

/// Times from here on are impossible: 2^61 ticks of a picosecond are 26 days, of 16 ns a thousand years.
pub(super) const TIME_LIMIT: u64 = 1 << 61;

/// What is in a packet.
#[derive(Debug)]
pub enum Content<'a> {
    /// Of any digitizer.
    Records(RecordPacket<'a>),
    /// Of one.
    Elements(JadaqPacket<'a>),
}

/// The digitizer of a packet, if there is one for all of it, and what its times are.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    pub(super) digitizer: usize,
    pub(super) stamp: TimeStamp,
}

/// Where hits go.
pub(super) trait HitSink {
    /// Takes a hit whose time is as the electronics sent it. False if that is not a valid time.
    fn take(&mut self, place: &Place, hit: BladeHit) -> bool;
    /// The sender says that the run is over.
    fn end_run(&mut self);
}

/// Straight into the windows, with times of 32 bits.
pub(super) struct ArrivalSink<'a, W> {
    pub(super) cassettes: &'a mut Cassettes,
    pub(super) watcher: &'a mut W,
}

/// Bits of a time that count in the order of arrival.
pub(super) const ARRIVAL_TIME_MASK: u64 = 0xFFFF_FFFF;

impl<W: ClusterWatcher> HitSink for ArrivalSink<'_, W> {
    #[inline(always)]
    fn take(&mut self, place: &Place, hit: BladeHit) -> bool {
        let time = hit.time & ARRIVAL_TIME_MASK;
        self.cassettes.take(usize::from(place.cassette), BladeHit { time, ..hit }, self.watcher);
        true
    }

    fn end_run(&mut self) {
        self.cassettes.close_all(self.watcher);
    }
}

/// How a time becomes one of 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum TimeStamp {
    /// 32 bits that wrap.
    Wrapping,
    /// It counts from this base.
    From(u64),
}

/// Into the order of time.
pub(super) struct OrderedSink<'a> {
    pub(super) windows: &'a mut ModuleWindows,
    /// The time of each digitizer.
    pub(super) line: ClocksOfPacket<'a, BladeHit>,
    pub(super) clocks: &'a mut [WrappingClock],
    pub(super) stamp: TimeStamp,
}

impl HitSink for OrderedSink<'_> {
    #[inline(always)]
    fn take(&mut self, place: &Place, hit: BladeHit) -> bool {
        let source = place.source();
        let time = match self.stamp {
            TimeStamp::Wrapping => match self.clocks.get_mut(source) {
                Some(clock) => clock.extend(hit.time),
                None => return false,
            },
            TimeStamp::From(base) => base.saturating_add(hit.time),
        };
        if time >= TIME_LIMIT {
            return false;
        }
        if let Some(clock) = self.line.clock(source) {
            clock.judge(usize::from(place.cassette), BladeHit { time, ..hit }, self.windows);
        }
        true
    }

    /// What is open is closed by time; a clock that starts over is recognised as such.
    fn end_run(&mut self) {}
}

/// Readouts of a packet by what happened to them, to be added up at its end.
#[derive(Debug, Default)]
pub(super) struct ReadoutTally {
    readouts: u64,
    hits: u64,
    end_of_run_records: u64,
    unmapped_digitizer: u64,
    unmapped_channel: u64,
    masked: u64,
    below_threshold: u64,
    impossible_time: u64,
}

impl ReadoutTally {
    #[inline(always)]
    fn place(&mut self, place: &Place, plane: usize, (time, adc): (u64, u16), sink: &mut impl HitSink) {
        #[cfg(test)]
        if crate::ledger_tests::vanishes() {
            return;
        }
        if adc < place.threshold {
            self.below_threshold += 1;
            return;
        }
        let hit = BladeHit { time, plane: plane as u8, coordinate: place.coordinate, adc };
        if sink.take(place, hit) {
            self.hits += 1;
        } else {
            self.impossible_time += 1;
        }
    }

    #[cold]
    fn no_place(&mut self, reason: NoPlace) {
        match reason {
            NoPlace::Digitizer => self.unmapped_digitizer += 1,
            NoPlace::Channel => self.unmapped_channel += 1,
            NoPlace::Masked => self.masked += 1,
        }
    }

    /// Adds the counts of the packet to those of the pipeline.
    pub(super) fn add_to(&self, counters: &mut MultiBladeCounters) {
        counters.readouts += self.readouts;
        counters.hits += self.hits;
        counters.end_of_run_records += self.end_of_run_records;
        counters.unmapped_digitizer += self.unmapped_digitizer;
        counters.unmapped_channel += self.unmapped_channel;
        counters.masked += self.masked;
        counters.below_threshold += self.below_threshold;
        counters.impossible_time += self.impossible_time;
    }
}

impl Content<'_> {
    /// Takes the readouts of a packet, of this digitizer if it is of one.
    #[inline]
    pub(super) fn take(
        &self,
        digitizer: usize,
        wiring: &mut Wiring,
        sink: &mut impl HitSink,
        tally: &mut ReadoutTally,
    ) {
        match self {
            Self::Records(records) => take_records(records, wiring, sink, tally),
            Self::Elements(elements) => take_elements(elements, digitizer, wiring, sink, tally),
        }
    }
}

/// Takes a packet of records.
#[inline]
fn take_records(
    packet: &RecordPacket<'_>,
    wiring: &mut Wiring,
    sink: &mut impl HitSink,
    tally: &mut ReadoutTally,
) {
    tally.readouts += packet.len() as u64;
    for record in packet.records() {
        let place = wiring.of_record(record.digitizer, record.channel);
        if let Some(plane) = place.plane() {
            tally.place(&place, plane, (u64::from(record.time), record.adc), sink);
        } else if record == Record::END_OF_RUN {
            tally.readouts -= 1;
            tally.end_of_run_records += 1;
            sink.end_run();
        } else {
            tally.no_place(wiring.explain(&place));
        }
    }
}

/// Takes a packet of jadaq whose digitizer has this index.
#[inline]
fn take_elements(
    packet: &JadaqPacket<'_>,
    digitizer: usize,
    wiring: &mut Wiring,
    sink: &mut impl HitSink,
    tally: &mut ReadoutTally,
) {
    tally.readouts += packet.len() as u64;
    for element in packet.elements() {
        let places = wiring.of_digitizer(digitizer);
        let place = places.get(usize::from(element.channel)).copied().unwrap_or(Wiring::BEYOND);
        match place.plane() {
            Some(plane) => tally.place(&place, plane, (element.time, element.charge), sink),
            None => tally.no_place(wiring.explain(&place)),
        }
    }
}

//! From times on the detector's clock to pulses: which pulse record an event belongs to, and which records
//! have to be opened before it.
//!
//! A *pulse record* is one entry of `event_time_zero` and `event_index`. Events come in the order of their
//! time as long as the clock runs on; then every pulse gets one record, with or without events. Three things
//! can disturb that, and each is bounded and counted:
//! * the clock jumps ahead by more than the longest gap: no empty pulses are written for the gap;
//! * the clock jumps back (a readout was reset, or sources interleave): a record is opened at the earlier
//!   pulse, and empty pulses are only written for pulses that have had no record yet;
//! * an event lies before the first pulse of the train: it gets a record that begins at its own time.

use evforge_core::pulse::PulseTrain;

use super::counters::NexusCounters;

/// Assigns events to pulse records. Pure: no clocks, no I/O.
#[derive(Debug)]
pub(crate) struct PulseGrouping {
    train: PulseTrain,
    /// Longest event-free stretch that is filled with empty pulses, in nanoseconds.
    longest_gap: u64,
    /// From the detector's clock to the Unix epoch.
    anchor: i64,
    /// The open record: detector times `start..end`.
    open: Option<OpenRecord>,
    /// The latest pulse that has had a record since the clock last started over.
    latest: Option<LatestPulse>,
}

#[derive(Clone, Copy, Debug)]
struct OpenRecord {
    start: u64,
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct LatestPulse {
    number: u64,
    start: u64,
}

/// Where an event goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Into the record that is open (after those that were opened by the call), so many nanoseconds after
    /// its start.
    Offset(i32),
    /// Nowhere: its time cannot be expressed in nanoseconds since the Unix epoch in `0..=i64::MAX`.
    Nowhere,
}

impl PulseGrouping {
    pub(crate) fn new(train: PulseTrain, longest_gap: u64, anchor: i64) -> Self {
        Self { train, longest_gap, anchor, open: None, latest: None }
    }

    /// Finds the place of an event at detector time `time`; calls `record` with the start of every pulse
    /// record to be opened before it, in nanoseconds since the Unix epoch.
    #[inline]
    pub(crate) fn place(
        &mut self,
        time: u64,
        counters: &mut NexusCounters,
        record: impl FnMut(u64),
    ) -> Place {
        if let Some(open) = self.open
            && open.start <= time
            && time < open.end
        {
            // Records are at most a pulse long, and a pulse fits into 31 bits of nanoseconds.
            return Place::Offset((time - open.start) as i32);
        }
        self.open_record(time, counters, record)
    }

    #[cold]
    fn open_record(&mut self, time: u64, counters: &mut NexusCounters, mut record: impl FnMut(u64)) -> Place {
        let found = self.train.locate(time);
        let start = found.map_or(time, |pulse| pulse.start_ns);
        let (Some(start_since_epoch), Some(_)) = (self.since_epoch(start), self.since_epoch(time)) else {
            counters.events_outside_epoch += 1;
            return Place::Nowhere;
        };
        let backwards = self.open.is_some_and(|open| time < open.start);
        match found {
            Some(pulse) => {
                if backwards {
                    counters.backward_steps += 1;
                }
                match self.latest {
                    Some(latest) if start >= latest.start => {
                        self.fill(latest, pulse.pulse, start, counters, &mut record);
                        self.latest = Some(LatestPulse { number: pulse.pulse, start });
                    }
                    Some(latest) if latest.start - start <= self.longest_gap => {}
                    Some(_) => {
                        counters.clock_restarts += 1;
                        self.latest = Some(LatestPulse { number: pulse.pulse, start });
                    }
                    None => self.latest = Some(LatestPulse { number: pulse.pulse, start }),
                }
                let end = self.train.start_ns(pulse.pulse + 1).unwrap_or(u64::MAX);
                self.open = Some(OpenRecord { start, end });
            }
            None => {
                counters.records_before_first_pulse += 1;
                // Up to the first pulse, or for as long as an offset can say.
                let first = self.train.start_ns(0).unwrap_or(u64::MAX);
                self.open = Some(OpenRecord { start, end: first.min(start.saturating_add(i32::MAX as u64)) });
            }
        }
        counters.pulses += 1;
        record(start_since_epoch);
        Place::Offset((time - start) as i32)
    }

    /// Opens records for the pulses between `latest` and `number`, unless that stretch is longer than the
    /// longest gap.
    fn fill(
        &self,
        latest: LatestPulse,
        number: u64,
        start: u64,
        counters: &mut NexusCounters,
        record: &mut impl FnMut(u64),
    ) {
        let between = (number - latest.number).saturating_sub(1);
        if between == 0 {
            return;
        }
        if start - latest.start > self.longest_gap {
            counters.gaps_not_filled += 1;
            counters.empty_pulses_left_out += between;
            return;
        }
        for empty in latest.number + 1..number {
            // Both ends of the stretch can be expressed, so everything between can.
            if let Some(start) = self.train.start_ns(empty).and_then(|start| self.since_epoch(start)) {
                counters.pulses += 1;
                counters.empty_pulses += 1;
                record(start);
            }
        }
    }

    /// A detector time in nanoseconds since the Unix epoch, if it is in `0..=i64::MAX`.
    fn since_epoch(&self, time: u64) -> Option<u64> {
        let time = i128::from(time) + i128::from(self.anchor);
        i64::try_from(time).ok().and_then(|time| u64::try_from(time).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    /// Groups `times` by a train of 10 Hz and returns, for each record, its start and its events' offsets.
    fn group(times: &[u64], anchor: i64) -> (Vec<(u64, Vec<i32>)>, NexusCounters) {
        let train = PulseTrain::from_millihertz(10_000, SECOND).unwrap();
        let mut grouping = PulseGrouping::new(train, 10 * SECOND, anchor);
        let mut counters = NexusCounters::default();
        let mut records: Vec<(u64, Vec<i32>)> = Vec::new();
        for &time in times {
            let place = grouping.place(time, &mut counters, |start| records.push((start, Vec::new())));
            if let Place::Offset(offset) = place {
                records.last_mut().unwrap().1.push(offset);
            }
        }
        (records, counters)
    }

    #[test]
    fn pulses_without_events_are_kept() {
        let (records, counters) = group(&[SECOND + 7, SECOND + 8, SECOND + 300_000_001], 100);
        let expected = vec![
            (SECOND + 100, vec![7, 8]),
            (SECOND + 100_000_100, vec![]),
            (SECOND + 200_000_100, vec![]),
            (SECOND + 300_000_100, vec![1]),
        ];
        assert_eq!(records, expected);
        assert_eq!((counters.pulses, counters.empty_pulses, counters.gaps_not_filled), (4, 2, 0));
    }

    #[test]
    fn a_jump_ahead_becomes_one_record() {
        let (records, counters) = group(&[SECOND, 3_600 * SECOND], 0);
        assert_eq!(records.len(), 2);
        assert_eq!((counters.gaps_not_filled, counters.empty_pulses_left_out), (1, 35_989));
    }

    #[test]
    fn a_restarted_clock_opens_a_record_and_goes_on_from_there() {
        let (records, counters) = group(&[100 * SECOND, 2 * SECOND, 2 * SECOND + 200_000_000], 0);
        let starts: Vec<u64> = records.iter().map(|r| r.0).collect();
        assert_eq!(starts, [100 * SECOND, 2 * SECOND, 2 * SECOND + 100_000_000, 2 * SECOND + 200_000_000]);
        assert_eq!((counters.clock_restarts, counters.backward_steps), (1, 1));
    }

    #[test]
    fn stragglers_do_not_write_empty_pulses_twice() {
        let late = SECOND + 10;
        let (records, counters) = group(&[SECOND, SECOND + 300_000_000, late, SECOND + 300_000_005], 0);
        assert_eq!(records.len(), 1 + 2 + 1 + 1 + 1);
        assert_eq!((counters.empty_pulses, counters.backward_steps, counters.clock_restarts), (2, 1, 0));
    }

    #[test]
    fn events_before_the_first_pulse_have_a_record_of_their_own() {
        let (records, counters) = group(&[SECOND - 20, SECOND - 19, SECOND], 0);
        assert_eq!(records, vec![(SECOND - 20, vec![0, 1]), (SECOND, vec![0])]);
        assert_eq!(counters.records_before_first_pulse, 1);
    }

    #[test]
    fn times_that_no_epoch_can_express_are_counted() {
        assert_eq!(group(&[5], -6).1.events_outside_epoch, 1);
        assert_eq!(group(&[u64::MAX], 0).1.events_outside_epoch, 1);
        assert_eq!(group(&[u64::MAX], i64::MAX).1.events_outside_epoch, 1);
    }

    proptest! {
        #[test]
        fn record_and_offset_give_the_time_back(times in proptest::collection::vec(0..1_u64 << 40, 1..200)) {
            let (records, counters) = group(&times, 1_000);
            let back: Vec<u64> = records.iter()
                .flat_map(|(start, offsets)| offsets.iter().map(move |&o| start + o as u64 - 1_000))
                .collect();
            prop_assert_eq!(back, times);
            prop_assert_eq!(counters.pulses as usize, records.len());
            let empty = records.iter().filter(|(_, offsets)| offsets.is_empty()).count();
            prop_assert_eq!(counters.empty_pulses as usize, empty);
        }
    }
}

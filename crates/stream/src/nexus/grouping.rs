//! From times on the detector's clock to pulses: which pulse record an event belongs to, and which records
//! have to be opened before it.
//!
//! A *pulse record* is one entry of `event_time_zero` and `event_index`.
//!
//! Where the readout tells the pulses, each gets one record, with or without events; one that is named again right
//! after itself goes on. An event counts from its own pulse; one that lies before it, or further behind it than 31
//! bits of nanoseconds, is not written and counted.
//!
//! Elsewhere the pulses are those of a train with a constant period. Events come in the order of their
//! time as long as the clock runs on; then every pulse gets one record, with or without events. Three things
//! can disturb that, and each is bounded and counted:
//! * the clock jumps ahead by more than the longest gap: no empty pulses are written for the gap;
//! * the clock jumps back (a readout was reset, or sources interleave): a record is opened at the earlier
//!   pulse, and empty pulses are only written for pulses that have had no record yet;
//! * an event lies before the first pulse of the train: it gets a record that begins at its own time.

use evforge_core::pulse::PulseTrain;

use super::counters::NexusCounters;

/// Assigns events to pulse records. Pure: no clocks, no I/O, and independent of how events come in batches.
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
    /// The pulse that the readout told last, until events without a pulse come.
    told: Option<ToldPulse>,
}

#[derive(Clone, Copy, Debug)]
struct ToldPulse {
    time: u64,
    /// Events in the file when it began; none if its time cannot be expressed, so that it has no record.
    events_before: Option<u64>,
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
    /// Nowhere: its time cannot be expressed in nanoseconds since the Unix epoch in `0..=i64::MAX`, or not from
    /// the pulse that the readout gave it.
    Nowhere,
}

impl PulseGrouping {
    pub(crate) fn new(train: PulseTrain, longest_gap: u64, anchor: i64) -> Self {
        Self { train, longest_gap, anchor, open: None, latest: None, told: None }
    }

    /// Begins the pulse at detector time `time`, or goes on with it if it is the open one; calls `record` with the
    /// start of its record in nanoseconds since the Unix epoch. All events belong to it until the next one begins.
    pub(crate) fn begin_told(&mut self, time: u64, counters: &mut NexusCounters, record: impl FnOnce(u64)) {
        if let Some(told) = self.told {
            if told.time == time {
                return;
            }
            if let Some(back) = told.time.checked_sub(time) {
                counters.backward_steps += 1;
                counters.clock_restarts += u64::from(back > self.longest_gap);
            }
        }
        self.end_told(counters);
        self.latest = None;
        // Where the latest event that the record can have can be expressed, all can.
        let latest_event = time.checked_add(i32::MAX as u64);
        let start =
            self.since_epoch(time).filter(|_| latest_event.is_some_and(|t| self.since_epoch(t).is_some()));
        let Some(start) = start else {
            counters.pulses_outside_epoch += 1;
            self.told = Some(ToldPulse { time, events_before: None });
            return;
        };
        self.told = Some(ToldPulse { time, events_before: Some(counters.events) });
        self.open = latest_event.map(|latest| OpenRecord { start: time, end: latest.saturating_add(1) });
        record(start);
        counters.pulses += 1;
        counters.pulses_told += 1;
    }

    /// Ends the pulse that the readout told last, if there is one: what follows belongs to no told pulse.
    pub(crate) fn end_told(&mut self, counters: &mut NexusCounters) {
        if let Some(told) = self.told.take() {
            counters.empty_pulses += u64::from(told.events_before == Some(counters.events));
            self.open = None;
        }
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
            // Records are at most a pulse or 31 bits of nanoseconds long, and a pulse fits into those.
            return Place::Offset((time - open.start) as i32);
        }
        self.open_record(time, counters, record)
    }

    #[cold]
    fn open_record(&mut self, time: u64, counters: &mut NexusCounters, mut record: impl FnMut(u64)) -> Place {
        match self.told {
            Some(ToldPulse { events_before: Some(_), .. }) => {
                counters.events_outside_pulse += 1;
                return Place::Nowhere;
            }
            Some(_) => {
                counters.events_outside_epoch += 1;
                return Place::Nowhere;
            }
            None => {}
        }
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

    /// Records with their events' offsets, as a file has them.
    type Records = Vec<(u64, Vec<i32>)>;

    /// Groups batches of pulses with their events' times as the writer does.
    fn group_told(batches: &[Vec<(u64, Vec<u64>)>], anchor: i64) -> (Records, NexusCounters) {
        let mut grouping = PulseGrouping::new(PulseTrain::ess(), 10 * SECOND, anchor);
        let mut counters = NexusCounters::default();
        let mut records = Records::new();
        for (pulse, times) in batches.iter().flatten() {
            grouping.begin_told(*pulse, &mut counters, |start| records.push((start, Vec::new())));
            for &time in times {
                let place = grouping.place(time, &mut counters, |_| panic!("a record of the train"));
                if let Place::Offset(offset) = place {
                    records.last_mut().unwrap().1.push(offset);
                    counters.events += 1;
                }
            }
        }
        grouping.end_told(&mut counters);
        (records, counters)
    }

    #[test]
    fn told_pulses_go_on_from_batch_to_batch_and_may_be_empty() {
        // The time of flight of the third event is several periods.
        let batches = [
            vec![(SECOND, vec![SECOND, SECOND + 5])],
            vec![(SECOND, vec![SECOND + 900_000_000]), (2 * SECOND, vec![]), (3 * SECOND, vec![])],
            vec![(3 * SECOND, vec![]), (4 * SECOND, vec![4 * SECOND])],
        ];
        let (records, counters) = group_told(&batches, 7);
        let expected = vec![
            (SECOND + 7, vec![0, 5, 900_000_000]),
            (2 * SECOND + 7, vec![]),
            (3 * SECOND + 7, vec![]),
            (4 * SECOND + 7, vec![0]),
        ];
        assert_eq!(records, expected);
        assert_eq!((counters.pulses, counters.pulses_told, counters.empty_pulses), (4, 4, 2));
        assert_eq!((counters.backward_steps, counters.gaps_not_filled), (0, 0));
    }

    #[test]
    fn told_pulses_that_go_back_are_counted() {
        let pulses = |starts: &[u64]| vec![starts.iter().map(|&start| (start, vec![start])).collect()];
        let (records, counters) =
            group_told(&pulses(&[100 * SECOND, 95 * SECOND, 2 * SECOND, 3 * SECOND]), 0);
        assert_eq!((records.len(), counters.backward_steps, counters.clock_restarts), (4, 2, 1));
    }

    #[test]
    fn events_that_do_not_fit_their_told_pulse_are_counted_and_left_out() {
        let last = SECOND + i32::MAX as u64;
        let batches = [vec![(SECOND, vec![SECOND - 1, SECOND, last, last + 1])]];
        let (records, counters) = group_told(&batches, 0);
        assert_eq!(records, [(SECOND, vec![0, i32::MAX])]);
        assert_eq!((counters.events_outside_pulse, counters.empty_pulses), (2, 0));
        for (pulse, anchor) in [(5, -6), (u64::MAX, 0), (i64::MAX as u64 - 10, 0), (1, i64::MAX)] {
            let (records, counters) = group_told(&[vec![(pulse, vec![pulse])]], anchor);
            assert!(records.is_empty(), "{pulse}");
            assert_eq!((counters.pulses_outside_epoch, counters.events_outside_epoch), (1, 1));
            assert_eq!((counters.pulses, counters.empty_pulses), (0, 0));
        }
    }

    #[test]
    fn events_without_a_pulse_after_told_pulses_are_grouped_by_the_train() {
        let mut grouping = PulseGrouping::new(PulseTrain::european_xfel(), 10 * SECOND, 0);
        let mut counters = NexusCounters::default();
        let mut starts = Vec::new();
        grouping.begin_told(SECOND + 7, &mut counters, |start| starts.push(start));
        grouping.end_told(&mut counters);
        let place = grouping.place(SECOND + 8, &mut counters, |start| starts.push(start));
        assert_eq!((place, &starts[..]), (Place::Offset(8), &[SECOND + 7, SECOND][..]));
        assert_eq!((counters.pulses, counters.pulses_told, counters.empty_pulses), (2, 1, 1));
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
        /// Pulses and events, cut into batches at any event or pulse, become records; the same come back.
        #[test]
        fn told_pulses_and_their_events_come_back(
            pulses in proptest::collection::vec(
                (1..SECOND, proptest::collection::vec(0..i32::MAX as u64, 0..5)), 1..40),
            cuts in proptest::collection::vec(any::<bool>(), 1..50),
            anchor in -1000..1000_i64,
        ) {
            let mut start = 1_600_000_000 * SECOND;
            let mut expected = Records::new();
            let mut batches = vec![Vec::new()];
            let mut cuts = cuts.iter().cycle();
            let mut cut = || *cuts.next().unwrap();
            for (after, offsets) in &pulses {
                start += after;
                let since_epoch = (start as i64 + anchor) as u64;
                expected.push((since_epoch, offsets.iter().map(|&offset| offset as i32).collect()));
                if cut() {
                    batches.push(Vec::new());
                }
                batches.last_mut().unwrap().push((start, Vec::new()));
                for offset in offsets {
                    if cut() {
                        batches.push(vec![(start, Vec::new())]);
                    }
                    batches.last_mut().unwrap().last_mut().unwrap().1.push(start + offset);
                }
            }
            let (records, counters) = group_told(&batches, anchor);
            prop_assert_eq!(counters.empty_pulses as usize, records.iter().filter(|r| r.1.is_empty()).count());
            prop_assert_eq!((counters.pulses, counters.pulses_told), (records.len() as u64, records.len() as u64));
            prop_assert_eq!(counters.events as usize, records.iter().map(|r| r.1.len()).sum::<usize>());
            prop_assert_eq!(records, expected);
            prop_assert_eq!((counters.backward_steps, counters.events_outside_pulse), (0, 0));
        }

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

//! From readings, once a second, to series: counters become rates.

use super::naming::{self, Growth};
use super::series::Point;
use super::store::Store;
use evforge_metrics::{Reading, Value};
use std::collections::HashMap;
use std::time::Instant;

/// A value stands for the seconds since the one before, if these are no more than this; then for its own second alone, and the
/// others are a gap.
pub(super) const LONGEST_STEP: u64 = 10;

/// Packets that have come, and those that are known to be lost.
const PACKETS: &str = "evforge_run_packets_total";
const LOST: &str = "evforge_loss_known_packets";

/// A sum at some time.
#[derive(Clone, Copy, Debug)]
struct Before {
    value: f64,
    at: Instant,
}

/// When somebody has told something for the last time.
#[derive(Clone, Copy, Debug)]
struct Told {
    at: Instant,
    second: u64,
}

/// Readings of one origin at one time.
#[derive(Debug)]
pub(super) struct Readings {
    /// Whose they are: 0 is the host, and the streams follow.
    pub(super) origin: usize,
    /// The name of the stream, if there are several.
    pub(super) stream: String,
    pub(super) at: Instant,
    pub(super) readings: Vec<Reading>,
}

/// Makes series of readings.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) store: Store,
    before: HashMap<usize, HashMap<String, Before>>,
    told: HashMap<usize, Told>,
    left_out: HashMap<usize, usize>,
    /// Values that there was no room for.
    pub(super) values_left_out: usize,
}

impl Recorder {
    /// Whether these readings are others than the newest of their origin.
    pub(super) fn is_new(&self, origin: usize, at: Instant) -> bool {
        self.told.get(&origin).is_none_or(|told| told.at < at)
    }

    /// Takes what was told in a second. What was told before is not taken again.
    pub(super) fn take(&mut self, second: u64, told: &Readings) {
        let Readings { origin, stream, at, readings } = told;
        if !self.is_new(*origin, *at) {
            return;
        }
        self.store.advance(second);
        let since = self.told.insert(*origin, Told { at: *at, second }).map(|told| told.second);
        let seconds = seconds_since(since, second);
        let before = self.before.entry(*origin).or_default();
        let mut sums = HashMap::with_capacity(before.len());
        let mut left_out = 0;
        for reading in readings.iter().filter(|reading| naming::is_kept(reading)) {
            let id = naming::id_of(reading, stream);
            let value = number(reading.value);
            let value = match naming::rate_of(reading) {
                None => Some(value),
                Some(growth) => {
                    // Of two sources of one name the first one counts, as in `/metrics`.
                    if sums.contains_key(&id) {
                        continue;
                    }
                    let rate = before.get(&id).and_then(|before| rate(*before, value, *at, growth));
                    sums.insert(id.clone(), Before { value, at: *at });
                    rate
                }
            };
            let Some(place) = self.store.place(&id, false, || naming::about(reading, stream)) else {
                left_out += 1;
                continue;
            };
            if let Some(point) = value.and_then(Point::of) {
                seconds.clone().for_each(|second| self.store.set(place, second, point));
            }
        }
        // What is not told any more is forgotten, too: names may come and go.
        *before = sums;
        self.left_out.insert(*origin, left_out);
    }

    /// Makes the place of a series that the view knows by itself.
    pub(super) fn announce(&mut self, own: &Reading) {
        self.store.place(&naming::id_of(own, ""), true, || naming::about(own, ""));
    }

    /// Takes a point of a series that the view knows by itself, with a spread, for the seconds after `before`.
    pub(super) fn take_own(&mut self, second: u64, before: u64, own: &Reading, point: Point) {
        self.store.advance(second);
        let id = naming::id_of(own, "");
        if let Some(place) = self.store.place(&id, true, || naming::about(own, "")) {
            seconds_since(Some(before), second).for_each(|second| self.store.set(place, second, point));
        }
    }

    /// Makes the share of the packets of a stream that arrived out of what was taken of it before.
    pub(super) fn take_live_fraction(&mut self, second: u64, stream: &str, own: &Reading) {
        let rate = |name: &str, second: u64| {
            let series = self.store.find(&naming::id_of_name(name, stream))?;
            series.second(second).map(|point| f64::from(point.mean))
        };
        let share = |second: u64| {
            let (received, lost) = (rate(PACKETS, second)?, rate(LOST, second)?.max(0.0));
            (received + lost > 0.0).then(|| received / (received + lost))
        };
        let oldest = (second + 1).saturating_sub(LONGEST_STEP).max(self.store.oldest_second());
        let shares: Vec<_> =
            (oldest..=second).filter_map(|second| Some((second, Point::of(share(second)?)?))).collect();
        let id = naming::id_of(own, stream);
        if let Some(place) = self.store.place(&id, false, || naming::about(own, stream)) {
            shares.into_iter().for_each(|(second, point)| self.store.set(place, second, point));
        }
    }

    /// Series that there was no room for, of what was told last.
    pub(super) fn left_out(&self) -> usize {
        self.left_out.values().sum::<usize>() + self.values_left_out
    }
}

/// The seconds that a value stands for which is the first one after that of second `since`.
pub(super) fn seconds_since(since: Option<u64>, second: u64) -> std::ops::RangeInclusive<u64> {
    let first = since.map_or(second, |since| since + 1).min(second);
    if second - first < LONGEST_STEP { first..=second } else { second..=second }
}

/// How fast a sum has grown. None if it has begun afresh.
fn rate(before: Before, value: f64, at: Instant, growth: Growth) -> Option<f64> {
    let seconds = at.saturating_duration_since(before.at).as_secs_f64();
    let is_afresh = growth == Growth::Only && value < before.value;
    (seconds > 0.0 && !is_afresh).then(|| (value - before.value) / seconds)
}

fn number(value: Value) -> f64 {
    match value {
        Value::Whole(value) => value as f64,
        Value::Real(value) => value,
        Value::Millionths(value) => value as f64 / 1e6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::counter::CounterSnapshot;
    use evforge_core::ledger::{DetectorLedger, SourceLedger};
    use evforge_core::run_state::{OutputCounters, OutputState, RunState};
    use evforge_core::sequence::SequenceTracker;
    use evforge_metrics::run_metrics;
    use std::time::Duration;

    const START: u64 = 1_700_000_000;

    evforge_core::counters! {
        /// A toy.
        struct Toy: "toy" {
            datagrams: Enters(Packets), Packets, "In.";
            used: Leaves(Packets), Packets, "Out.";
            too_short: Discarded(Packets), Packets, "Short.";
            neutrons: HandedOut, Events, "Out.";
            waiting: Now, Events, "Waiting.";
        }
    }

    fn state(toy: Toy, numbers: std::ops::Range<u64>, committed: u64) -> RunState {
        let mut tracker = SequenceTracker::new(32);
        numbers.filter(|number| number % 10 != 9).for_each(|number| {
            tracker.observe(number);
        });
        let ledger = DetectorLedger {
            sources: vec![SourceLedger::of_sequence("FEC 1".into(), &tracker)],
            counters: CounterSnapshot::of(&toy),
            ..DetectorLedger::default()
        };
        let counters = OutputCounters { committed, ..OutputCounters::default() };
        let output = OutputState { id: "csv".into(), counters, ..OutputState::default() };
        RunState { ledger, outputs: vec![output], ..RunState::default() }
    }

    fn tell(recorder: &mut Recorder, second: u64, at: Instant, state: &RunState) {
        let readings = Readings { origin: 1, stream: String::new(), at, readings: run_metrics(state) };
        recorder.take(START + second, &readings);
    }

    fn second(recorder: &Recorder, id: &str, second: u64) -> Option<f32> {
        let series =
            recorder.store.find(id).unwrap_or_else(|| panic!("there is no {id}: {:?}", recorder.store.all()));
        series.second(START + second).map(|point| point.mean)
    }

    #[test]
    fn counters_become_rates_and_what_there_is_stays() {
        let mut recorder = Recorder::default();
        let begin = Instant::now();
        let at = |second: u64| begin + Duration::from_secs(second);
        let toy = |datagrams, waiting| Toy {
            datagrams,
            used: datagrams,
            neutrons: 5 * datagrams,
            waiting,
            too_short: 0,
        };
        tell(&mut recorder, 0, at(0), &state(toy(100, 3), 0..100, 50));
        tell(&mut recorder, 1, at(1), &state(toy(140, 4), 0..140, 80));
        // The state of the next second comes late, and stands for it, too.
        tell(&mut recorder, 3, at(3), &state(toy(340, 5), 0..340, 100));
        let rates = |id: &str| (0..4).map(|at| second(&recorder, id, at)).collect::<Vec<_>>();
        let all = |values: [f32; 3]| [None, Some(values[0]), Some(values[1]), Some(values[2])].to_vec();
        assert_eq!(rates("evforge_run_packets_total"), all([40.0, 100.0, 100.0]));
        assert_eq!(rates("evforge_run_events_total"), all([200.0, 500.0, 500.0]));
        assert_eq!(rates("evforge_output_committed_events_total{output=\"csv\"}"), all([30.0, 10.0, 10.0]));
        assert_eq!(rates("evforge_source_received_packets_total{source=\"FEC 1\"}"), all([36.0, 90.0, 90.0]));
        assert_eq!(rates("evforge_source_lost_packets{source=\"FEC 1\"}"), all([4.0, 10.0, 10.0]));
        assert_eq!(rates("evforge_loss_known_packets"), all([4.0, 10.0, 10.0]));
        let gauge: Vec<_> =
            (0..4).map(|at| second(&recorder, "evforge_detector_waiting_events", at)).collect();
        assert_eq!(gauge, [Some(3.0), Some(4.0), Some(5.0), Some(5.0)]);
        assert_eq!(recorder.left_out(), 0);
    }

    #[test]
    fn a_silence_is_a_gap_and_a_run_that_begins_afresh_has_no_rate() {
        let mut recorder = Recorder::default();
        let begin = Instant::now();
        let at = |second: u64| begin + Duration::from_secs(second);
        let toy = |datagrams| Toy { datagrams, ..Toy::default() };
        tell(&mut recorder, 0, at(0), &state(toy(100), 0..1, 0));
        // The same state again is no news.
        tell(&mut recorder, 1, at(0), &state(toy(900), 0..1, 0));
        tell(&mut recorder, 30, at(30), &state(toy(400), 0..1, 0));
        tell(&mut recorder, 31, at(31), &state(toy(7), 0..1, 0));
        tell(&mut recorder, 32, at(32), &state(toy(9), 0..1, 0));
        let rate = |at| second(&recorder, "evforge_run_packets_total", at);
        assert_eq!([1, 2, 15, 29].map(rate), [None; 4]);
        assert_eq!([30, 31, 32].map(rate), [Some(10.0), None, Some(2.0)]);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut recorder = Recorder::default();
        let source = |number: usize| {
            let mut tracker = SequenceTracker::new(32);
            tracker.observe(1);
            SourceLedger::of_sequence(format!("{number}"), &tracker)
        };
        let ledger = DetectorLedger { sources: (0..500).map(source).collect(), ..DetectorLedger::default() };
        tell(&mut recorder, 0, Instant::now(), &RunState { ledger, ..RunState::default() });
        // 500 sources have two series each, of which 800 find room.
        assert_eq!(recorder.left_out(), 200);
    }
}

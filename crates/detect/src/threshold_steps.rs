//! Thresholds that change with time: which value holds for a readout.
//!
//! A table of channels has the thresholds that hold for all readouts that may still come: looking one up costs what it costs
//! without changes. Changes whose time some readouts have not come to *wait* here, sorted by time. As long as any waits,
//! every readout is looked up by its time ([`ThresholdSteps::at`]). Once no source can send a readout from before a
//! change, the change is *settled*: it is written into the table ([`ThresholdSteps::settle`]).
//!
//! The time of a readout is that of [`SourceClock::place_of_readout`](crate::source_clock::SourceClock::place_of_readout),
//! so that what it is compared with is a matter of its own source alone.

use crate::earliest::NEVER;
use crate::watermark::DataTime;
use evforge_core::change::{Change, ChangeRefusal, ChangeTime, MOST_CHANGES, Parameter, find_parameter};
use std::sync::Arc;

/// A threshold of the settings, which many channels can share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThresholdSetting {
    /// Its key in the detector's section.
    pub key: Arc<str>,
    /// Its value in the configuration.
    pub value: u16,
    /// Its largest value.
    pub largest: u16,
}

impl ThresholdSetting {
    /// The threshold called `key`.
    pub fn new(key: impl Into<Arc<str>>, value: u16, largest: u16) -> Self {
        Self { key: key.into(), value, largest }
    }
}

/// The number of the [`ThresholdSetting`] that a channel has.
pub type ThresholdClass = u16;

/// Values of the thresholds of a detector over time.
#[derive(Debug, get_size2::GetSize)]
pub struct ThresholdSteps {
    parameters: Vec<Parameter>,
    /// What waits, of each parameter, in order of time.
    waiting: Vec<Vec<(DataTime, u16)>>,
    /// The watermark at which the first change of all is settled.
    settles_at: DataTime,
    /// How far before its front a source's readouts may be.
    reach: u64,
    /// The latest readout of a source that had no front.
    without_front: Option<DataTime>,
    taken: usize,
}

impl ThresholdSteps {
    /// These thresholds. A source's readouts are believed if they are up to `reach` ticks before
    /// its front: `sorting.restart`.
    pub fn new(settings: &[ThresholdSetting], reach: u64) -> Self {
        let parameter = |setting: &ThresholdSetting| Parameter {
            key: Arc::clone(&setting.key),
            value: setting.value.into(),
            largest: setting.largest.into(),
            unit: "ADC counts",
            help: "Least amplitude of a readout.",
        };
        Self {
            parameters: settings.iter().map(parameter).collect(),
            waiting: vec![Vec::new(); settings.len()],
            settles_at: NEVER,
            reach,
            without_front: None,
            taken: 0,
        }
    }

    /// The parameters with the values that hold from the last change on.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Whether readouts have to be looked up by their time.
    #[inline]
    pub fn are_waiting(&self) -> bool {
        self.settles_at != NEVER
    }

    /// The threshold of a readout at `time`, of a channel of this class with this threshold in the table.
    #[inline]
    pub fn at(&self, class: ThresholdClass, settled: u16, time: DataTime) -> u16 {
        let Some(steps) = self.waiting.get(usize::from(class)) else { return settled };
        let passed = steps.partition_point(|&(at, _)| at <= time);
        passed.checked_sub(1).and_then(|last| steps.get(last)).map_or(settled, |&(_, value)| value)
    }

    /// Takes note of a readout whose source has no front: a change may only be later.
    #[inline]
    pub fn note_without_front(&mut self, time: DataTime) {
        self.without_front = self.without_front.max(Some(time));
    }

    /// Whether the watermark has come so far that changes can be settled.
    #[inline]
    pub fn settle_at(&self, watermark: DataTime) -> bool {
        watermark >= self.settles_at
    }

    /// Settles the changes that no readout from before can follow any more: `set` writes the value of a class into the table.
    #[cold]
    pub fn settle(&mut self, watermark: DataTime, mut set: impl FnMut(ThresholdClass, u16)) {
        let reach = self.reach;
        for (class, steps) in (0..).zip(&mut self.waiting) {
            let settled = steps.partition_point(|&(at, _)| settles_at(at, reach) <= watermark);
            if let Some((_, value)) = steps.drain(..settled).next_back() {
                set(class, value);
            }
        }
        self.find_next();
    }

    fn find_next(&mut self) {
        let first = self.waiting.iter().filter_map(|steps| steps.first()).map(|&(at, _)| at).min();
        self.settles_at = first.map_or(NEVER, |at| settles_at(at, self.reach));
    }

    /// The earliest time of a change, if no readout with a front lies later than `latest`. `nanoseconds` converts ticks.
    pub fn earliest(&self, latest: Option<DataTime>, nanoseconds: impl Fn(u64) -> u64) -> Option<ChangeTime> {
        let (restarts, ticks) = latest.max(self.without_front)?;
        Some(ChangeTime { restarts, time_ns: nanoseconds(ticks).saturating_add(1) })
    }

    /// Takes a change; `earliest` is that of [`ThresholdSteps::earliest`].
    ///
    /// # Errors
    /// Why not.
    pub fn change(
        &mut self,
        change: &Change,
        earliest: Option<ChangeTime>,
        nanoseconds: impl Fn(u64) -> u64,
    ) -> Result<(), ChangeRefusal> {
        let class = find_parameter(&self.parameters, &change.key, change.value)?;
        if let Some(earliest) = earliest.filter(|&earliest| change.at < earliest) {
            return Err(ChangeRefusal::TooEarly { at: change.at, earliest });
        }
        if self.taken == MOST_CHANGES {
            return Err(ChangeRefusal::TooMany);
        }
        self.taken += 1;
        let at = (change.at.restarts, first_tick_of(change.at.time_ns, nanoseconds));
        let (steps, parameter) = (&mut self.waiting[class], &mut self.parameters[class]);
        let place = steps.partition_point(|&(other, _)| other <= at);
        // The value fits: it is at most the largest of 16 bits.
        steps.insert(place, (at, change.value as u16));
        if let Some(&(_, value)) = steps.last() {
            parameter.value = value.into();
        }
        self.find_next();
        Ok(())
    }
}

fn settles_at((restarts, ticks): DataTime, reach: u64) -> DataTime {
    (restarts, ticks.saturating_add(reach))
}

/// The first tick that is at `time_ns` or later. `nanoseconds` never falls.
fn first_tick_of(time_ns: u64, nanoseconds: impl Fn(u64) -> u64) -> u64 {
    // No time of the readout is later than this.
    let (mut before, mut from) = (0, 1_u64 << 63);
    while before < from {
        let middle = before + (from - before) / 2;
        if nanoseconds(middle) < time_ns {
            before = middle + 1;
        } else {
            from = middle;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::TickLength;
    use proptest::prelude::*;

    fn steps() -> ThresholdSteps {
        let settings = [ThresholdSetting::new("x", 10, 1023), ThresholdSetting::new("y", 20, 1023)];
        ThresholdSteps::new(&settings, 100)
    }

    fn change(key: &str, at: u64, value: u64) -> Change {
        Change { at: ChangeTime { restarts: 0, time_ns: at }, key: key.into(), value }
    }

    #[test]
    fn a_change_holds_from_its_time_on_for_its_parameter_alone() {
        let mut steps = steps();
        assert!(!steps.are_waiting());
        for (at, value) in [(500, 50), (300, 30), (300, 31)] {
            steps.change(&change("x", at, value), None, |ticks| ticks).unwrap();
        }
        let x = |time| steps.at(0, 10, (0, time));
        assert_eq!([0, 299, 300, 499, 500, 9999].map(x), [10, 10, 31, 31, 50, 50]);
        assert_eq!((steps.at(1, 20, (0, 400)), steps.at(0, 10, (1, 0))), (20, 50));
        assert_eq!(steps.parameters().iter().map(|parameter| parameter.value).collect::<Vec<_>>(), [50, 20]);
    }

    #[test]
    fn what_no_readout_can_precede_is_settled() {
        let mut steps = steps();
        for (key, at, value) in [("x", 300, 30), ("x", 310, 31), ("y", 305, 40), ("x", 900, 90)] {
            steps.change(&change(key, at, value), None, |ticks| ticks).unwrap();
        }
        assert!(!steps.settle_at((0, 399)) && steps.settle_at((0, 400)) && steps.settle_at((1, 0)));
        let mut set = Vec::new();
        steps.settle((0, 410), |class, value| set.push((class, value)));
        assert_eq!((set, steps.are_waiting()), (vec![(0, 31), (1, 40)], true));
        assert_eq!((steps.at(0, 31, (0, 899)), steps.at(0, 31, (0, 900))), (31, 90));
        steps.settle((1, 0), |class, value| assert_eq!((class, value), (0, 90)));
        assert!(!steps.are_waiting() && !steps.settle_at((u32::MAX, 0)));
    }

    #[test]
    fn refusals_say_what_is_possible() {
        let mut steps = steps();
        let refused = |steps: &mut ThresholdSteps, wanted: &Change, earliest| {
            steps.change(wanted, earliest, |ticks| ticks).unwrap_err().to_string()
        };
        let unknown = refused(&mut steps, &change("z", 0, 0), None);
        assert!(unknown.contains("these can: x, y"), "{unknown}");
        let large = refused(&mut steps, &change("x", 0, 1024), None);
        assert!(large.contains("expected 0 to 1023 ADC counts"), "{large}");
        steps.note_without_front((0, 700));
        let earliest = steps.earliest(Some((0, 600)), |ticks| ticks);
        let early = refused(&mut steps, &change("x", 700, 5), earliest);
        assert!(early.ends_with("The earliest time is 701 ns"), "{early}");
        assert!(!steps.are_waiting(), "nothing of it has been taken");
        steps.change(&change("x", 701, 5), earliest, |ticks| ticks).unwrap();
        steps.taken = MOST_CHANGES;
        assert_eq!(steps.change(&change("x", 702, 5), earliest, |ticks| ticks), Err(ChangeRefusal::TooMany));
    }

    proptest! {
        /// A readout is at the time of a change if, and only if, its time in nanoseconds is.
        #[test]
        fn the_first_tick_of_a_time_is_exact(time_ns in 0..1_u64 << 61, nanoseconds in 1..1000_u64, ticks in 1..1000_u64) {
            let length = TickLength::ratio(nanoseconds, ticks);
            let first = first_tick_of(time_ns, |ticks| length.nanoseconds(ticks));
            if first < 1 << 63 {
                prop_assert!(length.nanoseconds(first) >= time_ns);
            }
            if let Some(before) = first.checked_sub(1) {
                prop_assert!(length.nanoseconds(before) < time_ns);
            }
        }
    }
}

//! Which step fits a question, and the points of that step.

use super::series::Point;
use super::series::Series;
use super::store::Store;

/// Steps in seconds, each a multiple of those before that matter: points stay where they are while time goes on.
const STEPS: [u64; 21] =
    [1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400];
/// A step that holds everything, so that two points are enough for any question.
const LONGEST: u64 = 4 * 86_400;

/// Points of one step that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    /// Seconds of a point.
    pub(super) step: u64,
    /// Number of the first point: its time is this many steps after the epoch.
    pub(super) first: u64,
    /// Number of the last point.
    pub(super) last: u64,
}

impl Store {
    /// The finest step of which at most `points` (2 or more) cover the seconds from `from` up to `to`, as far as they are kept.
    /// Points are whole steps, and may begin earlier and end later. None if nothing of it is kept.
    pub(super) fn select(&self, from: u64, to: u64, points: u64) -> Option<Selection> {
        let (first, newest) = self.span?;
        let (from, to) = (from.max(first).max(self.oldest_minute() * 60), to.min(newest + 1));
        if from >= to {
            return None;
        }
        let fits = |step: u64| {
            let selection = Selection { step, first: from / step, last: (to - 1) / step };
            (selection.last.saturating_sub(selection.first) < points).then_some(selection)
        };
        let has_seconds = from >= self.oldest_second();
        let steps = STEPS.into_iter().filter(|&step| step >= 60 || has_seconds);
        steps.chain([LONGEST]).find_map(fits)
    }

    /// The points of a series that are there, each with the time at which it begins, in seconds.
    pub(super) fn points<'a>(
        &'a self,
        series: &'a Series,
        selection: Selection,
    ) -> impl Iterator<Item = (u64, Point)> + 'a {
        let Selection { step, first, last } = selection;
        let newest = self.span.map_or(0, |(_, newest)| newest);
        let seconds = (self.oldest_second(), newest + 1);
        let minutes = (self.oldest_minute(), newest / 60 + 1);
        (first..=last).filter_map(move |number| {
            let begin = number * step;
            let within = |(oldest, end): (u64, u64), per: u64| {
                (begin / per).max(oldest)..((begin + step) / per).min(end)
            };
            let point = if step < 60 {
                Point::merge(within(seconds, 1).filter_map(|second| series.second(second)))
            } else {
                Point::merge(within(minutes, 60).filter_map(|minute| series.minute(minute)))
            };
            Some((begin, point?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::tests::about;
    use super::*;
    use evforge_testkit::properties::cases;
    use proptest::prelude::*;

    /// A series with a value in each second that is told, and a spike.
    fn filled(start: u64, seconds: u64, spike: u64, is_told: impl Fn(u64) -> bool) -> Store {
        let mut store = Store::default();
        store.advance(start);
        let place = store.place("a", false, || about("run", 0)).unwrap();
        for second in start..start + seconds {
            store.advance(second);
            let value = if second == spike { 1e6 } else { 10.0 + (second % 5) as f64 };
            if is_told(second) || second == spike {
                store.set(place, second, Point::of(value).unwrap());
            }
        }
        store
    }

    fn points(store: &Store, selection: Selection) -> Vec<(u64, Point)> {
        store.points(store.find("a").unwrap(), selection).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(24)))]

        #[test]
        fn a_spike_of_one_second_is_visible_at_every_zoom(
            start in 1_000_000_u64..1_010_000,
            length in 1_u64..12_000,
            spike in 0.0..1.0_f64,
            before in 0_u64..20_000,
            after in 0_u64..20_000,
            wanted in 2_u64..700,
        ) {
            let spike = start + (spike * (length - 1) as f64) as u64;
            let store = filled(start, length, spike, |_| true);
            let selection = store.select(spike.saturating_sub(before), spike + 1 + after, wanted).unwrap();
            prop_assert!(selection.last - selection.first < wanted, "{:?}", selection);
            let points = points(&store, selection);
            let holding = points.iter().find(|(begin, _)| (*begin..begin + selection.step).contains(&spike));
            let (_, peak) = holding.expect("the spike has a point");
            prop_assert_eq!(peak.max, 1e6, "{:?}", selection);
            prop_assert!(peak.min <= peak.mean && peak.mean <= peak.max);
            // The others know nothing of it.
            prop_assert_eq!(points.iter().filter(|(_, point)| point.max > 20.0).count(), 1);
            // No finer step would have done.
            let finer = STEPS.into_iter().rev().find(|&step| step < selection.step);
            if let Some(finer) = finer.filter(|&finer| finer >= 60) {
                let (from, to) = (spike.saturating_sub(before).max(start), (spike + 1 + after).min(start + length));
                prop_assert!((to - 1) / finer - from / finer >= wanted, "{} would fit", finer);
            }
        }

        #[test]
        fn a_point_is_there_exactly_where_something_was_told(
            start in 1_000_000_u64..1_010_000,
            length in 2_u64..3000,
            told in prop::collection::vec(any::<bool>(), 40),
            wanted in 2_u64..400,
        ) {
            let is_told = |second: u64| told[(second / 37 % 40) as usize];
            let store = filled(start, length, start, is_told);
            let selection = store.select(start, start + length, wanted).unwrap();
            let found: Vec<u64> = points(&store, selection).iter().map(|(begin, _)| *begin).collect();
            let expected: Vec<u64> = (selection.first..=selection.last)
                .map(|number| number * selection.step)
                .filter(|begin| {
                    let mut seconds = (*begin).max(start)..(begin + selection.step).min(start + length);
                    seconds.any(|second| is_told(second) || second == start)
                })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn an_hour_is_in_seconds_and_two_days_are_in_minutes() {
        let start = 3600 * 500_000;
        let store = filled(start, 3 * 3600, start, |_| true);
        let now = start + 3 * 3600;
        let step = |back: u64, points| store.select(now - back, now, points).map(|selection| selection.step);
        assert_eq!((step(60, 600), step(3600, 3600), step(3600 + 30, 3700)), (Some(1), Some(1), Some(60)));
        assert_eq!((step(600, 300), step(3600, 600), step(7200, 3600)), (Some(2), Some(10), Some(60)));
        // What is asked for beyond the beginning costs no points.
        assert_eq!(step(48 * 3600, 200), Some(60));
        assert_eq!(step(48 * 3600, 2), Some(7200));
        assert_eq!(store.select(now, now + 50, 600), None);
        assert_eq!(store.select(0, start, 600), None);
    }
}

//! All series of a run, and how many there may be.

use super::series::Point;
use super::series::{About, MINUTES, SECONDS, Series};
use std::collections::HashMap;

/// Most series.
pub(super) const MOST: usize = 1200;
/// Memory that all of them take at most, in bytes.
pub(crate) const MOST_BYTES: usize = 64_000_000;
/// Most of them that are of sources of packets: a detector may have hundreds, and the others matter more.
const MOST_OF_SOURCES: usize = 800;
/// The group of values of logs.
pub(super) const VALUES: &str = "value";
/// Most of them that are values of logs.
pub(super) const MOST_OF_VALUES: usize = 256;
/// Most of the others of which several values a second are taken.
const MOST_WITH_SPREAD: usize = 16;

/// The series, by what they are called: name and labels.
#[derive(Debug, Default)]
pub(super) struct Store {
    places: HashMap<String, usize>,
    series: Vec<Series>,
    of_sources: usize,
    of_values: usize,
    with_spread: usize,
    /// The first and the newest second, since the Unix epoch.
    pub(super) span: Option<(u64, u64)>,
}

impl Store {
    /// Goes on to a second, of which nothing is known yet. Seconds that are left out are gaps. What is not later changes nothing.
    pub(super) fn advance(&mut self, second: u64) {
        let Some((_, newest)) = &mut self.span else {
            self.span = Some((second, second));
            return;
        };
        if second > *newest {
            self.series.iter_mut().for_each(|series| series.advance(*newest, second));
            *newest = second;
        }
    }

    /// The place of a series; it is made if there is room for it, of what `about` says then.
    pub(super) fn place(&mut self, id: &str, spread: bool, about: impl FnOnce() -> About) -> Option<usize> {
        if let Some(&place) = self.places.get(id) {
            return Some(place);
        }
        // A value takes more memory than the others, and the place of two.
        if self.series.len() + self.of_values >= MOST {
            return None;
        }
        let about = about();
        let is_value = about.group == VALUES;
        let is_beyond = if is_value {
            self.of_values >= MOST_OF_VALUES || self.series.len() + self.of_values + 2 > MOST
        } else {
            spread && self.with_spread >= MOST_WITH_SPREAD
        };
        if is_beyond {
            return None;
        }
        let is_of_source = about.group == "source";
        if is_of_source && self.of_sources >= MOST_OF_SOURCES {
            return None;
        }
        self.of_sources += usize::from(is_of_source);
        self.of_values += usize::from(is_value);
        self.with_spread += usize::from(spread && !is_value);
        self.places.insert(id.to_owned(), self.series.len());
        self.series.push(Series::new(about, spread));
        Some(self.series.len() - 1)
    }

    /// Takes what a series was in a second. One that is not kept any more, or not come yet, is not taken.
    pub(super) fn set(&mut self, place: usize, second: u64, point: Point) {
        let Some((_, newest)) = self.span else { return };
        if (self.oldest_second()..=newest).contains(&second)
            && let Some(series) = self.series.get_mut(place)
        {
            series.set(second, point, newest);
        }
    }

    /// The oldest second that is kept as such.
    pub(super) fn oldest_second(&self) -> u64 {
        self.span.map_or(0, |(first, newest)| first.max((newest + 1).saturating_sub(SECONDS)))
    }

    /// The oldest minute that is kept.
    pub(super) fn oldest_minute(&self) -> u64 {
        self.span.map_or(0, |(first, newest)| (first / 60).max((newest / 60 + 1).saturating_sub(MINUTES)))
    }

    /// A series by its name and labels, or by its name if no other one has it.
    pub(super) fn find(&self, id: &str) -> Option<&Series> {
        if let Some(&place) = self.places.get(id) {
            return self.series.get(place);
        }
        let mut named = self.series.iter().filter(|series| series.about.name == id);
        named.next().filter(|_| named.next().is_none())
    }

    /// All of them, with what they are called, in the order in which they came.
    pub(super) fn all(&self) -> Vec<(&str, &About)> {
        let mut all: Vec<(&str, usize)> =
            self.places.iter().map(|(id, &place)| (id.as_str(), place)).collect();
        all.sort_unstable_by_key(|(_, place)| *place);
        all.into_iter().filter_map(|(id, place)| Some((id, &self.series.get(place)?.about))).collect()
    }

    /// Memory that they take.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let places: usize = self.places.keys().map(String::capacity).sum();
        // A table of the standard library has a byte for each place, and at most twice as many places as it needs.
        let table = self.places.capacity() * 2 * (size_of::<(String, usize)>() + 1);
        let series: usize = self.series.iter().map(Series::bytes).sum();
        places + table + self.series.capacity() * size_of::<Series>() + series
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn about(group: &'static str, number: usize) -> About {
        About {
            name: format!("evforge_{group}_packets_lost_in_some_queue_of_the_kernel_total_{number}"),
            labels: vec![("source", format!("a source with a long name, such as {number}"))],
            title: format!(
                "packets lost in some queue of the kernel, of the source with the number {number}"
            ),
            unit: "packets/s".into(),
            is_rate: true,
            group: group.into(),
            help: "Packets.".into(),
        }
    }

    #[test]
    fn more_than_a_thousand_series_take_less_than_64_mb_whatever_they_do() {
        let mut store = Store::default();
        let start = 1_700_000_000 / 3600 * 3600;
        store.advance(start);
        let spread = |number| number < MOST_WITH_SPREAD;
        for number in 0..MOST + 50 {
            let id = about("stage", number).name;
            assert_eq!(store.place(&id, spread(number), || about("stage", number)).is_some(), number < MOST);
        }
        // Two values in each piece of every column: none can be folded.
        let mut write = |second: u64| {
            store.advance(second);
            for place in 0..MOST {
                let mean = (second % 7919) as f32 + place as f32;
                store.set(place, second, Point { min: mean - 1.0, mean, max: mean + 2.5 });
            }
        };
        for hour in 0..50 {
            write(start + hour * 3600 + 60);
            write(start + hour * 3600 + 1800);
        }
        (0..=60).for_each(|minute| write(start + 50 * 3600 + minute * 60));
        let bytes = store.bytes();
        assert!(bytes < MOST_BYTES, "{bytes}");
        // Everything is there: 1 200 series cannot take less than their values, which are four bytes each.
        assert!(bytes > MOST * (SECONDS + 3 * MINUTES) as usize * 4, "{bytes}: the columns are not full");
    }

    #[test]
    fn sources_leave_room_for_the_others() {
        let mut store = Store::default();
        store.advance(5);
        let kept = |store: &mut Store, group, number: usize| {
            store.place(&format!("{group} {number}"), false, || about(group, number)).is_some()
        };
        let sources = (0..2000).filter(|&number| kept(&mut store, "source", number)).count();
        let others = (0..2000).filter(|&number| kept(&mut store, "output", number)).count();
        assert_eq!((sources, others), (MOST_OF_SOURCES, MOST - MOST_OF_SOURCES));
        assert!(kept(&mut store, "source", 7), "those that are there stay");
    }

    #[test]
    fn a_minute_has_the_peak_of_its_seconds_and_a_gap_is_no_zero() {
        let mut store = Store::default();
        let start = 120_000;
        store.advance(start);
        let place = store.place("a", false, || about("run", 0)).unwrap();
        for second in start..start + 300 {
            store.advance(second);
            let value = if second == start + 70 { 900.0 } else { 3.0 };
            // Nothing is told in the third minute.
            if !(120..180).contains(&(second - start)) {
                store.set(place, second, Point::of(value).unwrap());
            }
        }
        let series = store.find("a").unwrap();
        let minute = |number: u64| series.minute(start / 60 + number);
        assert_eq!(minute(0), Point::of(3.0));
        let peak = minute(1).unwrap();
        assert_eq!((peak.min, peak.max), (3.0, 900.0));
        assert!((peak.mean - (59.0 * 3.0 + 900.0) / 60.0).abs() < 1e-3, "{peak:?}");
        assert_eq!((minute(2), series.second(start + 130)), (None, None));
        assert_eq!(minute(3), Point::of(3.0));
        // What came an hour ago has no place among the seconds, but still has one among the minutes.
        store.advance(start + 3600 + 75);
        let series = store.find("a").unwrap();
        assert_eq!((series.second(start + 3600 + 70), series.minute(start / 60 + 1)), (None, Some(peak)));
        // After two days it is gone.
        store.advance(start + 49 * 3600);
        assert_eq!(store.find("a").unwrap().minute(start / 60 + 1 + MINUTES), None);
    }
}

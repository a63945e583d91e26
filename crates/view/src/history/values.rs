//! Values of logs as series: what each was in a second.

use super::kept::VALUE;
use super::naming;
use super::recorder::{Recorder, seconds_since};
use super::series::About;
use super::series::Point;
use super::store::VALUES;
use evforge_metrics::{Reading, Value};

/// What a value was since the one before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValuePoint {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// True for a sum: its values are how fast it grows.
    pub(crate) is_rate: bool,
    /// Minimum, mean and maximum; none where nothing is known.
    pub(crate) spread: Option<[f64; 3]>,
}

fn reading(name: &str) -> Reading {
    Reading::of(&VALUE, &[name], Value::Whole(0))
}

/// What the series of a value is asked for by.
pub(crate) fn value_id(name: &str) -> String {
    naming::id_of(&reading(name), "")
}

impl ValuePoint {
    fn about(&self) -> About {
        let unit = match (self.is_rate, self.unit.as_str()) {
            (true, "") => "1/s".to_owned(),
            (true, unit) => format!("{unit}/s"),
            (false, unit) => unit.to_owned(),
        };
        let about = naming::about(&reading(&self.name), "");
        About { title: self.name.clone(), unit, is_rate: self.is_rate, group: VALUES.into(), ..about }
    }

    fn point(&self) -> Option<Point> {
        let [min, mean, max] = self.spread?.map(Point::of);
        let (min, mean, max) = (min?.mean, mean?.mean, max?.mean);
        (min <= max).then(|| Point { min, mean: mean.clamp(min, max), max })
    }
}

impl Recorder {
    /// Takes what values were in the seconds after `before`, and counts those that there is no room for.
    pub(super) fn take_values(&mut self, second: u64, before: u64, points: &[ValuePoint]) {
        if points.is_empty() {
            return;
        }
        self.store.advance(second);
        let mut left_out = 0;
        for value in points {
            let place = self.store.place(&value_id(&value.name), true, || value.about());
            let Some(place) = place else {
                left_out += 1;
                continue;
            };
            if let Some(point) = value.point() {
                seconds_since(Some(before), second).for_each(|second| self.store.set(place, second, point));
            }
        }
        self.values_left_out = left_out;
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::MOST_OF_VALUES;
    use super::*;

    fn value(name: String, spread: [f64; 3]) -> ValuePoint {
        ValuePoint { name, unit: "K".into(), is_rate: false, spread: Some(spread) }
    }

    #[test]
    fn a_value_is_a_series_with_the_peaks_of_its_seconds() {
        let mut recorder = Recorder::default();
        let hot = value("a \"b\"".into(), [1.0, 2.0, 9.0]);
        recorder.take_values(100, 99, std::slice::from_ref(&hot));
        let series = recorder.store.find(&value_id("a \"b\"")).unwrap();
        let point = series.second(100).unwrap();
        assert_eq!((point.min, point.mean, point.max), (1.0, 2.0, 9.0));
        assert_eq!((series.about.title.as_str(), series.about.unit.as_str()), ("a \"b\"", "K"));
        // What is no number, or too large for a series, is a gap.
        recorder.take_values(101, 100, &[value("a \"b\"".into(), [0.0, f64::NAN, 1.0])]);
        recorder.take_values(102, 101, &[value("a \"b\"".into(), [1e300; 3])]);
        let series = recorder.store.find(&value_id("a \"b\"")).unwrap();
        assert_eq!((series.second(101), series.second(102)), (None, None));
    }

    #[test]
    fn values_have_a_budget_and_what_is_beyond_is_counted() {
        let mut recorder = Recorder::default();
        let all: Vec<_> = (0..MOST_OF_VALUES + 9).map(|number| value(number.to_string(), [1.0; 3])).collect();
        recorder.take_values(100, 99, &all);
        assert_eq!((recorder.store.all().len(), recorder.left_out()), (MOST_OF_VALUES, 9));
    }
}

//! One series: seconds for an hour, minutes for two days.

use super::column::Column;
use std::borrow::Cow;

/// Seconds that are kept.
pub(super) const SECONDS: u64 = 3600;
/// Minutes that are kept.
pub(super) const MINUTES: u64 = 48 * 60;

/// What is told of a series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct About {
    /// The name in `/metrics`, and the labels as there.
    pub(super) name: String,
    pub(super) labels: Vec<(&'static str, String)>,
    /// What people read.
    pub(super) title: String,
    pub(super) unit: String,
    /// Whether it is how fast a counter grows.
    pub(super) is_rate: bool,
    pub(super) group: Cow<'static, str>,
    pub(super) help: Cow<'static, str>,
}

/// A series. What was not told is a gap.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) about: About,
    seconds: Column,
    /// The smallest and the largest values of a second, where it has several.
    spread: Option<Box<[Column; 2]>>,
    minutes: [Column; 3],
}

impl Series {
    /// With `spread`, seconds have a spread.
    pub(super) fn new(about: About, spread: bool) -> Self {
        let (seconds, minutes) = (Column::new(SECONDS as usize), Column::new(MINUTES as usize));
        Self {
            about,
            spread: spread.then(|| Box::new([seconds.clone(), seconds.clone()])),
            seconds,
            minutes: [minutes.clone(), minutes.clone(), minutes],
        }
    }

    /// Goes on from the newest second to a later one, of which nothing is known yet.
    pub(super) fn advance(&mut self, newest: u64, later: u64) {
        self.seconds.advance(newest, later);
        self.spread
            .iter_mut()
            .flat_map(|spread| spread.iter_mut())
            .for_each(|column| column.advance(newest, later));
        let (newest, later) = (newest / 60, later / 60);
        if later > newest {
            self.minutes.iter_mut().for_each(|column| column.advance(newest, later));
        }
    }

    /// Takes what it was in a second that is kept; `newest` is the newest of all.
    pub(super) fn set(&mut self, second: u64, point: Point, newest: u64) {
        self.seconds.set(second, point.mean);
        if let Some(spread) = &mut self.spread {
            spread[0].set(second, point.min);
            spread[1].set(second, point.max);
        }
        // A minute is made of its seconds, which are all there.
        let minute = second / 60;
        let seconds = minute * 60..=(minute * 60 + 59).min(newest);
        if let Some(point) = Point::merge(seconds.filter_map(|second| self.second(second))) {
            let values = [point.min, point.mean, point.max];
            self.minutes.iter_mut().zip(values).for_each(|(column, value)| column.set(minute, value));
        }
    }

    /// What it was in a second that is kept.
    pub(super) fn second(&self, second: u64) -> Option<Point> {
        let mean = self.seconds.get(second);
        let [min, max] =
            self.spread.as_ref().map_or([mean; 2], |spread| [spread[0].get(second), spread[1].get(second)]);
        (!mean.is_nan()).then_some(Point { min, mean, max })
    }

    /// What it was in a minute that is kept.
    pub(super) fn minute(&self, minute: u64) -> Option<Point> {
        let [min, mean, max] = [0, 1, 2].map(|which| self.minutes[which].get(minute));
        (!mean.is_nan()).then_some(Point { min, mean, max })
    }

    /// Memory that it takes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let spread = self.spread.iter().flat_map(|spread| spread.iter());
        let columns = [&self.seconds].into_iter().chain(spread).chain(&self.minutes);
        let About { name, labels, title, unit, group, help, .. } = &self.about;
        let owned = |text: &Cow<'static, str>| if let Cow::Owned(text) = text { text.capacity() } else { 0 };
        let texts = name.capacity() + title.capacity() + unit.capacity() + owned(group) + owned(help);
        let labels: usize = labels.iter().map(|label| size_of_val(label) + label.1.capacity()).sum();
        columns.map(Column::bytes).sum::<usize>() + texts + labels + 2 * size_of::<Column>()
    }
}

/// What a series was in some time. Values have 24 bits, which are seven digits: counts are made into rates before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) min: f32,
    pub(super) mean: f32,
    pub(super) max: f32,
}

impl Point {
    /// A time in which one value was seen. None if it is no number.
    pub(super) fn of(value: f64) -> Option<Self> {
        let value = value as f32;
        value.is_finite().then_some(Self { min: value, mean: value, max: value })
    }

    /// What several are together, each for the same time; none without any.
    pub(super) fn merge(points: impl Iterator<Item = Self>) -> Option<Self> {
        let mut merged: Option<Self> = None;
        let (mut sum, mut number) = (0.0, 0_u32);
        for point in points {
            let known = merged.get_or_insert(point);
            (known.min, known.max) = (known.min.min(point.min), known.max.max(point.max));
            sum += f64::from(point.mean);
            number += 1;
        }
        // The mean of rounded means may be rounded to beyond the largest of them.
        merged.map(|all| Self { mean: ((sum / f64::from(number)) as f32).clamp(all.min, all.max), ..all })
    }
}

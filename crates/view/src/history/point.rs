//! A value over some time: the smallest, the mean, the largest.

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

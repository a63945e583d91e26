//! The axis of rates that curves share.

use super::chart::Axis;
use super::figures::Curve;

/// The axis of rates, with its ends.
pub(super) struct RateAxis {
    pub(super) axis: Axis,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// The axis of rates that all these points are on, and at least one power of ten.
pub(super) fn rate_axis<'a>(curves: impl Iterator<Item = &'a Curve>) -> RateAxis {
    let rates: Vec<f64> =
        curves.flat_map(|curve| curve.points.iter().map(|point| point.neutrons_per_second)).collect();
    let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let lowest = if lowest.is_finite() { 0.6 * lowest } else { 1e3 };
    let highest = rates.iter().copied().fold(10.0 * lowest, |highest, rate| highest.max(1.7 * rate));
    let axis = Axis::decades("rate (neutrons per second)", lowest, highest, with_prefix);
    RateAxis { axis, from: lowest.log10(), to: highest.log10() }
}

/// A rate with the letter of its thousand: 10 k.
fn with_prefix(rate: f64) -> String {
    match rate.round() {
        rate if rate >= 1e9 => format!("{} G", rate / 1e9),
        rate if rate >= 1e6 => format!("{} M", rate / 1e6),
        rate if rate >= 1e3 => format!("{} k", rate / 1e3),
        rate => format!("{rate}"),
    }
}

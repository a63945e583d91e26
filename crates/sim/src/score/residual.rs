//! How far events lie from the truth along one axis.

use serde::{Deserialize, Serialize};

/// Bins of a histogram of positions: 0.1 pixels each if 3 pixels are allowed.
pub(super) const POSITION_BINS: usize = 60;
/// Bins of a histogram of times: 10 ns each if 1 µs is allowed.
pub(super) const TIME_BINS: usize = 200;

/// Differences between events and truth, in the unit of the axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Residual {
    /// How many.
    pub count: u64,
    /// Their mean; none without any.
    pub mean: Option<f64>,
    /// Their root mean square about the mean; none without any.
    pub rms: Option<f64>,
    /// Their median, the lower of two; none without any.
    pub median: Option<f64>,
    /// How often which difference occurred.
    pub histogram: Histogram,
}

/// Counts in bins of equal width.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Where the first bin begins.
    pub from: f64,
    /// Width of a bin.
    pub bin_width: f64,
    /// Differences in each bin; one at the very end belongs to the last.
    pub counts: Vec<u64>,
}

impl Residual {
    /// From differences, the histogram over `centre` ± `reach`. Their order does not matter.
    pub(super) fn new(mut differences: Vec<f64>, centre: f64, reach: f64, bins: usize) -> Self {
        // Sums of floating-point numbers depend on their order.
        differences.sort_by(f64::total_cmp);
        let count = differences.len();
        let some = |value: f64| (count > 0).then_some(value);
        let mean = differences.iter().sum::<f64>() / count as f64;
        let squares = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>();
        // A reach of 0 still needs a bin that has a width.
        let reach = reach.max(0.5);
        let mut histogram =
            Histogram { from: centre - reach, bin_width: 2.0 * reach / bins as f64, counts: vec![0; bins] };
        for difference in &differences {
            histogram.add(*difference);
        }
        Self {
            count: count as u64,
            mean: some(mean),
            rms: some((squares / count as f64).sqrt()),
            median: differences.get(count.saturating_sub(1) / 2).copied(),
            histogram,
        }
    }
}

impl Histogram {
    /// Counts a value; differences within the limits are always within the histogram.
    fn add(&mut self, value: f64) {
        // Casts of negative numbers give 0.
        let bin = ((value - self.from) / self.bin_width) as usize;
        let last = self.counts.len().saturating_sub(1);
        if let Some(count) = self.counts.get_mut(bin.min(last)) {
            *count += 1;
        }
    }

    /// The middle of a bin.
    pub fn middle(&self, bin: usize) -> f64 {
        self.from + (bin as f64 + 0.5) * self.bin_width
    }
}

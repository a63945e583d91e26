//! Bins of the time-of-flight spectrum.

use crate::json_object::json_object;
use evforge_core::pulse::PulseTrain;
use serde::{Deserialize, Serialize};

/// A width chosen by default gives at least this many bins.
const FEWEST_BINS: u64 = 500;
/// No spectrum has more bins than this.
pub(crate) const MOST_BINS: u64 = 10_000;

json_object! {
    /// Equal bins of time of flight.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct TimeBins {
        /// Where the first one begins, in nanoseconds.
        pub from_ns: u32,
        /// Width of one in nanoseconds, at least 1.
        pub width_ns: u32,
        /// How many, 1 to 10 000.
        pub count: u32,
    }
}

/// Equal bins over one pulse period; the last one may be cut short by the next pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpectrumBins {
    /// Width of a bin in nanoseconds, at least 1.
    pub width_ns: u64,
    /// Number of bins, 1 to 10 000.
    pub count: usize,
    /// The pulse period in nanoseconds, rounded up.
    pub period_ns: u64,
}

impl SpectrumBins {
    /// Bins for `pulses`, `width_ns` wide if that is given (see
    /// [`ViewOptions::time_of_flight_bin_ns`](crate::ViewOptions::time_of_flight_bin_ns)).
    pub fn new(pulses: &PulseTrain, width_ns: Option<u64>) -> Self {
        let start = pulses.start_ns(0).unwrap_or(0);
        let period_ns = pulses.start_ns(1).map_or(u64::MAX, |next| next - start).max(1);
        let mut width_ns = width_ns.unwrap_or_else(|| round_down(period_ns / FEWEST_BINS)).max(1);
        while period_ns.div_ceil(width_ns) > MOST_BINS {
            width_ns *= 2;
        }
        Self { width_ns, count: period_ns.div_ceil(width_ns) as usize, period_ns }
    }

    /// Bins that are no times: `count` of them, each one step wide.
    pub(crate) fn steps(count: usize) -> Self {
        Self { width_ns: 1, count, period_ns: count as u64 }
    }
}

/// The largest of 1, 2, 5, 10, 20, 50, … that is not above `value`; 1 for 0.
fn round_down(value: u64) -> u64 {
    let decade = 10_u64.pow(value.max(1).ilog10());
    match value / decade {
        5.. => 5 * decade,
        2..=4 => 2 * decade,
        _ => decade,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_the_sources_are_round() {
        let ess = SpectrumBins::new(&PulseTrain::ess(), None);
        assert_eq!((ess.width_ns, ess.count, ess.period_ns), (100_000, 715, 71_428_572));
        let xfel = SpectrumBins::new(&PulseTrain::european_xfel(), None);
        assert_eq!((xfel.width_ns, xfel.count), (200_000, 500));
        let fast = PulseTrain::from_millihertz(1_000_000_000_000, 7).unwrap();
        assert_eq!(SpectrumBins::new(&fast, None), SpectrumBins { width_ns: 1, count: 1, period_ns: 1 });
    }

    #[test]
    fn too_many_bins_become_wider() {
        let bins = SpectrumBins::new(&PulseTrain::ess(), Some(1_000));
        assert_eq!((bins.width_ns, bins.count), (8_000, 8_929));
        let endless = PulseTrain::from_millihertz(1, u64::MAX).unwrap();
        assert!(SpectrumBins::new(&endless, None).count <= MOST_BINS as usize);
    }
}

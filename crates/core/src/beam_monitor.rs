//! Beam monitors: what a monitor in the beam has counted, over time of flight.
//!
//! One stream can carry several monitors. Each owns a range of the pixel ids of the stream's logical geometry,
//! under which its events travel, and a histogram that goes with the
//! [`DetectorLedger`](crate::ledger::DetectorLedger). The histogram counts from the start of the run, so whoever
//! misses an observation has lost nothing.

use crate::event::PixelId;
use crate::quantity::TimeSpan;
use crate::settings::RefusedValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a beam monitor sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, get_size2::GetSize, Deserialize, JsonSchema)]
pub enum BeamMonitorKind {
    /// Single neutrons without a position: one pixel.
    #[serde(rename = "event_0d")]
    Event0D,
    /// Single neutrons with a position.
    #[serde(rename = "event_2d")]
    Event2D,
    /// The integrated current at regular instants, not single neutrons: there are no events.
    #[serde(rename = "integrating")]
    Integrating,
}

impl BeamMonitorKind {
    /// What it is called in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event0D => "event_0d",
            Self::Event2D => "event_2d",
            Self::Integrating => "integrating",
        }
    }

    /// What its histogram sums up.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Event0D | Self::Event2D => "counts",
            Self::Integrating => "ADC units",
        }
    }
}

/// Equal bins over time of flight: bin `i` holds the times `t` with `(t - from) * bins / (to - from) = i`, in
/// whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize, Deserialize, JsonSchema)]
#[serde(try_from = "BinsTable")]
#[schemars(with = "BinsTable")]
pub struct TimeOfFlightBins {
    from_ns: u32,
    to_ns: u32,
    bins: u32,
}

/// Most bins of a histogram over time of flight.
pub const MOST_TIME_OF_FLIGHT_BINS: u32 = 1_000_000;

/// Bins as they are written: by default one period of the ESS source in steps of some 100 us.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct BinsTable {
    /// The earliest time of flight.
    from: TimeSpan,
    /// The time of flight at which the last bin ends.
    #[schemars(extend("x-range" = "below 4.29 s"))]
    to: TimeSpan,
    /// Bins of equal length.
    #[schemars(range(min = 1, max = MOST_TIME_OF_FLIGHT_BINS))]
    bins: u32,
}

impl Default for BinsTable {
    fn default() -> Self {
        Self { from: TimeSpan { picoseconds: 0 }, to: TimeSpan { picoseconds: 71_428_571_000 }, bins: 714 }
    }
}

impl TryFrom<BinsTable> for TimeOfFlightBins {
    type Error = RefusedValue;

    fn try_from(table: BinsTable) -> Result<Self, RefusedValue> {
        let nanoseconds = |duration: TimeSpan| u32::try_from(duration.picoseconds / 1000).ok();
        let range = nanoseconds(table.from).zip(nanoseconds(table.to));
        range.and_then(|(from, to)| Self::new(from, to, table.bins)).ok_or_else(|| {
            RefusedValue::new(format!(
                "{} bins over that range are impossible: expected 1 to {MOST_TIME_OF_FLIGHT_BINS} bins of at least 1ns, \
                 from an earlier to a later time below 4.29s",
                table.bins
            ))
        })
    }
}

impl Default for TimeOfFlightBins {
    /// One period of the ESS source in steps of some 100 us.
    fn default() -> Self {
        Self { from_ns: 0, to_ns: 71_428_571, bins: 714 }
    }
}

impl TimeOfFlightBins {
    /// `bins` bins over `from_ns..to_ns` nanoseconds. None without bins, with more than
    /// [`MOST_TIME_OF_FLIGHT_BINS`] or with more than one per nanosecond.
    pub fn new(from_ns: u32, to_ns: u32, bins: u32) -> Option<Self> {
        let width = to_ns.checked_sub(from_ns)?;
        ((1..=MOST_TIME_OF_FLIGHT_BINS).contains(&bins) && bins <= width).then_some(Self {
            from_ns,
            to_ns,
            bins,
        })
    }

    /// Where the first bin begins, in nanoseconds.
    pub fn from_ns(&self) -> u32 {
        self.from_ns
    }

    /// Where the last bin ends, in nanoseconds; the first time that is above.
    pub fn to_ns(&self) -> u32 {
        self.to_ns
    }

    /// Number of bins.
    pub fn bins(&self) -> usize {
        self.bins as usize
    }

    /// The edges of the bins in nanoseconds: one more than there are bins.
    pub fn edges_ns(&self) -> impl Iterator<Item = f64> + '_ {
        let width = f64::from(self.to_ns - self.from_ns) / f64::from(self.bins);
        (0..=self.bins).map(move |edge| f64::from(self.from_ns) + f64::from(edge) * width)
    }
}

/// A beam monitor: its name, its pixels and its histogram.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct BeamMonitorPlan {
    /// Name, unique in the stream, of letters, digits and underscores: it names a group in files.
    pub name: String,
    /// What it sends.
    pub kind: BeamMonitorKind,
    /// Its first pixel id; 0 if it owns none.
    pub first_pixel: PixelId,
    /// Columns; 1 for a monitor without positions, 0 if it owns no pixels.
    pub nx: u32,
    /// Rows; 1 for a monitor without positions, 0 if it owns no pixels.
    pub ny: u32,
    /// The bins of its histogram.
    pub histogram: TimeOfFlightBins,
    /// Whether it sends alongside a detector: its pixels then follow those of the detector.
    pub alongside: bool,
}

impl BeamMonitorPlan {
    /// Its pixel ids: x runs fastest. Empty if it owns none.
    pub fn pixels(&self) -> std::ops::Range<PixelId> {
        self.first_pixel..self.first_pixel.saturating_add(self.nx.saturating_mul(self.ny))
    }
}

/// A sum of a beam monitor, in JSON a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MonitorSum {
    /// A whole number.
    Whole(u64),
    /// The nearest floating-point number to one that is not whole.
    Fraction(f64),
}

/// Largest denominator that sums are kept with: whole numbers of every part from a half to a sixteenth.
const LARGEST_DENOMINATOR: u64 = 720_720;

/// What a beam monitor has counted since the start.
///
/// Sums are whole numbers of parts: [`BeamMonitorData::denominator`] parts make one. It is 1 for events. An integrating
/// monitor sends sums over several samples, of which each readout adds the mean: the denominator grows to the least
/// common multiple of all numbers of samples, so that nothing is rounded. (Beyond 720 720 what does not
/// make a whole part is carried over to the next readout with as many samples.)
///
/// The law: `total = sum of counts + below + above`.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct BeamMonitorData {
    plan: BeamMonitorPlan,
    denominator: u64,
    /// By number of samples; empty unless something must be carried.
    carried: Vec<u64>,
    counts: Vec<u64>,
    total: u64,
    below: u64,
    above: u64,
    readouts: u64,
    pulses: u64,
}

impl BeamMonitorData {
    /// Nothing counted yet. Allocates all that will be needed.
    pub fn new(plan: BeamMonitorPlan) -> Self {
        let counts = vec![0; plan.histogram.bins()];
        Self {
            plan,
            denominator: 1,
            carried: Vec::with_capacity(1 + usize::from(u8::MAX)),
            counts,
            total: 0,
            below: 0,
            above: 0,
            readouts: 0,
            pulses: 0,
        }
    }

    /// Adds a readout: `amount` is 1 for an event, or the sum that an integrating monitor sends.
    #[inline]
    pub fn add(&mut self, time_of_flight_ns: u64, amount: u64) {
        self.add_parts(time_of_flight_ns, amount.saturating_mul(self.denominator));
    }

    /// Adds a readout of an integrating monitor: a sum over this many samples, of which the mean counts.
    pub fn add_mean(&mut self, time_of_flight_ns: u64, sum: u64, samples: u8) {
        let divisor = u64::from(samples.max(1));
        if !self.denominator.is_multiple_of(divisor) {
            self.refine(divisor);
        }
        let parts = sum.saturating_mul(self.denominator);
        let amount = match self.carried.get_mut(usize::from(samples)) {
            Some(carried) => {
                let with_carried = parts.saturating_add(*carried);
                *carried = with_carried % divisor;
                with_carried / divisor
            }
            None => parts / divisor,
        };
        self.add_parts(time_of_flight_ns, amount);
    }

    /// Makes the parts small enough for means over this many samples, or begins to carry what is not whole.
    #[cold]
    fn refine(&mut self, divisor: u64) {
        let (mut common, mut rest) = (self.denominator, divisor);
        while rest > 0 {
            (common, rest) = (rest, common % rest);
        }
        let factor = divisor / common;
        if self.denominator * factor > LARGEST_DENOMINATOR {
            self.carried.resize(1 + usize::from(u8::MAX), 0);
            return;
        }
        self.denominator *= factor;
        let sums = [&mut self.total, &mut self.below, &mut self.above].into_iter().chain(&mut self.counts);
        sums.for_each(|sum| *sum = sum.saturating_mul(factor));
        self.carried.iter_mut().for_each(|carried| *carried *= factor);
    }

    #[inline]
    fn add_parts(&mut self, time_of_flight_ns: u64, amount: u64) {
        self.readouts += 1;
        self.total = self.total.saturating_add(amount);
        let bins = &self.plan.histogram;
        let place = match time_of_flight_ns.checked_sub(u64::from(bins.from_ns)) {
            None => &mut self.below,
            Some(_) if time_of_flight_ns >= u64::from(bins.to_ns) => &mut self.above,
            // Less than 2^32 times 10^6: it fits. The index is below the number of bins.
            Some(since) => {
                let bin = since * u64::from(bins.bins) / u64::from(bins.to_ns - bins.from_ns);
                match self.counts.get_mut(bin as usize) {
                    Some(count) => count,
                    None => &mut self.above,
                }
            }
        };
        *place = place.saturating_add(amount);
    }

    /// Notes that a pulse has begun, with or without readouts of this monitor.
    #[inline]
    pub fn begin_pulse(&mut self) {
        self.pulses += 1;
    }

    /// What this monitor is.
    pub fn plan(&self) -> &BeamMonitorPlan {
        &self.plan
    }

    /// How many parts make one: what [`BeamMonitorData::value`] divides by.
    pub fn denominator(&self) -> u64 {
        self.denominator
    }

    /// The value of a sum in parts, as the nearest floating-point number.
    pub fn value(&self, parts: u64) -> f64 {
        parts as f64 / self.denominator as f64
    }

    /// As [`BeamMonitorData::value`], a whole number where it is one: for reports.
    pub fn sum(&self, parts: u64) -> MonitorSum {
        if parts.is_multiple_of(self.denominator) {
            MonitorSum::Whole(parts / self.denominator)
        } else {
            MonitorSum::Fraction(self.value(parts))
        }
    }

    /// Sums per bin of time of flight, in parts: numbers of events, or sums of the values of an integrating monitor.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Sum over all readouts in parts, also those outside the bins.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Sum in parts over the readouts whose time of flight is below the first bin.
    pub fn below(&self) -> u64 {
        self.below
    }

    /// Sum in parts over the readouts whose time of flight is above the last bin.
    pub fn above(&self) -> u64 {
        self.above
    }

    /// Readouts that were added.
    pub fn readouts(&self) -> u64 {
        self.readouts
    }

    /// Pulses that have begun.
    pub fn pulses(&self) -> u64 {
        self.pulses
    }

    /// What the law leaves over: 0 unless something vanished (or a sum passed 64 bits).
    pub fn unaccounted(&self) -> u64 {
        let placed = self
            .counts
            .iter()
            .fold(self.below.saturating_add(self.above), |sum, &count| sum.saturating_add(count));
        self.total.abs_diff(placed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn monitor(from_ns: u32, to_ns: u32, bins: u32) -> BeamMonitorData {
        BeamMonitorData::new(BeamMonitorPlan {
            name: "monitor_1".into(),
            kind: BeamMonitorKind::Event0D,
            first_pixel: 5,
            nx: 4,
            ny: 2,
            histogram: TimeOfFlightBins::new(from_ns, to_ns, bins).unwrap(),
            alongside: false,
        })
    }

    #[test]
    fn impossible_bins_are_refused() {
        for (from_ns, to_ns, bins) in
            [(0, 10, 0), (10, 10, 1), (10, 5, 1), (0, 10, 11), (0, u32::MAX, 1_000_001)]
        {
            assert_eq!(TimeOfFlightBins::new(from_ns, to_ns, bins), None, "{from_ns}..{to_ns} / {bins}");
        }
    }

    #[test]
    fn times_outside_the_bins_are_counted_as_such() {
        let mut monitor = monitor(100, 110, 3);
        for time in [99, 100, 103, 104, 109, 110, u64::MAX] {
            monitor.add(time, 2);
        }
        assert_eq!(monitor.counts(), [4, 2, 2]);
        assert_eq!((monitor.below(), monitor.above(), monitor.total(), monitor.readouts()), (2, 4, 14, 7));
        assert_eq!(monitor.unaccounted(), 0);
        assert_eq!(monitor.plan().pixels(), 5..13);
        let edges: Vec<f64> = monitor.plan().histogram.edges_ns().collect();
        assert_eq!((edges.len(), edges[0], edges[3]), (4, 100.0, 110.0));
    }

    #[test]
    fn means_are_not_rounded() {
        let mut monitor = monitor(0, 10, 2);
        monitor.add_mean(1, 7, 4);
        monitor.add_mean(1, 5, 6);
        monitor.add_mean(7, 9, 1);
        // 7/4 + 5/6 = 31/12.
        assert_eq!((monitor.denominator(), monitor.counts()), (12, &[31, 108][..]));
        assert_eq!((monitor.value(monitor.total()), monitor.unaccounted()), (139.0 / 12.0, 0));
    }

    proptest! {
        /// Whatever the numbers of samples: the total is exact, or less than a part short for each of them.
        #[test]
        fn sums_of_means_are_those_of_fractions(
            readouts in prop::collection::vec((0..100_u64, 0..1_u64 << 24, any::<u8>()), 1..60),
        ) {
            let mut monitor = monitor(0, 50, 7);
            for &(time, sum, samples) in &readouts {
                monitor.add_mean(time, sum, samples);
            }
            prop_assert_eq!(monitor.unaccounted(), 0);
            let exact: f64 = readouts.iter().map(|&(_, sum, samples)| sum as f64 / f64::from(samples.max(1))).sum();
            let short = exact - monitor.value(monitor.total());
            let allowed = 256.0 / monitor.denominator() as f64 * f64::from(u8::from(!monitor.carried.is_empty()));
            prop_assert!(short > -1e-3 && short < allowed + 1e-3, "{short} of {exact}");
        }

        #[test]
        fn every_amount_is_somewhere(
            from_ns: u32, width in 1..u32::MAX, bins in 1..5000_u32,
            readouts in prop::collection::vec((any::<u32>(), 0..1_u64 << 24), 0..100),
        ) {
            let to_ns = from_ns.saturating_add(width);
            prop_assume!(TimeOfFlightBins::new(from_ns, to_ns, bins).is_some());
            let mut monitor = monitor(from_ns, to_ns, bins);
            for &(time, amount) in &readouts {
                monitor.add(u64::from(time), amount);
            }
            prop_assert_eq!(monitor.total(), readouts.iter().map(|readout| readout.1).sum::<u64>());
            prop_assert_eq!(monitor.unaccounted(), 0);
            let inside = readouts.iter().filter(|(time, _)| (from_ns..to_ns).contains(time));
            prop_assert_eq!(monitor.counts().iter().sum::<u64>(), inside.map(|readout| readout.1).sum::<u64>());
        }
    }
}

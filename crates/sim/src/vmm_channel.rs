//! What a channel of a VMM says about a hit: crossings, fine time and amplitude, such that a receiver with the same
//! calibration finds the hit again.

use evforge_detect::calibration::Line;

/// Steps of the fine time over its range (EFU formats of 2018, section 4.4; ESS readout formats, section 2.1).
const TDC_STEPS: f64 = 255.0;

/// A step of the fine time, in picoseconds, rounded up.
pub const FINE_STEP_PS: u64 = 1000;

/// Which way the fine time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FineTimeSense {
    /// A crossing is followed by a time of 1.5 crossings less the fine time: the electronics of the ESS readout.
    Subtracted,
    /// The fine time is added to the crossing: the EFU of 2018.
    Added,
}

/// Cuts times into crossings and fine time. The unit of time is the caller's.
#[derive(Clone, Copy, Debug)]
pub struct FineTime {
    crossing: i64,
    /// What is added to a crossing for a fine time of 0.
    base: i64,
    /// Steps of the fine time in a unit of time; below 0 where it is subtracted.
    steps_per_unit: f64,
}

impl FineTime {
    /// Crossings that are this many units long (at least one), and a fine time over `range` units, read through a
    /// calibration: *(time − offset) × slope*, the offset in nanoseconds of this many units. A slope of 0 leaves nothing of a fine time.
    pub fn new(crossing: i64, range: f64, sense: FineTimeSense, line: Line, units_per_ns: f64) -> Self {
        let crossing = crossing.max(1);
        let [offset, slope] = millionths(line);
        let (at_zero, sign) = match sense {
            FineTimeSense::Subtracted => (1.5 * crossing as f64, -1.0),
            FineTimeSense::Added => (0.0, 1.0),
        };
        let step = sign * slope * range / TDC_STEPS;
        let base = (slope * (at_zero - offset * units_per_ns)).round() as i64;
        Self { crossing, base, steps_per_unit: if step == 0.0 { 0.0 } else { 1.0 / step } }
    }

    /// No fine time: the nearest crossing stands for a time.
    pub fn none(crossing: i64) -> Self {
        let crossing = crossing.max(1);
        Self { crossing, base: -crossing / 2, steps_per_unit: 0.0 }
    }

    /// Units in a crossing.
    pub fn crossing(&self) -> i64 {
        self.crossing
    }

    /// The crossing, counted from time 0, and the fine time of a time: of the crossings whose fine time reaches it,
    /// that for which it is least.
    #[inline]
    pub fn split(&self, time: i64) -> (i64, u8) {
        let since = time - self.base;
        let crossings = if self.steps_per_unit < 0.0 {
            -(-since).div_euclid(self.crossing)
        } else {
            since.div_euclid(self.crossing)
        };
        let rest = (since - crossings * self.crossing) as f64;
        (crossings, (rest * self.steps_per_unit + 0.5).min(TDC_STEPS) as u8)
    }
}

/// Undoes the calibration of an amplitude.
#[derive(Clone, Copy, Debug)]
pub struct RawAmplitude {
    offset: f32,
    slope: f32,
    largest: f32,
}

impl RawAmplitude {
    /// For a converter whose largest value is `largest`. Of an amplitude whose line has the slope 0 nothing is left.
    pub fn new(line: Line, largest: u16) -> Self {
        let [offset, slope] = millionths(line);
        let slope = if slope > 0.0 { 1.0 / slope } else { 0.0 };
        Self { offset: offset as f32, slope: slope as f32, largest: f32::from(largest) }
    }

    /// What the converter shows for a calibrated amplitude.
    #[inline]
    pub fn of(&self, amplitude: u16) -> u16 {
        let raw = f32::from(amplitude) * self.slope + self.offset + 0.5;
        raw.clamp(0.0, self.largest) as u16
    }
}

/// Offset and slope.
fn millionths(line: Line) -> [f64; 2] {
    [line.offset_millionths(), line.slope_millionths()].map(|value| value as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Sections 4.3 and 4.4, the other way round.
        #[test]
        fn crossings_and_fine_time_make_the_time_again(
            time in -1_000_000_000_i64..1_000_000_000,
            crossing in 10_000_i64..60_000,
            offset in -20.0..20.0_f64,
            slope in 0.95..1.05_f64,
            is_added: bool,
        ) {
            let sense = if is_added { FineTimeSense::Added } else { FineTimeSense::Subtracted };
            let line = Line::new(offset, slope).unwrap();
            let fine = FineTime::new(crossing, 65_000.0, sense, line, 1000.0);
            let (crossings, tdc) = fine.split(time);
            let [offset, slope] = millionths(line);
            let steps = f64::from(tdc) * 65_000.0 / 255.0;
            let measured = if is_added { steps } else { 1.5 * crossing as f64 - steps };
            let found = (crossings * crossing) as f64 + (measured - 1000.0 * offset) * slope;
            prop_assert!((found - time as f64).abs() <= 140.0, "{found} for {time}");
            let (nearest, tdc) = FineTime::none(crossing).split(time);
            prop_assert!((nearest * crossing - time).abs() <= crossing / 2 + 1 && tdc == 0);
        }

        #[test]
        fn calibrated_amplitudes_are_found_again(amplitude in 0..1024_u16, offset in -20.0..20.0_f64, slope in 0.8..1.2_f64) {
            let line = Line::new(offset, slope).unwrap();
            let raw = RawAmplitude::new(line, 1023).of(amplitude);
            let reach = [0.0, 1023.0].map(|raw| (raw - offset) * slope);
            let found = (f64::from(raw) - offset) * slope;
            prop_assert!((found - f64::from(amplitude).clamp(reach[0], reach[1])).abs() <= 0.62);
            prop_assert_eq!(RawAmplitude::new(Line::IDENTITY, 1023).of(amplitude), amplitude);
        }
    }
}

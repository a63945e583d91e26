//! Calibration of single channels: a straight line through what the electronics measured.
//!
//! A line is *(value − offset) × slope* (EFU formats of 2018, section 4.3). Offsets and slopes come as decimal
//! numbers and are taken to a millionth, which is more than a calibration knows. From there on everything is
//! exact: the line is prepared in integers when a detector is made, and applying it to a readout is a
//! multiplication, an addition and one rounding, to the nearest whole number with halves up.

use crate::settings::SettingsError;

/// Parts of one in which offsets and slopes are counted.
pub const MILLION: i64 = 1_000_000;

/// Parts of one in which the product of an offset and a slope is exact.
const MILLION_MILLIONS: i64 = MILLION * MILLION;

/// Largest offset, in units of the value: far more than any channel is off.
pub const LARGEST_OFFSET: f64 = 10_000.0;

/// Largest slope. With it and the largest offset a line fits 64 bits for every value of 16 bits.
pub const LARGEST_SLOPE: f64 = 20.0;

/// The line *(value − offset) × slope*, both to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    offset: i64,
    slope: i64,
}

impl Line {
    /// The line that changes nothing.
    pub const IDENTITY: Line = Line { offset: 0, slope: MILLION };

    /// A line of this many units of offset and this slope, both rounded to a millionth.
    ///
    /// # Errors
    /// Which of the two is invalid, and what is expected.
    pub fn new(offset: f64, slope: f64) -> Result<Self, LineError> {
        if offset.is_nan() || offset.abs() > LARGEST_OFFSET {
            return Err(LineError::Offset(offset));
        }
        if !(0.0..=LARGEST_SLOPE).contains(&slope) {
            return Err(LineError::Slope(slope));
        }
        let millionths = |value: f64| (value * MILLION as f64).round() as i64;
        Ok(Self { offset: millionths(offset), slope: millionths(slope) })
    }

    /// Millionths of the offset.
    pub fn offset_millionths(&self) -> i64 {
        self.offset
    }

    /// Millionths of the slope.
    pub fn slope_millionths(&self) -> i64 {
        self.slope
    }
}

/// Why a line is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LineError {
    /// An offset that is no number or too large.
    #[error("found the offset {0}, expected one of -{LARGEST_OFFSET} to {LARGEST_OFFSET}")]
    Offset(f64),
    /// A slope that is no number, negative or too large.
    #[error("found the slope {0}, expected one of 0 to {LARGEST_SLOPE}")]
    Slope(f64),
}

/// The lines of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelCalibration {
    /// Line of the amplitude, in ADC counts.
    pub amplitude: Line,
    /// Line of the fine time; the offset is in nanoseconds.
    pub time: Line,
}

impl ChannelCalibration {
    /// Changes nothing.
    pub const IDENTITY: ChannelCalibration =
        ChannelCalibration { amplitude: Line::IDENTITY, time: Line::IDENTITY };
}

/// A line from whole numbers to whole numbers, ready to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct IntegerLine {
    /// Of one step of the value, in millionths of millionths.
    step: i64,
    /// At value 0, with the half that makes the rounding.
    constant: i64,
}

impl IntegerLine {
    /// The line *constant + step × value*, both in millionths of millionths of a unit, for values up to `largest`.
    /// `key` is named if it does not fit 64 bits.
    ///
    /// # Errors
    /// If the results leave no room in 64 bits.
    pub fn new(constant: i128, step: i128, largest: u16, key: &str) -> Result<Self, SettingsError> {
        let fits = |value: i128| value.abs() < 1 << 61;
        if !fits(constant) || !fits(step * i128::from(largest)) {
            return SettingsError::refuse(key, "the calibration has too large an offset or slope");
        }
        Ok(Self { step: step as i64, constant: constant as i64 + MILLION_MILLIONS / 2 })
    }

    /// The line of a calibration that changes a value in its own unit.
    pub fn of(line: Line) -> Self {
        // The limits of a line keep both far below 2^61.
        Self { step: line.slope * MILLION, constant: -line.offset * line.slope + MILLION_MILLIONS / 2 }
    }

    /// The value of the line, rounded to the nearest whole number, halves up.
    #[inline]
    pub fn at(self, value: u16) -> i64 {
        (self.constant + self.step * i64::from(value)).div_euclid(MILLION_MILLIONS)
    }

    /// As [`IntegerLine::at`], clipped to `0..=largest`.
    #[inline]
    pub fn clipped(self, value: u16, largest: u16) -> u16 {
        self.at(value).clamp(0, i64::from(largest)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(offset: f64, slope: f64) -> IntegerLine {
        IntegerLine::of(Line::new(offset, slope).unwrap())
    }

    /// Section 4.3: adc' = (adc - offset) * slope clipped to 1023.
    #[test]
    fn section_4_3_amplitudes_are_corrected_rounded_and_clipped() {
        assert_eq!(line(-1.171, 1.152).clipped(100, 1023), 117, "116.549");
        assert_eq!(line(2.5, 1.0).clipped(100, 1023), 98, "halves up");
        assert_eq!(line(10.0, 1.0).clipped(3, 1023), 0);
        assert_eq!(line(0.0, 1.1).clipped(1000, 1023), 1023);
        assert_eq!(line(0.0, 1.0).at(1023), 1023);
    }

    #[test]
    fn lines_that_cannot_be_say_what_was_found_and_expected() {
        let error = Line::new(0.0, -1.0).unwrap_err().to_string();
        assert_eq!(error, "found the slope -1, expected one of 0 to 20");
        assert!(Line::new(f64::NAN, 1.0).unwrap_err().to_string().contains("found the offset NaN"));
        assert!(Line::new(0.0, f64::INFINITY).is_err() && Line::new(2e5, 1.0).is_err());
        assert!(IntegerLine::new(1 << 100, 1, 1, "k").unwrap_err().to_string().starts_with("k: "));
    }

    proptest! {
        /// Against the same line in exact fractions of millionths.
        #[test]
        fn the_integer_line_is_the_line_rounded(
            offset in -99_999_999_i64..99_999_999, slope in 0..9_999_999_i64, value: u16,
        ) {
            let prepared = line(offset as f64 / 1e6, slope as f64 / 1e6);
            let exact = (i128::from(value) * 1_000_000 - i128::from(offset)) * i128::from(slope);
            let twice = 2 * exact + 1_000_000_000_000;
            prop_assert_eq!(i128::from(prepared.at(value)), twice.div_euclid(2_000_000_000_000));
        }
    }
}

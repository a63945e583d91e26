//! Hit times as exact integers: the time unit and the two time conventions.
//!
//! A bunch crossing, a step of the TDC and the ticks of markers and triggers have different lengths. The
//! *tick* used from here on is the longest time that divides a nanosecond and all of them: 1/136 ns with
//! the clocks of 2018 (EFU formats of 2018, section 4.4), 1/68 ns with those of VMM3a (section 4.3). All
//! sums are exact; a time is rounded (down, to nanoseconds) only when an event leaves.

use super::electronics::{ReadoutFormat, TimeConvention, TimeSettings};
use crate::calibration::{IntegerLine, Line, MILLION};
use crate::settings::{Picoseconds, SettingsError};
use evforge_wire::srs_vmm::{BUNCH_CROSSINGS, VmmReadout};

/// Largest time in ticks that clocks are extended to. What lies above is refused by the settings.
const LARGEST_TIME: u128 = 1 << 61;

/// Base times stay below this: a clock that gets there starts over. Every setting leaves at least two turns
/// of the electronics' clock below it, and room above it for the offset and the chip's own time.
const BASE_TIME_LIMIT: u64 = 1 << 62;

/// Steps of the TDC per `tac_range`.
const TDC_STEPS: u128 = 255;

/// Why a trigger offset gives no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub enum OffsetProblem {
    /// -16: the chip says that it could not keep up.
    LatencyViolation,
    /// 17..=30: no meaning is defined.
    Undefined,
}

/// Turns the fields of readouts into ticks.
#[derive(Clone, Debug, get_size2::GetSize)]
pub struct HitTime {
    ticks_per_ns: u64,
    marker: u64,
    trigger: u64,
    crossing: i64,
    /// Ticks of a step of the TDC; negative where it is subtracted.
    tdc: i64,
    /// Ticks added to every hit.
    constant: i64,
    /// Ticks of each raw trigger offset, or why it has none.
    offsets: [Result<i64, OffsetProblem>; 32],
}

/// Smallest denominator of `numerator / denominator`.
fn reduced_denominator(numerator: u128, denominator: u128) -> u128 {
    denominator / gcd(numerator, denominator)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl HitTime {
    /// The unit and the lengths that follow from the settings.
    ///
    /// # Errors
    /// If the clocks have so odd a ratio that their common unit is too fine for 64-bit times.
    pub fn new(time: &TimeSettings, format: ReadoutFormat) -> Result<Self, SettingsError> {
        let subtracted = time.convention == TimeConvention::SignedOffset;
        // In nanoseconds: clocks / 1000, TDC step / (255 × 1000), and 3/2 of a crossing where it is used.
        let mut fractions =
            vec![(u128::from(time.bunch_crossing), 1000), (u128::from(time.tac_range), TDC_STEPS * 1000)];
        match format {
            ReadoutFormat::Vmm2 => fractions.push((u128::from(time.trigger_tick), 1000)),
            ReadoutFormat::Vmm3Of2018 | ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => {
                fractions.push((u128::from(time.marker_tick), 1000));
            }
        }
        if subtracted {
            fractions.push((3 * u128::from(time.bunch_crossing), 2000));
        }
        let ticks_per_ns = fractions
            .iter()
            .map(|&(numerator, denominator)| reduced_denominator(numerator, denominator))
            .fold(1, |unit, denominator| unit / gcd(unit, denominator) * denominator);
        let base_tick = match format {
            ReadoutFormat::Vmm2 => u128::from(time.trigger_tick) << 32,
            _ => u128::from(time.marker_tick) << 42,
        };
        if base_tick * ticks_per_ns / 1000 >= LARGEST_TIME {
            return Err(SettingsError {
                key: "time".into(),
                problem: format!(
                    "the clocks have no common unit coarser than 1/{ticks_per_ns} ns, in which a full turn of the \
                     electronics' clock does not fit 64 bits: check bunch_crossing, tac_range, marker_tick and \
                     trigger_tick"
                ),
            });
        }
        let ticks = |picoseconds: Picoseconds| (u128::from(picoseconds) * ticks_per_ns / 1000) as i64;
        let crossing = ticks(time.bunch_crossing);
        let tdc = (u128::from(time.tac_range) * ticks_per_ns / (TDC_STEPS * 1000)) as i64;
        let (tdc, constant, turn) = if subtracted {
            (-tdc, 3 * crossing / 2, i64::from(BUNCH_CROSSINGS) * crossing)
        } else {
            (tdc, 0, i64::from(BUNCH_CROSSINGS - 1) * crossing)
        };
        let offset = |raw: usize| match raw as i64 {
            raw if !subtracted => Ok(raw * turn),
            raw @ 0..=15 => Ok(raw * turn),
            16 => Err(OffsetProblem::LatencyViolation),
            31 => Ok(-turn),
            _ => Err(OffsetProblem::Undefined),
        };
        Ok(Self {
            ticks_per_ns: ticks_per_ns as u64,
            marker: ticks(time.marker_tick) as u64,
            trigger: ticks(time.trigger_tick) as u64,
            crossing,
            tdc,
            constant,
            offsets: std::array::from_fn(offset),
        })
    }

    /// Ticks in a nanosecond.
    pub fn ticks_per_ns(&self) -> u64 {
        self.ticks_per_ns
    }

    /// Whole ticks in a duration.
    pub fn ticks(&self, duration: Picoseconds) -> u64 {
        (u128::from(duration) * u128::from(self.ticks_per_ns) / 1000) as u64
    }

    /// Whole nanoseconds of a time in ticks.
    #[inline]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        ticks / self.ticks_per_ns
    }

    /// Base time of a marker's stamp that has been extended to 64 bits.
    #[inline]
    pub fn of_marker(&self, stamp: u64) -> i64 {
        (stamp.wrapping_mul(self.marker) % BASE_TIME_LIMIT) as i64
    }

    /// Base time of a trigger stamp that has been extended to 64 bits.
    #[inline]
    pub fn of_trigger(&self, stamp: u64) -> i64 {
        (stamp.wrapping_mul(self.trigger) % BASE_TIME_LIMIT) as i64
    }

    /// Ticks of a raw trigger offset.
    ///
    /// # Errors
    /// Why this offset gives no time.
    #[inline]
    pub fn of_offset(&self, raw: u8) -> Result<i64, OffsetProblem> {
        self.offsets[usize::from(raw & 31)]
    }

    /// Base time of a trigger: its stamp, extended to 64 bits, less the relative trigger time (section 4.3,
    /// "TRG"). Can be negative.
    #[inline]
    pub fn of_relative_trigger(&self, trigger: u64, relative: u64) -> i64 {
        // The relative time has 12 bits.
        self.of_marker(trigger) - (relative % u64::from(BUNCH_CROSSINGS) * self.marker) as i64
    }

    /// The fine time of a calibrated channel as a line over the TDC: (1.5 crossings − TDC − offset) × slope
    /// (section 4.3), rounded to the nearest tick.
    ///
    /// # Errors
    /// If the line does not fit 64 bits.
    pub fn calibrated(&self, line: Line) -> Result<IntegerLine, SettingsError> {
        let slope = i128::from(line.slope_millionths());
        // All lengths in millionths of a tick.
        let (constant, tdc) =
            (i128::from(self.constant) * i128::from(MILLION), i128::from(self.tdc) * i128::from(MILLION));
        let offset = i128::from(line.offset_millionths()) * i128::from(self.ticks_per_ns);
        IntegerLine::new((constant - offset) * slope, tdc * slope, u16::from(u8::MAX), "calibration")
    }

    /// Time within the turn of its chip's counter of a readout with a calibrated fine time.
    #[inline]
    pub fn of_calibrated_chip(&self, readout: &VmmReadout, fine: IntegerLine) -> i64 {
        i64::from(readout.bunch_crossing) * self.crossing + fine.at(u16::from(readout.tdc))
    }

    /// Time of a readout within the turn of its chip's counter, which may be negative.
    #[inline]
    pub fn of_chip(&self, readout: &VmmReadout) -> i64 {
        i64::from(readout.bunch_crossing) * self.crossing + i64::from(readout.tdc) * self.tdc + self.constant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: the time of a readout overflowed after hundreds of years, or a few forged markers.
    #[test]
    fn the_latest_base_time_leaves_room_for_offset_and_chip() {
        let time = HitTime {
            ticks_per_ns: 68,
            marker: 340_000,
            trigger: 68_000_000,
            crossing: 1530,
            tdc: -16,
            constant: 2295,
            offsets: [Ok(15 * 4096 * 1530); 32],
        };
        let readout = VmmReadout { bunch_crossing: BUNCH_CROSSINGS - 1, ..VmmReadout::default() };
        for turns in [1, 2, 3, 6] {
            let latest = turns * (1_u64 << 61);
            for base in [time.of_marker(latest / time.marker), time.of_trigger(latest / time.trigger)] {
                assert!((0..1 << 62).contains(&base), "{base}");
                assert!(time.of_offset(15).is_ok_and(|offset| (base + offset).is_positive()));
                assert!((base + time.of_chip(&readout)).is_positive());
            }
        }
    }
}

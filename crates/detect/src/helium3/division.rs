//! Charge division: which tube of its group a readout is of, and which pixel along it.

use super::counters::Helium3Counters;
use super::settings::{CalibrationPart, Charges, Helium3Settings, Outside, Rounding, ascending};
use super::wiring::{Group, Groups};
use evforge_core::event::PixelId;

/// A tube of a group, as it is calibrated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibratedTube {
    /// Its interval, as it is written.
    pub interval: [f64; 2],
    /// Its correction.
    pub polynomial: [f64; 4],
    /// Its first pixel.
    pub first_pixel: PixelId,
    /// Pixels of it that the geometry has.
    pub inside: u16,
    /// How a position becomes a pixel.
    pub rounding: Rounding,
}

impl CalibratedTube {
    /// The position that the correction makes this one of: nearest, where there is none.
    pub fn before_correction(&self, corrected: f64) -> f64 {
        let [a, b, c, d] = self.polynomial;
        let after = |p: f64| p - (a + p * (b + p * (c + p * d)));
        let (mut low, mut high) = (0.0, 1.0);
        // A correction that is no mirror grows along the tube.
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = f64::midpoint(low, high);
            if after(middle) < corrected { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }
}

/// A tube, for its readouts.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Tube {
    /// Ends of its interval, ascending.
    low: f64,
    high: f64,
    /// Where positions along it begin, and how much of the interval it has; below 0 where it is read from its other end.
    begin: f64,
    length: f64,
    polynomial: [f64; 4],
    first_pixel: PixelId,
    /// Pixels of it that the geometry has.
    inside: u16,
    rounds_down: bool,
}

/// Sum and place of charges.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Divided {
    /// Along the tube, or along the chain of tubes.
    position: f64,
    /// Which tube.
    coordinate: f64,
}

/// What makes pixels of charges.
#[derive(Debug, get_size2::GetSize)]
pub(super) struct Division {
    #[get_size(ignore)]
    charges: Charges,
    least_charge: u16,
    least_sum: i32,
    largest_sum: i32,
    saturation: i32,
    takes_nearest: bool,
    /// Tubes of all groups, in the order of the groups.
    tubes: Vec<Tube>,
    /// Tubes of a group.
    in_group: usize,
    /// Pixels along a tube less one.
    largest: f64,
    /// From a pixel to the next one.
    step: u32,
}

/// Why a readout has no pixel: the counter of its reason.
pub(super) type Reason = fn(&mut Helium3Counters) -> &mut u64;

impl Division {
    /// For settings that have been checked, with their groups.
    pub(super) fn new(settings: &Helium3Settings, groups: &Groups) -> Self {
        Self {
            charges: settings.charges,
            least_charge: settings.least_charge,
            least_sum: i32::try_from(settings.least_sum).unwrap_or(i32::MAX),
            largest_sum: settings.largest_sum.map_or(i32::MAX, |sum| i32::try_from(sum).unwrap_or(i32::MAX)),
            saturation: settings.saturation.map_or(i32::MAX, i32::from),
            takes_nearest: settings.outside == Outside::Nearest,
            tubes: groups
                .all()
                .iter()
                .flat_map(|group| settings.calibrated_tubes(group))
                .map(Tube::new)
                .collect(),
            in_group: settings.tubes.len(),
            largest: f64::from(settings.pixels) - 1.0,
            step: settings.step(),
        }
    }

    /// The pixel of a readout of the group at this place.
    ///
    /// # Errors
    /// The counter of why it has none.
    #[inline]
    pub(super) fn pixel(
        &self,
        group: usize,
        charges: [u16; 4],
        counters: &mut Helium3Counters,
    ) -> Result<PixelId, Reason> {
        let divided = match self.charges {
            Charges::Two => self.two(charges)?,
            Charges::Four => self.four(charges)?,
        };
        let tubes = self
            .tubes
            .get(group * self.in_group..)
            .and_then(|tubes| tubes.get(..self.in_group))
            .unwrap_or(&[]);
        let Divided { mut position, coordinate } = divided;
        let is_in = |tube: &&Tube| tube.low <= coordinate && coordinate <= tube.high;
        let tube = match tubes.iter().find(is_in) {
            Some(tube) => tube,
            None if self.takes_nearest => {
                let distance = |tube: &&Tube| (tube.low - coordinate).max(coordinate - tube.high);
                let nearest = tubes.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
                let Some(nearest) = nearest else { return Err(|counters| &mut counters.outside_tubes) };
                counters.between_tubes += 1;
                if self.charges == Charges::Two {
                    position = coordinate.clamp(nearest.low, nearest.high);
                }
                nearest
            }
            None => return Err(|counters| &mut counters.outside_tubes),
        };
        if self.charges == Charges::Two {
            position = (position - tube.begin) / tube.length;
        }
        let [a, b, c, d] = tube.polynomial;
        let mut corrected = position - (a + position * (b + position * (c + position * d)));
        if corrected < 0.0 {
            counters.corrected_below += 1;
            corrected = 0.0;
        } else if corrected > 1.0 {
            counters.corrected_above += 1;
            corrected = 1.0;
        }
        let scaled = self.largest * corrected;
        // Both are whole and at most the number of pixels less one.
        let number = if tube.rounds_down { scaled as u16 } else { scaled.round() as u16 };
        if number >= tube.inside {
            return Err(|counters| &mut counters.outside_detector);
        }
        Ok(tube.first_pixel + u32::from(number) * self.step)
    }

    /// Of a chain of tubes, read at its two ends.
    #[inline]
    fn two(&self, [a, b, ..]: [u16; 4]) -> Result<Divided, Reason> {
        let sum = i32::from(a) + i32::from(b);
        if i32::from(a.max(b)) >= self.saturation {
            return Err(|counters| &mut counters.saturated);
        }
        if a.min(b) < self.least_charge {
            return Err(|counters| &mut counters.charge_too_small);
        }
        self.check_sum(sum)?;
        let position = f64::from(a) / f64::from(sum);
        Ok(Divided { position, coordinate: position })
    }

    /// Of a bundle of straws, read at four corners.
    #[inline]
    fn four(&self, charges: [u16; 4]) -> Result<Divided, Reason> {
        let [a, b, c, d] = charges.map(|charge| i32::from(charge.cast_signed()));
        if a.max(b).max(c).max(d) >= self.saturation {
            return Err(|counters| &mut counters.saturated);
        }
        let sum = a + b + c + d;
        self.check_sum(sum)?;
        let position = f64::from(a + b) / f64::from(sum);
        if !(0.0..=1.0).contains(&position) {
            return Err(|counters| &mut counters.position_outside);
        }
        Ok(Divided { position, coordinate: f64::from(b + d) / f64::from(sum) })
    }

    #[inline]
    fn check_sum(&self, sum: i32) -> Result<(), Reason> {
        if sum <= 0 {
            return Err(|counters| &mut counters.no_charge);
        }
        if sum < self.least_sum {
            return Err(|counters| &mut counters.sum_too_small);
        }
        if sum > self.largest_sum {
            return Err(|counters| &mut counters.sum_too_large);
        }
        Ok(())
    }

    /// The sum of the charges of a readout, for monitor data; 0 where it is below.
    pub(super) fn sum(&self, charges: [u16; 4]) -> u16 {
        let sum = match self.charges {
            Charges::Two => u32::from(charges[0]) + u32::from(charges[1]),
            Charges::Four => charges
                .iter()
                .map(|charge| i32::from(charge.cast_signed()))
                .sum::<i32>()
                .max(0)
                .cast_unsigned(),
        };
        u16::try_from(sum).unwrap_or(u16::MAX)
    }
}

impl Tube {
    fn new(tube: CalibratedTube) -> Self {
        let CalibratedTube { interval, polynomial, first_pixel, inside, rounding } = tube;
        let ([low, high], [begin, end]) = (ascending(interval), interval);
        let rounds_down = rounding == Rounding::Down;
        Self { low, high, begin, length: end - begin, polynomial, first_pixel, inside, rounds_down }
    }
}

impl Helium3Settings {
    /// The tubes of a group of the wiring.
    pub fn calibrated_tubes<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = CalibratedTube> + 'a {
        // A file has the groups in order.
        let in_order =
            self.calibration.get(group.calibration as usize).filter(|entry| entry.group == group.calibration);
        let calibration =
            in_order.or_else(|| self.calibration.iter().find(|entry| entry.group == group.calibration));
        let used = move |part| calibration.filter(|_| self.calibrated_by.contains(&part));
        self.tubes.iter().enumerate().map(move |(number, tube)| {
            let interval = used(CalibrationPart::Intervals).and_then(|entry| entry.intervals.get(number));
            let polynomial =
                used(CalibrationPart::Polynomials).and_then(|entry| entry.polynomials.get(number));
            CalibratedTube {
                interval: *interval.unwrap_or(&tube.interval),
                polynomial: polynomial.copied().unwrap_or_default(),
                first_pixel: self.first_pixel(group, tube.x, tube.y).unwrap_or(0),
                inside: self.pixels_inside(group, tube.x, tube.y),
                rounding: tube.rounding,
            }
        })
    }
}

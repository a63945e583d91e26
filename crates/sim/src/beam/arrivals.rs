//! When neutrons reach the detector: spectrum, flight path and moderators, put together into a table once.
//!
//! The time between two pulses is divided into bins of 1/64 ms. For each bin the table has the share of the neutrons
//! that arrive in it, and which wavelengths they have. Arrivals are drawn in the order of time, as events of a Poisson
//! process whose rate changes from bin to bin: nothing is sorted, and their number has a Poisson distribution.

use super::moderator::Moderator;
use super::settings::{BeamSettings, FrameOverlap};
use crate::error::SimulationError;
use crate::error::refuse;
use crate::random::exponential;
use rand::RngExt;
use rand::rngs::SmallRng;
use std::ops::Range;

/// Picoseconds that a neutron of 1 ångström needs for 1 metre: m/h, from the constants of CODATA 2018.
pub const PICOSECONDS_PER_METRE_ANGSTROM: f64 = 252_778_200.0;

const MILLISECOND_PS: f64 = 1e9;
/// Bins in a millisecond.
const PER_MILLISECOND: usize = 64;
/// Equally likely wavelengths that are kept for each bin.
const WAVELENGTHS: usize = 32;
/// Pulses are at least and at most so far apart.
const PERIODS_PS: std::ops::RangeInclusive<u64> = 1_000_000_000..=1_000_000_000_000;
/// The slowest neutron needs no longer, so that the table stays small.
const LONGEST_FLIGHT_PS: f64 = 2e12;

/// When neutrons arrive within a period, and with which wavelengths.
#[derive(Clone, Debug)]
pub struct Arrivals {
    bin_ps: f64,
    /// Share of the neutrons that have arrived at the end of each bin.
    until: Vec<f64>,
    /// For each bin its equally likely wavelengths in ångström.
    wavelengths: Vec<[f32; WAVELENGTHS]>,
    peak_factor: f64,
    /// Middle of the millisecond with the highest rate, in picoseconds since the start of the period.
    peak_ps: u64,
}

impl Arrivals {
    /// The arrivals for pulses that are so far apart.
    ///
    /// # Errors
    /// If nothing can arrive, or the peak cannot be as it is asked for.
    pub fn new(settings: &BeamSettings, period_ps: u64) -> Result<Self, SimulationError> {
        settings.check()?;
        if !PERIODS_PS.contains(&period_ps) {
            let found = period_ps as f64 / MILLISECOND_PS;
            return Err(SimulationError(format!(
                "pulses.frequency: the pulses are {found} ms apart, expected 1 to 1000 ms (1Hz to 1000Hz) for a simulation"
            )));
        }
        let bins = (period_ps as f64 / MILLISECOND_PS * PER_MILLISECOND as f64).round() as usize;
        let bin_ps = period_ps as f64 / bins as f64;
        let flights = Flights::new(settings, bin_ps)?;
        let (mut shares, wavelengths) = flights.arrive(settings.frame_overlap, bins);
        let total: f64 = shares.iter().sum();
        if total <= 0.0 {
            let [shortest, longest] = settings.wavelengths;
            return refuse(
                "wavelengths",
                format!("[{shortest}, {longest}] with a flight path of {} m", settings.flight_path),
                "neutrons that arrive before the next pulse; give frame_overlap = \"wrap\" for those that arrive later",
            );
        }
        shares.iter_mut().for_each(|share| *share /= total);
        let peak_factor = shape_peak(&mut shares, settings.peak_factor)?;
        let middle = highest_millisecond(&shares).0 + PER_MILLISECOND / 2;
        let peak_ps = ((middle % bins) as f64 * bin_ps) as u64;
        let until = shares
            .iter()
            .scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            })
            .collect();
        Ok(Self { bin_ps, until, wavelengths, peak_factor, peak_ps })
    }

    /// Highest rate during 1 ms, as a multiple of the average rate.
    pub fn peak_factor(&self) -> f64 {
        self.peak_factor
    }

    /// Middle of the millisecond with the highest rate, in picoseconds since the start of the period.
    pub fn peak_ps(&self) -> u64 {
        self.peak_ps
    }

    /// Draws the arrivals of a period, `mean` of them on average: picoseconds since its start, in order, and
    /// wavelengths in ångström; with a part, those that arrive during it.
    #[inline]
    pub fn draw(
        &self,
        mean: f64,
        part: Option<&Range<u64>>,
        random: &mut SmallRng,
        mut arrived: impl FnMut(&mut SmallRng, u64, f32),
    ) {
        if mean <= 0.0 {
            return;
        }
        let wait = 1.0 / mean;
        // What comes next does not depend on what came before: the first of a part is as far from its start.
        let [start, end] = part.map_or([0.0, 1.0], |part| [part.start, part.end].map(|ps| self.share_at(ps)));
        let mut share = start + exponential(random) * wait;
        let mut from = 0.0;
        for (bin, (&until, wavelengths)) in self.until.iter().zip(&self.wavelengths).enumerate() {
            if share < until {
                let (start, scale) = (bin as f64 * self.bin_ps, self.bin_ps / (until - from));
                while share < until {
                    if share >= end {
                        return;
                    }
                    let time_ps = (start + (share - from) * scale) as u64;
                    let wavelength = wavelengths[random.random_range(0..WAVELENGTHS)];
                    arrived(random, time_ps, wavelength);
                    share += exponential(random) * wait;
                }
            }
            from = until;
        }
    }
}

impl Arrivals {
    /// Share of the neutrons that have arrived at a time since the start of the period.
    fn share_at(&self, time_ps: u64) -> f64 {
        let bins = time_ps as f64 / self.bin_ps;
        let until = |bin: usize| self.until.get(bin).copied().unwrap_or(1.0);
        let before = (bins as usize).checked_sub(1).map_or(0.0, until);
        before + (until(bins as usize) - before) * bins.fract()
    }
}

/// Changes the shares of the bins so that the highest millisecond has `factor` times the average and returns what it has.
fn shape_peak(shares: &mut [f64], factor: Option<f64>) -> Result<f64, SimulationError> {
    let bins = shares.len();
    let (first, highest) = highest_millisecond(shares);
    // What a millisecond has of a steady beam, and how much higher it can be at most.
    let (even, most) = (PER_MILLISECOND as f64 / bins as f64, bins as f64 / PER_MILLISECOND as f64);
    let Some(factor) = factor else { return Ok(highest / even) };
    if !(1.0..=most).contains(&factor) {
        let expected = format!("1 (a steady beam) to {most:.1} (all neutrons within 1 ms of a pulse)");
        return refuse("peak_factor", factor, &expected);
    }
    let wanted = factor * even;
    // In both cases no other millisecond becomes higher than this one: the spectrum has less there, and the addition
    // not more.
    if wanted > highest {
        let moved = (wanted - highest) / (1.0 - highest);
        shares.iter_mut().for_each(|share| *share *= 1.0 - moved);
        for bin in first..first + PER_MILLISECOND {
            shares[bin % bins] += moved / PER_MILLISECOND as f64;
        }
    } else if highest > even {
        let moved = (highest - wanted) / (highest - even);
        shares.iter_mut().for_each(|share| *share = *share * (1.0 - moved) + moved / bins as f64);
    }
    Ok(factor)
}

/// First bin of the highest millisecond, and the share of the neutrons in it. After the last bin comes the first bin of
/// the next pulse.
fn highest_millisecond(shares: &[f64]) -> (usize, f64) {
    let bins = shares.len();
    let mut within: f64 = shares.iter().take(PER_MILLISECOND).sum();
    let mut highest = (0, within);
    for first in 1..bins {
        within += shares[(first + PER_MILLISECOND - 1) % bins] - shares[first - 1];
        if within > highest.1 {
            highest = (first, within);
        }
    }
    highest
}

/// Times of flight and of emission, in bins.
struct Flights {
    bin_ps: f64,
    /// Wavelength per bin of flight, in ångström.
    per_bin: f64,
    wavelengths: [f64; 2],
    /// The first bin of flight.
    first: usize,
    /// For each moderator the shares of its neutrons by bin of flight, from the first one.
    flights: Vec<Vec<f64>>,
    /// For each moderator the shares of its neutrons by bin of emission.
    emissions: Vec<Vec<f64>>,
}

impl Flights {
    fn new(settings: &BeamSettings, bin_ps: f64) -> Result<Self, SimulationError> {
        let per_angstrom = PICOSECONDS_PER_METRE_ANGSTROM * settings.flight_path;
        let [shortest, mut longest] = settings.wavelengths;
        if longest * per_angstrom > LONGEST_FLIGHT_PS {
            if settings.frame_overlap == FrameOverlap::Wrap {
                let found = format!("{longest} ångström over {} m", settings.flight_path);
                let expected = "a flight of at most 2 s for the longest wavelength";
                return refuse("wavelengths", found, expected);
            }
            // Choppers stop them anyway.
            longest = LONGEST_FLIGHT_PS / per_angstrom;
        }
        let per_bin = bin_ps / per_angstrom;
        let first = (shortest / per_bin) as usize;
        let last = ((longest / per_bin) as usize).max(first);
        let moderators = &settings.moderators;
        let share = |moderator: &Moderator, bin: usize| {
            let [from, to] = [bin, bin + 1].map(|edge| {
                let wavelength = (edge as f64 * per_bin).clamp(shortest, longest.max(shortest));
                moderator.share_below(wavelength)
            });
            moderator.weight * (to - from)
        };
        let emission = |moderator: &Moderator| {
            let bins = (moderator.longest(settings.proton_pulse) / bin_ps) as usize + 1;
            let out = |bin: usize| moderator.share_out(bin as f64 * bin_ps, settings.proton_pulse);
            let within: Vec<f64> = (0..bins).map(|bin| out(bin + 1) - out(bin)).collect();
            // The sum of two times that lie anywhere in their bins is as often in the one bin as in the next.
            let before = |bin: usize| bin.checked_sub(1).and_then(|bin| within.get(bin)).unwrap_or(&0.0);
            (0..=bins).map(|bin| (within.get(bin).unwrap_or(&0.0) + before(bin)) / 2.0).collect()
        };
        Ok(Self {
            bin_ps,
            per_bin,
            wavelengths: [shortest, longest],
            first,
            flights: moderators.iter().map(|it| (first..=last).map(|bin| share(it, bin)).collect()).collect(),
            emissions: moderators.iter().map(emission).collect(),
        })
    }

    /// What arrives in each of the bins of a period, and its wavelengths.
    fn arrive(&self, overlap: FrameOverlap, bins: usize) -> (Vec<f64>, Vec<[f32; WAVELENGTHS]>) {
        let flights = self.flights.iter().map(Vec::len).max().unwrap_or(0);
        let emission = self.emissions.iter().map(Vec::len).max().unwrap_or(0);
        let periods = match overlap {
            FrameOverlap::Cut => 1,
            FrameOverlap::Wrap => (self.first + flights + emission).div_ceil(bins),
        };
        let mut contributions = Vec::new();
        (0..bins)
            .map(|bin| {
                contributions.clear();
                for period in 0..periods {
                    self.contribute(bin + period * bins, emission, &mut contributions);
                }
                let time_ps = (bin as f64 + 0.5) * self.bin_ps;
                (
                    contributions.iter().map(|(_, share)| share).sum::<f64>(),
                    self.slice(time_ps, &contributions),
                )
            })
            .unzip()
    }

    /// Adds the wavelengths and shares that arrive in a bin, counted from the pulse that they come from.
    fn contribute(&self, bin: usize, emission: usize, contributions: &mut Vec<(f64, f64)>) {
        let [shortest, longest] = self.wavelengths;
        let from = (bin + 1).saturating_sub(emission).max(self.first);
        for flight in from..=bin {
            let share: f64 = self
                .flights
                .iter()
                .zip(&self.emissions)
                .filter_map(|(flights, emissions)| {
                    Some(flights.get(flight - self.first)? * emissions.get(bin - flight)?)
                })
                .sum();
            if share > 0.0 {
                let wavelength = (flight as f64 + 0.5) * self.per_bin;
                contributions.push((wavelength.clamp(shortest, longest), share));
            }
        }
    }

    /// Equally likely wavelengths: the means of as many slices of the contributions, so that the mean is kept.
    fn slice(&self, time_ps: f64, contributions: &[(f64, f64)]) -> [f32; WAVELENGTHS] {
        let [shortest, longest] = self.wavelengths;
        let total: f64 = contributions.iter().map(|(_, share)| share).sum();
        // Where the spectrum has nothing, only neutrons arrive that were moved there: as if they came at once.
        let at_once = (time_ps / self.bin_ps * self.per_bin).clamp(shortest, longest) as f32;
        let mut slices = [at_once; WAVELENGTHS];
        let size = total / WAVELENGTHS as f64;
        if size <= 0.0 {
            return slices;
        }
        let (mut slice, mut filled, mut sum) = (0, 0.0, 0.0);
        for &(wavelength, share) in contributions {
            let mut left = share;
            while left > 0.0 && slice < WAVELENGTHS {
                let taken = left.min(size - filled);
                filled += taken;
                sum += taken * wavelength;
                left -= taken;
                if filled >= size {
                    slices[slice] = (sum / filled) as f32;
                    slice += 1;
                    (filled, sum) = (0.0, 0.0);
                }
            }
        }
        if let Some(last) = slices.get_mut(slice)
            && filled > 0.0
        {
            *last = (sum / filled) as f32;
        }
        slices
    }
}

//! The beam: when neutrons reach the detector, and where.
//!
//! | what | module |
//! |---|---|
//! | spectrum and pulse shape of the moderators | [`moderator`] |
//! | flight path, frame overlap, peak: times of arrival and wavelengths | [`arrivals`] |
//! | when a chopper lets neutrons through | [`chopper`] |
//! | the picture in the beam: from a mask, a file, a diffractometer, a reflectometer | [`image`] |
//! | parts of pulses, where a whole one is too much | [`parts`] |
//! | what can be configured | [`settings`] |

pub mod arrivals;
pub mod chopper;
pub mod image;
pub mod mask;
pub mod moderator;
pub mod parts;
pub mod settings;
#[cfg(test)]
mod tests;

use crate::detector_model::{DetectorModel, Strike};
use crate::error::SimulationError;
use crate::random::poisson;
use arrivals::Arrivals;
use chopper::Chopper;
use evforge_core::geometry::Coordinates;
use evforge_core::pulse::PulseTrain;
use image::Image;
pub use image::settings::ImageSettings;
use rand::rngs::SmallRng;
use rand::{Rng, RngExt};
pub use settings::{BeamSettings, FrameOverlap};
use std::ops::Range;

/// Draws what reaches the detector.
#[derive(Clone, Debug)]
pub struct Beam {
    neutrons_per_second: f64,
    gammas_per_second: f64,
    arrivals: Arrivals,
    chopper: Option<Chopper>,
    image: Image,
    /// Columns, rows, panels.
    sides: [u32; 3],
}

impl Beam {
    /// The beam on a detector, with the pulses of this source.
    ///
    /// # Errors
    /// If a setting has a value that no beam has, or a picture's file cannot be read: names the key, what was found and
    /// what is expected.
    pub fn new(
        settings: &BeamSettings,
        detector: &dyn DetectorModel,
        pulses: &PulseTrain,
    ) -> Result<Self, SimulationError> {
        let geometry = detector.picture();
        let period_ns = match (pulses.start_ns(0), pulses.start_ns(1)) {
            (Some(start), Some(end)) => end - start,
            _ => 0,
        };
        Ok(Self {
            neutrons_per_second: settings.neutrons.millihertz as f64 / 1000.0,
            gammas_per_second: settings.gammas.millihertz as f64 / 1000.0,
            arrivals: Arrivals::new(settings, period_ns.saturating_mul(1000))?,
            chopper: match &settings.chopper {
                Some(chopper) => Some(Chopper::new(chopper, settings.flight_path)?),
                None => None,
            },
            image: Image::new(&settings.image, settings.tiles, detector)?,
            sides: [geometry.nx(), geometry.ny(), geometry.panels()],
        })
    }

    /// Neutrons per second that reach the detector, on average over all time, with those that a chopper stops.
    pub fn average_rate(&self) -> f64 {
        self.neutrons_per_second
    }

    /// Neutrons per second that reach the detector during the millisecond of a pulse in which most do, on average over
    /// many pulses: what the input of a data acquisition must be dimensioned for (EFU paper, section 1.1).
    pub fn peak_rate(&self) -> f64 {
        self.neutrons_per_second * self.arrivals.peak_factor()
    }

    /// Middle of that millisecond, in picoseconds since the start of a pulse.
    pub fn peak_ps(&self) -> u64 {
        self.arrivals.peak_ps()
    }

    /// The picture in it.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Adds the neutrons of a pulse with this period, in the order of time; with a part, those of the part.
    pub fn neutrons(
        &self,
        period_ps: u64,
        part: Option<&Range<u64>>,
        random: &mut SmallRng,
        strikes: &mut Vec<Strike>,
    ) {
        let mean = self.neutrons_per_second * period_ps as f64 / 1e12;
        let last_ps = period_ps.saturating_sub(1);
        // Reserved once and for nearly all pulses, but without trust in a rate: it may be anything.
        if part.is_none() {
            strikes.reserve((mean + 4.0 * mean.sqrt()).min(1e7) as usize);
        }
        self.arrivals.draw(mean, part, random, |random, time_ps, wavelength| {
            let Coordinates { x, y, panel, .. } = self.image.draw(random);
            // Anywhere in the pixel: one random number is enough for both axes.
            let within = random.next_u64();
            let share = |bits: u64| (bits & u64::from(u32::MAX)) as f64 / 4_294_967_296.0;
            let is_let_through =
                |chopper: &Chopper| chopper.passes(x, time_ps.min(last_ps), wavelength, period_ps);
            if !self.chopper.as_ref().is_none_or(is_let_through) {
                return;
            }
            strikes.push(Strike {
                time_ps: time_ps.min(last_ps),
                x: f64::from(x) + share(within),
                y: f64::from(y) + share(within >> 32),
                panel,
                wavelength,
            });
        });
    }

    /// Adds the gammas of a pulse with this period.
    pub fn gammas(&self, period_ps: u64, random: &mut SmallRng, strikes: &mut Vec<Strike>) {
        for _ in 0..poisson(self.gammas_per_second * period_ps as f64 / 1e12, random) {
            strikes.push(Strike {
                time_ps: random.random_range(0..period_ps.max(1)),
                x: random.random::<f64>() * f64::from(self.sides[0]),
                y: random.random::<f64>() * f64::from(self.sides[1]),
                panel: random.random_range(0..self.sides[2]),
                wavelength: 0.0,
            });
        }
    }
}

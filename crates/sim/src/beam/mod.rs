//! The beam: when neutrons reach the detector, and where.

pub mod mask;

use crate::detector_model::{DetectorModel, Strike};
use crate::neutron_source::NeutronSource;
use crate::random::poisson;
use crate::simulation::SimulationError;
use evforge_core::quantity::Frequency;
use mask::Mask;
use rand::RngExt;
use rand::rngs::SmallRng;
use serde::Deserialize;

/// What is in the beam: `[simulation.beam]`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BeamSettings {
    /// Neutrons that reach the detector, on average over all time.
    pub neutrons: Frequency,
    /// Gammas that the detector sees, at all times and everywhere alike.
    pub gammas: Frequency,
}

impl Default for BeamSettings {
    fn default() -> Self {
        let hertz = |hertz: u64| Frequency { millihertz: hertz * 1000 };
        Self { neutrons: hertz(20_000), gammas: hertz(0) }
    }
}

/// Draws what reaches the detector.
#[derive(Clone, Debug)]
pub struct Beam {
    settings: BeamSettings,
    mask: Mask,
    /// Columns, rows, panels.
    sides: [u32; 3],
}

impl Beam {
    /// The beam on a detector: nothing is drawn where it is not sensitive.
    ///
    /// # Errors
    /// If no pixel that is sensitive gets anything.
    pub fn new(settings: &BeamSettings, detector: &dyn DetectorModel) -> Result<Self, SimulationError> {
        let geometry = detector.geometry();
        let sides = [geometry.nx(), geometry.ny(), geometry.panels()];
        Ok(Self { settings: *settings, mask: Mask::new(geometry), sides })
    }

    /// Adds the neutrons of a pulse with this period, in the order of time.
    pub fn neutrons(&self, period_ps: u64, random: &mut SmallRng, strikes: &mut Vec<Strike>) {
        let mean = self.settings.neutrons.millihertz as f64 / 1000.0 * period_ps as f64 / 1e12;
        let times = NeutronSource::times_of_flight(mean, random);
        for share in times {
            let (x, y) = self.mask.draw(random);
            strikes.push(Strike {
                time_ps: (share * period_ps as f64) as u64,
                x: f64::from(x) + random.random::<f64>(),
                y: f64::from(y) + random.random::<f64>(),
                panel: random.random_range(0..self.sides[2]),
            });
        }
    }

    /// Adds the gammas of a pulse with this period.
    pub fn gammas(&self, period_ps: u64, random: &mut SmallRng, strikes: &mut Vec<Strike>) {
        let mean = self.settings.gammas.millihertz as f64 / 1000.0 * period_ps as f64 / 1e12;
        for _ in 0..poisson(mean, random) {
            strikes.push(Strike {
                time_ps: random.random_range(0..period_ps.max(1)),
                x: random.random::<f64>() * f64::from(self.sides[0]),
                y: random.random::<f64>() * f64::from(self.sides[1]),
                panel: random.random_range(0..self.sides[2]),
            });
        }
    }
}

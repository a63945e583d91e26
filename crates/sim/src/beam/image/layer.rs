//! The parts of a picture, and the areas that pixels cover.

use crate::error::SimulationError;

/// The part of a picture that a pixel covers: shares of the picture's side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    /// From left to right.
    pub(super) x: [f64; 2],
    /// From bottom to top.
    pub(super) y: [f64; 2],
}

impl Area {
    /// Its centre.
    pub(super) fn centre(&self) -> [f64; 2] {
        [self.x, self.y].map(|[from, to]| (from + to) / 2.0)
    }

    /// Variance of a place within it, along both axes: what is sharper looks blurred by this.
    pub(super) fn blur(&self) -> [f64; 2] {
        [self.x, self.y].map(|[from, to]| (to - from).powi(2) / 12.0)
    }
}

/// A part of a picture.
pub(super) struct Layer {
    /// What it shows.
    pub(super) name: &'static str,
    /// Its share of all neutrons.
    pub(super) share: f64,
    /// Relative intensity in an area.
    pub(super) intensity: Box<dyn Fn(&Area) -> f64>,
}

impl Layer {
    pub(super) fn add(&self, areas: &[Area], weights: &mut [f64]) -> Result<(), SimulationError> {
        if self.share <= 0.0 {
            return Ok(());
        }
        let intensities: Vec<f64> = areas.iter().map(|area| (self.intensity)(area)).collect();
        let sum: f64 = intensities.iter().sum();
        if sum.is_nan() || sum <= 0.0 {
            let problem = format!("simulation.beam.image: the {} falls on no sensitive pixel", self.name);
            return Err(SimulationError(problem));
        }
        for (weight, intensity) in weights.iter_mut().zip(intensities) {
            *weight += self.share * intensity / sum;
        }
        Ok(())
    }
}

/// Height of a normal distribution with this variance, whose area is 1.
pub(super) fn normal_density(distance: f64, variance: f64) -> f64 {
    (-distance * distance / (2.0 * variance)).exp() / (std::f64::consts::TAU * variance).sqrt()
}

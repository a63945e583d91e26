//! Sums over images.

use super::image::StepImage;
use super::integrated::IntegratedImages;
use super::step::{ImageRejection, Step};

/// Adds up all images that it sees, and rejects none: its place in the chain decides which those are.
#[derive(Clone, Debug)]
pub struct Integration {
    integrated: IntegratedImages,
}

impl Integration {
    /// For images of this many values, and pulses with numbers below `pulses`.
    pub fn new(values: usize, pulses: usize) -> Self {
        Self { integrated: IntegratedImages::new(values, pulses) }
    }
}

impl Step for Integration {
    fn name(&self) -> &'static str {
        "integration"
    }

    fn values(&self) -> Option<usize> {
        Some(self.integrated.sums().len())
    }

    fn look(&mut self, image: &mut StepImage<'_>) -> Result<(), ImageRejection> {
        let pulse = image.descriptor().pulse;
        self.integrated.add(pulse, image.values());
        Ok(())
    }

    fn integrated(&self) -> Option<&IntegratedImages> {
        Some(&self.integrated)
    }
}

//! Pulses that are not wanted.

use super::image::StepImage;
use super::step::{ImageRejection, Step};

/// Rejects images of certain pulses, by the number of the pulse in its train.
#[derive(Clone, Debug)]
pub struct VetoList {
    /// In their order.
    pulses: Vec<u64>,
}

impl VetoList {
    /// Rejects images of these pulses.
    pub fn new(mut pulses: Vec<u64>) -> Self {
        pulses.sort_unstable();
        pulses.dedup();
        Self { pulses }
    }
}

impl Step for VetoList {
    fn name(&self) -> &'static str {
        "veto"
    }

    fn values(&self) -> Option<usize> {
        None
    }

    fn look(&mut self, image: &mut StepImage<'_>) -> Result<(), ImageRejection> {
        match self.pulses.binary_search(&image.descriptor().pulse) {
            Ok(_) => Err(ImageRejection::Vetoed),
            Err(_) => Ok(()),
        }
    }
}

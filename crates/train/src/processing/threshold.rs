//! Images with something in them.

use super::image::StepImage;
use super::step::{ImageRejection, Step};
use evforge_core::settings::SettingsError;

/// Rejects images with fewer than N values above a level. Masked pixels are above none.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    level: f32,
    least: usize,
}

impl Threshold {
    /// Images with at least `least` values above `level` are kept.
    ///
    /// # Errors
    /// If the level is not a number: no value would be above it.
    pub fn new(level: f32, least: usize) -> Result<Self, SettingsError> {
        if level.is_nan() {
            return SettingsError::refuse("level", "not a number, expected one: no value would be above it");
        }
        Ok(Self { level, least })
    }
}

impl Step for Threshold {
    fn name(&self) -> &'static str {
        "threshold"
    }

    fn values(&self) -> Option<usize> {
        None
    }

    fn look(&mut self, image: &mut StepImage<'_>) -> Result<(), ImageRejection> {
        // Counted to the end without a branch: that is faster than to stop at the last one that is needed.
        let above = image.values().iter().map(|value| usize::from(*value > self.level)).sum::<usize>();
        if above < self.least { Err(ImageRejection::TooDark) } else { Ok(()) }
    }
}

//! Pedestals and gains.

use super::image::StepImage;
use super::step::{ImageRejection, Step};
use evforge_core::settings::SettingsError;
use std::sync::Arc;

/// Corrects each value by its pedestal and its gain: `(value - pedestal) * gain`.
///
/// Constants are those of each pixel, and, if there are several sets, of each storage cell. A pixel is masked by a gain that is not a
/// number. Of a detector with several values of a pixel each value has constants of its own; AGIPD's gain stages are not told apart.
/// Clones have the same constants in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    values: usize,
    pedestals: Arc<[f32]>,
    gains: Arc<[f32]>,
}

impl Calibration {
    /// For images of this many values: one set of constants for all storage cells, or one after the other from cell 0 on.
    ///
    /// # Errors
    /// If there are not as many gains as pedestals, or not one or more whole sets of them.
    pub fn new(values: usize, pedestals: Vec<f32>, gains: Vec<f32>) -> Result<Self, SettingsError> {
        if values == 0 || pedestals.is_empty() || !pedestals.len().is_multiple_of(values) {
            let problem = format!(
                "{} values, expected one for each of the {values} values of an image, or that for each storage cell",
                pedestals.len()
            );
            return SettingsError::refuse("pedestals", problem);
        }
        if gains.len() != pedestals.len() {
            let problem =
                format!("{} values, expected as many as pedestals: {}", gains.len(), pedestals.len());
            return SettingsError::refuse("gains", problem);
        }
        Ok(Self { values, pedestals: pedestals.into(), gains: gains.into() })
    }

    /// Without constants: no storage cell is known, so every image is rejected.
    pub fn unknown(values: usize) -> Self {
        Self { values, pedestals: Arc::default(), gains: Arc::default() }
    }

    /// Storage cells that have constants of their own; 1 if all have the same.
    pub fn cells(&self) -> usize {
        self.pedestals.len().checked_div(self.values).unwrap_or(0)
    }
}

impl Step for Calibration {
    fn name(&self) -> &'static str {
        "calibration"
    }

    fn values(&self) -> Option<usize> {
        Some(self.values)
    }

    fn look(&mut self, image: &mut StepImage<'_>) -> Result<(), ImageRejection> {
        let is_of_each_cell = self.pedestals.len() > self.values;
        let start = if is_of_each_cell { usize::from(image.descriptor().cell) * self.values } else { 0 };
        let range = start..start + self.values;
        let (Some(pedestals), Some(gains)) = (self.pedestals.get(range.clone()), self.gains.get(range))
        else {
            return Err(ImageRejection::UnknownCell);
        };
        for ((value, pedestal), gain) in image.values().iter_mut().zip(pedestals).zip(gains) {
            *value = (*value - pedestal) * gain;
        }
        Ok(())
    }
}

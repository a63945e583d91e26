//! A region of interest.

use super::image::{ImageShape, StepImage};
use super::step::{ImageRejection, Step};
use evforge_core::settings::SettingsError;
use std::ops::Range;

/// Rejects images whose sum in a rectangle is not within limits, both included. Masked pixels do not count.
///
/// Rows and columns are those of the image as its train has it. Of detectors with several values of a pixel, the first one counts.
#[derive(Clone, Debug)]
pub struct Region {
    shape: ImageShape,
    rows: Range<usize>,
    columns: Range<usize>,
    limits: [f64; 2],
}

impl Region {
    /// A rectangle in images of this shape, and the least and the largest sum; infinities for none.
    ///
    /// # Errors
    /// If the rectangle is empty or not within the image, or no sum is within the limits.
    pub fn new(
        shape: ImageShape,
        rows: Range<usize>,
        columns: Range<usize>,
        limits: [f64; 2],
    ) -> Result<Self, SettingsError> {
        let [_, all_rows, all_columns] = shape;
        for (key, range, end) in [("rows", &rows, all_rows), ("columns", &columns, all_columns)] {
            if range.is_empty() || range.end > end {
                let problem = format!(
                    "{} to {} (excluded), expected at least one, within 0 to {end}",
                    range.start, range.end
                );
                return SettingsError::refuse(key, problem);
            }
        }
        let [least, most] = limits;
        // Also if one of them is not a number.
        if !matches!(least.partial_cmp(&most), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)) {
            let problem = format!("{least} to {most}, expected the lower one first: no sum is within them");
            return SettingsError::refuse("limits", problem);
        }
        Ok(Self { shape, rows, columns, limits })
    }
}

impl Step for Region {
    fn name(&self) -> &'static str {
        "region"
    }

    fn values(&self) -> Option<usize> {
        Some(self.shape.iter().product())
    }

    fn look(&mut self, image: &mut StepImage<'_>) -> Result<(), ImageRejection> {
        let [_, _, width] = self.shape;
        let values = image.values();
        let row = |row: usize| &values[row * width + self.columns.start..row * width + self.columns.end];
        let numbers = self.rows.clone().flat_map(row).filter(|value| !value.is_nan());
        let sum: f64 = numbers.map(|value| f64::from(*value)).sum();
        let [least, most] = self.limits;
        if sum < least {
            Err(ImageRejection::BelowLimits)
        } else if sum > most {
            Err(ImageRejection::AboveLimits)
        } else {
            Ok(())
        }
    }
}

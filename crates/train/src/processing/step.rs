//! The interface of a step.

use super::image::StepImage;
use super::integrated::IntegratedImages;
use std::fmt::Debug;

/// Why an image is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRejection {
    /// Its pulse is in the veto list.
    Vetoed,
    /// There are no pedestals and gains for its storage cell.
    UnknownCell,
    /// It has too few pixels above the level.
    TooDark,
    /// Its sum in a region is below the limits.
    BelowLimits,
    /// Its sum in a region is above the limits.
    AboveLimits,
}

/// Looks at one image after the other; may change its values, and may reject it.
pub trait Step: Debug + Send {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// How many values an image must have; none if it takes images of any size.
    fn values(&self) -> Option<usize>;

    /// Looks at an image.
    ///
    /// # Errors
    /// The reason why it is rejected: no further step sees it.
    fn look(&mut self, image: &mut StepImage<'_>) -> Result<(), ImageRejection>;

    /// What it has added up, if it does that.
    fn integrated(&self) -> Option<&IntegratedImages> {
        None
    }
}

/// What a step has done, counted alongside the counters of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTally {
    /// Its name.
    pub name: &'static str,
    /// Images that it saw.
    pub images_in: u64,
    /// Images that it kept.
    pub kept: u64,
    /// Images that it rejected. In = kept + rejected.
    pub rejected: u64,
}

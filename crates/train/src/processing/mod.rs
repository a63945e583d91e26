//! Steps over the images of whole trains.
//!
//! ```text
//!  train ──► image ──► step ──► step ──► … ──► kept: f32 or u16
//!                        │        │
//!                     rejected by reason              images in = kept + rejected
//! ```
//!
//! | step | it | rejects |
//! |---|---|---|
//! | [`VetoList`] | knows pulses by their numbers | images of those pulses |
//! | [`Calibration`] | corrects values by pedestal and gain | images of cells without constants |
//! | [`Threshold`] | counts pixels above a level | images with fewer than N |
//! | [`Region`] | adds up a rectangle | images whose sum is not within limits |
//! | [`Integration`] | adds up images: sum, count and largest of each value, intensity of each pulse | none |
//!
//! A [`Chain`] has them in any order, each as often as it is wanted. Put a veto first: an image that it rejects is not even read.
//! A pixel is masked by a gain that is not a number; no step counts it.

mod calibration;
mod chain;
mod counters;
mod image;
mod integrated;
mod integration;
mod output;
mod region;
mod step;
mod threshold;
mod veto;

pub use calibration::Calibration;
pub use chain::Chain;
pub use counters::ProcessingCounters;
pub use image::{ImageShape, StepImage};
pub use integrated::{IntegratedImages, PulseIntensity};
pub use integration::Integration;
pub use output::{ProcessedTrain, ProcessedValues, ValueType};
pub use region::Region;
pub use step::{ImageRejection, Step, StepTally};
pub use threshold::Threshold;
pub use veto::VetoList;

//! What a train looks like as a whole: its images added up, and the intensity of each pulse.

use crate::node::NodeTrain;
use evforge_wire::train::TrainDetector;

/// The intensity of a pulse in one train.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PulseSum {
    /// Number of the pulse, as the train says it: any number.
    pub pulse: u64,
    /// Sum of the first value of every pixel: exact.
    pub sum: u64,
}

/// The images of one train of a module added up, pixel by pixel, and the intensity of each pulse.
///
/// Of a detector with several values of a pixel (AGIPD: signal and gain), the first one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrainSummary {
    module: u8,
    train: u64,
    sums: Vec<u64>,
    pulses: Vec<PulseSum>,
}

/// Why there is no summary of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSummed {
    /// A part of it is missing, or it is no train of images.
    NotWhole,
    /// Its images do not have the size of the detector's.
    OtherImages,
}

impl TrainSummary {
    /// Adds up the images of a train of this detector, without those that a sink before has rejected. The memory of what was there is
    /// used again.
    ///
    /// # Errors
    /// Why there is nothing to add up; what was there stays then.
    pub fn renew(&mut self, train: &NodeTrain, detector: TrainDetector) -> Result<(), NotSummed> {
        let assembled = &train.train;
        let view =
            assembled.train().filter(|_| assembled.report().missing == 0).ok_or(NotSummed::NotWhole)?;
        if view.layout().image_bytes() != detector.image_bytes() {
            return Err(NotSummed::OtherImages);
        }
        let [_, rows, columns] = detector.shape();
        let pixels = rows * columns;
        (self.module, self.train) = (train.module, view.header().train);
        self.pulses.clear();
        self.sums.clear();
        self.sums.resize(pixels, 0);
        let mut rejected = train.rejected.iter().copied().peekable();
        for index in 0..view.layout().images() {
            if rejected.next_if_eq(&index).is_some() {
                continue;
            }
            let (Some(image), Some(descriptor)) = (view.image(index), view.descriptor(index)) else {
                unreachable!("a train has as many images as its layout says");
            };
            let values = &image.as_chunks::<{ TrainDetector::VALUE_BYTES }>().0[..pixels];
            let mut sum = 0;
            for (place, value) in self.sums.iter_mut().zip(values) {
                let value = u64::from(u16::from_le_bytes(*value));
                *place += value;
                sum += value;
            }
            self.pulses.push(PulseSum { pulse: descriptor.pulse, sum });
        }
        Ok(())
    }

    /// Number of the module.
    pub const fn module(&self) -> u8 {
        self.module
    }

    /// Number of the train.
    pub const fn train(&self) -> u64 {
        self.train
    }

    /// Intensities, one for each image that was added up, in the order of the train.
    pub fn pulses(&self) -> &[PulseSum] {
        &self.pulses
    }

    /// The sum of each pixel over these images, row by row.
    pub fn sums(&self) -> &[u64] {
        &self.sums
    }

    /// The mean of each pixel over these images, row by row; 0 without any.
    pub fn means(&self) -> impl Iterator<Item = f64> + '_ {
        let images = self.pulses.len().max(1) as f64;
        self.sums.iter().map(move |sum| *sum as f64 / images)
    }
}

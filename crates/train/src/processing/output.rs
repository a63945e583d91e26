//! What comes out of the steps.

use super::counters::ProcessingCounters;
use super::image::{StepImage, raw_values};
use evforge_wire::train::ImageDescriptor;

/// In which form values are handed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueType {
    /// 32-bit floats: as the steps have left them.
    #[default]
    F32,
    /// 16-bit numbers: rounded to the nearest, halves to the even one; what is below 0 or above 65535 is counted and clamped, masked
    /// pixels are counted and 0.
    U16,
    /// Not at all: which images were kept is all that is asked for.
    Nothing,
}

/// Values of all images of a train, one image after the other.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessedValues {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 16-bit numbers.
    U16(Vec<u16>),
    /// They are not handed on.
    Nothing,
}

/// The images of a train that were kept. Its memory is used again for the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessedTrain {
    pub(super) number: u64,
    pub(super) indices: Vec<usize>,
    pub(super) descriptors: Vec<ImageDescriptor>,
    pub(super) values: ProcessedValues,
}

impl ProcessedTrain {
    /// No image yet.
    pub const fn new(form: ValueType) -> Self {
        let values = match form {
            ValueType::F32 => ProcessedValues::F32(Vec::new()),
            ValueType::U16 => ProcessedValues::U16(Vec::new()),
            ValueType::Nothing => ProcessedValues::Nothing,
        };
        Self { number: 0, indices: Vec::new(), descriptors: Vec::new(), values }
    }

    /// Number of the train.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Which images of the train were kept, in their order.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// What the train said of each of them.
    pub fn descriptors(&self) -> &[ImageDescriptor] {
        &self.descriptors
    }

    /// Their values.
    pub const fn values(&self) -> &ProcessedValues {
        &self.values
    }

    pub(super) fn begin(&mut self, number: u64) {
        self.number = number;
        self.indices.clear();
        self.descriptors.clear();
        match &mut self.values {
            ProcessedValues::F32(values) => values.clear(),
            ProcessedValues::U16(values) => values.clear(),
            ProcessedValues::Nothing => {}
        }
    }

    pub(super) fn push(
        &mut self,
        index: usize,
        image: &mut StepImage<'_>,
        counters: &mut ProcessingCounters,
    ) {
        self.indices.push(index);
        self.descriptors.push(*image.descriptor());
        match (&mut self.values, image.untouched()) {
            (ProcessedValues::Nothing, _) => {}
            (ProcessedValues::F32(values), _) => values.extend_from_slice(image.values()),
            (ProcessedValues::U16(values), Some(raw)) => values.extend(raw_values(raw)),
            (ProcessedValues::U16(values), None) => {
                values.extend(image.values().iter().map(|value| rounded(*value, counters)));
            }
        }
    }
}

fn rounded(value: f32, counters: &mut ProcessingCounters) -> u16 {
    let rounded = value.round_ties_even();
    counters.pixels_not_numbers += u64::from(rounded.is_nan());
    counters.pixels_clamped += u64::from(rounded < 0.0 || rounded > f32::from(u16::MAX));
    // The conversion clamps, and makes 0 of what is not a number.
    rounded as u16
}

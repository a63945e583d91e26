//! One image on its way through the steps.

use evforge_wire::train::ImageDescriptor;

/// How an image of a train is cut into values: how many of each pixel, rows, columns, as
/// [`TrainDetector::shape`](evforge_wire::train::TrainDetector::shape) says it.
pub type ImageShape = [usize; 3];

/// An image on its way through the steps: what its train says of it, and its values.
///
/// Values are 32-bit floats, which hold every 16-bit value as it is. They are made when a step asks for them: what is rejected by its
/// descriptor costs nothing. A pixel that is masked is not a number.
#[derive(Debug)]
pub struct StepImage<'a> {
    descriptor: ImageDescriptor,
    raw: &'a [u8],
    values: &'a mut [f32],
    is_loaded: bool,
}

impl<'a> StepImage<'a> {
    /// An image of 16-bit values, little-endian, and room for half as many values as that has bytes.
    pub(super) fn new(descriptor: ImageDescriptor, raw: &'a [u8], values: &'a mut [f32]) -> Self {
        Self { descriptor, raw, values, is_loaded: false }
    }

    /// What its train says of it.
    pub const fn descriptor(&self) -> &ImageDescriptor {
        &self.descriptor
    }

    /// Its values, as the steps before have left them.
    pub fn values(&mut self) -> &mut [f32] {
        if !self.is_loaded {
            self.is_loaded = true;
            for (value, raw) in self.values.iter_mut().zip(raw_values(self.raw)) {
                *value = f32::from(raw);
            }
        }
        self.values
    }

    /// Its values as they came, if no step has asked for them: then none has changed them.
    pub(super) fn untouched(&self) -> Option<&'a [u8]> {
        (!self.is_loaded).then_some(self.raw)
    }
}

/// 16-bit values, little-endian.
pub(super) fn raw_values(raw: &[u8]) -> impl Iterator<Item = u16> + '_ {
    raw.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes))
}

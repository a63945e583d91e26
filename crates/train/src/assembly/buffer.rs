//! The memory of one train.

use super::presence::Presence;
use super::settings::AssemblySettings;

/// The memory of one train: room for the largest one, and a bit for each of its packets. Made by an assembly when it begins, lent with
/// each train that it hands on, used again once it is given back.
#[derive(Debug)]
pub struct TrainBuffer {
    pub(super) bytes: Box<[u8]>,
    pub(super) presence: Presence,
}

impl TrainBuffer {
    /// Room for trains of at most this many bytes, in packets of this many.
    pub(super) fn new(largest_train: usize, data_bytes: usize) -> Self {
        let mut bytes = vec![0; largest_train].into_boxed_slice();
        // Every page is written once, so that no packet waits for the kernel to find one.
        bytes.iter_mut().step_by(4096).for_each(|byte| *std::hint::black_box(byte) = 0);
        Self { bytes, presence: Presence::new(largest_train.div_ceil(data_bytes)) }
    }

    /// True if it may be one of an assembly with these settings.
    pub(super) fn fits(&self, settings: &AssemblySettings) -> bool {
        self.bytes.len() == settings.largest_train && self.presence.packets() >= settings.largest_packets()
    }
}

//! The memory of one train.

use super::presence::Presence;
use memmap2::MmapMut;
use std::io;

/// The memory of one train: room for the largest one, and a bit for each of its packets. Made by an assembly when it begins, lent with
/// each train that it hands on, used again once it is given back.
#[derive(Debug)]
pub struct TrainBuffer {
    pub(super) bytes: MmapMut,
    pub(super) presence: Presence,
}

impl TrainBuffer {
    /// Room for trains of at most this many bytes, in packets of this many.
    ///
    /// # Errors
    /// If the system has no such memory.
    pub(super) fn new(largest_train: usize, data_bytes: usize) -> io::Result<Self> {
        let mut bytes = MmapMut::map_anon(largest_train)?;
        // Huge pages where the system has some: a train's packets go to addresses that are far apart. Where it has none, pages are as small
        // as ever.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        // Every page is written once, so that no packet waits for the kernel to find one.
        bytes.iter_mut().step_by(4096).for_each(|byte| *std::hint::black_box(byte) = 0);
        Ok(Self { bytes, presence: Presence::new(largest_train.div_ceil(data_bytes)) })
    }
}

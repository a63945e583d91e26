//! The memory of one train.

use super::presence::Presence;
use super::settings::AssemblySettings;
use evforge_core::settings::SettingsError;
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
    /// All buffers of an assembly with these settings.
    ///
    /// # Errors
    /// If the system has no memory for them.
    pub(super) fn all(settings: &AssemblySettings) -> Result<Vec<Self>, SettingsError> {
        let AssemblySettings { largest_train, data_bytes, buffers, .. } = *settings;
        let all: io::Result<Vec<_>> = (0..buffers).map(|_| Self::new(largest_train, data_bytes)).collect();
        all.or_else(|error| {
            let problem =
                format!("{buffers} of {largest_train} bytes: the system has no memory for them: {error}");
            SettingsError::refuse("buffers", problem)
        })
    }

    /// Room for trains of at most this many bytes, in packets of this many.
    fn new(largest_train: usize, data_bytes: usize) -> io::Result<Self> {
        let mut bytes = MmapMut::map_anon(largest_train)?;
        // Huge pages where the system has some: a train's packets go to addresses that are far apart. Where it has none, pages are as small
        // as ever.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        // Every page is written once, so that no packet waits for the kernel to find one.
        bytes.iter_mut().step_by(4096).for_each(|byte| *std::hint::black_box(byte) = 0);
        Ok(Self { bytes, presence: Presence::new(largest_train.div_ceil(data_bytes)) })
    }

    /// True if it may be one of an assembly with these settings.
    pub(super) fn fits(&self, settings: &AssemblySettings) -> bool {
        self.bytes.len() == settings.largest_train && self.presence.packets() >= settings.largest_packets()
    }
}

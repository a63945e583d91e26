//! The `[input]` table: how packets travel.

use evforge_core::quantity::ByteSize;
use evforge_core::settings::SettingsError;
use serde::Deserialize;

/// How packets travel to the detector and events from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InputSettings {
    /// Packets that one slab holds at most.
    pub packets_per_slab: usize,
    /// Bytes that one slab holds at most.
    pub bytes_per_slab: ByteSize,
    /// Events that one batch holds at most.
    pub events_per_batch: usize,
    /// Memory of packets that have been received live and wait to be formed into events, of each receiving thread.
    pub queue: ByteSize,
    /// 1: one thread reads and forms in turn; 2: one reads while the other forms.
    pub threads: usize,
    /// Per cent of the readouts, or of the hits, that may have no place in the configuration without an alarm.
    pub unplaced_percent: u8,
}

impl Default for InputSettings {
    fn default() -> Self {
        Self {
            packets_per_slab: 256,
            bytes_per_slab: ByteSize { bytes: 2 << 20 },
            events_per_batch: 8192,
            queue: ByteSize { bytes: 64 << 20 },
            threads: 1,
            unplaced_percent: 1,
        }
    }
}

impl InputSettings {
    /// Slabs that travel between two threads while a capture is read.
    pub const SLABS: usize = 4;

    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let refuse = |key: &str, problem: &str| {
            Err(SettingsError { key: format!("input.{key}"), problem: problem.to_owned() })
        };
        if !(1..=1 << 16).contains(&self.packets_per_slab) {
            return refuse("packets_per_slab", "must be in 1..=65536");
        }
        if self.bytes_per_slab.bytes > 1 << 30 {
            return refuse("bytes_per_slab", "must be at most 1GiB");
        }
        if !(1 << 20..=1 << 36).contains(&self.queue.bytes) {
            return refuse("queue", "must be in 1MiB..=64GiB");
        }
        if !(1..=1 << 24).contains(&self.events_per_batch) {
            return refuse("events_per_batch", "must be in 1..=2^24");
        }
        if !(1..=2).contains(&self.threads) {
            return refuse("threads", "must be 1 or 2");
        }
        if self.unplaced_percent > 100 {
            return refuse("unplaced_percent", "must be in 0..=100");
        }
        Ok(())
    }
}

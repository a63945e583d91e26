//! The `[input]` table: how packets travel.

use evforge_core::quantity::ByteSize;
use evforge_core::settings::SettingsError;
use schemars::JsonSchema;
use serde::Deserialize;

/// How packets travel to the detector and events from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputSettings {
    /// Most packets in one slab (the memory that packets are read or received into). Live: at least 4096.
    #[schemars(range(min = 1, max = 1 << 16), extend("x-unit" = "packets"))]
    pub packets_per_slab: usize,
    /// Most bytes of packets in one slab. Live: at least 8 MiB.
    #[schemars(extend("x-range" = "up to 1 GiB; raised to 65 507 B"))]
    pub bytes_per_slab: ByteSize,
    /// Most events that are handed to the outputs at once.
    #[schemars(range(min = 1, max = 1 << 24), extend("x-unit" = "events"))]
    pub events_per_batch: usize,
    /// Memory for packets that have been received live and wait to be formed into events, for each receiving thread: enough for the peak of
    /// a pulse ([receive.md](receive.md#the-peak-of-a-pulse)).
    #[schemars(extend("x-range" = "1 MiB to 64 GiB; at least four pieces of 0.6 MB"))]
    pub queue: ByteSize,
    /// 1: one thread reads or receives and forms, in turn. 2: a thread for each.
    #[schemars(range(min = 1, max = 2))]
    pub threads: usize,
    /// More readouts than this without a place (channels that nothing is wired to, impossible fields, times far from the pulse), or more
    /// hits outside the geometry, are an alarm that names the reason and what to do.
    #[schemars(range(max = 100), extend("x-unit" = "per cent"))]
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

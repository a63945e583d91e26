//! The `sorting` table of a detector's section: the same for all detectors.

use super::quantity::Duration;
use evforge_detect::settings::SortingSettings;
use serde::Deserialize;

/// `[<detector>.sorting]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sorting {
    window: Duration,
    leap: Duration,
    restart: Duration,
    source_lag: Duration,
    max_held_hits: usize,
    max_group_hits: usize,
    decimation: u32,
}

impl Default for Sorting {
    fn default() -> Self {
        let milliseconds = |count: u64| Duration { picoseconds: count * 1_000_000_000 };
        Self {
            window: Duration { picoseconds: 500_000_000 },
            leap: milliseconds(2),
            restart: milliseconds(1000),
            source_lag: milliseconds(60_000),
            max_held_hits: 1 << 18,
            max_group_hits: 1 << 14,
            decimation: 0,
        }
    }
}

impl Sorting {
    /// The settings, not yet checked.
    pub(super) fn settings(&self) -> SortingSettings {
        SortingSettings {
            window: self.window.picoseconds,
            leap: self.leap.picoseconds,
            restart: self.restart.picoseconds,
            source_lag: self.source_lag.picoseconds,
            max_held_hits: self.max_held_hits,
            max_group_hits: self.max_group_hits,
            decimation: self.decimation,
        }
    }
}

//! The `sorting` table of a detector's section: the same for all detectors.

use evforge_core::quantity::Duration;
use evforge_detect::settings::SortingSettings;
use serde::Deserialize;

/// `[<detector>.sorting]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sorting {
    window: Option<Duration>,
    leap: Option<Duration>,
    restart: Option<Duration>,
    source_lag: Option<Duration>,
    max_held_hits: Option<usize>,
    max_group_hits: Option<usize>,
    decimation: Option<u32>,
}

const MILLISECOND: u64 = 1_000_000_000;

/// What holds for a detector whose electronics send without a pause.
const CONTINUOUS: SortingSettings = SortingSettings {
    window: MILLISECOND / 2,
    leap: 2 * MILLISECOND,
    restart: 1000 * MILLISECOND,
    source_lag: 60_000 * MILLISECOND,
    max_held_hits: 1 << 18,
    max_group_hits: 1 << 14,
    decimation: 0,
};

/// What holds for a readout that tells the pulses of the source: nothing may come between two of them, queues that are
/// silent although they are listed hold the others back for some pulses only, and what was read out at the end of a
/// pulse may come well after the beginning of the next.
const PULSED: SortingSettings = SortingSettings {
    window: 10 * MILLISECOND,
    leap: 1000 * MILLISECOND,
    source_lag: 500 * MILLISECOND,
    ..CONTINUOUS
};

impl Sorting {
    /// The settings of a detector whose electronics send without a pause, not yet checked.
    pub(super) fn settings(&self) -> SortingSettings {
        self.or(CONTINUOUS)
    }

    /// The settings of a readout that tells the pulses of the source, not yet checked.
    pub(super) fn pulsed_settings(&self) -> SortingSettings {
        self.or(PULSED)
    }

    fn or(&self, default: SortingSettings) -> SortingSettings {
        let or = |duration: Option<Duration>, default| duration.map_or(default, |found| found.picoseconds);
        SortingSettings {
            window: or(self.window, default.window),
            leap: or(self.leap, default.leap),
            restart: or(self.restart, default.restart),
            source_lag: or(self.source_lag, default.source_lag),
            max_held_hits: self.max_held_hits.unwrap_or(default.max_held_hits),
            max_group_hits: self.max_group_hits.unwrap_or(default.max_group_hits),
            decimation: self.decimation.unwrap_or(default.decimation),
        }
    }
}

//! What the settings of all detectors share.
//!
//! Settings are read where they are declared: they are `Deserialize`, in the words of the configuration files. What is
//! wrong with a single value is found by `check`, whose errors name the key.

pub mod pairing;
pub mod table;

use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::Frequency;
use evforge_core::settings::RefusedValue;
use serde::de::{Deserialize, Deserializer, Error};
use table::{AsItIs, Time, defaults, table};

/// Picoseconds: all durations of the settings. Times of the electronics must be whole picoseconds.
pub type Picoseconds = u64;

pub use evforge_core::settings::SettingsError;

/// Time order: what is late, what is a jump, and how much may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct SortingSettings {
    /// How much older than the newest hit of its own source a hit may be.
    pub window: Picoseconds,
    /// A step ahead of a source's time by more than this must be confirmed by its next packet.
    pub forward_jump: Picoseconds,
    /// A step back by more than this, confirmed by the next packet, is a restart of the source's clock.
    pub restart: Picoseconds,
    /// A source that is further than this behind the leading one no longer holds the others back.
    pub source_lag: Picoseconds,
    /// Hits (per plane, where there are planes) that may wait.
    pub max_held_hits: usize,
    /// Hits that a time group may have.
    pub max_group_hits: usize,
    /// Low bits of the hits' times, in ticks, that are left out: 0 to [`LARGEST_DECIMATION`], and 0 for detectors
    /// other than a Gd-GEM.
    pub decimation: u32,
    /// Hits per second at the peak of a pulse where most come: on the busiest plane or module. It changes nothing; a check
    /// of the configuration says whether they fit.
    pub highest_rate: Option<Frequency>,
}

/// What may wait for its time, and for how long it has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldHits {
    /// How many hits, or events where each source sends whole ones.
    pub hits: usize,
    /// Of what there are so many: `plane`, `cassette`.
    pub of: &'static str,
    /// How long they wait for their own source, if all sources send.
    pub window: Picoseconds,
    /// How long they wait for a source that is silent.
    pub source_lag: Picoseconds,
    /// How many come per second where most come, if the configuration says so.
    pub highest_rate: Option<Frequency>,
}

impl HeldHits {
    /// Hits per second that fit if each waits for so long.
    pub fn rate_for(&self, wait: Picoseconds) -> f64 {
        self.hits as f64 * 1e12 / wait.max(1) as f64
    }

    /// Hits that wait at the highest rate if each waits for so long.
    pub fn needed_for(&self, wait: Picoseconds) -> Option<u64> {
        let per_second = self.highest_rate?.millihertz as f64 / 1000.0;
        Some((per_second * wait as f64 / 1e12).ceil() as u64)
    }
}

table! { SortingSettings {
    /// How much older than the newest hit of its own source (card, board, queue) a hit may be. Older ones are `late`. Events are delayed by
    /// this time.
    "window" => (.window) Time { "x-range": "above 0, at most 1 s" },
    /// A forward jump of a source's time by more than this must be confirmed by its next packet; otherwise the hits are discarded
    /// (`unconfirmed_jump`, until 0.2 `unconfirmed_leap`). If the time of all other sources comes there first, that confirms it as well: a
    /// source that is silent for long loses nothing.
    "forward_jump" | "leap" => (.forward_jump) Time { "x-range": "at least `window`" },
    /// A step back by more than this, confirmed by the next packet, is a restart of the source's clock: a new epoch.
    "restart" => (.restart) Time { "x-range": "at least `window`" },
    /// A source that is further than this behind the leading one, in data time, no longer holds the others back.
    "source_lag" => (.source_lag) Time { "x-range": "at least `window`" },
    /// Most hits per plane that wait. About 40 bytes of memory per hit, plane and panel. If they do not suffice, time is closed early: an
    /// alarm, counted in `forced_closings`. [How many are enough](#hits-that-wait).
    "max_held_hits" => (.max_held_hits) AsItIs { "minimum": SMALLEST_HELD_HITS, "maximum": 1 << 30, "x-unit": "hits" },
    /// Most hits of one time group, and most clusters that wait for the other plane. Larger groups are discarded (`group_too_large`).
    "max_group_hits" => (.max_group_hits) AsItIs { "minimum": 1, "maximum": 1 << 20, "x-unit": "hits" },
    /// This many low bits of each hit's time, in ticks, are left out from sorting on; of a Gd-GEM only. With the clocks of VMM3a, 68 ticks
    /// are 1 ns: 10 bits are steps of 15 ns. Groups, clusters, matching and the times of events then count in these steps, and more hits
    /// are among the latest of a cluster. Keep the steps well below the largest times between hits. Hits that become equal are treated as
    /// hits of equal time always are: in which order they came does not matter, within a source and between sources.
    "decimation" => (.decimation) AsItIs { "minimum": 0, "maximum": LARGEST_DECIMATION, "x-unit": "bits" },
    /// Hits per second at the peak of a pulse, on the busiest plane (or module). It changes nothing: `evforge run --check` says whether
    /// `max_held_hits` is enough for it.
    "highest_rate" => (.highest_rate) AsItIs,
} }

defaults! {
    /// `sorting` of a detector whose electronics send without a pause.
    pub(crate) continuous: SortingSettings = SortingSettings::CONTINUOUS;
    /// `sorting` of a readout that tells the pulses of the source.
    pub(crate) pulsed: SortingSettings = SortingSettings::PULSED;
}

impl Default for SortingSettings {
    fn default() -> Self {
        Self::CONTINUOUS
    }
}

const MILLISECOND: Picoseconds = 1_000_000_000;

/// Most low bits of a time that can be left out: some 15 us of a Gd-GEM.
pub const LARGEST_DECIMATION: u32 = 20;

/// Room that one packet and a released quarantine can need: `max_held_hits` must be well above.
pub const SMALLEST_HELD_HITS: usize = 8192;

impl SortingSettings {
    /// What holds for a detector whose electronics send without a pause.
    pub const CONTINUOUS: Self = Self {
        window: MILLISECOND / 2,
        forward_jump: 2 * MILLISECOND,
        restart: 1000 * MILLISECOND,
        source_lag: 60_000 * MILLISECOND,
        max_held_hits: 1 << 18,
        max_group_hits: 1 << 14,
        decimation: 0,
        highest_rate: None,
    };

    /// What holds for a readout that tells the pulses of the source: nothing may come between two of them, queues that
    /// are silent although they are listed hold the others back for some pulses only, and what was read out at the end
    /// of a pulse may come well after the beginning of the next.
    pub const PULSED: Self = Self {
        window: 10 * MILLISECOND,
        forward_jump: 1000 * MILLISECOND,
        source_lag: 500 * MILLISECOND,
        ..Self::CONTINUOUS
    };

    /// What may wait, if `max_held_hits` is the number for one `of` these.
    pub fn held_hits(&self, of: &'static str) -> HeldHits {
        let &Self { max_held_hits: hits, window, source_lag, highest_rate, .. } = self;
        HeldHits { hits, of, window, source_lag, highest_rate }
    }

    /// Checks the settings, alone and with one another; keys begin with `sorting.`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.decimation != 0 {
            return SettingsError::refuse("sorting.decimation", "is for [gdgem] only: remove it");
        }
        self.check_decimated()
    }

    /// As [`SortingSettings::check`], for a detector that can leave out low bits of times.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check_decimated(&self) -> Result<(), SettingsError> {
        if self.decimation > LARGEST_DECIMATION {
            let problem = format!("{} is not in 0..={LARGEST_DECIMATION}", self.decimation);
            return SettingsError::refuse("sorting.decimation", problem);
        }
        if self.window == 0 || self.window > 1_000_000_000_000 {
            return SettingsError::refuse("sorting.window", "must lie above 0 and at most at 1s");
        }
        for (key, value) in
            [("forward_jump", self.forward_jump), ("restart", self.restart), ("source_lag", self.source_lag)]
        {
            if value < self.window {
                let problem = "must be at least as long as sorting.window";
                return SettingsError::refuse(format!("sorting.{key}"), problem);
            }
        }
        if !(SMALLEST_HELD_HITS..=1 << 30).contains(&self.max_held_hits) {
            let problem = format!("{} is not in {SMALLEST_HELD_HITS}..=2^30", self.max_held_hits);
            return SettingsError::refuse("sorting.max_held_hits", problem);
        }
        if !(1..=1 << 20).contains(&self.max_group_hits) {
            let problem = format!("{} is not in 1..=2^20", self.max_group_hits);
            return SettingsError::refuse("sorting.max_group_hits", problem);
        }
        Ok(())
    }
}

/// The table `geometry` of a flat detector.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlatGeometry {
    /// Columns of pixels.
    #[schemars(range(min = 1))]
    nx: u32,
    /// Rows of pixels.
    #[schemars(range(min = 1))]
    ny: u32,
}

/// The table `geometry` of a detector of one or several flat panels.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PanelGeometry {
    /// Columns of pixels of a panel.
    #[schemars(range(min = 1))]
    nx: u32,
    /// Rows of pixels of a panel.
    #[schemars(range(min = 1))]
    ny: u32,
    /// Panels. Pixels of a panel follow those of the panel before.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    panels: u32,
}

fn one() -> u32 {
    1
}

/// Reads the table `geometry` of a flat detector: columns and rows, `nx` and `ny`.
///
/// # Errors
/// What is wrong with it.
pub fn flat_geometry<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LogicalGeometry, D::Error> {
    let FlatGeometry { nx, ny } = FlatGeometry::deserialize(deserializer)?;
    LogicalGeometry::flat(nx, ny).map_err(|error| D::Error::custom(RefusedValue::new(error.to_string())))
}

/// Reads the table `geometry` of a detector of one or several flat panels: `nx`, `ny`, `panels`.
///
/// # Errors
/// What is wrong with it.
pub fn panel_geometry<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LogicalGeometry, D::Error> {
    let PanelGeometry { nx, ny, panels } = PanelGeometry::deserialize(deserializer)?;
    let geometry = LogicalGeometry::new(nx, ny, 1, panels);
    geometry.map_err(|error| D::Error::custom(RefusedValue::new(error.to_string())))
}

/// Reads one of two words: true if it is the second, as in `times = "nanoseconds"` or `"ticks"`.
///
/// # Errors
/// If it is another word.
pub fn second_of_two<'de, D: Deserializer<'de>>(
    words: &'static [&'static str; 2],
    deserializer: D,
) -> Result<bool, D::Error> {
    let found = String::deserialize(deserializer)?;
    match words.iter().position(|word| *word == found) {
        Some(place) => Ok(place == 1),
        None => Err(D::Error::unknown_variant(&found, words)),
    }
}

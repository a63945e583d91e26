//! What the settings of all detectors share.

/// Picoseconds: all durations of the settings. Times of the electronics must be whole picoseconds.
pub type Picoseconds = u64;

pub use evforge_core::settings::SettingsError;

/// Time order: what is late, what is a jump, and how much may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortingSettings {
    /// How much older than the newest hit of its own source a hit may be.
    pub window: Picoseconds,
    /// A step ahead of a source's time by more than this must be confirmed by its next packet.
    pub leap: Picoseconds,
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
}

/// Most low bits of a time that can be left out: some 15 us of a Gd-GEM.
pub const LARGEST_DECIMATION: u32 = 20;

/// Room that one packet and a released quarantine can need: `max_held_hits` must be well above.
pub const SMALLEST_HELD_HITS: usize = 8192;

impl SortingSettings {
    /// Checks the settings, alone and with one another; keys begin with `sorting.`.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.decimation != 0 {
            return SettingsError::refuse("sorting.decimation", "is for [gdgem] only: remove it");
        }
        self.check_decimated()
    }

    /// As [`SortingSettings::check`], for a detector that can leave out low bits of times.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check_decimated(&self) -> Result<(), SettingsError> {
        if self.decimation > LARGEST_DECIMATION {
            let problem = format!("{} is not in 0..={LARGEST_DECIMATION}", self.decimation);
            return SettingsError::refuse("sorting.decimation", problem);
        }
        if self.window == 0 || self.window > 1_000_000_000_000 {
            return SettingsError::refuse("sorting.window", "must lie above 0 and at most at 1s");
        }
        for (key, value) in [("leap", self.leap), ("restart", self.restart), ("source_lag", self.source_lag)]
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

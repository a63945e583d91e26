//! Settings of the analysis, whatever the readout: what belongs together and where it was.

use crate::settings::SettingsError;

/// When a window of a cassette ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// So many ticks after its first hit.
    Box,
    /// So many ticks after its latest hit.
    Gap,
}

/// How positions become pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Towards zero, as in the reference of 2018.
    Down,
    /// To the nearest; halves away from zero.
    Nearest,
}

/// Planes of a cassette.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Plane {
    /// Wires.
    Wires,
    /// Strips.
    Strips,
}

impl Plane {
    /// 0 or 1.
    pub fn index(self) -> usize {
        match self {
            Plane::Wires => 0,
            Plane::Strips => 1,
        }
    }
}

/// What belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSettings {
    /// When a window ends.
    pub rule: WindowRule,
    /// Its length in ticks of the readout: a hit belongs to it that is less than this after its first or latest one.
    pub ticks: u32,
    /// Wires that a neutron has at most.
    pub max_wires: u32,
    /// Strips that a neutron has at most.
    pub max_strips: u32,
    /// Wires that may be missing in all between those of a neutron; 0: they are neighbours one by one.
    pub max_gap_wires: u32,
    /// Strips that may be missing.
    pub max_gap_strips: u32,
    /// How many thousandths the larger one of both planes' amplitudes may be of the smaller one.
    pub max_amplitude_ratio: Option<u32>,
    /// Whether two neutrons in one window are told apart by their amplitudes.
    pub separate: bool,
}

/// Hits that a window may have: their sums fit 32 bits together with the longest coordinate.
const LARGEST_WINDOW: usize = 1 << 14;

impl WindowSettings {
    /// Checks the settings; keys begin with `window.`, or are `sorting.max_group_hits`.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check(&self, max_group_hits: usize) -> Result<(), SettingsError> {
        if self.ticks == 0 || self.ticks > i32::MAX as u32 {
            return SettingsError::refuse("window.ticks", "must be in 1..2^31");
        }
        for (key, most) in [("max_wires", self.max_wires), ("max_strips", self.max_strips)] {
            if most == 0 {
                return SettingsError::refuse(format!("window.{key}"), "must be at least 1");
            }
        }
        if self.max_amplitude_ratio.is_some_and(|ratio| ratio < 1000) {
            return SettingsError::refuse("window.max_amplitude_ratio", "must be at least 1");
        }
        if self.separate && self.max_amplitude_ratio.is_none() {
            let problem = "needs window.max_amplitude_ratio: amplitudes tell what belongs together";
            return SettingsError::refuse("window.separate", problem);
        }
        if max_group_hits > LARGEST_WINDOW {
            let problem = format!("{max_group_hits} is more than {LARGEST_WINDOW}");
            return SettingsError::refuse("sorting.max_group_hits", problem);
        }
        Ok(())
    }
}

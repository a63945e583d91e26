//! Settings of the analysis, whatever the readout: what belongs together and where it was.

use crate::settings::SettingsError;
use crate::settings::table::{defaults, table, value};
use evforge_core::settings::RefusedValue;
use serde::Deserialize;
use serde::de::MapAccess;

/// When a window of a cassette ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRule {
    /// A fixed time in ticks after its first hit.
    Box,
    /// A fixed time in ticks after its latest hit.
    Gap,
}

/// How positions become pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To the nearest; halves away from zero.
    #[default]
    Nearest,
    /// Towards zero, as in the reference of 2018.
    Down,
}

/// Planes of a cassette.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

impl Default for WindowSettings {
    fn default() -> Self {
        Self {
            rule: WindowRule::Box,
            ticks: 185,
            max_wires: 64,
            max_strips: 64,
            max_gap_wires: 0,
            max_gap_strips: 0,
            max_amplitude_ratio: None,
            separate: false,
        }
    }
}

table! { WindowSettings {
    "rule" => (.rule) value,
    "ticks" => (.ticks) value,
    "max_wires" => (.max_wires) value,
    "max_strips" => (.max_strips) value,
    "max_gap_wires" => (.max_gap_wires) value,
    "max_gap_strips" => (.max_gap_strips) value,
    "max_amplitude_ratio" => (.max_amplitude_ratio) thousandths,
    "separate" => (.separate) value,
} }

defaults! {
    /// `window`.
    pub(super) window: WindowSettings = WindowSettings::default();
}

/// Largest `max_amplitude_ratio`.
const LARGEST_RATIO: f64 = 1e6;

/// A ratio of amplitudes in thousandths.
pub(super) fn thousandths<'de, A: MapAccess<'de>>(
    _: &Option<u32>,
    values: &mut A,
) -> Result<Option<u32>, A::Error> {
    Ok(Some(values.next_value::<Thousandths>()?.0))
}

/// A ratio of at least 1.
#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct Thousandths(u32);

impl TryFrom<f64> for Thousandths {
    type Error = RefusedValue;

    fn try_from(ratio: f64) -> Result<Self, RefusedValue> {
        if (1.0..=LARGEST_RATIO).contains(&ratio) {
            return Ok(Self((ratio * 1000.0).round() as u32));
        }
        Err(RefusedValue::new(format!("{ratio} is not in 1..={LARGEST_RATIO}")))
    }
}

/// Hits that a window may have: their sums fit 32 bits together with the longest coordinate.
const LARGEST_WINDOW: usize = 1 << 14;

impl WindowSettings {
    /// Checks the settings; keys begin with `window.`, or are `sorting.max_group_hits`.
    ///
    /// # Errors
    /// The first invalid setting.
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

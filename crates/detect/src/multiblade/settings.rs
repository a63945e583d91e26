//! Settings of the analysis, whatever the readout: what belongs together and where it was.

use crate::settings::SettingsError;
use crate::settings::table::{AsItIs, Form, defaults, table};
use evforge_core::settings::RefusedValue;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::MapAccess;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// When a window of a cassette ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRule {
    /// A fixed time in ticks after its first hit.
    Box,
    /// A fixed time in ticks after its latest hit.
    Gap,
}

/// How positions become pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To the nearest; halves away from zero.
    #[default]
    Nearest,
    /// Towards zero, as in the reference of 2018.
    Down,
}

/// Planes of a cassette.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
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
    /// A window ends `ticks` after its first hit (box) or after its latest one (gap).
    "rule" => (.rule) AsItIs,
    /// Length in ticks.
    "ticks" => (.ticks) AsItIs { "minimum": 1, "maximum": i32::MAX, "x-unit": "ticks" },
    /// Wires of a neutron at most.
    "max_wires" => (.max_wires) AsItIs { "minimum": 1 },
    /// Strips of a neutron at most.
    "max_strips" => (.max_strips) AsItIs { "minimum": 1 },
    /// Wires that may be missing in all between those of a neutron; 0: they are neighbours one by one.
    "max_gap_wires" => (.max_gap_wires) AsItIs,
    /// Strips that may be missing in all between those of a neutron; 0: they are neighbours one by one.
    "max_gap_strips" => (.max_gap_strips) AsItIs,
    /// How many times as large as the other one the sum of a plane's amplitudes may be. In thousandths.
    "max_amplitude_ratio" => (.max_amplitude_ratio) Thousandths { "minimum": 1, "maximum": LARGEST_RATIO },
    /// Two groups of wires and two of strips in a window are two neutrons: the stronger wires belong to the stronger strips, if both pairs
    /// are within `max_amplitude_ratio`. If not, or if the groups of a plane are equal, the hits are counted as `ambiguous`.
    "separate" => (.separate) AsItIs,
} }

defaults! {
    /// `window`.
    pub(super) window: WindowSettings = WindowSettings::default();
}

/// Largest `max_amplitude_ratio`.
pub(super) const LARGEST_RATIO: f64 = 1e6;

/// A ratio of amplitudes, at least 1, in thousandths.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub(super) struct Thousandths(u32);

impl Form<Option<u32>> for Thousandths {
    fn read<'de, A: MapAccess<'de>>(_: &Option<u32>, values: &mut A) -> Result<Option<u32>, A::Error> {
        Ok(Some(values.next_value::<Self>()?.0))
    }

    fn schema(_: &Option<u32>, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }

    fn written(current: &Option<u32>) -> Value {
        json!(current.map(|thousandths| f64::from(thousandths) / 1000.0))
    }
}

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

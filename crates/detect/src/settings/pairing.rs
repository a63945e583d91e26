//! Which clusters of two planes are a neutron's: the table `pairing` of detectors whose hits meet in windows.

use super::{Picoseconds, SettingsError};
use crate::pairing::Ambiguous;
use evforge_core::quantity::{InPicoseconds, TimeSpan};
use evforge_core::settings::RefusedValue;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize, Serializer};

/// How several neutrons in one window are told apart: the table `pairing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PairingSettings {
    /// `"join"`: all hits of a window are one neutron's, or none, and the other keys have no effect. Else clusters are paired, and a pair is
    /// *ambiguous* where another pairing would be nearly as good: `"nearest"` makes it an event, `"drop"` does not. Both count it
    /// (`ambiguous_pairs`).
    pub ambiguous: Ambiguous,
    /// A hit belongs to a cluster if it comes no later than this after one of its hits on the same or a neighbouring channel.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    pub max_cluster_gap: Picoseconds,
    /// How far apart the mean times of two clusters of a neutron may be.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    pub max_difference: Picoseconds,
    /// How many times as large as the other one the larger charge of the two may be. In thousandths.
    #[schemars(extend("x-range" = "above 1, at most 1000"))]
    pub max_amplitude_ratio: Option<Permille>,
    /// Charge on the second plane for that on the wires, as most neutrons have it: charges are compared after the wires' have been multiplied
    /// with it.
    pub typical_amplitude_ratio: Permille,
    /// What the clusters of 99 of 100 neutrons differ by at most. Of several pairings the one is taken whose differences are smallest in units
    /// of these.
    pub usual: UsualDifferences,
}

/// What the two clusters of a neutron usually differ by at most: 99 % of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UsualDifferences {
    /// Difference of their mean times; `max_difference` if it is left out.
    pub difference: Option<TimeSpan>,
    /// The larger charge for the smaller one; without it charges do not matter.
    pub amplitude_ratio: Option<Permille>,
}

impl Default for PairingSettings {
    fn default() -> Self {
        Self {
            ambiguous: Ambiguous::default(),
            max_cluster_gap: 60_000,
            max_difference: 60_000,
            max_amplitude_ratio: None,
            typical_amplitude_ratio: Permille(1000),
            usual: UsualDifferences::default(),
        }
    }
}

/// A ratio of amplitudes in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Permille(pub u32);

const RATIOS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

evforge_core::written_as! {
    Permille: |_generator| json_schema!({ "type": "number", "minimum": RATIOS.start(), "maximum": RATIOS.end() });
}

impl Serialize for Permille {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1000.0)
    }
}

impl TryFrom<f64> for Permille {
    type Error = RefusedValue;

    fn try_from(ratio: f64) -> Result<Self, RefusedValue> {
        if RATIOS.contains(&ratio) {
            return Ok(Self((ratio * 1000.0).round() as u32));
        }
        Err(RefusedValue::new(format!("{ratio} is not in {} to {}", RATIOS.start(), RATIOS.end())))
    }
}

/// Longest times.
const LONGEST: Picoseconds = 1_000_000_000;

impl PairingSettings {
    /// Whether the hits of a window are all one neutron's.
    pub fn joins(&self) -> bool {
        self.ambiguous == Ambiguous::Join
    }

    /// What mean times usually differ by at most.
    pub fn usual_difference(&self) -> Picoseconds {
        self.usual.difference.map_or(self.max_difference, |usual| usual.picoseconds)
    }

    /// Checks the settings; keys begin with `pairing.`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        let usual = self.usual_difference();
        for (key, time) in [
            ("max_cluster_gap", self.max_cluster_gap),
            ("max_difference", self.max_difference),
            ("usual.difference", usual),
        ] {
            if time == 0 || time > LONGEST {
                return SettingsError::refuse(
                    format!("pairing.{key}"),
                    "must lie above 0 and at most at 1ms",
                );
            }
        }
        for (key, ratio) in [
            ("max_amplitude_ratio", self.max_amplitude_ratio),
            ("usual.amplitude_ratio", self.usual.amplitude_ratio),
        ] {
            if ratio.is_some_and(|ratio| ratio.0 <= 1000) {
                return SettingsError::refuse(format!("pairing.{key}"), "must be above 1");
            }
        }
        Ok(())
    }
}

//! Which clusters of two planes are a neutron's: the table `pairing` of detectors whose hits meet in windows.

use super::{Picoseconds, SettingsError};
use crate::pairing::Ambiguous;
use evforge_core::quantity::{TimeSpan, picoseconds};
use evforge_core::settings::RefusedValue;
use serde::Deserialize;

/// How several neutrons in one window are told apart: the table `pairing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PairingSettings {
    /// Whether they are at all, and what happens to pairs that another pairing would be nearly as good as.
    pub ambiguous: Ambiguous,
    /// Hits of a cluster come at most so long after another hit of it.
    #[serde(deserialize_with = "picoseconds")]
    pub max_cluster_gap: Picoseconds,
    /// Clusters whose mean times differ by more are no neutron's.
    #[serde(deserialize_with = "picoseconds")]
    pub max_difference: Picoseconds,
    /// Clusters of which the larger charge is more than this many times the smaller one are none either.
    pub max_amplitude_ratio: Option<Permille>,
    /// Charge on the other plane for that on the wires, where a neutron is as most are: charges on wires are multiplied
    /// with it before they are compared.
    pub typical_amplitude_ratio: Permille,
    /// How alike the clusters of a neutron usually are.
    pub usual: UsualDifferences,
}

/// What the two clusters of a neutron usually differ by at most: 99 % of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UsualDifferences {
    /// Difference of their mean times; [`PairingSettings::max_difference`] unless told otherwise.
    pub difference: Option<TimeSpan>,
    /// The larger charge for the smaller one, if they are compared.
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

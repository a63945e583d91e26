//! Parameters of the simulated Multi-Blade.
//!
//! *The recording* is that of October 2018 with six digitisers of the prototype, of which the tests have a copy. Its
//! hits within 1 µs of the one before, on neighbouring wires and on neighbouring strips, are taken for those of a
//! neutron. Neighbours are found only if every two channels change places (0 and 1, 2 and 3, …): with the plain order
//! every second one of its neutrons has a hole.

use crate::error::SimulationError;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[simulation.multiblade]`: what happens in a cassette. Lengths along wires and strips are in their pitch, 4 mm.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MultiBladePhysics {
    /// Share of the neutrons that send something into the gas. 1: rates are those of neutrons that are captured.
    pub efficiency: f64,
    /// Standard deviation of the gain of the avalanche, as a share of it. 0.2: so that the charge on
    /// wires is spread as in the recording.
    pub gain_spread: f64,
    /// Length of a track in the gas, in pitches per MeV. 1.05 (4.2 mm): so that as many neutrons as in the recording
    /// (26 %) leave charge on two wires. It is half of what an alpha particle flies in argon at atmospheric pressure:
    /// the gas between blade and strips is 8 mm deep, and tracks end there.
    pub track_length: f64,
    /// Standard deviation of the charge that strips see of an avalanche, in pitches. 0.66: so that the middle one of
    /// three strips measures 0.58 of the charge, as in the recording.
    pub strip_width: f64,
    /// Charge on all strips, as a share of that on all wires. 0.74: so that half of the recording's neutrons have more
    /// than 0.55 and those with many strips 0.65.
    pub strip_charge: f64,
    /// Standard deviation of that share, relative to it. 0.15: what is left in the recording when every wire and
    /// every strip has its own gain.
    pub strip_charge_spread: f64,
    /// Mean energy that a gamma leaves in the gas, in keV; it falls off exponentially. Chosen: an electron loses few
    /// keV in the 8 mm of gas between blade and strips.
    pub gamma_energy: f64,
}

impl Default for MultiBladePhysics {
    fn default() -> Self {
        Self {
            efficiency: 1.0,
            gain_spread: 0.2,
            track_length: 1.05,
            strip_width: 0.66,
            strip_charge: 0.74,
            strip_charge_spread: 0.15,
            gamma_energy: 5.0,
        }
    }
}

impl MultiBladePhysics {
    /// Checks that nothing is impossible.
    ///
    /// # Errors
    /// The first parameter that is, or is not a number.
    pub fn check(&self) -> Result<(), SimulationError> {
        for (key, value, least, most) in [
            ("efficiency", self.efficiency, 0.0, 1.0),
            ("gain_spread", self.gain_spread, 0.0, 2.0),
            ("track_length", self.track_length, 0.0, 10.0),
            ("strip_width", self.strip_width, 0.01, 2.0),
            ("strip_charge", self.strip_charge, 0.0, 10.0),
            ("strip_charge_spread", self.strip_charge_spread, 0.0, 2.0),
            ("gamma_energy", self.gamma_energy, 0.0, 1e4),
        ] {
            if !(least..=most).contains(&value) {
                let problem =
                    format!("simulation.multiblade.{key}: found {value}, expected {least} to {most}");
                return Err(SimulationError(problem));
            }
        }
        Ok(())
    }
}

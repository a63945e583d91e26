//! Parameters of simulated helium-3 tubes.

use crate::error::SimulationError;
use evforge_core::quantity::TimeSpan;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[simulation.helium3]`: gas, wire and digitiser.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Helium3Physics {
    /// Share of the neutrons that the gas converts. 1: rates are those of neutrons that are seen.
    pub efficiency: f64,
    /// Sum of the charges of a neutron whose proton and triton stop in the gas, in steps of the converter. Chosen: recordings of MIRACLES
    /// have sums below 32 768.
    pub charge: f64,
    /// Standard deviation of the charge, as a share of it: avalanches in the gas differ. Chosen.
    pub charge_spread: f64,
    /// Standard deviation of the gains of groups, as a share of the mean one. Chosen.
    pub gain_spread: f64,
    /// Share of the neutrons one of whose products hits the wall. Their charge lies evenly between that of a triton (191 keV of 764 keV) and
    /// all of it. Chosen: for tubes of a few bars.
    pub wall_effect: f64,
    /// Standard deviation of the place along a tube, as a share of its length, that the range of the products adds. Chosen: 2.5 mm of a
    /// metre.
    pub recoil: f64,
    /// Standard deviation of the noise of each end, in steps of the converter. The resistance of the wire makes noise that adds to one end what
    /// it takes from the other. Chosen: with the charge above, 0.35 % of the length of a chain.
    pub noise: f64,
    /// Least sum of charges that is sent, in steps of the converter.
    pub threshold: f64,
    /// Charges of a group that come so long after its first are added to it: the shaping time.
    pub shaping: TimeSpan,
    /// For so long after that a group takes nothing.
    pub dead_time: TimeSpan,
    /// Standard deviation of the time of a neutron: electrons drift to the wire. Chosen.
    pub jitter: TimeSpan,
}

impl Default for Helium3Physics {
    fn default() -> Self {
        Self {
            efficiency: 1.0,
            charge: 16_000.0,
            charge_spread: 0.07,
            gain_spread: 0.05,
            wall_effect: 0.2,
            recoil: 0.0025,
            noise: 56.0,
            threshold: 1500.0,
            shaping: TimeSpan { picoseconds: 1_000_000 },
            dead_time: TimeSpan { picoseconds: 1_000_000 },
            jitter: TimeSpan { picoseconds: 100_000 },
        }
    }
}

/// Share of the energy that the triton has.
pub(super) const TRITON: f64 = 191.0 / 764.0;

impl Helium3Physics {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first that is impossible.
    pub fn check(&self) -> Result<(), SimulationError> {
        let refuse = |key: &str, found: f64, expected: &str| {
            Err(SimulationError(format!("simulation.helium3.{key}: found {found}, expected {expected}")))
        };
        for (key, share) in [("efficiency", self.efficiency), ("wall_effect", self.wall_effect)] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(key, share, "a number from 0 to 1");
            }
        }
        for (key, value) in [
            ("charge_spread", self.charge_spread),
            ("gain_spread", self.gain_spread),
            ("recoil", self.recoil),
            ("noise", self.noise),
            ("threshold", self.threshold),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(key, value, "0 or more");
            }
        }
        if !(1.0..=32_767.0).contains(&self.charge) {
            return refuse("charge", self.charge, "1 to 32767");
        }
        Ok(())
    }
}

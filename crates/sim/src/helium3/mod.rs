//! Simulated helium-3 tubes: a neutron in the gas, charge at the ends of its tubes, and the records of the digitisers.
//!
//! | file | what is in it |
//! |---|---|
//! | [`physics`] | the parameters, with where they come from |
//! | [`model`] | a neutron to charges at the ends of its group |
//! | [`readout`] | charges to records of R5560 digitisers |
//!
//! The calibration of the settings is undone, so that a receiver with the same settings finds the place of the neutron, but for
//! the range of proton and triton and the noise of the resistive wire.

pub mod model;
pub mod physics;
pub mod readout;

pub use model::Helium3Model;
pub use physics::Helium3Physics;
pub use readout::Helium3Readout;

use crate::error::SimulationError;
use crate::ess_readout;
use crate::simulation::Simulated;
use evforge_core::pulse::PulseTrain;
use evforge_detect::helium3::Helium3Settings;

/// Tubes with these settings.
///
/// # Errors
/// Impossible physics, or the first invalid setting.
pub fn ess(
    settings: &Helium3Settings,
    physics: Helium3Physics,
    pulses: PulseTrain,
) -> Result<Simulated, SimulationError> {
    ess_readout::has_ess_clock(&settings.ess)?;
    physics.check()?;
    let groups = settings.expand().map_err(|error| SimulationError(error.to_string()))?;
    let model = Helium3Model::new(settings, &groups, physics);
    let readout = Helium3Readout::new(settings, &groups, physics, pulses);
    Ok((Box::new(model), Box::new(readout)))
}

#[cfg(test)]
mod tests;

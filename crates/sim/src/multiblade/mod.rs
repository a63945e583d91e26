//! A simulated Multi-Blade: a neutron in the boron carbide of a blade, charge on wires and strips, and its readouts.
//!
//! | file | what is in it |
//! |---|---|
//! | [`physics`] | the parameters, with where they come from |
//! | [`front_end`] | what the electronics of each readout make of charge |
//! | [`model`] | a neutron to charge on wires and strips |
//! | [`caen_readout`] | hits to packets of the prototype's digitisers |
//!
//! The ESS readout is that of every detector with VMM3a: [`ess_readout`].

pub mod caen_readout;
pub mod front_end;
pub mod model;
pub mod physics;

pub use caen_readout::CaenReadout;
pub use model::MultiBladeModel;
pub use physics::MultiBladePhysics;

use crate::detector_model::DetectorModel;
use crate::error::SimulationError;
use crate::ess_readout::{self, EssReadout};
use crate::simulation::Simulated;
use evforge_core::pulse::PulseTrain;
use evforge_detect::multiblade::{EssMultiBladeSettings, MultiBladeSettings};

/// The prototype, or another detector with CAEN digitisers.
///
/// # Errors
/// Impossible physics, or events that are not to be in nanoseconds, which the truth is in.
pub fn prototype(
    settings: &MultiBladeSettings,
    physics: MultiBladePhysics,
    pulses: PulseTrain,
) -> Result<Simulated, SimulationError> {
    physics.check()?;
    if settings.raw_ticks {
        let problem =
            "[multiblade] times = \"ticks\": the truth is in nanoseconds; set times = \"nanoseconds\"";
        return Err(SimulationError(problem.into()));
    }
    let model = MultiBladeModel::new(settings, physics);
    let readout = CaenReadout::new(settings, model.layout(), pulses);
    Ok((Box::new(model), Box::new(readout)))
}

/// A detector with the ESS readout.
///
/// # Errors
/// Impossible physics, or the first invalid setting.
pub fn ess(
    settings: &EssMultiBladeSettings,
    physics: MultiBladePhysics,
    pulses: PulseTrain,
) -> Result<Simulated, SimulationError> {
    ess_readout::has_ess_clock(&settings.ess)?;
    physics.check()?;
    let wiring = settings.vmm().map_err(|error| SimulationError(error.to_string()))?;
    let model = MultiBladeModel::ess(settings, &wiring, physics);
    let readout = EssReadout::new(&settings.ess, &wiring, model.layout(), model::cassette, pulses);
    Ok((Box::new(model), Box::new(readout)))
}

#[cfg(test)]
mod recording_tests;
#[cfg(test)]
mod tests;

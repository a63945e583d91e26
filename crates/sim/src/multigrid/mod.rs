//! A simulated Multi-Grid: neutrons convert in coated blades, and what flies off leaves charge on the wire and on the
//! grids of a cell.
//!
//! | file | what is in it |
//! |---|---|
//! | [`physics`] | the parameters, with where they come from |
//! | [`conversion`] | where a neutron converts, and what reaches the gas |
//! | [`wiring`] | which wires and grids cross, read from the tables of the detector itself |
//! | [`model`] | a neutron to charge on wires and grids |
//! | [`triggers`] | hits to triggers, where a readout has them |
//! | [`triggered_packets`] | when packets of triggers are sent |
//! | [`vmmr`] | triggers to packets of VMMR modules behind an SIS3153 |
//! | [`cncs`] | triggers to packets of the demonstrator at CNCS |
//!
//! The ESS readout has no triggers: [`ess_readout`] is the same for all detectors.

pub mod cncs;
pub mod conversion;
pub mod model;
pub mod physics;
pub mod triggered_packets;
pub mod triggers;
pub mod vmmr;
pub mod wiring;

pub use cncs::CncsReadout;
pub use model::MultiGridModel;
pub use physics::MultiGridPhysics;
pub use vmmr::VmmrReadout;

use crate::detector_model::DetectorModel;
use crate::error::SimulationError;
use crate::ess_readout::{self, EssReadout};
use crate::simulation::Simulated;
use evforge_core::pulse::PulseTrain;
use evforge_detect::multigrid::ess_readout::EssMultiGridSettings;
use evforge_detect::multigrid::settings::MultiGridSettings;
use evforge_detect::settings::SettingsError;

/// A prototype with its readout.
///
/// # Errors
/// The first invalid setting.
pub fn prototype(
    settings: &MultiGridSettings,
    physics: MultiGridPhysics,
) -> Result<Simulated, SimulationError> {
    physics.check()?;
    match settings {
        MultiGridSettings::Mesytec(settings) => {
            let model = MultiGridModel::of_vmmr(settings, physics).map_err(refused)?;
            let readout = VmmrReadout::new(settings, &physics, model.layout());
            Ok((Box::new(model), Box::new(readout)))
        }
        MultiGridSettings::Cncs(settings) => {
            let model = MultiGridModel::of_cncs(settings, physics).map_err(refused)?;
            let readout = CncsReadout::new(settings, &physics, model.layout());
            Ok((Box::new(model), Box::new(readout)))
        }
    }
}

/// A detector with the ESS readout.
///
/// # Errors
/// The first invalid setting.
pub fn ess(
    settings: &EssMultiGridSettings,
    physics: MultiGridPhysics,
    pulses: PulseTrain,
) -> Result<Simulated, SimulationError> {
    ess_readout::has_ess_clock(&settings.ess)?;
    physics.check()?;
    let vmm = settings.vmm().map_err(refused)?;
    let model = MultiGridModel::of_vessels(settings, &vmm, physics).map_err(refused)?;
    let readout = EssReadout::new(&settings.ess, &vmm, model.layout(), wiring::module, pulses);
    Ok((Box::new(model), Box::new(readout)))
}

fn refused(error: SettingsError) -> SimulationError {
    SimulationError(error.to_string())
}

#[cfg(test)]
mod tests;

//! Simulated beam monitors in the ESS readout: neutrons with and without a place, and sums of integrating monitors.
//!
//! | file | what is in it |
//! |---|---|
//! | [`physics`] | the parameters, with where they come from |
//! | [`model`] | a neutron to a signal of one of the monitors |
//! | [`readout`] | signals to records of single neutrons, and sums, in packets of the ESS readout |
//!
//! Each neutron of the beam is seen by one monitor, whichever that is by chance. In the truth its position is that of its
//! pixel in the row of all monitors' pixels, as in the detector's geometry: column `pixel - 1`. Neutrons of an integrating monitor are
//! there without a pixel (0): they make no events, and only the sums can be compared.

pub mod model;
pub mod physics;
pub mod readout;

pub use model::BeamMonitorModel;
pub use physics::BeamMonitorPhysics;
pub use readout::BeamMonitorReadout;

use crate::error::SimulationError;
use crate::ess_readout;
use crate::simulation::Simulated;
use evforge_core::pulse::PulseTrain;
use evforge_detect::beam_monitors::BeamMonitorSettings;

/// Monitors with these settings.
///
/// # Errors
/// If they have more pixels than can be simulated.
pub fn ess(
    settings: &BeamMonitorSettings,
    physics: BeamMonitorPhysics,
    pulses: PulseTrain,
) -> Result<Simulated, SimulationError> {
    ess_readout::has_ess_clock(&settings.ess)?;
    let model = BeamMonitorModel::new(settings, physics)?;
    let readout = BeamMonitorReadout::new(settings, physics, pulses);
    Ok((Box::new(model), Box::new(readout)))
}

//! A simulated Gd-GEM: tracks of conversion electrons whose charge drifts to two planes of strips.
//!
//! | file | what is in it |
//! |---|---|
//! | [`physics`] | the parameters, with where they come from |
//! | `charge_table` | what follows from them, looked up |
//! | [`model`] | a neutron to charge on strips |
//! | `wiring` | strips to channels of SRS front-end cards |
//! | [`vmm3_readout`] | hits to packets of VMM3 and VMM3a, in continuous and in triggered mode |
//! | [`vmm2_readout`] | hits to packets of VMM2 |
//!
//! The ESS readout is that of all detectors: [`ess_readout`].
//!
//! How a simulated detector compares with the VMM3a recording (clusters of 3 strips or more on x, gaps as in
//! `configs/gdgem-srs.toml`; median, with the first and the last tenth). The recording has no tracks: nearly all its
//! clusters have the same charge and last 70 ns, because small amplitudes are timed early. So it is compared with
//! points of that charge, timed to 2 ns; tracks are those of the defaults.
//!
//! | | recording | points | tracks |
//! |---|---|---|---|
//! | strips | 6 (5 to 7) | 5 (4 to 5) | 6 (4 to 10) |
//! | root mean square width in strips | 1.0 (0.9 to 1.1) | 1.0 (0.9 to 1.0) | 1.1 (0.9 to 2.2) |
//! | sum of the amplitudes | 1444 (846 to 1771) | 1397 (1125 to 1672) | 1836 (807 to 2755) |
//! | amplitudes | 185 (48 to 541) | 279 (71 to 525) | 255 (76 to 538) |
//! | from the first to the last hit in ns | 67 (33 to 91) | 25 (4 to 54) | 49 (20 to 110) |
//! | charge of x to charge of y | 1.0 (0.8 to 1.1) | 1.0 (0.9 to 1.1) | 1.0 (0.9 to 1.1) |
//!
//! What the recording has and the simulation has not: strips below the threshold that are read because their neighbour
//! is above it (44 % of its readouts, of which the small amplitudes and the longer times come), and 38 ns between the
//! times of x and y.

mod charge_table;
pub mod model;
pub mod physics;
pub mod vmm2_readout;
pub mod vmm3_readout;
mod wiring;

pub use model::GdGemModel;
pub use physics::GdGemPhysics;
pub use vmm2_readout::Vmm2Readout;
pub use vmm3_readout::Vmm3Readout;

#[cfg(test)]
mod tests;

use crate::error::SimulationError;
use crate::ess_readout::{self, EssReadout, TICK_PS};
use crate::readout::Readout;
use crate::simulation::Simulated;
use crate::vmm_channel::FINE_STEP_PS;
use evforge_core::pulse::PulseTrain;
use evforge_detect::ess::PlaceRequest;
use evforge_detect::gdgem::ess::EssGdGemSettings;
use evforge_detect::gdgem::settings::{GdGemSettings, ReadoutFormat};
use evforge_detect::panel_kind::PanelKind;

/// A detector and its readout by SRS front-end cards, for settings that have been checked.
///
/// # Errors
/// If it has panels with something else than two planes of strips.
pub fn srs(settings: &GdGemSettings, physics: GdGemPhysics) -> Result<Simulated, SimulationError> {
    has_two_planes(settings)?;
    let layout = wiring::layout(settings);
    let readout: Box<dyn Readout> = match settings.format {
        ReadoutFormat::Vmm2 => Box::new(Vmm2Readout::new(settings, &layout)),
        ReadoutFormat::Vmm3Of2018 | ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => {
            Box::new(Vmm3Readout::new(settings, &layout))
        }
    };
    let model = GdGemModel::new(layout, &settings.tracks(), FINE_STEP_PS, physics);
    Ok((Box::new(model), readout))
}

/// Of the detectors of `[gdgem]`, those with two planes of strips are simulated.
fn has_two_planes(settings: &GdGemSettings) -> Result<(), SimulationError> {
    let panel = settings.panel_kinds().iter().position(|kind| *kind != PanelKind::TwoPlanes);
    let Some(panel) = panel else { return Ok(()) };
    let problem = format!(
        "simulated Gd-GEMs have two planes of strips, and panel {panel} has one, three, or pads: such detectors are not \
         simulated"
    );
    Err(SimulationError(problem))
}

/// A detector with the ESS readout, for settings that have been checked.
///
/// # Errors
/// If the settings calibrate a VMM that belongs to no hybrid.
pub fn ess(
    settings: &EssGdGemSettings,
    physics: GdGemPhysics,
    pulses: PulseTrain,
) -> Result<Simulated, SimulationError> {
    ess_readout::has_ess_clock(&settings.ess)?;
    // Planes count through the panels.
    let panel = |request: &PlaceRequest| request.target / 2;
    let wiring = settings.vmm().map_err(|error| SimulationError(error.to_string()))?;
    let layout = ess_readout::layout(&wiring, panel);
    let readout = EssReadout::new(&settings.ess, &wiring, &layout, panel, pulses);
    let clock_step_ps = if settings.fine_time { FINE_STEP_PS } else { TICK_PS };
    let model = GdGemModel::new(layout, &settings.tracks(), clock_step_ps, physics);
    Ok((Box::new(model), Box::new(readout)))
}

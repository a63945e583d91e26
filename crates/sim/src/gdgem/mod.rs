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
//! Today's ESS readout is that of all detectors: [`ess_readout`].

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

use crate::ess_readout::{self, EssReadout};
use crate::readout::Readout;
use crate::simulation::{Simulated, SimulationError};
use evforge_core::pulse::PulseTrain;
use evforge_detect::ess::PlaceRequest;
use evforge_detect::gdgem::ess::EssGdGemSettings;
use evforge_detect::gdgem::settings::{GdGemSettings, ReadoutFormat};

/// A detector and its readout by SRS front-end cards, for settings that have been checked.
pub fn srs(settings: &GdGemSettings, physics: GdGemPhysics) -> Simulated {
    let layout = wiring::layout(settings);
    let readout: Box<dyn Readout> = match settings.format {
        ReadoutFormat::Vmm2 => Box::new(Vmm2Readout::new(settings, &layout)),
        ReadoutFormat::Vmm3Of2018 | ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => {
            Box::new(Vmm3Readout::new(settings, &layout))
        }
    };
    (Box::new(GdGemModel::new(layout, &settings.tracks(), physics)), readout)
}

/// A detector with today's ESS readout, for settings that have been checked.
///
/// # Errors
/// If the settings calibrate a VMM that belongs to no hybrid.
pub fn ess(
    settings: &EssGdGemSettings,
    physics: GdGemPhysics,
    pulses: PulseTrain,
) -> Result<Simulated, SimulationError> {
    // Planes count through the panels.
    let panel = |request: &PlaceRequest| request.target / 2;
    let wiring = settings.vmm().map_err(|error| SimulationError(error.to_string()))?;
    let layout = ess_readout::layout(&wiring, panel);
    let readout = EssReadout::new(&settings.ess, &wiring, &layout, panel, pulses);
    Ok((Box::new(GdGemModel::new(layout, &settings.tracks(), physics)), Box::new(readout)))
}

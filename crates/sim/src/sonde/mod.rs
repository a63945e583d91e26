//! A simulated SoNDe: light in a scintillator, shared by the pixels of photomultipliers, whose triggers boards send.
//!
//! | file | what is in it |
//! |---|---|
//! | [`physics`] | the parameters, with where they come from |
//! | [`model`] | a neutron to light on pixels |
//! | [`readout`] | triggers to packets of the boards |

pub mod model;
pub mod physics;
pub mod readout;

pub use model::SondeModel;
pub use physics::SondePhysics;
pub use readout::SondeReadout;

use crate::detector_model::DetectorModel;
use crate::simulation::Simulated;
use evforge_detect::sonde::SondeSettings;

/// A detector and the readout of its boards, for settings that have been checked.
pub fn boards(settings: &SondeSettings, physics: SondePhysics) -> Simulated {
    let model = SondeModel::new(settings, physics);
    let readout = SondeReadout::new(settings, model.layout());
    (Box::new(model), Box::new(readout))
}

#[cfg(test)]
mod tests;

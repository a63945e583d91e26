//! Simulated boards of the streaming readout of ISIS: a control board and detector modules that tell each frame.
//!
//! | file | what is in it |
//! |---|---|
//! | [`settings`] | what can be configured: `[simulation.isis]` |
//! | [`boards`] | the boards of a configuration, and which of them has which pixels |
//! | [`model`] | a neutron to a pulse of a pixel |
//! | [`frames`] | period, vetoes and protons of each frame, and the true frames as a file |
//! | [`readout`] | pulses of pixels to frames, and these to messages in datagrams |

pub mod boards;
pub mod frames;
pub mod model;
pub mod readout;
pub mod settings;

pub use frames::TrueFrame;
pub use model::IsisModel;
pub use readout::IsisReadout;
pub use settings::IsisSimulation;

use crate::error::SimulationError;
use crate::simulation::Simulated;
use boards::Boards;
use evforge_core::pulse::PulseTrain;
use evforge_detect::isis::settings::IsisSettings;

/// The boards of these settings, with frames that begin with the pulses of this train.
///
/// # Errors
/// If they cannot be simulated: names the key, what was found and what is expected.
pub fn streaming(
    settings: &IsisSettings,
    simulation: &IsisSimulation,
    pulses: PulseTrain,
    seed: u64,
) -> Result<Simulated, SimulationError> {
    simulation.check()?;
    let boards = Boards::new(settings, simulation)?;
    let model = IsisModel::new(settings, &boards, simulation)?;
    let readout = IsisReadout::new(settings, boards, &model, simulation.clone(), pulses, seed);
    Ok((Box::new(model), Box::new(readout)))
}

#[cfg(test)]
mod tests;

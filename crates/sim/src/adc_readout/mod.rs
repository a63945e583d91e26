//! Simulated sampled channels of 2018: a waveform for each neutron, and the signal of each pulse where one channel is for that.
//!
//! | file | what is in it |
//! |---|---|
//! | [`physics`] | the parameters, with where they come from |
//! | [`model`] | a neutron to a signal on a channel |
//! | [`readout`] | signals to runs of samples in packets, and heartbeats |

pub mod model;
pub mod physics;
pub mod readout;

pub use model::AdcReadoutModel;
pub use physics::AdcReadoutPhysics;
pub use readout::AdcReadoutPackets;

use crate::error::SimulationError;
use crate::simulation::Simulated;
use evforge_core::pulse::PulseTrain;
use evforge_detect::adc_readout::AdcReadoutSettings;

/// Channels with these settings.
///
/// # Errors
/// If the waveforms cannot be.
pub fn sampled(
    settings: &AdcReadoutSettings,
    physics: AdcReadoutPhysics,
    pulses: PulseTrain,
) -> Result<Simulated, SimulationError> {
    let model = AdcReadoutModel::new(settings, physics)?;
    let readout = AdcReadoutPackets::new(physics, pulses, settings.pulse_channel);
    Ok((Box::new(model), Box::new(readout)))
}

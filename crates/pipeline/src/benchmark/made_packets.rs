//! Packets for the detectors of which there is no recording: made by our own encoder for their configuration.

use crate::config::{Config, DetectorSettings};
use evforge_detect::ess::{EssSettings, PlaceRequest, VmmSettings};
use evforge_detect::settings::SettingsError;
use evforge_sim::vmm_load::{VmmLoad, packets};

/// What was made.
#[derive(Clone, Debug)]
pub struct MadePackets {
    /// The packets, in the order in which they are sent.
    pub packets: Vec<Vec<u8>>,
    /// Neutrons in them.
    pub neutrons: u64,
    /// What they are, for people.
    pub description: String,
}

/// Packets for a detector with VMM3a records in today's ESS readout, the same every time; none for other detectors.
///
/// # Errors
/// Does not fail for a configuration that was read.
pub fn made_packets(config: &Config) -> Result<Option<MadePackets>, SettingsError> {
    let of_module = |request: &PlaceRequest| (usize::from(request.target), usize::from(request.plane));
    Ok(match &config.detector {
        DetectorSettings::EssMultiBlade(settings) => {
            Some(make(&VmmLoad::multi_blade(), &settings.ess, &settings.vmm()?, of_module))
        }
        DetectorSettings::EssMultiGrid(settings) => {
            Some(make(&VmmLoad::multi_grid(), &settings.ess, &settings.vmm()?, of_module))
        }
        _ => None,
    })
}

fn make(
    load: &VmmLoad,
    ess: &EssSettings,
    wiring: &VmmSettings,
    module_and_plane: impl Fn(&PlaceRequest) -> (usize, usize),
) -> MadePackets {
    let (packets, neutrons) = packets(load, ess.header.detector_type, wiring, module_and_plane);
    let description = format!(
        "{neutrons} neutrons in {} pulses, made with {} to {} and {} to {} hits on the two planes",
        load.pulses,
        load.hits[0].start(),
        load.hits[0].end(),
        load.hits[1].start(),
        load.hits[1].end(),
    );
    MadePackets { packets, neutrons, description }
}

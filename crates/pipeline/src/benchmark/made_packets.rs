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
        DetectorSettings::EssGdGem(settings) => {
            // Planes count through the panels: two for each.
            let of_panel =
                |request: &PlaceRequest| (usize::from(request.target / 2), usize::from(request.target % 2));
            Some(make(&VmmLoad::gd_gem(), &settings.ess, &settings.vmm()?, of_panel))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use evforge_core::detector::{form, form_rest};
    use evforge_core::event::EventBatch;
    use evforge_core::packet::{PacketOrigin, PacketSlab};
    use std::path::Path;

    /// Most neutrons are found: the packets are such as the detectors send them.
    #[test]
    fn made_packets_are_formed_to_events() {
        for (name, share) in [("freia", 0.9), ("estia", 0.9), ("trex", 0.9), ("nmx", 0.9)] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
            let config = Config::read(&path, &[]).unwrap();
            let made = made_packets(&config).unwrap().unwrap();
            let bytes = made.packets.iter().map(Vec::len).sum();
            let mut slab = PacketSlab::new(made.packets.len(), bytes);
            assert!(made.packets.iter().all(|packet| slab.push(
                packet,
                packet.len(),
                PacketOrigin::default()
            )));
            let mut detector = config.build_detector().unwrap();
            let mut events = EventBatch::new(8192);
            form(detector.as_mut(), &slab.batch(), &mut events, EventBatch::clear);
            form_rest(detector.as_mut(), &mut events, EventBatch::clear);
            let ledger = detector.ledger();
            assert_eq!((ledger.unaccounted(), ledger.counters.value("late")), (0, Some(0)), "{name}");
            let found = ledger.events() as f64 / made.neutrons as f64;
            assert!(found > share && found <= 1.0, "{name}: {found} of the neutrons");
        }
    }
}

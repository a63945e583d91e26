//! The memory of a Multi-Grid with the ESS readout is bounded whatever it is fed, and forming events does not
//! allocate.

use crate::ess_streams::{STREAMS, ess_settings, packet};
use crate::hostile_stream::check_boxed;
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::multigrid::EssMultiGridSettings;
use evforge_detect::multigrid::settings::Strategy;
use evforge_detect::multigrid::vessels::{VesselSettings, VesselWiring};
use evforge_detect::pairing::Ambiguous;
use evforge_detect::settings::pairing::PairingSettings;
use evforge_detect::workers::{InTurn, Workers};
use evforge_wire::ess::detector_type;
use std::sync::Arc;

/// A vessel with two front ends.
fn settings() -> EssMultiGridSettings {
    EssMultiGridSettings {
        ess: ess_settings(detector_type::TREX),
        geometry: LogicalGeometry::new(12, 140, 16, 1).expect("a geometry"),
        wiring: VesselWiring::Trex,
        vessels: vec![VesselSettings {
            rings: vec![0],
            fens: vec![0, 1],
            rotated: false,
            short: false,
            x_offset: 0,
            y_offset: 0,
            min_adc: 50,
        }],
        strategy: Strategy::Centroid,
        gap: 500_000,
        max_grid_span: 3,
        pairing: PairingSettings::default(),
        mask: vec![],
        calibration: vec![],
        calibration_file: None,
    }
}

pub(crate) fn check_all() {
    let settings = settings();
    let pairing = PairingSettings { ambiguous: Ambiguous::Nearest, ..PairingSettings::default() };
    let paired = EssMultiGridSettings { pairing, ..settings.clone() };
    for (name, sent) in STREAMS {
        // Wires of the second VMM of hybrid 0, grids of the second one of hybrid 1.
        let packet = |number| packet(number, *sent, detector_type::TREX, [1, 3]);
        let prioritized = EssMultiGridSettings { strategy: Strategy::Prioritized, ..settings.clone() };
        for settings in [&settings, &prioritized, &paired] {
            for workers in [None, Some(Arc::new(InTurn(2)) as Arc<dyn Workers>)] {
                let detector = || settings.detector(None, workers.clone()).expect("sound settings");
                check_boxed(name, detector, (0..300).map(packet));
            }
        }
    }
}

//! The memory of a Multi-Grid with the ESS readout is bounded whatever it is fed, and forming events does not
//! allocate.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

#[path = "hostile_stream/ess.rs"]
mod ess_streams;
mod hostile_stream;

use ess_streams::{STREAMS, ess_settings, packet};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::multigrid::EssMultiGridSettings;
use evforge_detect::multigrid::reconstruction::{Centroid, Prioritized};
use evforge_detect::multigrid::settings::Strategy;
use evforge_detect::multigrid::vessels::{VesselSettings, VesselWiring};
use evforge_detect::pairing::Ambiguous;
use evforge_detect::settings::pairing::PairingSettings;
use evforge_wire::ess::detector_type;
use hostile_stream::{Growth, check};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

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

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let settings = settings();
    let pairing = PairingSettings { ambiguous: Ambiguous::Nearest, ..PairingSettings::default() };
    let paired = EssMultiGridSettings { pairing, ..settings.clone() };
    for (name, sent) in STREAMS {
        // Wires of the second VMM of hybrid 0, grids of the second one of hybrid 1.
        let packet = |number| packet(number, *sent, detector_type::TREX, [1, 3]);
        let centroid = || settings.detector_of::<Centroid>().expect("sound settings");
        check(name, Growth::None, centroid, (0..300).map(packet));
        let prioritized = || settings.detector_of::<Prioritized>().expect("sound settings");
        check(name, Growth::None, prioritized, (0..300).map(packet));
        let paired = || paired.paired_detector_of::<Centroid>().expect("sound settings");
        check(name, Growth::None, paired, (0..300).map(packet));
    }
    println!("hostile streams stay within the bound and allocate nothing");
}

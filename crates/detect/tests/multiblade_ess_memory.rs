//! The memory of a Multi-Blade with the ESS readout is bounded whatever it is fed, and forming events does not
//! allocate.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

#[path = "hostile_stream/ess.rs"]
mod ess_streams;
mod hostile_stream;

use ess_streams::{STREAMS, ess_settings, packet};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::ess::ticks;
use evforge_detect::multiblade::EssMultiBladeSettings;
use evforge_detect::multiblade::ess::{CassetteDefaults, CassetteHybrid, CassetteLayout, CassetteWiring};
use evforge_detect::multiblade::settings::{WindowRule, WindowSettings};
use evforge_wire::ess::detector_type;
use hostile_stream::{Growth, check};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Two cassettes; time waits for queues 0 and 1.
fn settings() -> EssMultiBladeSettings {
    let cassette = |cassette, fen| CassetteHybrid {
        cassette,
        ring: 0,
        fen,
        hybrid: 0,
        wiring: CassetteWiring::default(),
        wire_threshold: 0,
        strip_threshold: 0,
        hybrid_id: None,
    };
    EssMultiBladeSettings {
        ess: ess_settings(detector_type::FREIA),
        layout: CassetteLayout::Freia,
        defaults: CassetteDefaults::default(),
        cassettes: vec![cassette(0, 0), cassette(1, 1)],
        mapping_file: None,
        window: WindowSettings {
            rule: WindowRule::Gap,
            ticks: ticks::in_duration(500_000) as u32 + 1,
            max_wires: 64,
            max_strips: 64,
            max_gap_wires: 0,
            max_gap_strips: 0,
            max_amplitude_ratio: Some(4000),
            separate: true,
        },
        mask: vec![],
        calibration: vec![],
        calibration_file: None,
        geometry: LogicalGeometry::flat(64, 64).expect("a geometry"),
    }
}

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let settings = settings();
    for (name, sent) in STREAMS {
        let build = || settings.detector().expect("sound settings");
        let packet = |number| packet(number, *sent, detector_type::FREIA, [0, 1]);
        check(name, Growth::None, build, (0..300).map(packet));
    }
    println!("hostile streams stay within the bound and allocate nothing");
}

//! The memory of a Multi-Blade with the ESS readout is bounded whatever it is fed, and forming events does not
//! allocate.

use crate::ess_streams::{STREAMS, ess_settings, packet};
use crate::hostile_stream::check_boxed;
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::ess::ticks;
use evforge_detect::multiblade::EssMultiBladeSettings;
use evforge_detect::multiblade::ess::{CassetteDefaults, CassetteHybrid, CassetteLayout, CassetteWiring};
use evforge_detect::multiblade::settings::{WindowRule, WindowSettings};
use evforge_detect::pairing::Ambiguous;
use evforge_detect::settings::pairing::{PairingSettings, Permille};
use evforge_detect::workers::{InTurn, Workers};
use evforge_wire::ess::detector_type;
use std::sync::Arc;

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
        pairing: PairingSettings::default(),
        mask: vec![],
        calibration: vec![],
        calibration_file: None,
        geometry: LogicalGeometry::flat(64, 64).expect("a geometry"),
    }
}

pub(crate) fn check_all() {
    let hostile = |number, sent| packet(number, sent, detector_type::FREIA, [0, 1]);
    let joined = settings();
    let mut paired = settings();
    paired.window.separate = false;
    paired.pairing = PairingSettings {
        ambiguous: Ambiguous::Drop,
        max_amplitude_ratio: Some(Permille(4000)),
        ..PairingSettings::default()
    };
    for (name, sent) in STREAMS {
        let packets = || (0..300).map(|number| hostile(number, *sent));
        for settings in [&joined, &paired] {
            for workers in [None, Some(Arc::new(InTurn(2)) as Arc<dyn Workers>)] {
                let detector = || settings.detector(None, workers.clone()).expect("sound settings");
                check_boxed(name, detector, packets());
            }
        }
    }
}

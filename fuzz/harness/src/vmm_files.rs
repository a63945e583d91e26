//! JSON files with the wiring and the calibration of VMM chips.

use evforge_config::{Config, DetectorSettings};
use evforge_detect::gdgem::vmm_files::{calibration, wiring};
use std::path::Path;
use std::sync::OnceLock;

/// Reads `bytes` as a wiring and as a calibration of every detector that takes such files. What is not UTF-8 is
/// replaced.
///
/// # Panics
/// If an error says nothing, or if what was read has channels that cannot be, or is refused afterwards.
pub fn vmm_files(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match wiring(&text) {
        Ok(chips) => {
            for chip in &chips.content.chips {
                for channel in 0..64 {
                    let strip = chip.strip(channel);
                    assert!(
                        strip.is_none_or(|strip| chip.channel(strip.into()).is_some()),
                        "a strip without channel"
                    );
                }
                assert_eq!(chip.strip(64), None);
            }
        }
        Err(problem) => assert!(!problem.trim().is_empty(), "an error that says nothing"),
    }
    match calibration(&text) {
        Ok(chips) => {
            let good = chips.content.iter().all(|chip| chip.channels.len() == 64);
            assert!(good, "a chip with other channels")
        }
        Err(problem) => assert!(!problem.trim().is_empty(), "an error that says nothing"),
    }
    for settings in detectors() {
        // Others read them again where they are read: a wiring that was taken is sound, and so is a calibration of what
        // was wired before.
        for key in settings.side_files().iter().map(|file| file.key) {
            let mut changed = settings.clone();
            let taken = changed.take_file(key, &text);
            check(&changed, taken.map(|content| content.notes));
        }
    }
}

fn check(settings: &DetectorSettings, taken: Result<Vec<String>, String>) {
    match taken {
        Ok(notes) => {
            assert!(notes.iter().all(|note| !note.trim().is_empty()), "a note that says nothing");
            settings.check().expect("what was taken from a file is refused");
        }
        Err(problem) => assert!(!problem.trim().is_empty(), "an error that says nothing"),
    }
}

/// A detector of each kind with identities of its hybrids.
fn detectors() -> &'static [DetectorSettings] {
    const GDGEM: &str = r#"
        name = "nmx"
        ess.type = "nmx"
        [ess_gdgem]
        geometry = { nx = 1280, ny = 1280 }
        hybrid = [
            { ring = 0, fen = 0, hybrid = 0, plane = "x", offset = 0, hybrid_id = "aa" },
            { ring = 0, fen = 1, hybrid = 0, plane = "y", offset = 0, hybrid_id = "bb" },
        ]
    "#;
    const MULTI_BLADE: &str = r#"
        name = "freia"
        ess.type = "freia"
        [ess_multiblade]
        layout = "freia"
        geometry = { nx = 64, ny = 1024 }
        cassettes = [{ cassette = 0, ring = 0, fen = 0, hybrid = 0, hybrid_id = "aa" }]
    "#;
    const MULTI_GRID: &str = r#"
        name = "trex"
        ess.type = "trex"
        [ess_multigrid]
        wiring = "trex"
        vessels = [{ rings = [0], fens = [0] }]
    "#;
    // Fine times are used, and the file may say how wide tracks are.
    const NMX_FINE: &str = r#"
        name = "nmx"
        ess.type = "nmx"
        [ess_gdgem]
        fine_time = true
        geometry = { nx = 1280, ny = 1280 }
        hybrid = [
            { ring = 0, fen = 0, hybrid = 0, plane = "x", offset = 0, hybrid_id = "aa" },
            { ring = 0, fen = 1, hybrid = 0, plane = "y", offset = 0, reversed = true, hybrid_id = "bb" },
        ]
        [ess_gdgem.position]
        spans = { max_x = 18, min_x = 2, max_y = 18, min_y = 2, max_time = "500ns" }
    "#;
    const ESTIA: &str = r#"
        name = "estia"
        ess.type = "estia"
        [ess_multiblade]
        layout = "estia"
        geometry = { nx = 1536, ny = 128 }
        cassettes = [{ cassette = 0, ring = 0, fen = 0, hybrid = 0, hybrid_id = "aa" }]
    "#;
    const LET: &str = r#"
        name = "let"
        ess.type = 0x30
        [ess_multigrid]
        wiring = "let"
        columns = 12
        rows = 51
        vessels = [{ rings = [0, 1], fens = [0], short = true }]
    "#;
    static DETECTORS: OnceLock<Vec<DetectorSettings>> = OnceLock::new();
    DETECTORS.get_or_init(|| {
        let settings = |text: &&str| {
            let config = Config::parse(Path::new("x.toml"), text, &[]);
            config.expect("a sound configuration").detector
        };
        [GDGEM, MULTI_BLADE, MULTI_GRID, NMX_FINE, ESTIA, LET].iter().map(settings).collect()
    })
}

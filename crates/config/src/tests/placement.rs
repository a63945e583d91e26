//! The table `[placement]`.

use super::{GOOD, parse};
use crate::Config;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::placement::Placement;
use std::path::Path;

const TABLE: &str = r#"
[placement]
pitch = ["0.4mm", "0.4mm"]
figures = "surveyed"
source_distance = "157m"
monitors = { before = "-1.5m" }
[[placement.panel]]
distance = "1m"
"#;

fn place(table: &str, monitors: &[&str]) -> Result<Option<Placement>, String> {
    let config = parse(&format!("{GOOD}{table}"), &[]).map_err(|error| error.to_string())?;
    let geometry = LogicalGeometry::flat(128, 128).expect("a geometry");
    config.place(geometry, monitors.iter().copied()).map_err(|error| error.to_string())
}

#[test]
fn a_placement_is_read_and_checked_against_geometry_and_monitors() {
    let placement = place(TABLE, &["before"]).unwrap().unwrap();
    assert_eq!((placement.source_distance, placement.monitors["before"]), (Some(157.0), -1.5));
    assert_eq!(place("", &[]).unwrap(), None);
    for (from, to, monitors, message) in [
        ("surveyed", "guessed", ["before"], "unknown variant `guessed`, expected"),
        ("157m", "157", ["before"], "found `157`, expected a length such as 0.4mm"),
        ("distance = \"1m\"", "distanc = \"1m\"", ["before"], "unknown field `distanc`"),
        ("\"0.4mm\", ", "", ["before"], "placement.pitch: found 1, expected 2 lengths"),
        (
            "",
            "",
            ["after"],
            "placement.monitors.before: is not a beam monitor of the configuration, which has after",
        ),
    ] {
        let error = place(&TABLE.replacen(from, to, 1), &monitors).unwrap_err();
        assert!(error.contains(message) && error.contains("test.toml:"), "{error}");
    }
}

#[test]
fn every_shipped_configuration_says_where_its_pixels_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    for entry in std::fs::read_dir(folder).expect("the shipped configurations") {
        let path = entry.expect("an entry").path();
        // Sampled channels have no place, and nothing public says where the boards of ISIS stand.
        let name = path.file_name().expect("a name").to_string_lossy();
        if !name.ends_with(".toml") || name == "adc-readout.toml" || name.starts_with("isis-") {
            continue;
        }
        let config = Config::read(&path, &[]).expect("a valid configuration");
        let detector = config.build_detector().expect("a detector");
        let ledger = detector.ledger();
        let monitors = ledger.beam_monitors.iter().map(|monitor| &*monitor.plan().name);
        let placement = config.place(detector.geometry(), monitors).expect("a good placement");
        assert!(placement.is_some_and(|placement| placement.source_distance.is_some()), "{}", path.display());
    }
}

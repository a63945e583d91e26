//! What is refused, and what calibrated charges become.

use super::*;
use crate::ess::settings::FENS;
use evforge_wire::ess::{HeaderRules, detector_type};

pub(crate) fn settings(more: &str) -> Result<Helium3Settings, String> {
    let text = format!(
        "geometry = {{ nx = 300, ny = 3 }}\npixels = 100\ntubes = [{{ interval = [0.0, 0.3] }}, {{ interval = [0.4, 0.6], y = 1 }}, {{ interval = \
         [0.7, 1.0], y = 2 }}]\n{more}"
    );
    let mut settings: Helium3Settings = toml::from_str(&text).map_err(|error| error.to_string())?;
    settings.ess.header = HeaderRules::strict(detector_type::BIFROST, u64::MAX);
    settings.ess.max_time_of_flight = 1_000_000_000;
    settings.ess.sorting = crate::settings::SortingSettings::PULSED;
    Ok(settings)
}

const WIRING: &str = "wiring = [{ ring = 2, fen = 1, groups = [{ count = 3, x = 100 }] }]\n";

fn calibration(change: impl Fn(String) -> String) -> String {
    let groups: Vec<GroupCalibration> = (0..3)
        .map(|group| GroupCalibration {
            group,
            intervals: vec![[0.01, 0.3], [0.35, 0.6], [0.99, 0.7]],
            polynomials: vec![[0.0, 0.0, 0.0, 0.0], [0.01, 0.0, -0.02, 0.0], [0.0; 4]],
        })
        .collect();
    change(as_json("bifrost", "2026-11-29", "a test", &groups))
}

#[test]
fn wirings_that_cannot_be_are_refused_with_key_and_number() {
    for (wiring, expected) in [
        ("", "wiring: no tube is wired"),
        ("wiring = [{ ring = 12 }]", "wiring[0].ring: 12 is not in 0..=11"),
        ("wiring = [{ ring = 0, fen = 23, fens = { count = 2 } }]", "wiring[0].fens: FEN 23 and 2 of them"),
        (
            "wiring = [{ ring = 0, group = 255, groups = [{ count = 2 }] }]",
            "wiring[0].groups: group 255 and 2 of them",
        ),
        ("wiring = [{ ring = 0 }, { ring = 0, x = 100 }]", "wiring: ring 0, FEN 0, group 0 is wired twice"),
        ("wiring = [{ ring = 0, groups = [{ count = 4, x = 100 }] }]", "begins outside 300 x 3 pixels"),
        ("wiring = [{ ring = 0, y = 1 }]", "wiring[0].x: tube 2 of ring 0, FEN 0, group 0 begins outside"),
        (
            "wiring = [{ ring = 0 }]\nmask = [{ ring = 0, fen = 0, channels = [1], reason = \"hot\" }]",
            "mask[0].channels: no tube",
        ),
        (
            "wiring = [{ ring = 0 }]\ncharges = \"four\"\nleast_charge = 3",
            "least_charge: is for readouts with two charges",
        ),
    ] {
        let error = settings(wiring).unwrap().check().unwrap_err().to_string();
        assert!(error.contains(expected), "{wiring}: {error}");
    }
    let sound = settings(WIRING).unwrap();
    sound.check().unwrap();
    // FENs that cannot be and numbers that overflow do not panic.
    let wild =
        "wiring = [{ ring = 0, x = 4294967295, y = 4294967295, groups = [{ count = 256, x = 4294967295 }] }]";
    assert!(settings(wild).unwrap().check().is_err());
    assert!(usize::from(FENS) < 256);
}

#[test]
fn tubes_that_overlap_or_are_no_intervals_are_refused() {
    for (tubes, expected) in [
        (
            "[{ interval = [0.0, 0.5] }, { interval = [0.4, 1.0], y = 1 }]",
            "tubes[1].interval: [0.4, 1] overlaps [0.0, 0.5]",
        ),
        ("[{ interval = [0.2, 0.2] }]", "two different numbers"),
        ("[{ interval = [0.2, 1.2] }]", "two different numbers"),
        ("[]", "0 tubes in a group"),
    ] {
        let text = format!("geometry = {{ nx = 300, ny = 3 }}\ntubes = {tubes}\n{WIRING}");
        let mut settings: Helium3Settings = toml::from_str(&text).unwrap();
        settings.ess = self::settings(WIRING).unwrap().ess;
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains(expected), "{tubes}: {error}");
    }
}

#[test]
fn a_calibration_is_read_and_each_mistake_in_it_is_refused_with_its_place() {
    let mut sound = settings(WIRING).unwrap();
    let notes = sound.take_calibration(&calibration(|text| text)).unwrap().notes;
    assert!(notes.is_empty(), "{notes:?}");
    sound.check().unwrap();
    assert_eq!((sound.calibration.len(), sound.calibration[2].intervals[2]), (3, [0.99, 0.7]));
    let entry = "\"groupindex\": 1,";
    for (from, to, expected) in [
        ("\"Calibration\"", "\"calibration\"", "the key Calibration is missing"),
        ("\"instrument\"", "\"Instrument\"", "Calibration: the key instrument is missing"),
        ("bifrost", "loki", "Calibration.instrument: found \"loki\", expected \"bifrost\""),
        ("\"groups\": 3", "\"groups\": 4", "Calibration.Parameters: found a list of 3, expected 4 entries"),
        (
            "\"groupsize\": 3",
            "\"groupsize\": 2",
            "Calibration.groupsize: found 2, expected 3, the number of tubes",
        ),
        (
            entry,
            "\"groupindex\": 2,",
            "Calibration.Parameters[1].groupindex: found 2, expected a whole number in 1..=1",
        ),
        ("[0.01, 0.3], ", "", "Calibration.Parameters[0].intervals: found a list of 2, expected a list of 3"),
        (
            "[0.01, 0.3]",
            "[0.01]",
            "Calibration.Parameters[0].intervals[0]: found a list of 1, expected [from, to]",
        ),
        (
            "[0.01, 0.3]",
            "[0.01, 0.36]",
            "Calibration.Parameters[0].intervals: [0.01, 0.36] and [0.35, 0.6] overlap",
        ),
        ("[0.01, 0.3]", "[0.01, 0.349995]", "overlap, or are closer than 0.00001"),
        ("[0.01, 0.3]", "[-0.01, 0.3]", "expected numbers from 0 to 1"),
        ("[0.01, 0.3]", "[0.3, 0.3]", "which is no interval"),
        (
            "[0.0, 0.0, 0.0, 0.0]",
            "[0.0, 0.0, 0.0]",
            "Calibration.Parameters[0].polynomials[0]: found a list of 3, expected [a, b, c, d]",
        ),
        ("\"polynomials\"", "\"polynomial\"", "Calibration.Parameters[0]: the key polynomials is missing"),
    ] {
        let mut settings = settings(WIRING).unwrap();
        let error = settings.take_calibration(&calibration(|text| text.replacen(from, to, 1))).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}: {error}");
    }
    // A group of the wiring that the file does not have.
    let wider = "wiring = [{ ring = 2, fen = 1, groups = [{ count = 3, x = 100 }] }, { ring = 3 }]\n";
    let error = settings(wider).unwrap().take_calibration(&calibration(|text| text)).unwrap_err();
    assert!(error.contains("group 3 (ring 3, FEN 0, group 0) is missing"), "{error}");
    // What is not used is said.
    let mut by_intervals = settings(&format!("{WIRING}calibrated_by = [\"intervals\"]\n")).unwrap();
    let notes = by_intervals.take_calibration(&calibration(|text| text)).unwrap().notes;
    assert_eq!(notes, ["without effect: polynomials (calibrated_by)"]);
}

#[test]
fn files_of_instruments_that_do_not_fit_are_refused() {
    for (text, expected) in [
        (
            r#"{ "Detector": "freia", "Resolution": 100 }"#,
            "Detector: found \"freia\", expected loki, bifrost",
        ),
        (r#"{ "Detector": "bifrost" }"#, "the key Resolution is missing"),
        (r#"{ "Detector": "loki", "PanelConfig": [] }"#, "this file is of the layout before 2024"),
        (
            r#"{ "Detector": "loki", "Resolution": 512, "GroupsZ": 4, "Banks": [], "Config": [{ "Bank": 0 }] }"#,
            "Config[0].Bank: found 0",
        ),
        (
            r#"{ "Detector": "tbl3he", "Resolution": 100, "NumOfFENs": 2, "MinValidAmplitude": 2, "Topology": [] }"#,
            "NumOfFENs: found 2, expected 0, the number of entries of Topology",
        ),
    ] {
        let error = settings("").unwrap().take_wiring(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_position_and_the_one_before_its_correction_belong_together() {
    let tube = CalibratedTube {
        interval: [0.2, 0.8],
        polynomial: [0.01, -0.02, 0.03, 0.0],
        first_pixel: 1,
        inside: 100,
        rounding: Rounding::Nearest,
    };
    for share in [0.05, 0.3, 0.5, 0.9] {
        let before = tube.before_correction(share);
        let [a, b, c, d] = tube.polynomial;
        let after = before - (a + before * (b + before * (c + before * d)));
        assert!((after - share).abs() < 1e-12, "{after} for {share}");
    }
}

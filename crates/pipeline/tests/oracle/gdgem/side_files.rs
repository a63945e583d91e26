//! The calibration and the geometry that belong to the VMM3a capture (EFU formats of 2018, section 4.3).

use std::collections::BTreeMap;

use evforge_testkit::{shared_file, shared_folder};

use crate::gdgem::captures::{Capture, vmm3a_physical};
use crate::gdgem::model::settings::Calibration;
use crate::gdgem::production::{form, model_events};

/// The calibration file as the model reads it.
fn example_calibration(test: &str) -> Option<BTreeMap<(u16, u8, u8), Calibration>> {
    let text = shared_file(test, "captures/gdgem/example_calib.json")?;
    let file: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let mut channels = BTreeMap::new();
    for chip in file["vmm_calibration"].as_array().expect("a list") {
        let number = |key: &str| chip[key].as_u64().expect("a number");
        for channel in 0..64 {
            let millionths = |key: &str| {
                (chip[key][usize::from(channel)].as_f64().expect("a number") * 1e6).round() as i128
            };
            let place = (number("fecID") as u16, number("vmmID") as u8, channel);
            let calibration = Calibration {
                adc_offset: millionths("adc_offsets"),
                adc_slope: millionths("adc_slopes"),
                time_offset: millionths("time_offsets"),
                time_slope: millionths("time_slopes"),
            };
            channels.insert(place, calibration);
        }
    }
    Some(channels)
}

/// `--set` of a key to a shared file.
fn set(key: &str, file: &str) -> String {
    let folder = std::fs::canonicalize(shared_folder()).expect("the shared folder");
    format!("{key}=\"{}\"", folder.join("captures/gdgem").join(file).display())
}

#[test]
fn section_4_3_the_calibrated_capture_equals_the_model_event_for_event() {
    let test = "section_4_3_the_calibrated_capture_equals_the_model_event_for_event";
    let Some(mut capture) = vmm3a_physical(test) else { return };
    let Some(channels) = example_calibration(test) else { return };
    let plain = form(&capture, &[]).0;
    capture.settings.calibration = channels;
    let calibration = set("gdgem.calibration", "example_calib.json");
    let (events, ledger) = form(&capture, &[&calibration]);
    assert_eq!(events, model_events(&capture).0);
    assert_ne!(events, plain);
    let value = |name: &str| ledger.counters.value(name).unwrap();
    assert_eq!((events.len(), value("hits_in_events")), (6826, 114_713));
    assert_eq!(ledger.unaccounted(), 0);

    // A threshold applies to the calibrated amplitude.
    for clusterer in [&mut capture.settings.clusterers.x, &mut capture.settings.clusterers.y] {
        clusterer.hit_adc_threshold = 80;
    }
    let thresholds = ["gdgem.clustering.x.adc_threshold=80", "gdgem.clustering.y.adc_threshold=80"];
    let (events, ledger) = form(&capture, &[&calibration, thresholds[0], thresholds[1]]);
    let (expected, counters) = model_events(&capture);
    assert_eq!(events, expected);
    assert_eq!(ledger.counters.value("below_threshold"), Some(counters.below_threshold));
}

#[test]
fn section_4_3_the_geometry_file_gives_the_wiring_of_the_configuration() {
    let Some(capture) = vmm3a_physical("section_4_3_the_geometry_file_gives_the_wiring_of_the_configuration")
    else {
        return;
    };
    let file = set("gdgem.mapping_file", "example_geometry.json");
    let (events, _) = form(&capture, &["gdgem.mapping=[]", &file]);
    assert_eq!(events.len(), 6853);
    assert_eq!(events, form(&capture, &[]).0);
}

/// Section 4.5: the map of the reference for VMM2, as its configuration files write it.
#[test]
fn section_4_5_a_configuration_of_2018_gives_the_wiring() {
    let test = "section_4_5_a_configuration_of_2018_gives_the_wiring";
    let Some(captures) = crate::gdgem::captures::reference_captures(test) else { return };
    let run16: &Capture = &captures[0];
    let entries: Vec<_> = [0, 1, 6, 7, 10, 11, 14, 15]
        .iter()
        .enumerate()
        .map(|(index, vmm)| {
            let (plane, offset) = (index / 4, index % 4 * 64);
            format!(r#"{{"fecID": 1, "vmmID": {vmm}, "planeID": {plane}, "strip_offset": {offset}}}"#)
        })
        .collect();
    let text = format!(
        r#"{{"builder_type": "VMM2", "geometry_x": 256, "geometry_y": 256, "srs_mappings": [{}]}}"#,
        entries.join(",")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vmm2.json");
    std::fs::write(&file, text).expect("a file");
    let (events, _) =
        form(run16, &["gdgem.mapping=[]", &format!("gdgem.mapping_file=\"{}\"", file.display())]);
    assert_eq!(events, form(run16, &[]).0);
    assert_eq!(events.len(), 11);
}

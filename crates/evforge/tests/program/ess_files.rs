//! A recording of NMX with the wiring and the calibration of today's event formation unit, as they are.

use crate::common::{PROGRAM, text};
use evforge_testkit::{shared_file, shared_folder};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_recording_of_nmx_is_placed_by_the_files_of_the_efu() {
    let test = "a_recording_of_nmx_is_placed_by_the_files_of_the_efu";
    if shared_file(test, "captures/ess/nmx_monitoring.pcapng").is_none() {
        return;
    }
    let captures = shared_folder().canonicalize().unwrap().join("captures/ess");
    let folder = tempfile::tempdir().unwrap();
    for (wiring, notes) in [("nmx_efu_config.json", 5), ("nmx_vmmessdat_config.json", 0)] {
        let calibration = if wiring.contains("efu") {
            format!("calibration_file = {:?}\nfine_time = true\n", captures.join("nmx_efu_time_calib.json"))
        } else {
            String::new()
        };
        let config = folder.path().join("nmx.toml");
        let settings = format!(
            "name = \"nmx\"\n[ess]\ntype = \"nmx\"\n[ess_gdgem]\ngeometry = {{ nx = 1280, ny = 1280 }}\n\
             mapping_file = {:?}\n{calibration}",
            captures.join(wiring)
        );
        std::fs::write(&config, settings).unwrap();
        let config = config.to_str().unwrap();
        let run = |more: &[&str]| {
            Command::new(PROGRAM)
                .args(["run", "--config", config])
                .args(more)
                .output()
                .expect("the program starts")
        };

        let checked = run(&["--check"]);
        assert!(checked.status.success(), "{}", text(&checked.stderr));
        let said = text(&checked.stdout);
        assert_eq!(said.lines().filter(|line| line.starts_with("note  ")).count(), notes, "{said}");

        let report = folder.path().join("report.json");
        let input = captures.join("nmx_monitoring.pcapng");
        let output = run(&["--input", input.to_str().unwrap(), "--report", report.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(said.lines().filter(|line| line.starts_with("note: ")).count(), notes, "{said}");
        if notes > 0 {
            assert!(said.contains("MaxSpanX = 64 is not taken over: position.spans.max_x is 10"), "{said}");
        }
        let json: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
        let stream = &json["streams"][0];
        assert_eq!((&stream["readouts"], &stream["unaccounted"]), (&44_700.into(), &0.into()), "{stream:#}");
        for counter in ["unmapped_ring", "unmapped_fen", "unmapped_hybrid", "unmapped_channel"] {
            assert_eq!(stream["counters"][counter], 0, "{counter}");
        }
        // One has a fraction of a second that cannot be; the pulses of the test are mostly below the threshold or not.
        let placed: u64 = ["hits", "below_threshold"]
            .iter()
            .map(|counter| stream["counters"][*counter].as_u64().unwrap_or(0))
            .sum();
        assert_eq!(placed, 44_699, "{stream:#}");
    }
}

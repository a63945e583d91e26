//! Boards of ISIS as a user meets them: simulated with truth, inspected, formed to events, scored.

use crate::common::{PROGRAM, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn evforge_any(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program starts")
}

fn evforge(arguments: &[&str]) -> String {
    let output = evforge_any(arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn configs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs")
}

fn json(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file that was written")).expect("JSON")
}

/// A shipped configuration, and what is changed of it: ticks that last as long as a frame.
const CONFIGURATIONS: [(&str, &str, u64); 4] = [
    ("isis-wlsf", "isis.tick.wlsf=20ns", 1),
    ("isis-madc", "isis.tick.madc=20ns", 1),
    ("isis-lvds", "isis.tick.lvds=20ns", 1),
    ("isis-v2", "isis.tick_v2.wlsf=20ns", 2),
];

#[test]
fn simulated_boards_are_inspected_formed_to_events_and_scored() {
    for (name, tick, version) in CONFIGURATIONS {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let config = configs().join(format!("{name}.toml")).to_str().unwrap().to_owned();
        let (capture, truth, frames) = (file("run.pcapng"), file("truth.csv"), file("frames.csv"));
        let of = ["simulate", "--config", &config, "--set", tick, "--pulses", "20", "--seed", "3"];
        let physics =
            ["--set", "simulation.isis.periods=2", "--set", "simulation.isis.veto=[{ bit=1, every=4 }]"];
        let into = ["--output", &capture, "--truth", &truth, "--truth-frames", &frames];
        let said = evforge(&[&of[..], &physics, &into].concat());
        assert!(said.contains("neutrons in 20 pulses"), "{said}");

        let frames = std::fs::read_to_string(frames).unwrap();
        let rows: Vec<Vec<u64>> = frames
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(|cell| cell.parse().expect("a number")).collect())
            .collect();
        assert_eq!(rows.len(), 20, "{frames}");
        let sent: u64 = rows.iter().map(|row| row[5]).sum();

        let (events, report, score) = (file("events.csv"), file("report.json"), file("score.json"));
        let run = ["run", "--quiet", "--config", &config, "--set", tick, "--input", &capture];
        evforge(&[&run[..], &["--events", &events, "--report", &report]].concat());
        let formed = &json(&report)["streams"][0]["counters"];
        assert_eq!(
            (formed["frames"].as_u64(), formed["frames_complete"].as_u64()),
            (Some(20), Some(20)),
            "{name}"
        );
        assert_eq!(formed["events"].as_u64(), Some(sent), "{name}");

        let against = ["score", "--config", &config, "--truth", &truth, "--events", &events];
        evforge(&[&against[..], &["--distance", "1", "--time", "20ns", "--report", &score]].concat());
        let score = &json(&score)["runs"][0]["score"];
        let (resolvable, found) = (&score["resolvable"]["neutrons"], &score["resolvable"]["found"]);
        assert!(resolvable.as_u64() > Some(5000) && resolvable == found, "{name}: {found} of {resolvable}");
        assert_eq!(score["events"]["ghosts"].as_u64(), Some(0), "{name}");
        assert_eq!(score["resolvable"]["in_wrong_pixel"].as_u64(), Some(0), "{name}");

        let inspected: Value =
            serde_json::from_str(&evforge(&["inspect", "--json", &capture])).expect("JSON");
        let streams = inspected["streams"].as_array().expect("streams");
        let boards =
            || streams.iter().flat_map(|stream| stream["content"]["boards"].as_array().expect("boards"));
        assert!(boards().all(|board| board["version"].as_u64() == Some(version)), "{name}");
        assert!(boards().all(|board| board["events"] == board["events_announced"]), "{name}");
        assert_eq!(boards().filter_map(|board| board["events"].as_u64()).sum::<u64>(), sent, "{name}");
        assert!(streams.iter().all(|stream| stream["advice"].as_str().is_some_and(|to| to.contains("isis"))));

        // What the skeleton needs is the wiring table.
        let skeleton = file("skeleton.toml");
        evforge(&["inspect", &capture, "--config-skeleton", &skeleton]);
        let written = std::fs::read_to_string(&skeleton).unwrap();
        assert_eq!(written.contains("wiring = \"wiring.csv\""), version == 1, "{written}");
        if version == 1 {
            let wiring = configs().join("isis").join(format!("{}.csv", name.trim_start_matches("isis-")));
            std::fs::copy(wiring, file("wiring.csv")).unwrap();
        }
        let again = file("again.csv");
        evforge(&[
            "run", "--quiet", "--config", &skeleton, "--set", tick, "--input", &capture, "--events", &again,
        ]);
        assert!(
            std::fs::read(&again).unwrap() == std::fs::read(&events).unwrap(),
            "{name}: other events by {written}"
        );
    }
}

#[test]
fn what_has_no_frames_and_no_addresses_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let refused = evforge_any(&["simulate", "sonde", "--form", "--truth-frames", &file("frames.csv")]);
    assert!(text(&refused.stderr).contains("--truth-frames"), "{}", text(&refused.stderr));
    assert!(!refused.status.success());
    let config = configs().join("isis-wlsf.toml");
    let refused =
        evforge_any(&["simulate", "--config", config.to_str().unwrap(), "--output", &file("run.pkts")]);
    assert!(
        text(&refused.stderr).contains("the boards of [isis] are told apart"),
        "{}",
        text(&refused.stderr)
    );
}

//! Ordinary faults of an instrument's day: a board that starts over, wrong times, noise on the wire.

use crate::common::{PROGRAM, text, workspace};
use evforge_testkit::{shared_file, shared_folder};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The report of a run over a case of the reference data, and what it prints. None, and said, if the case is not there.
fn run(test: &str, case: &str, config: &str, folder: &Path) -> Option<(Value, String)> {
    let path = format!("captures/cases/{case}");
    shared_file(test, &path)?;
    let report = folder.join("report.json");
    let output = Command::new(PROGRAM)
        .args(["run", "--overwrite", "--config"])
        .arg(workspace().join("configs").join(config))
        .arg("--input")
        .arg(shared_folder().join(path))
        .arg("--report")
        .arg(&report)
        .arg("--nexus")
        .arg(folder.join("run.nxs"))
        .output()
        .expect("the program starts");
    let printed = text(&output.stdout) + &text(&output.stderr);
    let report = std::fs::read(report).unwrap_or_else(|_| panic!("{printed}"));
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    Some((report["streams"][0].clone(), printed))
}

#[test]
fn a_board_that_starts_over_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let test = "a_board_that_starts_over_loses_nothing";
    let case = "freia-numbering-restarts-1000.pcap";
    let Some((stream, printed)) = run(test, case, "freia.toml", folder.path()) else { return };
    let packets = &stream["packets"];
    let counts = ["sent", "received", "lost", "reordered", "duplicated", "unconfirmed", "restarts"];
    let found: Vec<_> = counts.iter().map(|name| packets[name].as_u64()).collect();
    assert_eq!(found, [80, 80, 0, 0, 0, 0, 1].map(Some), "{packets:#}");
    let restart = &stream["sources"][0]["restarts"][0];
    assert_eq!((restart["last"].as_u64(), restart["first"].as_u64()), (Some(1039), Some(0)), "{stream:#}");
    assert!(restart["at_ns"].as_u64().is_some_and(|at| at > 0), "{restart}");
    assert_eq!(stream["counters"]["events"].as_u64(), Some(1_113));
    assert!(printed.contains("hint        output queue 0 has started its numbering over"), "{printed}");
}

//! A full disk: what was written of text files stays, in whole lines, and is said to be incomplete.

use crate::program::{PROGRAM, config, path_text, simulated, text};
use evforge_testkit::{shared_file, skip};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program with a folder that is a file system of 64 kB, which only this shell and its children see; what is
/// left there is copied out.
fn on_a_small_disk(test: &str, folder: &Path, arguments: &[&str]) -> Option<Output> {
    for name in ["disk", "left"] {
        fs::create_dir(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let script =
        "mount -t tmpfs -o size=64k none disk || exit 77; \"$@\"; status=$?; cp disk/* left/; exit $status";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", PROGRAM]).args(arguments).current_dir(folder);
    let Ok(output) = command.output() else {
        skip(test, "the program unshare is not there");
        return None;
    };
    if output.status.code() == Some(77) || text(&output.stderr).contains("unshare failed") {
        skip(test, "a file system cannot be mounted without root");
        return None;
    }
    Some(output)
}

/// Checks what is told of a file of lines that did not fit, and gives what is left of it.
fn check(folder: &Path, output: &Output, name: &str, sink: usize) -> String {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("FAILED SINK") && error.contains("No space left"), "{error}");
    let left =
        fs::read_to_string(folder.join("left").join(format!("{name}.partial"))).expect("what was written");
    assert!(left.ends_with('\n') && left.len() > 60_000, "{} bytes are left", left.len());
    assert!(!folder.join("left").join(name).exists(), "it looks whole");
    let report = fs::read(folder.join("report.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let note = report["sinks"][sink]["note"].as_str().expect("a note");
    let digits = (left.lines().count() - 1).to_string();
    assert!(note.replace(' ', "").starts_with(&digits), "{note}, but {digits} are there");
    assert!(note.contains(&format!("{name}.partial")) && note.contains("incomplete"), "{note}");
    assert!(error.contains(note), "the text does not say so: {error}");
    left
}

#[test]
fn events_that_were_written_before_the_disk_was_full_stay() {
    let test = "events_that_were_written_before_the_disk_was_full_stay";
    let folder = tempfile::tempdir().unwrap();
    let input = simulated(folder.path(), "simulated.pkts", "14");
    let config = config("gdgem-srs.toml");
    let input = path_text(&input);
    let whole = folder.path().join("whole.csv");
    let all = ["run", "--quiet", "--config", &config, "--input", input, "--events"];
    assert!(Command::new(PROGRAM).args(all).arg(&whole).status().unwrap().success());
    let limited = [&all[..], &["disk/events.csv", "--report", "report.json"]].concat();
    let Some(output) = on_a_small_disk(test, folder.path(), &limited) else { return };
    let left = check(folder.path(), &output, "events.csv", 0);
    assert!(fs::read_to_string(whole).unwrap().starts_with(&left), "other lines than in the whole file");
}

#[test]
fn mean_values_that_were_written_before_the_disk_was_full_stay() {
    let test = "mean_values_that_were_written_before_the_disk_was_full_stay";
    let Some(packet) = shared_file(test, "vectors/adc_readout/test_packet_2.bin") else { return };
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("samples.pkts");
    let one = [&(packet.len() as u32).to_le_bytes()[..], &packet].concat();
    fs::write(&capture, one.repeat(40)).unwrap();
    let output = on_a_small_disk(
        test,
        folder.path(),
        &[
            "run",
            "--quiet",
            "--config",
            &config("adc-readout.toml"),
            "--set",
            "adc_readout.averaging.samples=1",
            "--set",
            "adc_readout.averaging.time_stamp='end'",
            "--input",
            path_text(&capture),
            "--samples",
            "disk/means.csv",
            "--report",
            "report.json",
        ],
    );
    let Some(output) = output else { return };
    let left = check(folder.path(), &output, "means.csv", 0);
    assert!(left.starts_with("channel,time_ns,mean\n"));
}

//! A full disk: an output waits for space and goes on when there is some; where none comes, what was written of text files
//! stays, in whole lines, and is said to be incomplete.

use crate::outputs::program::{PROGRAM, config, path_text, simulated, text};
use evforge_testkit::{shared_file, skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What happens while the program waits for space.
#[derive(Clone, Copy)]
enum Meanwhile {
    /// It does not wait.
    Nothing,
    /// Somebody ends it.
    Interrupt,
    /// Somebody makes room.
    Free,
}

impl Meanwhile {
    fn script(self) -> String {
        let then = match self {
            Self::Nothing => return "true".to_owned(),
            Self::Interrupt => "kill -INT $id",
            Self::Free => "rm disk/filler",
        };
        format!("until grep -q 'is waiting: .*No space left' said; do sleep 0.05; done; {then}")
    }
}

/// Runs the program with a folder that is a file system of 4 MB, of which 64 kB are free, and which only this shell and its
/// children see; what is left there is copied out.
fn on_a_small_disk(test: &str, folder: &Path, meanwhile: Meanwhile, arguments: &[&str]) -> Option<Output> {
    for name in ["disk", "left"] {
        fs::create_dir(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let script = format!(
        "mount -t tmpfs -o size=4096k none disk || exit 77; head -c 4128768 /dev/zero > disk/filler; \
         timeout --foreground 60 \"$@\" 2> said & id=$!; {}; wait $id; status=$?; cat said >&2; rm -f disk/filler; \
         cp disk/* left/; exit $status",
        meanwhile.script()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh", PROGRAM]).args(arguments).current_dir(folder);
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
    assert!(error.contains("FAILED OUTPUT") && error.contains("No space left"), "{error}");
    let left =
        fs::read_to_string(folder.join("left").join(format!("{name}.partial"))).expect("what was written");
    assert!(left.ends_with('\n') && left.len() > 60_000, "{} bytes are left", left.len());
    assert!(!folder.join("left").join(name).exists(), "it looks whole");
    let report = fs::read(folder.join("report.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let note = report["outputs"][sink]["note"].as_str().expect("a note");
    let digits = (left.lines().count() - 1).to_string();
    assert!(note.replace(' ', "").starts_with(&digits), "{note}, but {digits} are there");
    assert!(note.contains(&format!("{name}.partial")) && note.contains("incomplete"), "{note}");
    assert!(error.contains(note), "the text does not say so: {error}");
    left
}

/// A run that had all the room: its arguments, to which the file of the events is to be added, and what it wrote.
fn whole_run(folder: &Path) -> (Vec<String>, PathBuf) {
    let input = simulated(folder, "simulated.pkts", "14");
    let config = config("gdgem-srs.toml");
    let whole = folder.join("whole.csv");
    let all = ["run", "--quiet", "--config", &config, "--input", path_text(&input), "--events"];
    assert!(Command::new(PROGRAM).args(all).arg(&whole).status().expect("it starts").success());
    (all.map(str::to_owned).to_vec(), whole)
}

#[test]
fn events_that_were_written_before_the_disk_was_full_stay() {
    let test = "events_that_were_written_before_the_disk_was_full_stay";
    let folder = tempfile::tempdir().unwrap();
    let (arguments, whole) = whole_run(folder.path());
    let all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let limited = [
        &all[..],
        &["disk/events.csv", "--report", "report.json", "--set", "outputs.csv.finish_within=500ms"],
    ]
    .concat();
    let Some(output) = on_a_small_disk(test, folder.path(), Meanwhile::Interrupt, &limited) else { return };
    let left = check(folder.path(), &output, "events.csv", 0);
    assert!(fs::read_to_string(whole).unwrap().starts_with(&left), "other lines than in the whole file");
}

#[test]
fn a_run_waits_for_space_and_goes_on_with_every_event() {
    let test = "a_run_waits_for_space_and_goes_on_with_every_event";
    let folder = tempfile::tempdir().unwrap();
    let (arguments, whole) = whole_run(folder.path());
    let all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let limited = [&all[..], &["disk/events.csv", "--report", "report.json"]].concat();
    let Some(output) = on_a_small_disk(test, folder.path(), Meanwhile::Free, &limited) else { return };
    let error = text(&output.stderr);
    assert!(output.status.success(), "{error}");
    let written = fs::read_to_string(folder.path().join("left/events.csv")).expect("the file has its name");
    assert!(written == fs::read_to_string(whole).unwrap(), "other lines than without a full disk");
    let report = fs::read(folder.path().join("report.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let csv = &report["outputs"][0];
    let events = written.lines().count() as u64 - 1;
    assert_eq!((csv["events"]["committed"].as_u64(), csv["unaccounted"].as_u64()), (Some(events), Some(0)));
    assert!(csv["interruption"].as_str().is_some_and(|why| why.contains("No space left")), "{csv:#}");
    assert!(csv["events"]["retries"].as_u64() >= Some(1));
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
        Meanwhile::Nothing,
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

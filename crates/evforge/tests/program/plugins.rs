//! Detectors from outside with the real program: from a file and live, into CSV and NeXus; and what the program says and
//! leaves behind when a library is refused or fails.

use crate::common::{LiveProgram, PROGRAM, evforge, text, workspace};
use evforge_testkit::outside::{c_compiler, c_example, c_library, rust_example, succeed};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Packets of the example, made by the program that belongs to it.
fn example_packets(folder: &Path) -> PathBuf {
    let (program, packets) = (folder.join("make_packets"), folder.join("packets.pkts"));
    let source = workspace().join("examples/plugin-c/make_packets.c");
    succeed(c_compiler().arg(source).arg("-o").arg(&program).arg("-lm"));
    let output = Command::new(program).arg("500").output().expect("the program starts");
    std::fs::write(&packets, output.stdout).expect("packets");
    packets
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a report")).expect("JSON")
}

#[test]
fn examples_form_the_same_events_from_a_file_and_live() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let packets = example_packets(folder);
    let packets = packets.to_str().unwrap();
    let mut all_events = Vec::new();
    for library in [c_example(folder), rust_example(folder, &[])] {
        let (events, report, nexus) =
            (folder.join("file.csv"), folder.join("file.json"), folder.join("file.nxs"));
        evforge(&[
            "run",
            "--detector",
            library.to_str().unwrap(),
            "--input",
            packets,
            "--events",
            events.to_str().unwrap(),
            "--report",
            report.to_str().unwrap(),
            "--nexus",
            nexus.to_str().unwrap(),
            "--if-exists",
            "overwrite",
        ]);
        let report = json(&report);
        let stream = &report["streams"][0];
        assert_eq!((&stream["events"], &stream["unaccounted"]), (&50_000.into(), &0.into()), "{stream:#}");
        assert_eq!((&stream["packets"]["sent"], &stream["packets"]["lost"]), (&505.into(), &5.into()));
        assert_eq!((&stream["readouts"], &stream["hits"]), (&50_000.into(), &50_000.into()));
        assert_eq!(stream["sources"][0]["name"], "board");
        assert_eq!(stream["failure"], Value::Null);
        assert_eq!(stream["counters"]["packets_used"], 500);
        let file = hdf5_text(&nexus);
        assert!(file.contains("pixel_stream"), "the name of the instrument");
        let from_file = std::fs::read_to_string(&events).unwrap();
        assert_eq!(from_file.lines().count(), 50_001);

        // A configuration beside the library, found from another folder.
        let config = folder.join("mine.toml");
        let name = library.strip_prefix(folder).unwrap().display();
        let settings = "[plugin.settings]\nnx = 64\nny = 64\n";
        std::fs::write(&config, format!("name = \"mine\"\n[plugin]\nlibrary = \"{name}\"\n{settings}"))
            .unwrap();
        for further in [&[][..], &["--set", "input.threads=2", "--set", "input.events_per_batch=7"]] {
            let live = LiveProgram::start(&config, folder, further);
            evforge(&["replay", packets, "--to", &live.address, "--rate", "1kpps"]);
            let (stream, events) = live.finish();
            assert_eq!((&stream["name"], &stream["unaccounted"]), (&"mine".into(), &0.into()), "{stream:#}");
            assert!(events == from_file, "live and file differ");
        }
        all_events.push(from_file);
    }
    assert!(all_events[0] == all_events[1], "C and Rust differ");
}

/// A file's bytes as text: names of the instrument stand in it as they are.
fn hdf5_text(path: &Path) -> String {
    text(&std::fs::read(path).expect("a NeXus file"))
}

/// The load of the BAND-GEM of LoKI is that of the examples, as they are without settings.
#[test]
fn the_load_of_loki_fits_the_examples() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (capture, report) = (folder.join("loki.pcapng"), folder.join("report.json"));
    let (capture, report) = (capture.to_str().unwrap(), report.to_str().unwrap());
    let load = ["simulate", "--instrument", "LoKI-BAND-GEM", "--scale", "0.001", "--pulses", "14"];
    evforge(&[&load[..], &["--output", capture]].concat());
    for library in [c_example(folder), rust_example(folder, &[])] {
        let library = library.to_str().unwrap();
        evforge(&["run", "--detector", library, "--input", capture, "--report", report]);
        let stream = json(Path::new(report))["streams"][0].clone();
        let readouts = stream["readouts"].as_u64().unwrap();
        assert!(readouts > 30_000, "{stream:#}");
        assert_eq!((&stream["hits"], &stream["events"]), (&readouts.into(), &readouts.into()), "{stream:#}");
    }
}

#[test]
fn an_example_can_be_measured() {
    let folder = tempfile::tempdir().unwrap();
    let packets = example_packets(folder.path());
    let config = folder.path().join("mine.toml");
    let library = c_example(folder.path());
    std::fs::write(&config, format!("name = \"mine\"\nplugin.library = {library:?}\n")).unwrap();
    let (config, packets) = (config.to_str().unwrap(), packets.to_str().unwrap());
    let output = evforge(&["bench", "--config", config, "--input", packets, "--seconds", "0.1"]);
    let said = text(&output.stdout);
    assert!(said.contains("mine on packets: 500 packets, 50000 readouts, 50000 events"), "{said}");
}

/// Four good packets, a bad one and three more, for the library of the tests of `evforge-plugin`.
fn write_packets(folder: &Path) -> PathBuf {
    let packets = folder.join("packets.pkts");
    let mut file = std::fs::File::create(&packets).expect("packets");
    for byte in b"abcd!efg" {
        file.write_all(&[1, 0, 0, 0, *byte]).expect("packets");
    }
    packets
}

/// Runs that library with a fault.
fn misbehaving(folder: &Path, arguments: &[&str], further: &[&str]) -> (Output, PathBuf) {
    let source = workspace().join("crates/plugin/tests/misbehaving.c");
    let library = c_library(&source, folder, "misbehaving", arguments);
    let packets = write_packets(folder);
    let output = Command::new(PROGRAM)
        .args(["run", "--detector"])
        .arg(&library)
        .arg("--input")
        .arg(&packets)
        .args(further)
        .output()
        .expect("the program starts");
    (output, library)
}

#[test]
fn a_library_that_is_refused_ends_the_run_before_it_begins() {
    for (arguments, fault, expected) in [
        (&["-DVERSION=7"][..], "none", "speaks version 7 of the interface, this evforge speaks version 1"),
        (&["-DENTRY_POINT=other"], "none", "it does not export the function evforge_detector"),
        (&["-DUNDEFINED"], "none", "undefined symbol: this_function_is_nowhere"),
        (&[], "create", "the library refuses the settings: no voltage is given"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let events = folder.path().join("events.csv");
        let fault = format!("detector.settings.fault={fault}");
        let further = ["--set", &fault, "--events", events.to_str().unwrap()];
        let (output, library) = misbehaving(folder.path(), arguments, &further);
        let said = text(&output.stderr);
        assert!(said.starts_with("evforge: plugin."), "{said}");
        assert!(said.contains(library.to_str().unwrap()) && said.contains(expected), "{said}");
        assert!(!output.status.success() && !events.exists());
    }
}

#[test]
fn a_library_that_fails_leaves_its_events_so_far_and_an_exit_status() {
    for (fault, slab, expected_events, expected) in [
        ("error", 256, 4, "ingest reported a failure (code 7): the board has a fire"),
        ("pixel 17", 1, 4, "ingest wrote pixel 17 (event 0); expected 1 to 16"),
        ("packets", 1, 4, "the law of packets does not hold"),
        ("many events", 1, 4, "ingest wrote 8193 events; there was room for 8192"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let [events, report, nexus, image] =
            ["events.csv", "report.json", "run.nxs", "image.png"].map(|name| folder.path().join(name));
        let fault = format!("detector.settings.fault={fault}");
        let slab = format!("input.packets_per_slab={slab}");
        let mut further = vec!["--set", &fault, "--set", &slab, "--events", events.to_str().unwrap()];
        further.extend(["--report", report.to_str().unwrap(), "--nexus", nexus.to_str().unwrap()]);
        further.extend(["--image", image.to_str().unwrap()]);
        let (output, library) = misbehaving(folder.path(), &[], &further);
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stdout);
        let line = said.lines().find(|line| line.starts_with("DETECTOR")).expect(&said);
        assert!(line.contains("FAILED: ") && line.contains(library.to_str().unwrap()), "{line}");
        assert!(line.contains(expected), "{line}");
        let report = json(&report);
        let stream = &report["streams"][0];
        assert!(stream["failure"].as_str().unwrap().contains(expected), "{stream:#}");
        assert_eq!((&report["ending"], &stream["unaccounted"]), (&"complete".into(), &0.into()));
        let after = &stream["packets"]["discarded"]["packets_after_failure"];
        assert_eq!((&stream["packets"]["handed_over"], after), (&8.into(), &(8 - expected_events).into()));
        let lines = std::fs::read_to_string(&events).unwrap();
        assert_eq!(lines.lines().count() as u64 - 1, expected_events, "{lines}");
        assert!(nexus.is_file() && image.is_file());
    }
}

/// The library fails at the first of two captures; the run receives the second one nevertheless.
#[test]
fn a_live_run_goes_on_when_its_library_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let source = workspace().join("crates/plugin/tests/misbehaving.c");
    let library = c_library(&source, folder.path(), "misbehaving", &[]);
    let config = folder.path().join("mine.toml");
    let text = format!("name = \"mine\"\n[plugin]\nlibrary = {library:?}\nsettings.fault = \"error\"\n");
    std::fs::write(&config, text).unwrap();
    let packets = write_packets(folder.path());
    let live = LiveProgram::start(&config, folder.path(), &[]);
    for _ in 0..2 {
        evforge(&["replay", packets.to_str().unwrap(), "--to", &live.address, "--rate", "1kpps"]);
    }
    let (success, stream, events) = live.outcome();
    assert!(!success);
    assert!(stream["failure"].as_str().unwrap().ends_with("the board has a fire"), "{stream:#}");
    assert_eq!((&stream["events"], &stream["packets"]["handed_over"]), (&4.into(), &16.into()));
    assert_eq!((events.lines().count(), &stream["unaccounted"]), (5, &0.into()));
}

#[test]
fn neither_a_configuration_nor_a_library_is_told() {
    let output = Command::new(PROGRAM).arg("run").output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("--config <FILE>") && !output.status.success(), "{said}");
}

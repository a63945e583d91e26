//! Dumps of readouts as a user meets them: `run`, `dump` and `inspect` with HDF5 files.

use evforge_testkit::{shared_folder, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn evforge(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evforge")).args(arguments).output().expect("the program starts")
}

fn config(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    path.to_str().expect("a path that is text").to_owned()
}

/// A file of the reference data, or none with `test` reported as skipped.
fn recorded(test: &str, path: &str) -> Option<PathBuf> {
    let path = shared_folder().join("captures").join(path);
    if !path.is_file() {
        skip(test, &format!("{} is not there", path.display()));
        return None;
    }
    Some(path)
}

fn in_text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// The events of an input, as CSV, and the report.
fn events(folder: &Path, configuration: &str, input: &Path, more: &[&str]) -> (Vec<String>, String) {
    let csv = folder.join("events.csv");
    let configuration = config(configuration);
    let arguments = [
        "run",
        "--overwrite",
        "--config",
        &configuration,
        "--input",
        in_text(input),
        "--events",
        in_text(&csv),
    ];
    let output = evforge(&[&arguments, more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = std::fs::read_to_string(&csv).expect("events").lines().map(str::to_owned).collect();
    (lines, String::from_utf8_lossy(&output.stdout).into_owned())
}

fn dump(configuration: &str, input: &Path, output: &Path) -> String {
    let result = evforge(&[
        "dump",
        "--overwrite",
        "--config",
        &config(configuration),
        "--input",
        in_text(input),
        "--output",
        in_text(output),
    ]);
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    String::from_utf8_lossy(&result.stdout).into_owned()
}

/// A dump of the reference and the packets that were made of it give the same 1005 events.
#[test]
fn the_recorded_gem_dump_gives_the_events_of_the_recorded_packets() {
    let test = "the_recorded_gem_dump_gives_the_events_of_the_recorded_packets";
    let Some(dump) = recorded(test, "gdgem/vmm3_recorded_2018.h5") else { return };
    let Some(packets) = recorded(test, "gdgem/vmm3_recorded_2018.pkts") else { return };
    let folder = tempfile::tempdir().unwrap();
    // Its name says nothing of its kind.
    let renamed = folder.path().join("renamed.pkts");
    std::fs::copy(&dump, &renamed).unwrap();
    let configuration = "reference-2018/gdgem-recorded-vmm3.toml";
    let (from_dump, report) = events(folder.path(), configuration, &renamed, &[]);
    let (from_packets, _) = events(folder.path(), configuration, &packets, &[]);
    assert_eq!(from_dump.len(), 1 + 1005, "a heading and the events");
    assert!(from_dump == from_packets);
    assert!(report.contains("unaccounted   0"), "{report}");
}

/// What is dumped of a capture and read back gives the events of the capture.
#[test]
fn a_capture_that_is_dumped_and_read_back_gives_the_same_events() {
    let test = "a_capture_that_is_dumped_and_read_back_gives_the_same_events";
    let folder = tempfile::tempdir().unwrap();
    for (configuration, capture, count, rows) in [
        ("gdgem-srs.toml", "gdgem/vmm3a_srs.pcapng", 9094, "121 171 rows"),
        ("reference-2018/gdgem-recorded-vmm2.toml", "gdgem/vmm2_recorded_2018.pkts", 1, "109 480 rows"),
        ("reference-2018/gdgem-recorded-vmm3.toml", "gdgem/vmm3_recorded_2018.pkts", 1005, "109 480 rows"),
        ("reference-2018/multigrid.toml", "multigrid/recorded_ws1to4.pkts", 28, " rows"),
        ("reference-2018/multiblade.toml", "multiblade/recorded_2018.pkts", 4181, "116 887 rows"),
        ("multigrid.toml", "multigrid/generated_jumbo.pkts", 1, " rows"),
    ] {
        let Some(capture) = recorded(test, capture) else { return };
        let file = folder.path().join("dump.h5");
        let said = dump(configuration, &capture, &file);
        assert!(said.contains(rows), "{said}");
        let (expected, _) = events(folder.path(), configuration, &capture, &[]);
        let (found, report) = events(folder.path(), configuration, &file, &[]);
        assert!(expected.len() > count, "{} events", expected.len() - 1);
        let first = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!((first, found.len()), (None, expected.len()), "{configuration}: {report}");
        assert!(report.contains("unaccounted   0"), "{report}");
    }
}

/// The dump knows the clock of the PC, which records have no room for: jadaq has it.
#[test]
fn the_recorded_multi_blade_dump_gives_the_events_of_the_recorded_packets() {
    let test = "the_recorded_multi_blade_dump_gives_the_events_of_the_recorded_packets";
    let Some(dump) = recorded(test, "multiblade/recorded_2018.h5") else { return };
    let Some(packets) = recorded(test, "multiblade/recorded_2018.pkts") else { return };
    let folder = tempfile::tempdir().unwrap();
    let configuration = "reference-2018/multiblade.toml";
    let (from_packets, _) = events(folder.path(), configuration, &packets, &[]);
    assert_eq!(from_packets.len(), 1 + 4181, "a heading and the events");
    for readout in ["records", "jadaq-2018-06", "jadaq-1.3"] {
        let readout = format!("multiblade.readout={readout}");
        let (from_dump, report) = events(folder.path(), configuration, &dump, &["--set", &readout]);
        assert!(from_dump == from_packets, "{readout}: {report}");
        // Only jadaq 1.3 numbers its packets.
        let numbered = report.contains("  digitizer 143 sent 3 985, received 3 985, lost 0");
        assert_eq!(numbered, readout.ends_with("jadaq-1.3"), "{report}");
        assert!(report.contains("unaccounted   0"), "{report}");
    }
}

#[test]
fn a_dump_is_inspected() {
    let Some(dump) = recorded("a_dump_is_inspected", "multiblade/recorded_2018.h5") else { return };
    let output = evforge(&["inspect", in_text(&dump)]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(
        said.contains("table     mbcaen_readouts, layout of November 2018: 116 887 rows of 20 bytes"),
        "{said}"
    );
    assert!(said.contains("  digitizer 143: "), "{said}");
    let output = evforge(&["inspect", in_text(&dump), "--readouts", "--limit", "2"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("row 1: CaenReadout { global_time: 1540382919850, digitizer: 143,"), "{said}");
    assert!(!said.contains("row 2:") && said.contains("looked at 2 rows"), "{said}");
}

#[test]
fn a_dump_of_another_detector_is_refused() {
    let Some(dump) = recorded("a_dump_of_another_detector_is_refused", "multiblade/recorded_2018.h5") else {
        return;
    };
    let output = evforge(&["run", "--config", &config("gdgem-srs.toml"), "--input", in_text(&dump)]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        said.contains("holds mbcaen_readouts: gdgem-srs with its section [gdgem] reads other readouts. Of the shipped configurations configs/multiblade-50.toml"),
        "{said}"
    );
}

//! The end of a command: one output that fails takes nothing else with it.

use crate::common::end_after_all;
use crate::outputs::program::{Program, command, config, names, path_text, replay, run, simulated, text};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// A folder for a report, removed when the command has made sure that it can be written.
fn doomed(folder: &Path) -> String {
    let doomed = folder.join("doomed");
    fs::create_dir_all(&doomed).unwrap_or_else(|error| panic!("{}: {error}", doomed.display()));
    path_text(&doomed.join("report.json")).to_owned()
}

fn check(name: &str, (success, printed, said): (bool, String, String), expected: &str) {
    assert!(!success, "{name} is content");
    assert!(said.contains("the report cannot be written to"), "{name}: {said}");
    assert!(printed.contains(expected), "{name} has not printed its report: {printed}");
}

#[test]
fn a_report_that_cannot_be_written_costs_neither_the_other_files_nor_the_terminal_report() {
    let folder = tempfile::tempdir().unwrap();
    let packets = fs::read(simulated(folder.path(), "simulated.pkts", "3")).unwrap();
    let path = |name: &str| folder.path().join(name);
    let report = doomed(folder.path());
    let pipe = path("pipe.pkts");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (image, monitor) = (path("image.png"), path("monitor.json"));
    let program = Program::start(command(&[
        "run",
        "--config",
        &config("gdgem-srs.toml"),
        "--input",
        path_text(&pipe),
        "--report",
        &report,
        "--image",
        path_text(&image),
        "--monitor",
        path_text(&monitor),
    ]));
    // It opens the pipe when it has made sure that all can be written.
    let mut input = fs::File::options().write(true).open(&pipe).unwrap();
    fs::remove_dir(path("doomed")).unwrap();
    std::io::Write::write_all(&mut input, &packets).unwrap();
    drop(input);
    program.await_said("cannot be written");
    check("run", program.end(), "unaccounted   0");
    assert!(image.is_file() && monitor.is_file(), "{:?}", names(folder.path()));
}

#[test]
fn commands_that_receive_print_their_report_whatever_becomes_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let capture = simulated(folder.path(), "simulated.pcapng", "1");
    let recording = folder.path().join("run.pcapng");
    for (arguments, expected) in [
        (&["record", "--output", path_text(&recording)][..], "recorded "),
        (&["receive"], "received "),
        (&["drop", "receive"], "received "),
    ] {
        let report = doomed(folder.path());
        let common = ["--address", "127.0.0.1", "--port", "0", "--for", "10min", "--report", &report];
        let program = Program::start(command(&[arguments, &common].concat()));
        let address = program.address();
        fs::remove_dir(folder.path().join("doomed")).unwrap();
        replay(&capture, &address);
        end_after_all(program.id());
        check(arguments[0], program.end(), expected);
    }
    assert!(recording.is_file());
}

#[test]
fn an_output_that_cannot_be_opened_leaves_nothing_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let view = taken.local_addr().unwrap().to_string();
    let path = |name: &str| path_text(&folder.path().join(name)).to_owned();
    let config = config("gdgem-srs.toml");
    let outputs = ["--nexus", &path("run.nxs"), "--events", &path("run.csv"), "--report", &path("run.json")];
    let arguments = ["run", "--config", &config, "--address", "127.0.0.1", "--port", "0", "--view", &view];
    let output = run(&[&arguments[..], &outputs].concat());
    assert!(!output.status.success() && text(&output.stderr).contains(&view), "{}", text(&output.stderr));
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    // A truth that exists is as it was when the simulation does not begin.
    fs::write(path("truth.csv"), "an earlier truth").unwrap();
    let nowhere = path("absent/faults.csv");
    let output = run(&[
        "simulate",
        "gdgem",
        "--truth",
        &path("truth.csv"),
        "--fault-log",
        &nowhere,
        "--output",
        &path("x.pcapng"),
    ]);
    assert!(!output.status.success());
    assert_eq!(fs::read(path("truth.csv")).unwrap(), b"an earlier truth");
    assert_eq!(names(folder.path()), ["truth.csv"]);
}

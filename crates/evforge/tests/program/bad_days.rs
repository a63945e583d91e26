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
        .arg("--events")
        .arg(folder.join("events.csv"))
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

#[test]
fn readout_times_of_another_month_are_refused_with_an_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let test = "readout_times_of_another_month_are_refused_with_an_alarm";
    let case = "freia-two-packets-wrong-epoch.pcap";
    let Some((stream, printed)) = run(test, case, "freia.toml", folder.path()) else { return };
    let count =
        |name: &str| stream["counters"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {stream:#}"));
    assert_eq!(["readouts", "far_from_pulse", "hits"].map(count), [20_169, 627, 19_542]);
    let alarms = stream["alarms"].as_array().expect("alarms");
    let alarm = alarms.first().and_then(Value::as_str).unwrap_or_else(|| panic!("no alarm: {stream:#}"));
    assert!(
        alarm.starts_with("3.1 % of the 20 169 readouts (627) have no place in freia: 627 far_from_pulse"),
        "{alarm}"
    );
    assert!(printed.contains(&format!("ALARM         {alarm}")), "{printed}");
    let events = std::fs::read_to_string(folder.path().join("events.csv")).expect("events");
    let pulses = events.lines().skip(1).filter_map(|line| line.split(',').nth(2)?.parse::<u64>().ok());
    let pulses: Vec<u64> = pulses.collect();
    assert!(pulses.is_sorted() && pulses.len() as u64 == count("events"), "{} pulses", pulses.len());
    let length_ns = pulses.last().zip(pulses.first()).map(|(last, first)| last - first);
    assert!(length_ns.is_some_and(|length| length < 3_000_000_000), "{length_ns:?}");
}

/// A clock that starts over: the file stays in order, and the report names what is not.
#[test]
fn events_of_a_clock_that_starts_over_are_late_in_the_file() {
    let test = "events_of_a_clock_that_starts_over_are_late_in_the_file";
    let capture = "captures/multigrid/recorded_ws1to4.pkts";
    if shared_file(test, capture).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(PROGRAM)
        .args(["run", "--config"])
        .arg(workspace().join("configs/multigrid.toml"))
        .arg(shared_folder().join(capture))
        .arg("--nexus")
        .arg(folder.path().join("run.nxs"))
        .output()
        .expect("the program starts");
    let printed = text(&output.stdout) + &text(&output.stderr);
    let file = hdf5_metno::File::open(folder.path().join("run.nxs")).expect("a file");
    let events = file.group("entry/instrument/detector/detector_events").expect("events");
    let late = events.group("events_late").expect("late events");
    let [in_order, late] = [&events, &late].map(|group| group.dataset("event_id").expect("ids").size());
    assert_eq!((in_order, late), (3, 23), "{printed}");
    let times: Vec<u64> =
        events.dataset("event_time_zero").and_then(|times| times.read_raw()).expect("times");
    assert!(times.is_sorted(), "{times:?}");
    let alarm = printed
        .lines()
        .find(|line| line.starts_with("ALARM") && line.contains("23 events are in events_late"));
    assert!(alarm.is_some(), "{printed}");
}

/// Monitors of another ring and of other kinds than the configuration says: what to set is said.
#[test]
fn monitors_that_are_others_are_named_with_what_to_set() {
    let test = "monitors_that_are_others_are_named_with_what_to_set";
    let capture = "captures/ess/integrating_monitors.pcapng";
    if shared_file(test, capture).is_none() {
        return;
    }
    let run = |overrides: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(["run", "--config"])
            .arg(workspace().join("configs/beam-monitors.toml"))
            .args(overrides.iter().flat_map(|set| ["--set", set]))
            .arg("--input")
            .arg(shared_folder().join(capture))
            .output()
            .expect("the program starts");
        text(&output.stdout) + &text(&output.stderr)
    };
    let other_kinds = run(&[]);
    let wanted =
        "monitor_1 is sent 3874 readouts of another kind than it has: set its kind = \"integrating\"";
    assert!(other_kinds.contains(wanted), "{other_kinds}");
    let kinds = [0, 1].map(|number| format!("ess_beam_monitors.monitor[{number}].kind=integrating"));
    let kinds = [
        &kinds[..],
        &["ess_beam_monitors.monitor[1].nx=1".into(), "ess_beam_monitors.monitor[1].ny=1".into()],
    ]
    .concat();
    let mut overrides: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let all = run(&overrides);
    assert!(all.contains("monitor_3: 189023.250 ADC units") && !all.contains("ALARM"), "{all}");
    overrides.push("ess_beam_monitors.ring=4");
    let elsewhere = run(&overrides);
    let wanted = "ring 11, FEN 0, channel 0 (3874 readouts)";
    assert!(
        elsewhere.contains("no beam monitor is configured for ring 11") && elsewhere.contains(wanted),
        "{elsewhere}"
    );
}

/// A geometry that is smaller than the wiring is refused; a wiring that lacks a card is an alarm with the remedy.
#[test]
fn a_wiring_that_does_not_fit_is_said() {
    let config = workspace().join("configs/gdgem-srs.toml");
    let check = |overrides: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(["run", "--check", "--config"])
            .arg(&config)
            .args(overrides.iter().flat_map(|set| ["--set", set]))
            .output()
            .expect("the program starts");
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    assert_eq!(check(&[]).0, Some(0));
    let (status, said) = check(&["detector.geometry.nx=64"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("strip_offset: nothing that is wired to the chip lies inside 64 x "), "{said}");

    let folder = tempfile::tempdir().unwrap();
    let (capture, text_of) =
        (folder.path().join("freia.pcapng"), |path: &Path| path.to_str().expect("text").to_owned());
    let freia = workspace().join("configs/freia.toml");
    crate::common::evforge(&[
        "simulate",
        "--config",
        &text_of(&freia),
        "--pulses",
        "5",
        "--output",
        &text_of(&capture),
    ]);
    let report = folder.path().join("report.json");
    let missing = "detector.cassettes=[{cassette=0,ring=0,fen=0,hybrid=0}]";
    let output = Command::new(PROGRAM)
        .args([
            "run",
            "--config",
            &text_of(&freia),
            "--input",
            &text_of(&capture),
            "--report",
            &text_of(&report),
        ])
        .args(["--set", missing])
        .output()
        .expect("the program starts");
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(
        printed.contains("have no place in freia") && printed.contains("compare the wiring"),
        "{printed}"
    );
}

/// Beacons are on every network, and in every recording of all ports.
#[test]
fn other_packets_of_a_recording_are_not_taken_for_a_detectors() {
    let test = "other_packets_of_a_recording_are_not_taken_for_a_detectors";
    let case = |name: &str| shared_file(test, &format!("captures/cases/{name}"));
    let (Some(detector), Some(beacons)) =
        (case("freia-numbering-restarts-1000.pcap"), case("ca-beacons.pcap"))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    // Both are pcap files of the same kind: 24 bytes, then packets.
    assert_eq!((detector[..4].to_vec(), &detector[20..24]), (beacons[..4].to_vec(), &beacons[20..24]));
    std::fs::write(path("all.pcap"), [&detector[..], &beacons[24..]].concat()).unwrap();
    std::fs::write(path("beacons.pcap"), beacons).unwrap();
    let evforge = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).output().expect("the program starts");
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let freia = workspace().join("configs/freia.toml").to_str().expect("text").to_owned();

    let (status, said) =
        evforge(&["inspect", &path("beacons.pcap"), "--config-skeleton", &path("skeleton.toml")]);
    assert_eq!(status, Some(4), "{said}");
    assert!(said.contains("to port 5065: EPICS Channel Access (beacon)"), "{said}");
    assert!(!folder.path().join("skeleton.toml").exists());

    // The port whose packets the configuration reads; its own port, 6006, does not occur.
    let (status, said) = evforge(&["run", "--config", &freia, "--input", &path("all.pcap")]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("packets       sent 80, received 80, lost 0"), "{said}");
    assert!(said.contains("of the capture is read; not read: 5 to port 5065"), "{said}");
    // Its own port, if it occurs, whatever is sent to others.
    let own = "receive.address=0.0.0.0:5065";
    let (status, said) = evforge(&["run", "--config", &freia, "--input", &path("all.pcap"), "--set", own]);
    assert_eq!(status, Some(4), "{said}");
    assert!(said.contains("only port 5065 of the capture is read; not read: 80 to port"), "{said}");
    assert!(said.contains("EPICS Channel Access (beacon)"), "{said}");
}

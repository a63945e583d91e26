//! Graphite: every counter with its value, and what a carbon that goes away misses.

use crate::common::{LiveProgram, PROGRAM, evforge, wait_until};
use crate::metrics::carbon::{Place, Values, configuration, is_there};
use evforge_core::counter::CounterInfo;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Packets of a simulated NMX in a file.
fn capture(folder: &Path) -> PathBuf {
    let (config, file) = (crate::common::workspace().join("configs/nmx.toml"), folder.join("run.pcapng"));
    let (config, path) = (config.display().to_string(), file.display().to_string());
    evforge(&["simulate", "--config", &config, "--pulses", "28", "--output", &path]);
    file
}

/// A port at which the counters of a run can be asked for.
const COMMANDS: [&str; 2] = ["--command-port", "127.0.0.1:0"];

fn tables(place: &Place, further: &str) -> String {
    format!("[outputs.graphite]\naddress = \"{}\"\nregion = \"1\"\n{further}\n", place.address)
}

/// The report of a run in this folder.
fn report(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("live.json")).expect("a report")).expect("JSON")
}

fn last(values: &Values, path: &str) -> Option<f64> {
    values.get(&format!("efu.ess_gdgem.1.{path}"))?.last().map(|(_, value)| *value)
}

/// True if the last lines have come, those with this many events: carbon writes one file after the other. Threads may have ended before.
fn are_final(values: &Values, events: Option<f64>) -> bool {
    let at = |points: &Vec<(u64, f64)>| points.last().map(|(time, _)| *time);
    let ended = values.get("efu.ess_gdgem.1.run.events").and_then(at);
    let mut lasting = values.iter().filter(|(path, _)| !path.starts_with("efu.ess_gdgem.1.thread."));
    last(values, "run.events") == events && lasting.all(|(_, points)| at(points) == ended)
}

/// How many values there are, of all paths.
fn points(values: &Values) -> f64 {
    values.values().map(Vec::len).sum::<usize>() as f64
}

/// Counters that were declared for a stage and are in the report, which has some under former names as well.
fn compare(values: &Values, stage: &str, declared: &[&CounterInfo], reported: &Value) -> usize {
    for info in declared {
        let Some(expected) = reported[info.name].as_u64() else { continue };
        let found = last(values, &format!("{stage}.{}", info.name));
        assert_eq!(found, Some(expected as f64), "{stage}.{}: {reported:#}", info.name);
    }
    declared.iter().filter(|info| reported[info.name].is_u64()).count()
}

#[test]
fn carbon_has_every_counter_with_the_value_of_the_report() {
    if !is_there("carbon_has_every_counter_with_the_value_of_the_report") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let place = Place::new();
    let carbon = place.start();
    let config = configuration("nmx.toml", &tables(&place, ""), folder);
    let program = LiveProgram::start(&config, folder, &[]);
    place.values_when(|values| last(values, "detector.packets_received") == Some(0.0));
    let (packets, to) = (capture(folder).display().to_string(), program.address.clone());
    evforge(&["replay", &packets, "--to", &to, "--rate", "20kpps"]);
    let (stream, _) = program.finish();
    let report = report(folder);
    let events = stream["events"].as_f64();
    assert!(events.is_some_and(|events| events > 1000.0), "{stream:#}");
    let values = place.values_when(|values| are_final(values, events));
    assert_eq!(last(&values, "run.events"), events);
    drop(carbon);
    let stages = evforge::counter_stages();
    let mut compared = 0;
    for group in ["detector", "receive", "kernel", "interface"] {
        let of_group = stages.iter().filter(|stage| stage.group == Some(group));
        let declared: Vec<_> = of_group.flat_map(|stage| stage.counters).collect();
        let reported = if group == "detector" { &stream["counters"] } else { &report[group] };
        // The host goes on counting between the last values and the report.
        if matches!(group, "detector" | "receive") {
            let counted = compare(&values, group, &declared, reported);
            assert!(counted > 5, "{group}: {reported:#}");
            compared += counted;
        }
        // All of them are there, those of the detector from before the first packet, as 0.
        for info in declared.iter().filter(|info| reported[info.name].is_u64()) {
            let path = format!("efu.ess_gdgem.1.{group}.{}", info.name);
            let points = values.get(&path).unwrap_or_else(|| panic!("{path} is missing"));
            if group == "detector" {
                assert_eq!(points[0].1, 0.0, "{path}: {points:?}");
            }
        }
    }
    assert!(compared > 60, "only {compared} counters were compared");
    for output in report["outputs"].as_array().unwrap() {
        let id = output["id"].as_str().unwrap();
        for kind in ["events", "counters"] {
            for name in output[kind].as_object().unwrap().keys() {
                assert!(last(&values, &format!("output.{id}.{name}")).is_some(), "output.{id}.{name}");
            }
        }
        let offered = last(&values, &format!("output.{id}.offered"));
        assert_eq!(offered, output["events"]["offered"].as_f64(), "{id}");
    }
    // The names of the reference.
    for (theirs, ours) in [
        ("receive.packets", "receive.packets"),
        ("readouts.count", "detector.readouts"),
        ("events.count", "run.events"),
        ("parser.essheader.version.v0", "detector.version_0_packets"),
        ("receive.dropped", "loss.own_queue.packets"),
    ] {
        assert!(last(&values, ours).is_some());
        assert_eq!(last(&values, theirs), last(&values, ours), "{theirs}");
    }
    for path in ["main.uptime", "process.uptime_seconds", "host.lo.received.interface_packets"] {
        assert!(last(&values, path).is_some_and(|value| value >= 1.0), "{path}");
    }
}

#[test]
fn what_is_counted_while_carbon_is_away_comes_when_it_is_back() {
    if !is_there("what_is_counted_while_carbon_is_away_comes_when_it_is_back") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let place = Place::new();
    let config = configuration("nmx.toml", &tables(&place, ""), folder);
    // Nobody is there when the run begins.
    let packets = capture(folder).display().to_string();
    let program = LiveProgram::start(&config, folder, &COMMANDS);
    let counter = |name: &str| program.counter(&format!("output.graphite.{name}"));
    // For as long as carbon takes to start: on a busy host that is some seconds.
    let sending = ["replay", &packets, "--to", &program.address, "--speed", "0.2", "--loop", "0"];
    let mut sending = Command::new(PROGRAM).args(sending).stderr(Stdio::null()).spawn().unwrap();
    wait_until("nobody has answered", || counter("graphite_attempts_failed") > 1);
    let mut carbon = place.start();
    wait_until("carbon is sent something", || counter("lines_sent") > 0);
    let sent = counter("lines_sent") as f64;
    place.values_when(|values| points(values) >= sent);
    // Killed with everything that it has not written to its files.
    carbon.0.kill().unwrap();
    carbon.0.wait().unwrap();
    let failed = counter("graphite_attempts_failed");
    wait_until("nobody has answered again", || counter("graphite_attempts_failed") > failed);
    carbon = place.start();
    wait_until("what has waited is sent", || {
        counter("lines_waiting") == 0 && counter("lines_sent_again") > 0
    });
    sending.kill().unwrap();
    sending.wait().unwrap();
    let (stream, _) = program.finish();
    let report = report(folder);
    let events = stream["events"].as_f64();
    let values = place.values_when(|values| are_final(values, events));
    drop(carbon);
    assert_eq!(last(&values, "run.events"), events);
    let graphite = &output(&report, "graphite")["counters"];
    assert_eq!(
        (graphite["lines_dropped"].as_u64(), graphite["lines_waiting"].as_u64()),
        (Some(0), Some(0)),
        "{graphite:#}"
    );
    for counter in ["graphite_connections_lost", "graphite_attempts_failed", "lines_sent_again"] {
        assert!(graphite[counter].as_u64() > Some(0), "{counter}: {graphite:#}");
    }
    // Every line is there, unless the values at the end of the run are those of a second that had some already.
    let (there, sent) = (points(&values), graphite["lines_sent"].as_f64().unwrap());
    let seconds = &values["efu.ess_gdgem.1.run.elapsed_seconds"];
    let time = |points: &[(u64, f64)]| points.last().map(|(time, _)| *time);
    let of_the_last = values.values().filter(|points| time(points) == time(seconds)).count() as f64;
    assert!(
        seconds.len() > 4 && (sent - of_the_last..=sent).contains(&there),
        "{there} of {sent}: {seconds:?}"
    );
}

#[test]
fn a_carbon_that_never_comes_costs_no_more_than_the_buffer_and_does_not_make_the_run_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let place = Place::new();
    let config = configuration("nmx.toml", &tables(&place, "buffer = \"20kB\""), folder);
    let program = LiveProgram::start(&config, folder, &COMMANDS);
    let (packets, to) = (capture(folder).display().to_string(), program.address.clone());
    evforge(&["replay", &packets, "--to", &to, "--rate", "20kpps"]);
    let counter = |name: &str| program.counter(&format!("output.graphite.{name}"));
    wait_until("lines are dropped, and nobody answers", || {
        counter("lines_dropped") > 500 && counter("graphite_attempts_failed") > 2
    });
    let (stream, events) = program.finish();
    assert_eq!(stream["events"].as_u64(), Some(events.lines().count() as u64 - 1));
    let report = report(folder);
    let output = output(&report, "graphite");
    let count = |name: &str| output["counters"][name].as_u64().unwrap_or_default();
    assert!(count("lines_dropped") > 500 && count("graphite_attempts_failed") > 2, "{output:#}");
    assert_eq!((count("lines_sent"), count("lines_waiting")), (0, 0), "{output:#}");
    assert!(
        output["interruption"].as_str().is_some_and(|why| why.contains("cannot be reached")),
        "{output:#}"
    );
}

fn output<'a>(report: &'a Value, id: &str) -> &'a Value {
    report["outputs"].as_array().unwrap().iter().find(|output| output["id"] == id).expect("the output")
}

//! The example against a server that stalls, closes and comes back: nothing is lost, everything is counted.

use evforge_testkit::patience::wait_until;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Batches by their number, as the server has got them.
type Batches = Arc<Mutex<BTreeMap<u64, Value>>>;

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name)
}

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_evforge-json-lines")).args(arguments).output();
    output.expect("the example runs")
}

/// A server that reads a few lines, stalls, closes without an answer to the last ones, and comes back; again and again.
fn serve(listener: TcpListener, batches: Batches) {
    std::thread::spawn(move || {
        for (turn, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let Ok(copy) = stream.try_clone() else { return };
            for (index, line) in BufReader::new(copy).lines().enumerate() {
                let Ok(line) = line else { break };
                if turn < 3 && index == 2 {
                    // This one is read, kept and not acknowledged.
                    std::thread::sleep(Duration::from_millis(300));
                    take(&batches, &line);
                    break;
                }
                let number = take(&batches, &line);
                if writeln!(stream, "{number}").is_err() {
                    break;
                }
            }
        }
    });
}

fn take(batches: &Batches, line: &str) -> u64 {
    let batch: Value = serde_json::from_str(line).expect("a line of JSON");
    let number = batch["batch"].as_u64().expect("a number");
    let mut batches = batches.lock().expect("nobody has panicked");
    if let Some(known) = batches.insert(number, batch.clone()) {
        assert_eq!(known, batch, "a batch that comes again is the same");
    }
    number
}

fn simulated(folder: &Path) -> (PathBuf, PathBuf) {
    let (capture, events) = (folder.join("run.pcapng"), folder.join("events.csv"));
    let config = shipped("gdgem-srs.toml");
    let made = run(&[
        "simulate",
        "--config",
        &config.display().to_string(),
        "--pulses",
        "10",
        "--output",
        &capture.display().to_string(),
    ]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (capture, events)
}

#[test]
fn a_server_that_stalls_closes_and_returns_gets_every_event_and_all_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (capture, events) = simulated(folder.path());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address: SocketAddr = listener.local_addr().expect("an address");
    let batches = Batches::default();
    serve(listener, Arc::clone(&batches));
    let (report, nexus) = (folder.path().join("report.json"), folder.path().join("run.nxs"));
    let output = run(&[
        "run",
        "--config",
        &shipped("gdgem-srs.toml").display().to_string(),
        "--input",
        &capture.display().to_string(),
        "--events",
        &events.display().to_string(),
        "--nexus",
        &nexus.display().to_string(),
        "--report",
        &report.display().to_string(),
        "--set",
        &format!("outputs.json_lines.address={address}"),
        "--set",
        "input.events_per_batch=500",
        "--quiet",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = std::fs::read_to_string(&events).expect("events as CSV");
    let expected: Vec<u64> =
        lines.lines().skip(1).filter_map(|line| line.split(',').nth(1)?.parse().ok()).collect();
    assert!(expected.len() > 5_000, "{} events", expected.len());
    let batches = batches.lock().expect("nobody has panicked");
    let numbers: Vec<u64> = batches.keys().copied().collect();
    assert_eq!(numbers, (0..batches.len() as u64).collect::<Vec<_>>(), "a batch is missing");
    let pixels = batches.values().flat_map(|batch| batch["pixel_id"].as_array().cloned().unwrap_or_default());
    assert_eq!(pixels.filter_map(|pixel| pixel.as_u64()).collect::<Vec<_>>(), expected);

    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let outputs = report["outputs"].as_array().expect("a list").clone();
    let of = |id: &str| outputs.iter().find(|output| output["id"] == id).expect("the output").clone();
    let lines = of("json_lines");
    assert_eq!(lines["events"]["committed"], expected.len() as u64);
    assert_eq!((&lines["events"]["dropped"], &lines["unaccounted"]), (&0.into(), &0.into()));
    assert_eq!(lines["counters"]["connections_lost"], 3);
    assert!(lines["counters"]["lines_sent_again"].as_u64() >= Some(3), "{lines}");
    assert_eq!(lines["counters"]["lines_acknowledged"], batches.len() as u64);
    assert_eq!(of("nexus")["events"]["committed"], expected.len() as u64);
}

#[test]
fn without_a_server_the_run_ends_says_so_and_counts_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (capture, events) = simulated(folder.path());
    // A port where nobody listens.
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let report = folder.path().join("report.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_evforge-json-lines"))
        .args(["run", "--config", &shipped("gdgem-srs.toml").display().to_string()])
        .args(["--input", &capture.display().to_string(), "--events", &events.display().to_string()])
        .args(["--report", &report.display().to_string(), "--quiet"])
        .args(["--set", &format!("outputs.json_lines.address={}", address.expect("an address"))])
        .args(["--set", "outputs.json_lines.finish_within=500ms"])
        .spawn()
        .expect("the example runs");
    // A run over a file waits for the server; the person in front of it does not, once there are events.
    wait_until("events are formed", || std::fs::metadata(&events).is_ok_and(|file| file.len() > 1000));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill").success());
    let status = child.wait().expect("an end");
    assert!(!status.success());
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let outputs = report["outputs"].as_array().expect("a list").clone();
    let lines = outputs.iter().find(|output| output["id"] == "json_lines").expect("the output").clone();
    assert!(lines["failure"].as_str().is_some_and(|why| why.contains("no connection to")), "{lines}");
    let events = &lines["events"];
    assert_eq!(events["offered"].as_u64(), events["missed"].as_u64());
    assert_eq!((lines["unaccounted"].as_u64(), events["committed"].as_u64()), (Some(0), Some(0)));
    let csv = outputs.iter().find(|output| output["id"] == "csv").expect("the output");
    assert_eq!((csv["failure"].is_null(), &csv["events"]["offered"]), (true, &events["offered"]));
}

#[test]
fn it_is_in_the_check_of_the_configuration() {
    let config = shipped("gdgem-srs.toml").display().to_string();
    let output =
        run(&["run", "--config", &config, "--check", "--set", "outputs.json_lines.address=127.0.0.1:9"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("json_lines: lines of JSON to 127.0.0.1:9; up to 2097152 events"), "{text}");
    let output = run(&["run", "--config", &config, "--check", "--set", "outputs.json_lines.adress=1"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("outputs.json_lines.adress") && text.contains("`address`"), "{text}");
}

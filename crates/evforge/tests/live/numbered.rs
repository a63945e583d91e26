//! `evforge send` and `evforge receive` as a user runs them.

use crate::common::{PROGRAM, evforge, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A receiver under way, killed if the test ends early.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What came of a load: the reports, what both said, and whether the receiver was content.
struct Outcome {
    sent: Value,
    received: Value,
    said: String,
    is_good: bool,
}

/// Receives and sends with these arguments.
fn run(folder: &Path, receiving: &[&str], sending: &[&str]) -> Outcome {
    let path = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let (sent, received) = (path("sent.json"), path("received.json"));
    let mut command = Command::new(PROGRAM);
    command.args(["receive", "--address", "127.0.0.1", "--port", "0", "--idle", "1s", "--for", "60s"]);
    command.args(["--sent", &sent, "--report", &received]).args(receiving);
    let mut receiver =
        Receiver(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts"));
    let mut lines = BufReader::new(receiver.0.stderr.take().expect("piped")).lines();
    let address = loop {
        let line = lines.next().expect("the program says where it receives").expect("text");
        if let Some(address) = line.strip_prefix("receiving at UDP ") {
            break address.to_owned();
        }
    };
    // Somebody must go on reading, or the program could stop at a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    let output = evforge(&[&["send", "--to", &address, "--report", &sent], sending].concat());
    let mut said = text(&output.stdout);
    let stdout = BufReader::new(receiver.0.stdout.take().expect("piped"));
    said.extend(stdout.lines().map(|line| line.expect("text") + "\n"));
    let is_good = receiver.0.wait().expect("it ends").success();
    let read = |path| serde_json::from_slice(&std::fs::read(path).expect("a report")).expect("JSON");
    Outcome { sent: read(sent), received: read(received), said, is_good }
}

fn number(report: &Value, pointer: &str) -> u64 {
    report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {report:#}"))
}

/// Sent, received, lost.
fn packets(report: &Value) -> [u64; 3] {
    ["sent", "received", "lost"].map(|name| number(report, &format!("/packets/{name}")))
}

#[test]
fn flows_of_mixed_sizes_arrive_and_every_figure_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let sending = ["--size", "7x64B,1472B", "--source-ports", "4", "--rate", "20kpps", "--packets", "4000"];
    let outcome = run(folder.path(), &[], &sending);
    let (sent, received) = (&outcome.sent, &outcome.received);
    assert!(outcome.is_good, "{}", outcome.said);
    assert_eq!(packets(received), [4000, 4000, 0]);
    assert_eq!(received["packet_error_ratio"], 0.0);
    assert_eq!(received["loss_bound_next_packet"], 1.0 / 4000.0);
    assert_eq!(received["loss_upper_bound"], 3.0 / 4000.0);
    assert_eq!((number(received, "/unaccounted"), number(received, "/places/unlocated")), (0, 0));
    assert_eq!(received["is_exact"], true);
    let flows = received["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 4);
    for flow in flows {
        assert_eq!(packets(flow), [1000, 1000, 0]);
    }
    assert_eq!(number(received, "/counters/bytes_received"), 500 * (7 * 64 + 1472));
    assert_eq!(number(received, "/latency/packets"), 4000);
    assert!(received["processor"]["ns_per_packet"].as_f64().unwrap() > 0.0);
    // The last packet is due 3999 distances after the first, and never sent before.
    assert_eq!(sent["scheduled_s"], 0.19995);
    assert!(sent["elapsed_s"].as_f64().unwrap() >= 0.19995);
    for wanted in [
        "4 flows",
        "asked         20000 packets/s",
        "lateness",
        "error ratio   0.000e0",
        "latency",
        "processor",
    ] {
        assert!(outcome.said.contains(wanted), "no {wanted} in:\n{}", outcome.said);
    }
}

#[test]
fn faults_are_reported_as_what_they_are_the_last_packet_included() {
    let folder = tempfile::tempdir().unwrap();
    let mut sending = vec!["--rate", "10kpps", "--packets", "1000"];
    for fault in ["lose:packet=10", "twice:packet=20", "late:packet=30,by=3", "lose:packet=999"] {
        sending.extend(["--fault", fault]);
    }
    let outcome = run(folder.path(), &[], &sending);
    assert_eq!(packets(&outcome.received), [1000, 999, 2]);
    assert_eq!(number(&outcome.received, "/packets/reordered"), 1);
    assert_eq!(number(&outcome.received, "/packets/duplicated"), 1);
    assert_eq!(number(&outcome.received, "/packets/unlocated"), 2, "no counter of this host has seen them");
    // As it was before, and is until the next release.
    assert_eq!(number(&outcome.received, "/places/unlocated"), 2);
    assert_eq!((number(&outcome.sent, "/packets"), number(&outcome.sent, "/datagrams")), (1000, 999));
}

#[test]
fn a_slow_receiver_loses_in_its_socket_and_says_how_many() {
    let folder = tempfile::tempdir().unwrap();
    let receiving = ["--buffer", "50kB", "--work", "100us"];
    let sending = ["--size", "100B", "--unpaced", "--packets", "20000"];
    let outcome = run(folder.path(), &receiving, &sending);
    let [sent, received, lost] = packets(&outcome.received);
    assert_eq!(sent, 20_000);
    assert!(lost > 0 && received > 0, "{}", outcome.said);
    assert_eq!(received + lost, sent);
    let losses = &outcome.received["packets"];
    assert_eq!(losses["locations"], serde_json::json!({ "socket buffer": lost }), "{losses:#}");
    assert_eq!(
        (number(losses, "/unlocated"), losses["inferred_locations"] == serde_json::json!({})),
        (0, true)
    );
    let place = &outcome.received["places"]["places"]["socket buffer"];
    assert_eq!((number(place, "/packets"), place["inferred"] == true), (lost, false));
    assert_eq!(number(&outcome.received, "/places/unlocated"), 0);
    assert_eq!(number(&outcome.received, "/processor/work_ns"), 100_000);
    assert!(outcome.said.contains("in the socket buffer"), "{}", outcome.said);
}

#[test]
fn pulses_are_asked_for_by_their_peak_factor() {
    let folder = tempfile::tempdir().unwrap();
    let sending = [
        "--size",
        "1000B",
        "--pulses",
        "14Hz",
        "--peak-factor",
        "50",
        "--mean-rate",
        "14kpps",
        "--packets",
        "7000",
    ];
    let outcome = run(folder.path(), &["--coalesce", "--spin", "1ms"], &sending);
    assert_eq!(packets(&outcome.received), [7000, 7000, 0]);
    let pulses = &outcome.sent["pulses"];
    assert_eq!((number(pulses, "/count"), pulses["peak_factor"].as_f64()), (7, Some(50.0)));
    // 1000 packets a pulse, 700 in a millisecond: the last one is due before the pulse is over.
    let scheduled = outcome.sent["scheduled_s"].as_f64().unwrap();
    assert!((scheduled - (6.0 / 14.0 + 999.0 / 700e3)).abs() < 1e-6, "{scheduled}");
    assert!(outcome.said.contains("of 14 Hz"), "{}", outcome.said);
}

fn refused(arguments: &[&str]) -> String {
    let output: Output = Command::new(PROGRAM).args(arguments).output().expect("the program starts");
    assert!(!output.status.success(), "{arguments:?} should fail");
    text(&output.stderr)
}

#[test]
fn what_is_impossible_is_refused_with_a_reason() {
    for (arguments, reason) in [
        (&["send", "--packets", "1"][..], "--rate"),
        (&["send", "--rate", "0pps"], "above 0"),
        (&["send", "--rate", "1kpps", "--size", "10B"], "24 bytes"),
        (&["send", "--rate", "1kpps", "--pulses", "14Hz", "--peak-factor", "0.5"], "at least 1"),
        (&["send", "--unpaced", "--fault", "flip:packet=1,bit=1"], "would not be seen"),
        (&["receive", "--receive", "xdp"], "--interface"),
    ] {
        let said = refused(arguments);
        assert!(said.contains(reason), "{arguments:?}: {said}");
    }
}

#[test]
fn a_receiver_that_gets_nothing_or_the_wrong_report_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.json").to_str().unwrap().to_owned();
    let receive = ["receive", "--address", "127.0.0.1", "--port", "0", "--for", "50ms", "--sent", &missing];
    let output = Command::new(PROGRAM).args(receive).output().unwrap();
    assert!(!output.status.success());
    let said = text(&output.stdout);
    assert!(said.contains("cannot be read") && said.contains("is the sender's --to this host"), "{said}");
}

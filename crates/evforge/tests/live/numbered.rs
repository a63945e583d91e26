//! `evforge send` and `evforge receive` as a user runs them.

use crate::common::{PROGRAM, end_after_all, evforge, free_ports, text};
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

impl Receiver {
    /// Ends it once it has all that was sent, which must be a good end.
    fn end(mut self) {
        end_after_all(self.0.id());
        assert!(self.0.wait().expect("it ends").success());
    }
}

/// Starts a receiver, and says at which addresses it receives.
fn started(command: &mut Command, addresses: usize) -> (Receiver, Vec<String>) {
    let mut receiver = Receiver(command.stderr(Stdio::piped()).spawn().expect("the program starts"));
    let mut lines = BufReader::new(receiver.0.stderr.take().expect("piped")).lines();
    let ready = lines.by_ref().map_while(Result::ok);
    let address = |line: String| {
        ["UDP", "TCP"]
            .iter()
            .find_map(|way| line.strip_prefix(&format!("receiving at {way} ")).map(str::to_owned))
    };
    let found: Vec<String> = ready.filter_map(address).take(addresses).collect();
    assert_eq!(found.len(), addresses, "the program says where it receives");
    // Somebody must go on reading, or the program could stop at a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (receiver, found)
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
    command.args(["receive", "--address", "127.0.0.1", "--port", "0", "--for", "10min"]);
    command.args(["--sent", &sent, "--report", &received]).args(receiving);
    let (mut receiver, addresses) = started(command.stdout(Stdio::piped()), 1);
    let address = addresses[0].clone();
    let output = evforge(&[&["send", "--to", &address, "--report", &sent], sending].concat());
    let mut said = text(&output.stdout);
    // The end of a connection is that of its receiver.
    if !receiving.contains(&"--tcp") {
        end_after_all(receiver.0.id());
    }
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
        (&["send", "--rate", "1kpps", "--size", "10B"], "24 B"),
        (&["send", "--rate", "1kpps", "--size", "3B", "--layout", "udptx"], "4 bytes"),
        (&["receive", "--layout", "udprx"], "evforge or udptx"),
        (&["receive", "--port", "9000,9000"], "9000 twice"),
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

#[test]
fn every_flow_of_three_senders_is_accounted_for_by_two_threads_at_one_address() {
    const FLOWS: u64 = 12;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let sent: Vec<String> = (0..3).map(|sender| path(&format!("sent-{sender}.json"))).collect();
    let report = path("received.json");
    let mut command = Command::new(PROGRAM);
    command.args(["receive", "--address", "127.0.0.1", "--port", "0", "--sockets", "2", "--core", "0,1"]);
    command.args(["--for", "10min", "--report", &report]);
    sent.iter().for_each(|path| _ = command.args(["--sent", path]));
    let (receiver, addresses) = started(command.stdout(Stdio::null()), 1);
    let address = addresses[0].clone();
    std::thread::scope(|scope| {
        for report in &sent {
            let address = &address;
            scope.spawn(move || {
                let output = evforge(&[
                    "send",
                    "--to",
                    address,
                    "--source-ports",
                    "4",
                    "--size",
                    "64B",
                    "--rate",
                    "20kpps",
                    "--packets",
                    "4000",
                    "--fault",
                    "lose:packet=10",
                    "--report",
                    report,
                ]);
                assert!(output.status.success(), "{}", text(&output.stderr));
            });
        }
    });
    receiver.end();
    let received: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!(packets(&received), [12_000, 12_000 - FLOWS, FLOWS]);
    assert_eq!((number(&received, "/unaccounted"), &received["mismatches"]), (0, &Value::Array(Vec::new())));
    let flows = received["flows"].as_array().unwrap();
    assert_eq!(flows.len() as u64, FLOWS);
    for flow in flows {
        assert_eq!((packets(flow), &flow["is_reported"]), ([1000, 999, 1], &Value::Bool(true)));
    }
    let threads = received.pointer("/processor/threads").and_then(Value::as_array).unwrap();
    let took: Vec<u64> = threads.iter().map(|thread| number(thread, "/packets")).collect();
    assert_eq!((took.len(), took.iter().sum::<u64>()), (2, 12_000 - FLOWS));
}

#[test]
fn several_ports_are_received_and_a_flow_belongs_to_its_port() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let [first, second, source] = free_ports();
    let report = path("received.json");
    let ports = format!("{first},{second}");
    let mut command = Command::new(PROGRAM);
    command.args(["receive", "--address", "127.0.0.1", "--port", &ports, "--for", "10min"]);
    command.args(["--report", &report, "--sent", &path("1.json"), "--sent", &path("2.json")]);
    let (receiver, _) = started(command.stdout(Stdio::null()), 2);
    // From the same source port, so that only the destination tells the flows apart.
    let source_address = format!("127.0.0.1:{source}");
    for (port, packets, name) in [(first, "300", "1.json"), (second, "200", "2.json")] {
        let to = format!("127.0.0.1:{port}");
        let output = evforge(&[
            "send",
            "--to",
            &to,
            "--source",
            &source_address,
            "--rate",
            "10kpps",
            "--packets",
            packets,
            "--report",
            &path(name),
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    receiver.end();
    let received: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!(packets(&received), [500, 500, 0]);
    let flows: Vec<_> = received["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| (number(flow, "/destination_port"), packets(flow)))
        .collect();
    assert!(
        flows.contains(&(first.into(), [300, 300, 0])) && flows.contains(&(second.into(), [200, 200, 0])),
        "{flows:?}"
    );
}

/// Packets as `udptx` sends them, made here: number, and 9000 bytes that mean nothing.
#[test]
fn packets_of_udptx_are_received_with_nothing_unexplained() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("received.json");
    let mut command = Command::new(PROGRAM);
    command.args(["receive", "--address", "127.0.0.1", "--port", "0", "--for", "10min"]);
    command.args(["--layout", "udptx", "--report"]).arg(&report);
    let (receiver, addresses) = started(command.stdout(Stdio::null()), 1);
    let address = addresses[0].clone();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    // Over the wrap of 32 bits, without one number, and one late.
    let first = u32::MAX - 99;
    let mut numbers: Vec<u32> =
        (0..200).filter(|step| *step != 50).map(|step| first.wrapping_add(step)).collect();
    numbers.swap(120, 121);
    let mut packet = vec![0xA5; 9000];
    for number in numbers {
        packet[..4].copy_from_slice(&number.to_le_bytes());
        socket.send_to(&packet, &address).expect("a packet over loopback");
    }
    receiver.end();
    let received: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!(packets(&received), [200, 199, 1]);
    assert_eq!((number(&received, "/packets/reordered"), number(&received, "/packets/duplicated")), (1, 0));
    assert_eq!((number(&received, "/unaccounted"), number(&received, "/counters/packets_counted")), (0, 199));
    assert_eq!(received["latency"], Value::Null, "such packets have no time");
}

#[test]
fn a_tcp_connection_brings_every_byte_and_says_how_fast() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = run(folder.path(), &["--tcp"], &["--tcp", "--size", "8972B", "--bytes", "50MB"]);
    assert!(outcome.is_good, "{}", outcome.said);
    let Outcome { sent, received, said, .. } = outcome;
    assert_eq!(number(&sent, "/bytes"), number(&received, "/bytes"));
    assert_eq!(number(&sent, "/packets"), 50_000_000_u64.div_ceil(8972));
    assert_eq!(
        (number(&received, "/packets/received"), number(&received, "/packets/lost")),
        (number(&sent, "/packets"), 0)
    );
    assert!(
        received["is_closed"] == true && received["bits_per_second"].as_f64().is_some_and(|rate| rate > 0.0)
    );
    assert!(said.contains("over TCP") && said.contains("lost          0 bytes"), "{said}");
    for (arguments, reason) in [
        (["send", "--tcp", "--size", "64B,128B", "--for", "1s"].as_slice(), "one size"),
        (&["send", "--tcp", "--rate", "10kpps"], "--rate"),
        (&["receive", "--tcp", "--port", "9000,9001"], "one --port"),
        (&["send", "--tcp", "--to", "127.0.0.1:9", "--for", "1s"], "evforge receive --tcp"),
    ] {
        let refused = Command::new(PROGRAM).args(arguments).output().expect("it starts");
        assert!(
            !refused.status.success() && text(&refused.stderr).contains(reason),
            "{arguments:?}: {}",
            text(&refused.stderr)
        );
    }
}

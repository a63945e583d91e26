//! What the real program sends by AF_XDP arrives as what it sends through sockets. Needs root.

use crate::common::{LiveProgram, PROGRAM, end_after_all, evforge, text, workspace};
use evforge_testkit::veth::{self, SENDER, Wire, with_wire};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the program at the sender's end; it must succeed.
fn at_sender(wire: &Wire, arguments: &[&str]) -> String {
    text(&wire.at_sender(|| evforge(arguments)).stdout)
}

fn start(folder: &Path) -> LiveProgram {
    let config = workspace().join("configs/gdgem-srs.toml");
    LiveProgram::start_by(Command::new(PROGRAM), &config, folder, &["--address", "10.9.0.2"])
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a report")).expect("JSON")
}

#[test]
fn replayed_and_simulated_packets_arrive_as_through_a_socket() {
    if !veth::is_possible("replayed_and_simulated_packets_arrive_as_through_a_socket") {
        return;
    }
    with_wire(1, 9000, |wire| {
        let folder = tempfile::tempdir().unwrap();
        let config = workspace().join("configs/gdgem-srs.toml");
        let config = config.to_str().unwrap();
        let simulate = ["simulate", "--config", config, "--pulses", "14"];
        let capture = folder.path().join("simulated.pcapng").to_str().unwrap().to_owned();
        evforge(&[&simulate[..], &["--output", &capture]].concat());
        let sent_report = folder.path().join("sent.json");
        let mut outcomes = Vec::new();
        for way in [&[][..], &["--xdp", SENDER]] {
            for replays in [true, false] {
                let live = start(folder.path());
                let to = ["--to", &live.address.clone()];
                let report = ["--rate", "2kpps", "--report", sent_report.to_str().unwrap()];
                if replays {
                    at_sender(wire, &[&["replay", &capture][..], &to, way, &report].concat());
                    let sent = json(&sent_report);
                    assert_eq!((&sent["refused"], &sent["dropped"]), (&0.into(), &0.into()), "{sent:#}");
                } else {
                    at_sender(wire, &[&simulate[..], &to, way].concat());
                }
                let (stream, events) = live.finish();
                assert_eq!(stream["packets"]["lost"], 0, "{stream:#}");
                outcomes.push((stream["packets"]["received"].clone(), events));
            }
        }
        assert!(outcomes[0].1.lines().count() > 1000);
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "the events differ");
    });
}

#[test]
fn several_streams_leave_by_a_queue_each_and_are_verified() {
    if !veth::is_possible("several_streams_leave_by_a_queue_each_and_are_verified") {
        return;
    }
    with_wire(2, 1500, |wire| {
        let folder = tempfile::tempdir().unwrap();
        let [sent, report] = ["sent.json", "received.json"].map(|name| folder.path().join(name));
        let mut receiver = Command::new(PROGRAM)
            .args(["drop", "receive", "--address", "10.9.0.2", "--port", "0", "--for", "10min"])
            .args(["--streams", "2", "--sent", sent.to_str().unwrap(), "--report", report.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(receiver.stderr.take().unwrap()).lines();
        let mut arguments = vec!["drop".to_owned(), "send".to_owned()];
        while arguments.len() < 6 {
            let line = lines.next().unwrap().unwrap();
            let address = line.strip_prefix("receiving at UDP ").map(str::to_owned);
            arguments.extend(address.into_iter().flat_map(|address| ["--to".to_owned(), address]));
        }
        std::thread::spawn(move || lines.for_each(drop));
        let further =
            ["--bytes", "2MB", "--packet", "1000B", "--rate", "20Mbit/s", "--xdp", SENDER, "--report"];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(further).collect();
        at_sender(wire, &[&arguments[..], &[sent.to_str().unwrap()]].concat());
        end_after_all(receiver.id());
        assert!(receiver.wait().unwrap().success());
        let report = json(&report);
        assert_eq!(report["passed"], true, "{report:#}");
        let third = ["drop", "send", "--bytes", "1MB", "--xdp", SENDER];
        let to = ["--to", "10.9.0.2:1", "--to", "10.9.0.2:2", "--to", "10.9.0.2:3"];
        let output = wire.at_sender(|| Command::new(PROGRAM).args(third).args(to).output().unwrap());
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains("every queue has an AF_XDP socket"), "{said}");
    });
}

#[test]
fn numbered_packets_arrive_every_one() {
    if !veth::is_possible("numbered_packets_arrive_every_one") {
        return;
    }
    with_wire(2, 1500, |wire| {
        let folder = tempfile::tempdir().unwrap();
        let [sent, report] = ["sent.json", "received.json"].map(|name| folder.path().join(name));
        let [sent_name, report_name] = [&sent, &report].map(|path| path.to_str().unwrap());
        let mut receiver = Command::new(PROGRAM)
            .args(["receive", "--address", "10.9.0.2", "--port", "0", "--for", "10min"])
            .args(["--sent", sent_name, "--report", report_name])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(receiver.stderr.take().unwrap()).lines();
        let address =
            lines.find_map(|line| line.unwrap().strip_prefix("receiving at UDP ").map(str::to_owned));
        std::thread::spawn(move || lines.for_each(drop));
        let what = ["--size", "64B,1472B", "--rate", "10kpps", "--packets", "5000", "--source-ports", "2"];
        let to = ["send", "--to", &address.unwrap(), "--xdp", SENDER, "--report", sent_name];
        let said = at_sender(wire, &[&to[..], &what].concat());
        assert!(said.contains("frames by AF_XDP"), "{said}");
        end_after_all(receiver.id());
        assert!(receiver.wait().unwrap().success());
        let (sent, report) = (json(&sent), json(&report));
        assert_eq!((&sent["datagrams"], &sent["by_xdp"]), (&5000.into(), &true.into()), "{sent:#}");
        assert_eq!(sent["losses"]["interface"], SENDER);
        assert_eq!(report["packets"]["received"], 5000, "{report:#}");
        assert_eq!(report["packets"]["lost"], 0, "{report:#}");
    });
}

//! Live runs of the real program by AF_XDP, between two network namespaces. Needs root.

use crate::common::wire::{BY_XDP, INTERFACE, Wire, config, ip, number, simulate};
use crate::common::{PROGRAM, end_after_all, text, while_stopped};
use evforge_core::packet::PacketSlab;
use evforge_net::capture::CaptureReader;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn the_same_packets_give_the_same_events_by_socket_and_by_af_xdp() {
    let Some(wire) = Wire::lay("the_same_packets_give_the_same_events_by_socket_and_by_af_xdp") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "28");
    let run = |further: &[&str]| {
        let live = wire.start(folder.path(), further);
        let sent = wire.replay(&capture, &live.address.clone(), "2kpps");
        let (stream, events) = live.finish();
        assert_eq!(number(&stream, "/packets/received"), sent, "{stream:#}");
        assert_eq!((number(&stream, "/packets/lost"), number(&stream, "/unaccounted")), (0, 0), "{stream:#}");
        let report = std::fs::read(folder.path().join("live.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        (report, events, sent)
    };
    let (_, expected, _) = run(&["--receive", "socket"]);
    assert!(expected.lines().count() > 1000, "{} events are too few", expected.lines().count());
    for threads in ["input.threads=1", "input.threads=2"] {
        let (report, events, sent) = run(&[&BY_XDP[..], &["--set", threads]].concat());
        assert!(events == expected, "{threads}: the events differ");
        let input = report["input"].as_str().unwrap();
        assert!(input.contains("AF_XDP on wire-r (driver veth), 1 queue, driver, copied"), "{input}");
        assert_eq!(number(&report, "/xdp/frames"), sent, "{report:#}");
    }
    // Asked to choose, it takes AF_XDP if an interface is named and a socket otherwise.
    let auto = run(&["--interface", INTERFACE, "--set", "receive.ring=4096"]);
    assert!(auto.1 == expected && auto.0["input"].as_str().unwrap().contains("AF_XDP on wire-r"));
    wire.wait_until_detached();
}

#[test]
fn a_recording_by_af_xdp_has_every_packet() {
    let Some(wire) = Wire::lay("a_recording_by_af_xdp_has_every_packet") else { return };
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "14");
    let (recorded, report) = (folder.path().join("run.pcapng"), folder.path().join("record.json"));
    let mut recording = Wire::at(&wire.receiver, PROGRAM)
        .args(["record", "--address", "10.9.0.2", "--port", "9000", "--port", "9001"])
        .args(["--for", "10min"])
        .args(["--receive", "xdp", "--interface", INTERFACE, "--output", recorded.to_str().unwrap()])
        .args(["--report", report.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(recording.stderr.take().unwrap()).lines();
    let way = lines.find_map(|line| line.unwrap().strip_prefix("received by ").map(str::to_owned));
    assert!(way.unwrap().contains("AF_XDP on wire-r"));
    let addresses = ["10.9.0.2:9000", "10.9.0.2:9001"];
    let sent: u64 = addresses.iter().map(|address| wire.replay(&capture, address, "2kpps")).sum();
    end_after_all(recording.id());
    assert!(recording.wait().unwrap().success());
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(number(&report, "/packets/written"), sent, "{report:#}");
    assert_eq!((number(&report, "/packets/dropped"), number(&report, "/packets/unaccounted")), (0, 0));
    let payloads = |path: &Path| {
        let mut slab = PacketSlab::new(100_000, 64 << 20);
        CaptureReader::open(path).unwrap().fill(&mut slab).unwrap();
        slab.batch().iter().map(|packet| packet.bytes.to_vec()).collect::<Vec<_>>()
    };
    let replayed = payloads(capture.as_ref());
    assert!(payloads(&recorded) == [replayed.clone(), replayed].concat(), "the packets differ");
}

#[test]
fn numbered_packets_come_whole_by_af_xdp() {
    let Some(wire) = Wire::lay("numbered_packets_come_whole_by_af_xdp") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (sent, received) = (path("sent.json"), path("received.json"));
    let mut receiver = Wire::at(&wire.receiver, PROGRAM)
        .args(["receive", "--address", "10.9.0.2", "--for", "10min", "--sent", &sent])
        .args(["--receive", "xdp", "--interface", INTERFACE, "--report", &received])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(receiver.stderr.take().unwrap()).lines();
    let way = lines.find_map(|line| line.unwrap().strip_prefix("received by ").map(str::to_owned));
    assert!(way.unwrap().contains("AF_XDP on wire-r"));
    std::thread::spawn(move || lines.for_each(drop));
    let output = Wire::at(&wire.sender, PROGRAM)
        .args([
            "send",
            "--to",
            "10.9.0.2:9000",
            "--size",
            "64B,8972B",
            "--rate",
            "10kpps",
            "--packets",
            "5000",
        ])
        .args(["--source-ports", "3", "--fault", "lose:packet=100", "--report", &sent])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    end_after_all(receiver.id());
    assert!(receiver.wait().unwrap().success());
    let report: Value = serde_json::from_slice(&std::fs::read(received).unwrap()).unwrap();
    let packets = ["sent", "received", "lost"].map(|name| number(&report, &format!("/packets/{name}")));
    assert_eq!(packets, [5000, 4997, 3], "{report:#}");
    assert_eq!((number(&report, "/packets/unlocated"), number(&report, "/xdp/frames")), (3, 4997));
    assert_eq!(report["sent"][0]["losses"]["interface"], "wire-s");
}

#[test]
fn every_packet_lost_to_a_full_ring_is_placed_there() {
    let Some(wire) = Wire::lay("every_packet_lost_to_a_full_ring_is_placed_there") else { return };
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "140");
    let live = wire.start(folder.path(), &[&BY_XDP[..4], &["--set", "receive.ring=64"]].concat());
    let address = live.address.clone();
    let sent = std::thread::scope(|scope| {
        let replay = scope.spawn(|| wire.replay(&capture, &address, "1500pps"));
        wire.wait_until_sent(100);
        // Many more than the ring and the memory hold.
        while_stopped(live.id(), || wire.wait_until_sent(500));
        replay.join().unwrap()
    });
    let (stream, _) = live.finish();
    let lost = number(&stream, "/packets/lost");
    assert!(lost > 100, "the hold-up must cost packets: {stream:#}");
    assert_eq!(number(&stream, "/packets/received") + lost, sent);
    // As many frames as places in the ring: whichever runs out first.
    let places = stream.pointer("/packets/places").and_then(Value::as_object).unwrap();
    let placed: u64 = places.values().filter_map(Value::as_u64).sum();
    assert!(places.keys().all(|place| place.starts_with("AF_XDP ")), "{stream:#}");
    assert_eq!((placed, number(&stream, "/packets/unlocated")), (lost, 0), "{stream:#}");
}

#[test]
fn nothing_is_left_of_a_killed_receiver() {
    let Some(wire) = Wire::lay("nothing_is_left_of_a_killed_receiver") else { return };
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let live = wire.start(folder.path(), &BY_XDP);
        assert!(wire.has_program());
        live.signal("KILL");
        drop(live);
        wire.wait_until_detached();
    }
}

#[test]
fn what_cannot_be_received_from_says_what_is_expected() {
    let config = config();
    let config = config.to_str().unwrap();
    for (arguments, expected) in [
        (&["--receive", "xdp"][..], "none is named: set receive.interface"),
        (&["--receive", "xdp", "--interface", "no-such-if"], "there is no network interface \"no-such-if\""),
        (&["--set", "receive.ring=100"], "receive.ring: must be a power of two in 64..=131072"),
        (&["--set", "receive.queues=[0]"], "set receive.interface, too"),
        (&["--set", "receive.method=\"xpd\""], "expected one of `auto`, `socket`, `xdp`"),
    ] {
        let mut run = Command::new(PROGRAM);
        run.args(["run", "--config", config, "--port", "0", "--for", "10ms"]).args(arguments);
        let output = run.output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn drop_streams_by_af_xdp_are_verified_word_by_word() {
    let Some(wire) = Wire::lay("drop_streams_by_af_xdp_are_verified_word_by_word") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut receiving = Wire::at(&wire.receiver, PROGRAM)
        .args(["drop", "receive", "--address", "10.9.0.2", "--port", "9100", "--streams", "4"])
        .args(["--receive", "xdp", "--interface", INTERFACE, "--for", "10min"])
        .args(["--sent", &path("sent.json"), "--report", &path("received.json")])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(receiving.stderr.take().unwrap()).lines();
    let way = lines.find_map(|line| line.unwrap().strip_prefix("received by ").map(str::to_owned));
    assert!(way.unwrap().contains("AF_XDP on wire-r"));
    let sent = Wire::at(&wire.sender, PROGRAM)
        .args([
            "drop",
            "send",
            "--to",
            "10.9.0.2:9100",
            "--streams",
            "4",
            "--block",
            "256KiB",
            "--blocks",
            "4",
        ])
        .args(["--rate", "2kpps", "--fault", "lose:packet=70", "--report", &path("sent.json")])
        .output()
        .unwrap();
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    // A packet of each stream is missing, and all of them know it.
    end_after_all(receiving.id());
    assert_eq!(receiving.wait().unwrap().code(), Some(1));
    let report: Value = serde_json::from_slice(&std::fs::read(path("received.json")).unwrap()).unwrap();
    for stream in report["streams"].as_array().unwrap() {
        assert_eq!(stream["packets"]["lost"], 1, "{stream:#}");
        assert_eq!(stream["packets"]["unlocated"], 1, "{stream:#}");
        assert!(stream["received_by"].as_str().unwrap().contains("AF_XDP on wire-r"));
        assert_eq!(stream["words"]["checks"]["packets"]["outcome"], "failed", "{stream:#}");
    }
    assert_eq!(report["streams"].as_array().unwrap().len(), 4);
}

#[test]
fn a_link_flap_in_fragmented_traffic_changes_no_order_and_is_told() {
    let test = "a_link_flap_in_fragmented_traffic_changes_no_order_and_is_told";
    let Some(wire) = Wire::lay(test) else { return };
    for (namespace, interface) in [(&wire.receiver, INTERFACE), (&wire.sender, "wire-s")] {
        // Most packets of this detector are longer, and some are not.
        ip(&["-n", namespace, "link", "set", interface, "mtu", "1500"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "14");
    let live = wire.start(folder.path(), &BY_XDP);
    let address = live.address.clone();
    std::thread::scope(|scope| {
        let replay = scope.spawn(|| wire.replay_with_interruption(&capture, &address, "300pps"));
        wire.wait_until_sent(100);
        ip(&["-n", &wire.receiver, "link", "set", INTERFACE, "down"]);
        // The gap is one of real time: some packets long.
        std::thread::sleep(Duration::from_millis(200));
        ip(&["-n", &wire.receiver, "link", "set", INTERFACE, "up"]);
        replay.join().unwrap();
    });
    let (success, stream, events) = live.outcome();
    let alarms = stream["alarms"].to_string();
    assert!(!success && alarms.contains("wire-r was down once"), "{alarms}");
    assert!(stream["hints"].to_string().contains("send packets in fragments"), "{stream:#}");
    assert_eq!(number(&stream, "/packets/reordered"), 0, "{stream:#}");
    // After the gap one source is ahead of the other for a packet: that much may be late. A quarter was.
    let late = stream.pointer("/discarded/late").and_then(Value::as_u64).unwrap_or(0);
    assert!(late * 100 < number(&stream, "/hits"), "{late} late: {stream:#}");
    assert!(events.lines().count() > 5000 && number(&stream, "/unaccounted") == 0, "{stream:#}");
}

#[test]
fn an_interface_that_is_removed_during_a_run_is_told_and_no_success() {
    let test = "an_interface_that_is_removed_during_a_run_is_told_and_no_success";
    let Some(wire) = Wire::lay(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "14");
    // Interfaces are looked at once a second: the run goes on for as long as it takes to see that this one is gone.
    let live = wire.start(folder.path(), &[&BY_XDP[..], &["--idle", "10s"]].concat());
    let sent = wire.replay(&capture, &live.address.clone(), "2kpps");
    ip(&["-n", &wire.receiver, "link", "delete", INTERFACE]);
    let (success, stream, _) = live.ended();
    let alarms = stream["alarms"].to_string();
    assert!(!success && alarms.contains("removed once"), "{alarms}");
    assert_eq!(number(&stream, "/packets/received"), sent);
}

//! `evforge train send` as a user runs it: trains over loopback, put together again and checked byte by byte.

use crate::common::{PROGRAM, is_on_its_way, text, wait_until};
use evforge_train::generate::CounterPattern;
use evforge_wire::train::{Train, TrainHeader, TrainPacket};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::process::Command;

/// Trains of 2240 bytes in 12 packets.
const SMALL: [&str; 6] = ["--image-size", "1000B", "--images", "2", "--packet", "200B"];

/// Sockets that trains are sent to, and the arguments that name them.
fn nodes(count: usize) -> (Vec<UdpSocket>, Vec<String>) {
    let sockets: Vec<_> = (0..count).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a socket")).collect();
    let to = |socket: &UdpSocket| ["--to".to_owned(), socket.local_addr().expect("an address").to_string()];
    let arguments = sockets.iter().flat_map(to).collect();
    (sockets, arguments)
}

/// What has come: the port it is from, and the bytes.
fn received(socket: &UdpSocket) -> Vec<(u16, Vec<u8>)> {
    // The sender has ended: what is not there then does not come.
    wait_until("all that was sent is there", || !is_on_its_way());
    socket.set_nonblocking(true).expect("a setting");
    let mut memory = [0; 65_536];
    std::iter::from_fn(|| {
        let (bytes, from) = socket.recv_from(&mut memory).ok()?;
        Some((from.port(), memory[..bytes].to_vec()))
    })
    .collect()
}

/// Sends small trains, and gives the report.
fn send(to: &[String], further: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("sent.json");
    let output = Command::new(PROGRAM)
        .args(["train", "send"])
        .args(SMALL)
        .args(to)
        .args(further)
        .arg("--report")
        .arg(&report)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON")
}

/// The whole trains of packets: frame and number, of each source.
fn trains(packets: &[(u16, Vec<u8>)]) -> BTreeMap<(u16, u32), u64> {
    let mut pieces: BTreeMap<(u16, u32), Vec<u8>> = BTreeMap::new();
    for (port, bytes) in packets {
        let TrainPacket { trailer, data } = TrainPacket::parse(bytes).expect("a packet");
        let train = pieces.entry((*port, trailer.frame)).or_default();
        assert_eq!(train.len(), 200 * trailer.packet as usize, "in order, none is missing");
        train.extend(data);
    }
    let number = |bytes: Vec<u8>| {
        let train = Train::parse(&bytes, 1000).expect("a whole train");
        let number = train.header().train;
        for image in 0..2 {
            let bytes = train.image(image).expect("an image");
            assert_eq!(CounterPattern::new(number, image as u64).check(0, bytes), None);
        }
        number
    };
    pieces.into_iter().map(|(key, bytes)| (key, number(bytes))).collect()
}

#[test]
fn trains_of_two_modules_are_dealt_to_three_nodes() {
    let (sockets, to) = nodes(3);
    let further = ["--modules", "2", "--trains", "6", "--first-train", "30", "--frequency", "50Hz"];
    let report = send(&to, &further);
    for (node, socket) in sockets.iter().enumerate() {
        let trains = trains(&received(socket));
        // Each node has two trains of each module.
        assert_eq!(trains.len(), 4, "{trains:?}");
        for (module, sent) in report["modules"].as_array().expect("modules").iter().enumerate() {
            let source = sent["nodes"][node]["source"].as_str().expect("a source");
            let port: u16 = source.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
            let numbers: Vec<_> =
                trains.iter().filter(|((from, _), _)| *from == port).map(|(_, &n)| n).collect();
            let expected: Vec<u64> =
                (30..36).filter(|train| (train + module as u64) % 3 == node as u64).collect();
            assert_eq!(numbers, expected, "module {module}, node {node}");
            assert_eq!((&sent["module"], &sent["nodes"][node]["datagrams"]), (&module.into(), &24.into()));
        }
    }
    let seconds = report["modules"][0]["seconds"].as_f64().expect("seconds");
    assert!(seconds >= 0.1, "six trains at 50 Hz take 100 ms, not {seconds} s");
}

#[test]
fn faults_are_made_and_told() {
    let (sockets, to) = nodes(1);
    let faults =
        ["--fault", "lost:train=0,packet=5", "--fault", "wrong-end:train=1", "--fault", "late:train=2"];
    let report = send(&to, &[&["--trains", "4"], &faults[..]].concat());
    let packets = received(&sockets[0]);
    assert_eq!(packets.len(), 47);
    let frames: Vec<_> =
        packets.iter().map(|(_, bytes)| TrainPacket::parse(bytes).expect("a packet").trailer).collect();
    let order: Vec<_> =
        frames.chunk_by(|a, b| a.frame == b.frame).map(|run| (run[0].frame, run.len())).collect();
    assert_eq!(order, [(0, 11), (1, 12), (3, 12), (2, 12)]);
    assert!(!frames.iter().any(|trailer| (trailer.frame, trailer.packet) == (0, 5)));
    let counters = &report["modules"][0]["counters"];
    for (name, count) in [
        ("packets_made", 48),
        ("packets_lost", 1),
        ("datagrams", 47),
        ("trains_wrong_end", 1),
        ("trains_late", 1),
        ("trains_undamaged", 2),
    ] {
        assert_eq!(counters[name], count, "{name}");
    }
}

#[test]
fn trains_are_cut_off_and_numbered_as_asked_with_a_pause_behind_each() {
    let (sockets, to) = nodes(1);
    let numbers = ["--first-train", "9", "--stride", "4", "--first-frame", "70", "--trains", "3"];
    let cut = ["--packets-per-train", "5", "--rate", "1kpps", "--pause", "20ms"];
    let report = send(&to, &[&numbers[..], &cut].concat());
    let packets = received(&sockets[0]);
    let found: Vec<_> = packets
        .iter()
        .map(|(_, bytes)| {
            let TrainPacket { trailer, data } = TrainPacket::parse(bytes).expect("a packet");
            assert_eq!(data.len(), 200);
            assert_eq!((trailer.is_first, trailer.is_last), (trailer.packet == 0, trailer.packet == 4));
            let number = data
                .first_chunk()
                .filter(|_| trailer.is_first)
                .map(|header| TrainHeader::read(header).1.train);
            (trailer.frame, trailer.packet, number)
        })
        .collect();
    let expected = (0..3_u32).flat_map(|train| {
        (0..5).map(move |packet| (70 + train, packet, (packet == 0).then(|| 9 + 4 * u64::from(train))))
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
    // Each packet a millisecond after the one before, and a millisecond and the pause after the last of a train.
    let seconds = report["modules"][0]["seconds"].as_f64().expect("seconds");
    assert!(seconds >= 0.054, "15 packets and two pauses take 54 ms, not {seconds} s");
}

#[test]
fn what_is_impossible_is_refused_before_anything_is_sent() {
    let (sockets, to) = nodes(1);
    for (arguments, told) in [
        (&["--packets-per-train", "13"][..], "cannot be cut off behind 13"),
        (&["--stride", "0"], "expected at least 1"),
        (&["--frequency", "0Hz"], "0 Hz never come"),
        (&["--pause", "700ms"], "--rate"),
        (&["--fault", "lost:train=0"], "is no fault"),
        (&["--fault", "late:train=0", "--fault", "interleaved:train=0"], "same place"),
        (&["--fault-rates", "lost=2"], "has no probabilities"),
        (&["--fault-rates", "lost=0.6,repeated=0.6"], "add up to 1.2"),
        (&["--detector", "lpd"], "--image-size"),
    ] {
        let mut command = Command::new(PROGRAM);
        let output =
            command.args(["train", "send", "--trains", "1"]).args(SMALL).args(&to).args(arguments).output();
        let output = output.expect("the program starts");
        let stderr = text(&output.stderr);
        assert!(!output.status.success() && stderr.contains(told), "{arguments:?}: {stderr}");
    }
    assert!(received(&sockets[0]).is_empty());
}

#[test]
fn modules_send_to_successive_ports() {
    // Two ports next to each other.
    let bind = |port| UdpSocket::bind(("127.0.0.1", port));
    let pair = (20_000..60_000).find_map(|port| Some([bind(port).ok()?, bind(port + 1).ok()?]));
    let sockets = pair.expect("two ports next to each other");
    let to = sockets[0].local_addr().expect("an address").to_string();
    let report = send(
        &["--to".to_owned(), to],
        &["--modules", "2", "--port-per-module", "--first-module", "4", "--trains", "1"],
    );
    for (socket, module) in sockets.iter().zip([4, 5]) {
        let packets = received(socket);
        assert_eq!((packets.len(), trains(&packets).len()), (12, 1));
        let first = TrainPacket::parse(&packets[0].1).expect("a packet");
        let header = first.data.first_chunk().map(|header| TrainHeader::read(header).1);
        assert_eq!(header.expect("a header").detector_link, module);
        assert_eq!(report["modules"][module as usize - 4]["module"], module);
    }
}

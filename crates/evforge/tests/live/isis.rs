//! Boards of ISIS over UDP, each from an address of its own: frames, events, file and page are those of the truth; a datagram that is
//! lost makes exactly its frame incomplete.
#![allow(clippy::unwrap_used)]

use crate::common::{LiveProgram, evforge, workspace};
use evforge_core::packet::{Packet, PacketSlab};
use evforge_net::capture::CaptureReader;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::Path;

/// A shipped configuration in `folder`, whose boards have addresses of the loopback interface.
fn configuration(folder: &Path, name: &str) -> String {
    let table = name.trim_start_matches("isis-");
    let local = |text: &str| text.replace("192.168.10.", "127.0.0.").replace("192.168.12.", "127.0.0.");
    let wiring = workspace().join(format!("configs/isis/{table}.csv"));
    if wiring.exists() {
        std::fs::create_dir_all(folder.join("isis")).unwrap();
        let text = std::fs::read_to_string(wiring).unwrap();
        std::fs::write(folder.join(format!("isis/{table}.csv")), local(&text)).unwrap();
    }
    let text = std::fs::read_to_string(workspace().join(format!("configs/{name}.toml"))).unwrap();
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(&path, local(&text)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The packets of a capture: source and content.
fn packets(capture: &str) -> Vec<(IpAddr, Vec<u8>)> {
    let mut slab = PacketSlab::new(1 << 14, 1 << 24);
    let mut reader = CaptureReader::open(Path::new(capture)).unwrap();
    let _fill = reader.fill(&mut slab).unwrap();
    let packet = |packet: Packet<'_>| {
        let IpAddr::V4(source) = packet.origin.source.ip() else { panic!("another address") };
        (IpAddr::V4(Ipv4Addr::new(127, 0, 0, source.octets()[3])), packet.bytes.to_vec())
    };
    slab.batch().iter().map(packet).collect()
}

/// Sends packets as their boards do, all but the one at `lost`.
fn send(packets: &[(IpAddr, Vec<u8>)], to: &str, lost: Option<usize>) {
    let mut boards: BTreeMap<IpAddr, UdpSocket> = BTreeMap::new();
    for (number, (source, bytes)) in packets.iter().enumerate() {
        let board = boards.entry(*source).or_insert_with(|| UdpSocket::bind((*source, 0)).unwrap());
        if Some(number) != lost {
            assert_eq!(board.send_to(bytes, to).unwrap(), bytes.len());
        }
    }
}

/// The rows of a table without its header.
fn rows(path: &str) -> Vec<Vec<String>> {
    rows_of(&std::fs::read_to_string(path).unwrap())
}

fn rows_of(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn boards_over_udp_give_the_frames_of_the_truth() {
    for (name, tick) in [
        ("isis-wlsf", "isis.tick.wlsf=20ns"),
        ("isis-madc", "isis.tick.madc=20ns"),
        ("isis-lvds", "isis.tick.lvds=20ns"),
        ("isis-v2", "isis.tick_v2.wlsf=20ns"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let config = configuration(folder.path(), name);
        let (capture, truth, expected) = (path("run.pcapng"), path("truth.csv"), path("expected.csv"));
        let simulate =
            ["simulate", "--config", &config, "--set", tick, "--pulses", "20", "--neutrons", "2kHz"];
        evforge(&[&simulate[..], &["--output", &capture, "--truth-frames", &truth]].concat());
        evforge(&["run", "--quiet", "--config", &config, "--set", tick, &capture, "--events", &expected]);
        let (packets, truth) = (packets(&capture), rows(&truth));

        let (frames, nexus) = (path("frames.csv"), path("run.nxs"));
        let further = ["--set", tick, "--frames", &frames, "--nexus", &nexus, "--view", "127.0.0.1:0"];
        let live = LiveProgram::start(Path::new(&config), folder.path(), &further);
        // A frame in the middle lacks its first datagram with events.
        let lost = packets.len() / 2
            + packets[packets.len() / 2..].iter().position(|(_, bytes)| bytes.len() >= 88).unwrap();
        send(&packets, &live.address, Some(lost));
        // That something is missing is told by its status, too.
        let (_, stream, events) = live.outcome();
        assert_eq!(stream["unaccounted"].as_u64(), Some(0), "{name}: {stream:#}");

        let frames = rows(&frames);
        assert_eq!(frames.len(), truth.len(), "{name}");
        let (mut incomplete, mut missing) = (0, 0);
        for (frame, truth) in frames.iter().zip(&truth) {
            assert_eq!(frame[0], truth[1], "{name}: the reference time");
            assert_eq!(
                frame[1].parse::<u64>().unwrap(),
                truth[2].parse::<u64>().unwrap() + 1,
                "{name}: the period"
            );
            if frame[6] == "complete" {
                assert_eq!(frame[5], truth[5], "{name}: events of a complete frame");
            } else {
                assert_eq!(frame[6], "incomplete", "{name}");
                let events = [frame, truth].map(|row| row[5].parse::<u64>().unwrap());
                assert!(events[0] < events[1], "{name}: {events:?}");
                missing += events[1] - events[0];
                incomplete += 1;
            }
        }
        assert_eq!(incomplete, 1, "{name}: {frames:?}");
        let (found, all) = (rows_of(&events), rows(&expected));
        assert_eq!(found.len() as u64 + missing, all.len() as u64, "{name}");
        let all: std::collections::BTreeSet<_> = all.into_iter().collect();
        assert!(found.iter().all(|event| all.contains(event)), "{name}: an event that is not there");
        let report: Value = serde_json::from_slice(&std::fs::read(path("live.json")).unwrap()).unwrap();
        let counted = |output: &str, counter: &str| {
            let output: &Value =
                report["outputs"].as_array().unwrap().iter().find(|of| of["id"] == output).unwrap();
            output["counters"][counter].as_u64().unwrap()
        };
        assert_eq!(counted("view", "pictured"), found.len() as u64, "{name}: on the page");
        assert_eq!(counted("nexus", "events"), found.len() as u64, "{name}: in the file");
    }
}

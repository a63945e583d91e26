//! A flood of idle connections to the page, and what the run beside does with the descriptors that are left.

mod common;

use common::{LiveProgram, PROGRAM, free_ports, wait_until, workspace};
use evforge_core::packet::PacketSlab;
use evforge_net::capture::{CaptureReader, Fill};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The program behind a shell that sets a limit of descriptors.
fn limited(limit: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\""), PROGRAM]);
    command
}

/// Keeps so many connections open that say nothing, until `stop`; counts those that were closed.
fn flood(page: SocketAddr, count: usize, stop: &AtomicBool, closed: &AtomicU64) {
    let open = || {
        let stream = TcpStream::connect_timeout(&page, Duration::from_secs(1)).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(stream)
    };
    let mut streams: Vec<TcpStream> = Vec::new();
    while !stop.load(Relaxed) {
        let before = streams.len();
        streams.retain_mut(|stream| {
            let read = stream.read(&mut [0; 256]);
            matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
        });
        closed.fetch_add((before - streams.len()) as u64, Relaxed);
        streams.extend((streams.len()..count).map_while(|_| open()));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_healthy(page: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(page) else { return false };
    let request = format!("GET /api/health HTTP/1.1\r\nHost: {page}\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

/// The complete recordings in a folder.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "pcapng")).collect()
}

/// The recordings in a folder, which must be whole, and how many packets they have together.
fn recorded(folder: &Path) -> (Vec<PathBuf>, u64) {
    let files = recordings(folder);
    let mut packets = 0;
    for file in &files {
        let mut reader = CaptureReader::open(file).expect("a capture");
        let mut slab = PacketSlab::new(1024, 1 << 20);
        while reader.fill(&mut slab).expect("a whole capture") == Fill::More {
            slab.clear();
        }
        packets += reader.counters().packets;
    }
    (files, packets)
}

#[test]
fn a_recording_goes_on_rotating_while_idle_connections_flood_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let [port] = free_ports();
    let page = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let recording = folder.path().join("run.pcapng");
    let further = [
        "--address",
        "127.0.0.1",
        "--view",
        &page.to_string(),
        "--record",
        recording.to_str().expect("text"),
        "--rotate-time",
        "200ms",
    ];
    let config = workspace().join("configs/gdgem-srs.toml");
    let live = LiveProgram::start_by(limited("-n 256"), &config, folder.path(), &further);
    let (stop, closed) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut sent = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| flood(page, 400, &stop, &closed));
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        wait_until("a flood, and files that follow one another meanwhile", || {
            socket.send_to(b"not a packet of this detector", &live.address).expect("sending");
            sent += 1;
            closed.load(Relaxed) > 100 && recordings(folder.path()).len() >= 5
        });
        stop.store(true, Relaxed);
    });
    wait_until("the page is back after the flood", || is_healthy(page));
    let (success, stream, _) = live.outcome();
    // The packets are no detector's, which the run says; nothing else is wrong.
    let alarms = stream["alarms"].as_array().expect("a list");
    let of_input =
        |alarm: &serde_json::Value| alarm.as_str().is_some_and(|text| text.contains("does not belong"));
    assert!(!success && alarms.iter().all(of_input), "{stream:#}");
    let (files, packets) = recorded(folder.path());
    assert!(files.len() >= 5, "{files:?}");
    assert_eq!(packets, sent, "{files:?}");
}

#[test]
fn the_limit_of_descriptors_is_raised_to_what_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = workspace().join("configs/gdgem-srs.toml");
    let live =
        LiveProgram::start_by(limited("-S -n 100"), &config, folder.path(), &["--address", "127.0.0.1"]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", live.id())).expect("limits");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).expect("of open files");
    let [soft, hard, _] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
    assert!(soft == hard && soft != "100", "{line}");
}

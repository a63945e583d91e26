//! Memory: a run takes no more than `run --check` says, of each shipped configuration, whatever comes, from a file and live.
//!
//! Resident memory is what the kernel has seen at most (`VmHWM`), of the whole process. The streams are those that would make a
//! detector hold more and more: time that stands still, that leaps, that runs back, a group that never ends, a source that is alone.
//! `EVFORGE_SOAK=100` (`make soak`) sends twenty times as many packets.

use crate::common::{PROGRAM, text, wait_until_idle, wait_until_taken, workspace};
use crate::watched::Watched;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::packet_source::Fill;
use evforge_net::capture::{CaptureReader, PcapngWriter};
use serde_json::Value;
use std::io::Write;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packets of a stream.
const PACKETS: usize = 40;
/// What a packet of the ESS readout holds at most.
const FULL: usize = 8900;

#[derive(Clone)]
struct Sent {
    bytes: Vec<u8>,
    origin: PacketOrigin,
}

/// The packets of a capture.
fn packets(capture: &Path) -> Vec<Sent> {
    let mut reader = CaptureReader::open(capture).expect("a capture");
    let mut slab = PacketSlab::new(4096, 8 << 20);
    let mut packets = Vec::new();
    loop {
        slab.clear();
        let fill = reader.fill(&mut slab).expect("packets");
        packets.extend(
            slab.batch().iter().map(|packet| Sent { bytes: packet.bytes.to_vec(), origin: packet.origin }),
        );
        if fill == Fill::End {
            return packets;
        }
    }
}

/// Bytes before the records of a packet of the ESS readout; none of other packets, and of those without records.
fn ess_header(bytes: &[u8]) -> Option<usize> {
    let header = if *bytes.get(1)? == 0 { 30 } else { 32 };
    (bytes.get(2..5)? == b"ESS" && bytes.len() > header + 12).then_some(header)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

/// Where the records of a packet of the ESS readout begin.
fn records(bytes: &[u8], header: usize) -> Vec<usize> {
    let mut begins = Vec::new();
    let mut at = header;
    while at + 12 <= bytes.len() {
        let length = usize::from(u16::from_le_bytes([bytes[at + 2], bytes[at + 3]]));
        if length < 12 || at + length > bytes.len() {
            break;
        }
        begins.push(at);
        at += length;
    }
    begins
}

/// A packet of the ESS readout with its records over and over until it is full, all of the same pulse and, if `at` says it, the
/// same time (seconds and ticks); others stay as they are.
fn changed(sent: &Sent, sequence: usize, at: impl Fn(u32, u32) -> (u32, u32)) -> Sent {
    let mut bytes = sent.bytes.clone();
    let Some(header) = ess_header(&bytes) else { return sent.clone() };
    let body = bytes[header..].to_vec();
    while bytes.len() + body.len() <= FULL {
        bytes.extend_from_slice(&body);
    }
    let length = u16::try_from(bytes.len()).expect("a datagram");
    bytes[6..8].copy_from_slice(&length.to_le_bytes());
    put(&mut bytes, 26, u32::try_from(sequence).expect("few packets"));
    let places = [10, 18].into_iter().chain(records(&bytes, header).into_iter().map(|begin| begin + 4));
    for place in places.collect::<Vec<_>>() {
        let (seconds, ticks) = at(number(&bytes, place), number(&bytes, place + 4));
        put(&mut bytes, place, seconds);
        put(&mut bytes, place + 4, ticks);
    }
    Sent { bytes, ..sent.clone() }
}

/// All hostile streams, one after the other.
fn hostile(packets: &[Sent], count: usize) -> Vec<Sent> {
    let first = packets.iter().find(|sent| ess_header(&sent.bytes).is_some()).unwrap_or(&packets[0]);
    let (seconds, ticks) = match ess_header(&first.bytes) {
        Some(_) => (number(&first.bytes, 10), number(&first.bytes, 14)),
        None => (0, 0),
    };
    let largest = packets.iter().max_by_key(|sent| sent.bytes.len()).expect("packets");
    let alone: Vec<&Sent> = packets.iter().filter(|sent| sent.origin.source == first.origin.source).collect();
    let cycle = |at: usize| &packets[at % packets.len()];
    let mut streams = Vec::new();
    let mut sequence = 0;
    let mut add = |sent: &Sent, at: &dyn Fn(u32, u32) -> (u32, u32)| {
        streams.push(changed(sent, sequence, at));
        sequence += 1;
    };
    for at in 0..count {
        add(cycle(at), &|seconds, ticks| (seconds, ticks));
    }
    // Time stands still.
    for at in 0..count {
        add(cycle(at), &|_, _| (seconds, ticks));
        add(largest, &|_, _| (seconds, ticks));
    }
    // One source is alone.
    for at in 0..count {
        add(alone[at % alone.len()], &|_, ticks| (seconds + at as u32 / 1000, ticks));
    }
    // One endless group.
    for at in 0..count {
        add(cycle(at), &|_, _| (seconds + 2, ticks / 2 + at as u32));
    }
    // Time runs back.
    for at in (0..count).rev() {
        add(cycle(at), &|_, ticks| (seconds + 3 + at as u32, ticks));
    }
    // Time leaps.
    for at in 0..count {
        add(cycle(at), &|_, ticks| (seconds + 10_000 + 10 * at as u32, ticks));
    }
    streams
}

/// What `run --check` says of these arguments.
fn check(arguments: &[&str]) -> Value {
    let output = Command::new(PROGRAM)
        .args(arguments)
        .args(["--check", "--json"])
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Asks the page for much and takes nothing of it.
fn stalled(page: SocketAddr) -> Vec<TcpStream> {
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(page).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {page}\r\n\r\n").ok()?;
        Some(stream)
    };
    let paths = [
        "/api/image.csv",
        "/api/image.json",
        "/api/image.bin",
        "/monitor.json",
        "/metrics",
        "/api/state.json",
    ];
    paths.into_iter().cycle().take(24).filter_map(ask).collect()
}

fn configurations() -> Vec<PathBuf> {
    let files = std::fs::read_dir(workspace().join("configs")).expect("configurations");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    files
}

#[test]
fn no_run_takes_more_memory_than_its_check_says() {
    let soak: usize = std::env::var("EVFORGE_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let count = if soak > 0 { 12 * soak.max(5) } else { PACKETS };
    let mut table = format!(
        "{:<16}{:>10}{:>10}{:>10}{:>10}{:>10}  MB\n",
        "configuration", "plain", "bound", "file", "live", "bound"
    );
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in configurations() {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        let streams = hostile(&packets(&workspace().join(format!("data/{name}.pcapng"))), count);
        let capture = file("hostile.pcapng");
        let mut writer = PcapngWriter::create(Path::new(&capture)).expect("a capture");
        for Sent { bytes, origin } in &streams {
            let mut slab = PacketSlab::new(1, bytes.len());
            assert!(slab.push(bytes, bytes.len(), *origin));
            writer.write(&slab.batch().iter().next().expect("a packet")).expect("written");
        }
        writer.finish().expect("a capture");
        let config = path.to_str().expect("text");
        let (events, nexus) = (file("events.csv"), file("events.nxs"));
        let (image, monitor, report) = (file("image.png"), file("monitor.json"), file("report.json"));
        let outputs = [
            "run",
            "--config",
            config,
            "--overwrite",
            "--quiet",
            "--events",
            &events,
            "--nexus",
            &nexus,
            "--image",
            &image,
            "--monitor",
            &monitor,
            "--report",
            &report,
            "--view",
            "127.0.0.1:0",
        ];
        // Nothing but forming: the bound is the nearest there.
        let plain = ["run", "--config", config, "--quiet", "--input", &capture];
        let plain_bound = check(&plain[..3])["memory"]["total_bytes"].as_u64().expect("a number");
        let of_plain = Watched::start(&plain).end().most;

        let from_file = [&outputs[..], &["--input", &capture]].concat();
        let bound = check(&outputs)["memory"]["total_bytes"].as_u64().expect("a number");
        let of_file = Watched::start(&from_file).end().most;

        let record = file("record.pcapng");
        let receiving = ["--record", &record, "--address", "127.0.0.1", "--port", "0", "--for", "10min"];
        let live = [&outputs[..], &receiving].concat();
        let live_bound = check(&live)["memory"]["total_bytes"].as_u64().expect("a number");
        let program =
            Watched::start(&live.iter().copied().filter(|word| *word != "--quiet").collect::<Vec<_>>());
        let (address, page) = (program.address("receiving at UDP "), program.address("live view at http://"));
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let waiting = stalled(page);
        for (number, Sent { bytes, .. }) in streams.iter().enumerate() {
            // Whether it is taken, or lost: it must cost no more.
            let _ = socket.send_to(bytes, address);
            if number % 128 == 127 {
                wait_until_taken(program.id());
            }
        }
        let more = stalled(page);
        wait_until_idle(program.id());
        program.signal("INT");
        let of_live = program.end().most;
        drop((waiting, more));

        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let row = [of_plain, plain_bound, of_file, of_live, live_bound].map(megabytes);
        let row: String = row.iter().map(|value| format!("{value:>10.1}")).collect();
        table.push_str(&format!("{name:<16}{row}\n"));
        for (what, taken, bound) in
            [("plain", of_plain, plain_bound), ("file", of_file, bound), ("live", of_live, live_bound)]
        {
            if taken > bound {
                wrong.push(format!("{name}, {what}: {taken} bytes, and the bound is {bound}"));
            }
        }
        seen += 1;
    }
    println!("{table}");
    assert!(seen >= 20, "only {seen} configurations");
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
}

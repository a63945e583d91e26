//! Small capture files of every format.

use super::Seed;
use super::packets::neutron;
use etherparse::PacketBuilder;
use evforge_core::packet::{ArrivalClock, Packet, PacketOrigin};
use evforge_detect::gdgem::settings::ReadoutFormat;
use evforge_net::capture::{CaptureError, PcapngWriter, PktsWriter};
use std::path::Path;

/// Seconds since the epoch of the first frame.
const START_S: u32 = 1_600_000_000;

/// Small captures in all three formats, of several link types, in both byte orders, whole and damaged.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = of_our_writers();
    seeds.extend(of_pcap());
    seeds.extend(of_pcapng());
    let damaged: Vec<_> = seeds
        .iter()
        .filter(|seed| ["pkts", "pcap-microseconds", "pcapng-ipv4"].contains(&seed.name.as_str()))
        .map(|seed| Seed::new(format!("{}-truncated", seed.name), &seed.bytes[..seed.bytes.len() - 9]))
        .collect();
    seeds.extend(damaged);
    seeds
}

fn payloads() -> Vec<Vec<u8>> {
    (0..3).flat_map(|number| neutron(ReadoutFormat::Vmm3a, number, 65_536, 10, 20)).collect()
}

fn of_our_writers() -> Vec<Seed> {
    let packets = |source: &str| -> Vec<_> {
        let source = source.parse().expect("an address and a port");
        let origin = |number| PacketOrigin {
            source,
            destination_port: 6006 + (number % 2) as u16,
            arrival_ns: u64::from(START_S) * 1_000_000_000 + number,
            arrival_clock: ArrivalClock::Capture,
        };
        payloads().into_iter().zip((0..).map(origin)).collect()
    };
    let pcapng = |source: &str, original: fn(usize) -> usize| {
        written(|path| {
            let mut writer = PcapngWriter::create(path)?;
            for (bytes, origin) in &packets(source) {
                let original_length = original(bytes.len()) as u32;
                writer.write(&Packet { bytes, original_length, origin: *origin })?;
            }
            writer.finish().map(drop)
        })
    };
    let pkts = written(|path| {
        let mut writer = PktsWriter::create(path)?;
        for (bytes, origin) in &packets("10.0.0.1:6006") {
            writer.write(&Packet { bytes, original_length: bytes.len() as u32, origin: *origin })?;
        }
        writer.write(&Packet { bytes: b"", original_length: 0, origin: PacketOrigin::default() })?;
        writer.finish().map(drop)
    });
    vec![
        Seed::new("pcapng-ipv4", pcapng("10.0.0.1:6006", |length| length)),
        Seed::new("pcapng-ipv6", pcapng("[fe80::1]:6006", |length| length)),
        Seed::new("pcapng-cut", pcapng("10.0.0.1:6006", |length| length + 100)),
        Seed::new("pkts", pkts.clone()),
        Seed::new("pkts-too-long", [&pkts[..], &65_508_u32.to_le_bytes()].concat()),
    ]
}

/// What `write` writes into the file that it is given.
fn written(write: impl FnOnce(&Path) -> Result<(), CaptureError>) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("capture");
    write(&path).unwrap_or_else(|error| panic!("{error}"));
    std::fs::read(&path).expect("a file that was just written")
}

/// An IPv4 packet with UDP.
fn ip(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 3], 64).udp(6006, 6006);
    builder.write(&mut packet, payload).expect("a small packet");
    packet
}

fn ethernet(kind: u16, inner: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), inner].concat()
}

/// Frames of Ethernet: UDP, VLAN, and everything that is skipped.
fn frames() -> Vec<Vec<u8>> {
    let udp = ip(&payloads()[0]);
    let changed = |at: usize, by: u8| {
        let mut packet = udp.clone();
        packet[at] = by;
        ethernet(0x0800, &packet)
    };
    vec![
        ethernet(0x0800, &udp),
        ethernet(0x8100, &[&[0, 5, 0x08, 0][..], &udp].concat()),
        ethernet(0x0806, &[0; 28]), // ARP
        changed(9, 6),              // TCP
        changed(6, 0x20),           // a fragment
        changed(0, 0x4F),           // options that are not there
        changed(25, 3),             // a UDP length that cannot be
        ethernet(0x0800, &udp[..23]),
        Vec::new(),
    ]
}

fn word(value: u32, big_endian: bool) -> [u8; 4] {
    if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn pcap(magic: u32, big_endian: bool, link: u32, snap: usize, frames: &[Vec<u8>]) -> Vec<u8> {
    let word = |value| word(value, big_endian);
    let version = if big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut file = [word(magic), version, word(0), word(0), word(snap as u32), word(link)].concat();
    for (number, frame) in frames.iter().enumerate() {
        let captured = &frame[..frame.len().min(snap)];
        for value in [START_S, number as u32, captured.len() as u32, frame.len() as u32] {
            file.extend(word(value));
        }
        if magic == 0xa1b2_cd34 {
            file.extend([0; 8]);
        }
        file.extend(captured);
    }
    file
}

fn of_pcap() -> Vec<Seed> {
    let behind = |header: &[u8]| vec![[header, &ip(b"neutrons")].concat()];
    let (sll, sll2) = ([&[0; 14][..], &[8, 0]].concat(), [&[8, 0][..], &[0; 18]].concat());
    vec![
        Seed::new("pcap-microseconds", pcap(0xa1b2_c3d4, false, 1, 65_535, &frames())),
        Seed::new("pcap-nanoseconds-big-endian", pcap(0xa1b2_3c4d, true, 1, 65_535, &frames())),
        Seed::new("pcap-modified", pcap(0xa1b2_cd34, false, 1, 65_535, &frames())),
        Seed::new("pcap-snap-length", pcap(0xa1b2_c3d4, true, 1, 60, &frames())),
        Seed::new("pcap-raw-ip", pcap(0xa1b2_c3d4, false, 101, 65_535, &behind(&[]))),
        Seed::new("pcap-loopback", pcap(0xa1b2_c3d4, false, 0, 65_535, &behind(&[2, 0, 0, 0]))),
        Seed::new("pcap-linux-cooked", pcap(0xa1b2_c3d4, false, 113, 65_535, &behind(&sll))),
        Seed::new("pcap-linux-cooked-2", pcap(0xa1b2_c3d4, false, 276, 65_535, &behind(&sll2))),
        Seed::new("pcap-unknown-link", pcap(0xa1b2_c3d4, false, 147, 65_535, &frames())),
        Seed::new("pcap-header-only", &pcap(0xa1b2_c3d4, false, 1, 0, &[])[..]),
    ]
}

/// A block with its lengths at both ends.
fn block(kind: u32, big_endian: bool, content: &[u8]) -> Vec<u8> {
    let padding = content.len().next_multiple_of(4) - content.len();
    let length = word((12 + content.len() + padding) as u32, big_endian);
    [&word(kind, big_endian)[..], &length, content, &vec![0; padding], &length].concat()
}

/// A section with an Ethernet interface whose stamps count in 2^-20 s, and a packet block of each kind.
fn section(big_endian: bool, interfaces: usize) -> Vec<u8> {
    let word = |value| word(value, big_endian);
    let short = |value: u16| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let version = [short(1), short(0)].concat();
    let mut file = block(0x0a0d_0d0a, big_endian, &[&word(0x1a2b_3c4d)[..], &version, &[0xFF; 8]].concat());
    let resolution = [&short(9)[..], &short(1), &[0x80 | 20, 0, 0, 0], &[0; 4]].concat();
    for _ in 0..interfaces {
        let interface = [&short(1)[..], &short(0), &word(65_535), &resolution].concat();
        file.extend(block(1, big_endian, &interface));
    }
    for frame in frames() {
        let length = word(frame.len() as u32);
        let stamp = [word(381_469), word(START_S)].concat();
        file.extend(block(6, big_endian, &[&word(0)[..], &stamp, &length, &length, &frame].concat()));
        file.extend(block(3, big_endian, &[&length[..], &frame].concat()));
    }
    file.extend(block(2, big_endian, &[0; 20]));
    file.extend(block(5, big_endian, &[0; 12]));
    file
}

fn of_pcapng() -> Vec<Seed> {
    let sections = [section(false, 1), section(true, 2)].concat();
    let mut contradiction = section(false, 1);
    let end = contradiction.len() - 4;
    contradiction[end] ^= 4;
    vec![
        Seed::new("pcapng-two-byte-orders", sections),
        Seed::new("pcapng-without-interfaces", section(false, 0)),
        Seed::new("pcapng-lengths-that-differ", contradiction),
        Seed::new(
            "pcapng-huge-block",
            [&section(true, 1)[..], &[0, 0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 0]].concat(),
        ),
        Seed::new("unrecognised", *b"no capture at all"),
    ]
}

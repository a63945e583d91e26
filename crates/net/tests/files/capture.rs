//! Captures we wrote and captures others recorded, as a whole.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;

use crate::shared::{Owned, read};
use evforge_core::packet::{ArrivalClock, LARGEST_PAYLOAD, Packet, PacketOrigin};
use evforge_net::capture::{CaptureReader, CaptureWriter, PcapngWriter, PktsWriter};
use evforge_testkit::properties::cases;
use proptest::prelude::*;

fn any_packet() -> impl Strategy<Value = Owned> {
    let source = prop_oneof![
        any::<([u8; 4], u16)>().prop_map(|(address, port)| SocketAddr::from((address, port))),
        any::<([u8; 16], u16)>().prop_map(|(address, port)| SocketAddr::from((address, port))),
    ];
    let length = prop_oneof![4 => 0..200_usize, 1 => 8000..9000_usize, 1 => Just(LARGEST_PAYLOAD)];
    (length, any::<u8>(), 0..100_u32, source, any::<u16>(), any::<u64>()).prop_map(
        |(length, seed, missing, source, destination_port, arrival_ns)| Owned {
            bytes: (0..length).map(|index| (index as u8).wrapping_mul(seed)).collect(),
            original_length: (length as u32 + missing.saturating_sub(50)).min(LARGEST_PAYLOAD as u32),
            origin: PacketOrigin {
                source,
                destination_port,
                arrival_ns,
                arrival_clock: ArrivalClock::Capture,
            },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    #[test]
    fn pcapng_gives_back_what_was_written(packets in proptest::collection::vec(any_packet(), 1..20)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("written.pcapng");
        let mut writer = PcapngWriter::create(&path).unwrap().to_address([10, 0, 0, 3].into());
        for packet in &packets {
            writer.write(&packet.packet()).unwrap();
        }
        prop_assert!(!path.exists(), "the file has its name before it is finished");
        let written = writer.finish().unwrap();
        prop_assert_eq!(written.packets, packets.len() as u64);
        prop_assert_eq!(written.file_bytes, fs::metadata(&path).unwrap().len());
        let (found, counters) = read(CaptureReader::open(&path).unwrap()).unwrap();
        prop_assert_eq!(&found, &packets);
        prop_assert_eq!(counters.bytes, written.payload_bytes);
        prop_assert_eq!(counters.skipped(), 0);
        prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something is left over");
    }

    #[test]
    fn pkts_gives_back_the_payloads(packets in proptest::collection::vec(any_packet(), 1..20)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("written.PKTS");
        let mut writer = PktsWriter::create(&path).unwrap();
        let mut expected = Vec::new();
        for packet in &packets {
            match writer.write(&packet.packet()) {
                Ok(()) => expected.push(&packet.bytes),
                Err(error) => {
                    prop_assert!(packet.packet().is_cut());
                    prop_assert!(error.to_string().contains("Write pcapng."), "{}", error);
                }
            }
        }
        if expected.is_empty() {
            return Ok(());
        }
        writer.finish().unwrap();
        // .pkts knows no ports: a filter must not swallow it.
        let (found, _) = read(CaptureReader::open(&path).unwrap().only_port(1)).unwrap();
        prop_assert_eq!(found.iter().map(|packet| &packet.bytes).collect::<Vec<_>>(), expected);
        prop_assert!(found.iter().all(|packet| packet.origin == PacketOrigin::default()));
    }
}

#[test]
fn a_port_filter_counts_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ports.pcapng");
    let mut writer = PcapngWriter::create(&path).unwrap();
    for destination_port in [9000, 9001, 9000] {
        let origin = PacketOrigin { destination_port, ..PacketOrigin::default() };
        writer.write(&Packet { bytes: b"x", original_length: 1, origin }).unwrap();
    }
    writer.finish().unwrap();
    let (packets, counters) = read(CaptureReader::open(&path).unwrap().only_port(9000)).unwrap();
    assert_eq!((packets.len(), counters.other_port, counters.frames), (2, 1, 3));
}

/// The name decides on the format, as it does for the reader.
#[test]
fn a_writer_chosen_by_name_writes_what_the_reader_takes_the_name_for() {
    let folder = tempfile::tempdir().unwrap();
    for (name, keeps_port) in [("run.pkts", false), ("run.pcapng", true), ("run", true)] {
        let path = folder.path().join(name);
        let mut writer = CaptureWriter::create(&path).unwrap();
        let origin = PacketOrigin { destination_port: 9000, ..PacketOrigin::default() };
        writer.write(&Packet { bytes: b"abc", original_length: 3, origin }).unwrap();
        assert_eq!(writer.finish().unwrap().packets, 1);
        let (packets, _) = read(CaptureReader::open(&path).unwrap()).unwrap();
        let [packet] = &packets[..] else { panic!("one packet in {name}") };
        assert_eq!(packet.bytes, b"abc");
        assert_eq!(packet.origin.destination_port == 9000, keeps_port, "{name}");
    }
}

#[test]
fn an_unfinished_file_leaves_nothing_and_the_old_one_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pkts");
    fs::write(&path, b"old").unwrap();
    let mut writer = PktsWriter::create(&path).unwrap();
    writer.write(&Packet { bytes: b"x", original_length: 1, origin: PacketOrigin::default() }).unwrap();
    drop(writer);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(PktsWriter::create(folder.path()).unwrap_err().to_string().contains("not a plain file"));
    let missing = folder.path().join("missing/run.pkts");
    assert!(PktsWriter::create(&missing).unwrap_err().to_string().contains("Does the folder exist?"));
}

#[test]
fn the_recorded_vmm3a_capture_has_its_hundred_packets() {
    let Some(path) = crate::shared::file(
        "the_recorded_vmm3a_capture_has_its_hundred_packets",
        "captures/gdgem/vmm3a_srs.pcapng",
    ) else {
        return;
    };
    let (packets, counters) = read(CaptureReader::open(&path).unwrap().only_port(6006)).unwrap();
    assert_eq!((packets.len(), counters.skipped(), counters.cut), (100, 0, 0));
    let sources: BTreeSet<_> = packets.iter().map(|packet| packet.origin.source.ip().to_string()).collect();
    assert_eq!(Vec::from_iter(sources), ["10.0.0.1", "10.0.0.2"]);
    assert!(packets.iter().all(|packet| packet.origin.destination_port == 6006));
    // 16 bytes of header and 6 for each of the 149 180 readouts and 20 markers.
    assert!(packets.iter().all(|packet| packet.bytes.len() == 8968));
    assert_eq!(packets.len() * (8968 - 16) / 6, 149_180 + 20);
    assert!(packets.windows(2).all(|pair| pair[0].origin.arrival_ns <= pair[1].origin.arrival_ns));
}

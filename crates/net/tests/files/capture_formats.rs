//! Capture files made byte by byte: every variant of the formats, and everything that can be wrong with them.

use std::fs;
use std::path::Path;

use crate::shared::read;
use evforge_core::packet::PacketSlab;
use evforge_net::capture::{CaptureReader, Fill};

fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    etherparse::PacketBuilder::ethernet2([2; 6], [3; 6])
        .ipv4([10, 0, 0, 9], [10, 0, 0, 3], 9)
        .udp(77, 9000)
        .write(&mut frame, payload)
        .expect("a frame in memory");
    frame
}

/// A number in one of the two byte orders.
fn word(value: u32, big: bool) -> [u8; 4] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn half(value: u16, big: bool) -> [u8; 2] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_resolutions() {
    let folder = tempfile::tempdir().unwrap();
    for (magic, big, expected_ns) in [
        (0xa1b2_c3d4, false, 5_000_007_000),
        (0xa1b2_c3d4, true, 5_000_007_000),
        (0xa1b2_3c4d, false, 5_000_000_007),
        (0xa1b2_3c4d, true, 5_000_000_007),
        (0xa1b2_cd34, false, 5_000_007_000),
    ] {
        let mut file = Vec::from(word(magic, big));
        file.extend([half(2, big), half(4, big)].concat());
        file.extend([0, 0, 65535, 1].map(|value| word(value, big)).concat());
        let captured = frame(b"payload");
        for snap in [captured.len(), captured.len() - 2] {
            let header = [5, 7, snap as u32, captured.len() as u32].map(|value| word(value, big));
            file.extend(header.concat());
            if magic == 0xa1b2_cd34 {
                file.extend([0; 8]);
            }
            file.extend(&captured[..snap]);
        }
        let path = folder.path().join("test");
        fs::write(&path, file).unwrap();
        let (packets, counters) = read(CaptureReader::open(&path).unwrap()).unwrap();
        assert_eq!(packets[0].bytes, b"payload");
        assert_eq!(packets[0].origin.arrival_ns, expected_ns);
        assert_eq!(packets[0].origin.source, "10.0.0.9:77".parse().unwrap());
        assert_eq!((packets[1].bytes.as_slice(), packets[1].original_length), (&b"paylo"[..], 7));
        assert_eq!((counters.packets, counters.cut, counters.skipped()), (2, 1, 0));
    }
}

/// A block with its lengths, padded.
fn block(kind: u32, content: &[u8], big: bool) -> Vec<u8> {
    let length = 12 + content.len().next_multiple_of(4);
    let mut block = [word(kind, big), word(length as u32, big)].concat();
    block.extend(content);
    block.resize(length - 4, 0);
    block.extend(word(length as u32, big));
    block
}

fn section(big: bool) -> Vec<u8> {
    let content = [&word(0x1a2b_3c4d, big)[..], &half(1, big), &half(0, big), &[0xff; 8]].concat();
    block(0x0a0d_0d0a, &content, big)
}

fn interface(link: u16, resolution: Option<u8>, offset: i64, big: bool) -> Vec<u8> {
    let mut content = [&half(link, big)[..], &[0; 2], &word(0, big)].concat();
    if let Some(resolution) = resolution {
        content.extend([&half(9, big)[..], &half(1, big), &[resolution, 0, 0, 0]].concat());
        let offset = if big { offset.to_be_bytes() } else { offset.to_le_bytes() };
        content.extend([&half(14, big)[..], &half(8, big), &offset].concat());
        content.extend([0; 4]);
    }
    block(1, &content, big)
}

fn enhanced(interface: u32, stamp: u64, frame: &[u8], big: bool) -> Vec<u8> {
    let length = frame.len() as u32;
    let words = [interface, (stamp >> 32) as u32, stamp as u32, length, length];
    let mut content = words.map(|value| word(value, big)).concat();
    content.extend(frame);
    block(6, &content, big)
}

#[test]
fn pcapng_sections_have_byte_orders_interfaces_and_resolutions_of_their_own() {
    let framed = frame(b"payload");
    let mut file = Vec::new();
    for big in [false, true] {
        file.extend(section(big));
        file.extend(interface(1, None, 0, big));
        file.extend(interface(101, Some(9), 100, big));
        file.extend(interface(105, Some(9), 0, big));
        file.extend(interface(1, Some(200), 0, big));
        file.extend(enhanced(0, 1_000_001, &framed, big));
        file.extend(enhanced(1, 5, &framed[14..], big));
        file.extend(enhanced(2, 5, &framed, big)); // 802.11
        file.extend(enhanced(3, 5, &framed, big)); // a resolution of 2^-72 s
        file.extend(enhanced(4, 5, &framed, big)); // not described
        file.extend(enhanced(0, 5, &[0; 60], big)); // no IP
        file.extend(block(3, &[&word(framed.len() as u32, big)[..], &framed].concat(), big)); // simple
        file.extend(block(2, &[0; 40], big)); // obsolete
        file.extend(block(5, &[0; 20], big)); // statistics
        file.extend(block(0x4242, b"of a later time", big));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test");
    fs::write(&path, file).unwrap();
    let (packets, counters) = read(CaptureReader::open(&path).unwrap()).unwrap();
    let stamps: Vec<_> = packets.iter().map(|packet| packet.origin.arrival_ns).collect();
    assert_eq!(stamps, [1_000_001_000, 100_000_000_005, 0, 0].repeat(2));
    assert!(packets.iter().all(|packet| packet.bytes == b"payload"));
    assert_eq!((counters.packets, counters.unstamped, counters.frames), (8, 4, 16));
    assert_eq!((counters.unknown_link, counters.unknown_interface), (2, 2));
    assert_eq!((counters.not_ip, counters.obsolete), (2, 2));
}

fn error_of(path: &Path) -> String {
    CaptureReader::open(path).and_then(read).expect_err("a refusal").to_string()
}

#[test]
fn files_that_are_no_captures_are_refused_with_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.dat");
    assert!(error_of(&path).contains("Check the name"));
    assert!(error_of(folder.path()).contains("is a directory"));
    fs::write(&path, b"").unwrap();
    assert!(error_of(&path).contains("is empty (0 bytes)"));
    fs::write(&path, b"hello").unwrap();
    let text = error_of(&path);
    assert!(text.contains("begins with 68 65 6c 6c 6f. Accepted are pcap"), "{text}");
    fs::write(&path, [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 12], &[105, 0, 0, 0]].concat())
        .unwrap();
    assert!(error_of(&path).contains("link type 105"));
    fs::write(&path, [0xd4, 0xc3, 0xb2, 0xa1, 2, 0]).unwrap();
    assert!(error_of(&path).contains("a pcap file header of 24 bytes begins, but only 6"));
    fs::write(&path, [&section(false)[..], &[6, 0, 0, 0, 13, 0, 0, 0, 1, 2, 3, 4]].concat()).unwrap();
    assert!(error_of(&path).contains("found a block of 13 bytes"));
}

#[test]
fn a_capture_truncated_anywhere_gives_every_whole_packet_and_then_says_so() {
    let framed = frame(b"payload");
    let packet = enhanced(0, 1, &framed, false);
    let head = [section(false), interface(1, None, 0, false)].concat();
    let file = [head.clone(), packet.clone(), packet.clone()].concat();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcapng");
    for length in head.len()..file.len() {
        fs::write(&path, &file[..length]).unwrap();
        let mut reader = CaptureReader::open(&path).unwrap();
        let mut slab = PacketSlab::new(10, 0);
        let whole = (length - head.len()) / packet.len();
        if (length - head.len()) % packet.len() == 0 {
            assert_eq!(reader.fill(&mut slab).unwrap(), Fill::End);
        } else {
            if whole > 0 {
                assert_eq!(reader.fill(&mut slab).unwrap(), Fill::More);
            }
            for _ in 0..2 {
                let text = reader.fill(&mut slab).unwrap_err().to_string();
                let place = format!("is truncated: at byte {} a block", head.len() + whole * packet.len());
                assert!(text.contains(&place), "{text}");
                assert!(text.contains(&format!("The {whole} packets before it")), "{text}");
            }
        }
        assert_eq!(slab.len(), whole);
    }
}

//! Capture files: pcap, pcapng and `.pkts`.

use evforge_core::packet::{LARGEST_PAYLOAD, PacketOrigin, PacketSlab};
use evforge_net::capture::{CaptureCounters, CaptureError, CaptureReader, Fill};
use std::io::Cursor;

/// A packet as it was delivered.
type Delivered = (Vec<u8>, u32, PacketOrigin);

/// Reads `bytes` as a capture file: pcap and pcapng are recognised, anything else is taken for `.pkts`.
///
/// # Panics
/// If a frame is neither delivered nor counted, if an error says nothing or goes away, or if what is
/// delivered depends on the size of the slabs.
pub fn capture(bytes: &[u8]) {
    let (narrow, counters, end) = read("x.pkts", bytes, PacketSlab::new(1, 0), None);
    let (wide, same_counters, same_end) = read("x.pkts", bytes, PacketSlab::new(64, 4096), None);
    assert!(narrow == wide && counters == same_counters, "the packets depend on the slab's size");
    assert_eq!(end, same_end, "the end depends on the slab's size");
    let sum: u64 = narrow.iter().map(|(bytes, ..)| bytes.len() as u64).sum();
    assert_eq!((counters.packets, counters.bytes), (narrow.len() as u64, sum));
    assert_eq!(counters.frames, counters.packets + counters.skipped());

    if let Some((.., origin)) = narrow.first() {
        let port = origin.destination_port;
        let (of_port, counters, _) = read("x.pkts", bytes, PacketSlab::new(3, 0), Some(port));
        let expected = narrow.iter().filter(|(.., origin)| origin.destination_port == port);
        assert!(of_port.iter().eq(expected), "not the packets of the port that was asked for");
        assert_eq!(counters.frames, counters.packets + counters.skipped());
    }
    // Under another name the same bytes are the same capture, or none that is known.
    let (other, ..) = read("x", bytes, PacketSlab::new(64, 4096), None);
    assert!(other.is_empty() || other == narrow, "the packets depend on the name");
}

/// Everything that can be read, and how it ended: none at the end of the file, else what was said.
fn read(
    name: &str,
    bytes: &[u8],
    mut slab: PacketSlab,
    port: Option<u16>,
) -> (Vec<Delivered>, CaptureCounters, Option<String>) {
    let input = Cursor::new(bytes.to_vec());
    let mut reader = match CaptureReader::from_reader(name.as_ref(), input) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), CaptureCounters::default(), Some(said(&error, name))),
    };
    if let Some(port) = port {
        reader = reader.only_port(port);
    }
    let mut delivered = Vec::new();
    loop {
        slab.clear();
        let before = reader.position();
        let fill = reader.fill(&mut slab);
        assert!((before..=bytes.len() as u64).contains(&reader.position()), "outside the file");
        for packet in slab.batch().iter() {
            assert!(packet.bytes.len() <= LARGEST_PAYLOAD, "{} bytes", packet.bytes.len());
            assert!(packet.original_length as usize >= packet.bytes.len(), "longer than on the wire");
            delivered.push((packet.bytes.to_vec(), packet.original_length, packet.origin));
        }
        match fill {
            Ok(Fill::More) => assert!(!slab.is_empty(), "no packet, and there may be more"),
            Ok(Fill::End) => {
                assert_eq!(reader.position(), bytes.len() as u64, "the end is not the end");
                return (delivered, *reader.counters(), None);
            }
            Err(error) => {
                assert!(slab.is_empty(), "packets and an error at once");
                let error = said(&error, name);
                let again = reader.fill(&mut slab).expect_err("the error went away");
                assert_eq!(said(&again, name), error);
                return (delivered, *reader.counters(), Some(error));
            }
        }
    }
}

/// The error's text, which names the file.
fn said(error: &CaptureError, name: &str) -> String {
    let text = error.to_string();
    assert!(text.contains(name), "the file is not named: {text}");
    text
}

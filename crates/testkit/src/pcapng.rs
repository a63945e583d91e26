//! A minimal reader of pcapng files, which shares no code with production: little endian, enhanced packet blocks, UDP over
//! IPv4 over Ethernet.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Type of an enhanced packet block.
const ENHANCED_PACKET: u32 = 6;

/// Bytes before the captured data in an enhanced packet block: type, length, interface, time stamp, two lengths.
const PACKET_HEADER: usize = 28;

/// Bytes before the UDP payload: Ethernet 14, IPv4 without options 20, UDP 8.
const PAYLOAD_OFFSET: usize = 42;

/// A datagram of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Who sent it.
    pub source: SocketAddrV4,
    /// What it carries.
    pub payload: Vec<u8>,
}

/// The datagrams of a whole capture file.
///
/// # Panics
/// If the file is anything else than described above: captures for tests are known.
pub fn datagrams(file: &[u8]) -> Vec<Datagram> {
    let mut datagrams = Vec::new();
    let mut rest = file;
    while rest.len() >= 12 {
        let (block, following) = rest.split_at(little_endian(&rest[4..8]) as usize);
        if little_endian(&block[0..4]) == ENHANCED_PACKET {
            let captured = little_endian(&block[20..24]) as usize;
            datagrams.push(datagram(&block[PACKET_HEADER..PACKET_HEADER + captured]));
        }
        rest = following;
    }
    datagrams
}

/// The UDP payloads of a whole capture file.
///
/// # Panics
/// As [`datagrams`].
pub fn udp_payloads(file: &[u8]) -> Vec<Vec<u8>> {
    datagrams(file).into_iter().map(|datagram| datagram.payload).collect()
}

/// The datagram of one Ethernet frame, without the padding of short frames.
fn datagram(frame: &[u8]) -> Datagram {
    assert_eq!(frame[12..14], [0x08, 0x00], "not IPv4");
    assert_eq!(frame[14], 0x45, "an IPv4 header of 20 bytes is expected");
    assert_eq!(frame[23], 17, "not UDP");
    let big_endian = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let address = Ipv4Addr::new(frame[26], frame[27], frame[28], frame[29]);
    let udp_length = usize::from(big_endian(38));
    Datagram {
        source: SocketAddrV4::new(address, big_endian(34)),
        payload: frame[PAYLOAD_OFFSET..PAYLOAD_OFFSET + udp_length - 8].to_vec(),
    }
}

/// The number that four bytes spell, least significant byte first.
fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| (number << 8) | u32::from(byte))
}

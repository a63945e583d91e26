//! A minimal reader of pcapng files: little endian, enhanced packet blocks, UDP over IPv4 over Ethernet.

/// Type of an enhanced packet block.
const ENHANCED_PACKET: u32 = 6;

/// Bytes before the captured data in an enhanced packet block: type, length, interface, time stamp, two
/// lengths.
const PACKET_HEADER: usize = 28;

/// Bytes before the UDP payload: Ethernet 14, IPv4 without options 20, UDP 8.
const PAYLOAD_OFFSET: usize = 42;

/// The UDP payloads of a whole capture file.
pub(crate) fn udp_payloads(file: &[u8]) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    let mut rest = file;
    while rest.len() >= 12 {
        let (block, following) = rest.split_at(little_endian(&rest[4..8]) as usize);
        if little_endian(&block[0..4]) == ENHANCED_PACKET {
            let captured = little_endian(&block[20..24]) as usize;
            payloads.push(udp_payload(&block[PACKET_HEADER..PACKET_HEADER + captured]));
        }
        rest = following;
    }
    payloads
}

/// The UDP payload of one Ethernet frame, without the padding of short frames.
fn udp_payload(frame: &[u8]) -> Vec<u8> {
    assert_eq!(frame[12..14], [0x08, 0x00], "not IPv4");
    assert_eq!(frame[14], 0x45, "an IPv4 header of 20 bytes is expected");
    assert_eq!(frame[23], 17, "not UDP");
    let udp_length = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
    frame[PAYLOAD_OFFSET..PAYLOAD_OFFSET + udp_length - 8].to_vec()
}

/// The number that four bytes spell, least significant byte first.
fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| (number << 8) | u32::from(byte))
}

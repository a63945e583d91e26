//! The blocks of a pcapng file, made in memory that is used again and again.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{EtherType, Ethernet2Header, IpNumber, Ipv4Header, Ipv6Header, UdpHeader, ether_type};
use evforge_core::packet::Packet;
use pcap_parser::{InterfaceDescriptionBlock, Linktype, OptionCode, PcapNGOption, SectionHeaderBlock, ToVec};

const NANOSECONDS: u8 = 9;
const HOPS: u8 = 64;
/// Number of the enhanced packet block.
const ENHANCED_PACKET: u32 = 6;
/// Bytes of an enhanced packet block before and behind its frame.
const BEFORE_FRAME: usize = 28;
const BEHIND_FRAME: usize = 4;

/// The beginning of a file: one section, one Ethernet interface with nanosecond time stamps. The error is the
/// reason why that is impossible.
pub(crate) fn beginning() -> Result<Vec<u8>, String> {
    let program = concat!("evforge ", env!("CARGO_PKG_VERSION")).as_bytes();
    let mut section = SectionHeaderBlock {
        block_type: 0,
        block_len1: 0,
        bom: 0,
        major_version: 1,
        minor_version: 0,
        section_len: -1,
        options: vec![PcapNGOption {
            code: OptionCode::ShbUserAppl,
            len: program.len() as u16,
            value: Cow::Borrowed(program),
        }],
        block_len2: 0,
    };
    let mut interface = InterfaceDescriptionBlock {
        block_type: 0,
        block_len1: 0,
        linktype: Linktype::ETHERNET,
        reserved: 0,
        snaplen: 0,
        options: Vec::new(),
        block_len2: 0,
        if_tsresol: NANOSECONDS,
        if_tsoffset: 0,
    };
    let mut bytes = section.to_vec().map_err(|error| error.to_string())?;
    bytes.extend(interface.to_vec().map_err(|error| error.to_string())?);
    Ok(bytes)
}

/// Appends the enhanced packet block of one packet to `output`, with Ethernet, IP and UDP headers made from its
/// origin and `destination`, which is written as zeros for packets of the other address family. The error is the
/// reason why that is impossible; `output` is then as it was.
// Written here and not by pcap-parser, which makes two new pieces of memory per packet: at a million packets a
// second that is what a recorder would mostly do. The reader, which is pcap-parser's, is the test of it.
pub(crate) fn append_packet(
    output: &mut Vec<u8>,
    packet: &Packet<'_>,
    destination: IpAddr,
) -> Result<(), String> {
    let original = packet.bytes.len().max(packet.original_length as usize);
    let start = output.len();
    output.resize(start + BEFORE_FRAME, 0);
    if let Err(reason) = append_frame(output, packet, destination, original) {
        output.truncate(start);
        return Err(reason);
    }
    let captured = output.len() - start - BEFORE_FRAME;
    let headers = captured - packet.bytes.len();
    output.resize(start + BEFORE_FRAME + captured.next_multiple_of(4), 0);
    // All fit: the headers' own length fields have 16 bits.
    let length = (output.len() - start + BEHIND_FRAME) as u32;
    output.extend(length.to_le_bytes());
    let stamp = packet.origin.arrival_ns;
    let words = [
        ENHANCED_PACKET,
        length,
        0,
        (stamp >> 32) as u32,
        stamp as u32,
        captured as u32,
        (headers + original) as u32,
    ];
    for (place, word) in output[start..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    Ok(())
}

/// Appends headers and payload.
fn append_frame(
    output: &mut Vec<u8>,
    packet: &Packet<'_>,
    destination: IpAddr,
    original: usize,
) -> Result<(), String> {
    let too_long = || format!("it has {original} bytes, more than a UDP datagram can carry.");
    let length = u16::try_from(original + UdpHeader::LEN).map_err(|_| too_long())?;
    let whole = original == packet.bytes.len();
    let ports = (packet.origin.source.port(), packet.origin.destination_port);
    let mut udp = UdpHeader { source_port: ports.0, destination_port: ports.1, length, checksum: 0 };
    match packet.origin.source.ip() {
        IpAddr::V4(source) => {
            let destination = match destination {
                IpAddr::V4(destination) => destination,
                IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
            };
            let mut ip = Ipv4Header::new(length, HOPS, IpNumber::UDP, source.octets(), destination.octets())
                .map_err(|_| too_long())?;
            ip.header_checksum = ip.calc_header_checksum();
            if whole {
                udp.checksum = udp.calc_checksum_ipv4(&ip, packet.bytes).map_err(|_| too_long())?;
            }
            output.extend_from_slice(&ethernet(ether_type::IPV4));
            output.extend_from_slice(&ip.to_bytes());
        }
        IpAddr::V6(source) => {
            let destination = match destination {
                IpAddr::V6(destination) => destination,
                IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
            };
            let ip = Ipv6Header {
                payload_length: length,
                next_header: IpNumber::UDP,
                hop_limit: HOPS,
                source: source.octets(),
                destination: destination.octets(),
                ..Ipv6Header::default()
            };
            if whole {
                udp.checksum = udp.calc_checksum_ipv6(&ip, packet.bytes).map_err(|_| too_long())?;
            }
            output.extend_from_slice(&ethernet(ether_type::IPV6));
            output.extend_from_slice(&ip.to_bytes());
        }
    }
    output.extend_from_slice(&udp.to_bytes());
    output.extend_from_slice(packet.bytes);
    Ok(())
}

fn ethernet(ether_type: EtherType) -> [u8; Ethernet2Header::LEN] {
    Ethernet2Header { source: [2, 0, 0, 0, 0, 1], destination: [2, 0, 0, 0, 0, 2], ether_type }.to_bytes()
}

#[cfg(test)]
mod tests {
    use evforge_core::packet::PacketOrigin;

    use super::*;

    /// The Internet checksum over bytes that contain their own: 0xffff if they are right.
    fn sum(parts: &[&[u8]]) -> u16 {
        let bytes = parts.concat();
        let words =
            bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| low.into()));
        let total: u32 = words.sum();
        ((total >> 16) + (total & 0xffff)) as u16
    }

    #[test]
    fn headers_have_the_right_lengths_and_checksums() {
        let destination = [10, 0, 0, 3].into();
        let bytes = b"odd length, so the last byte is padded";
        let mut frame = Vec::new();
        for bytes in [&bytes[..], &bytes[1..], b""] {
            let mut origin = PacketOrigin {
                source: "10.0.0.1:77".parse().unwrap(),
                destination_port: 9000,
                ..Default::default()
            };
            let length = bytes.len() as u16;
            let packet = Packet { bytes, original_length: length.into(), origin };
            frame.clear();
            append_frame(&mut frame, &packet, destination, bytes.len()).unwrap();
            let (ip, udp) = frame[14..].split_at(20);
            assert_eq!((sum(&[ip]), &ip[2..4]), (0xffff, &(length + 28).to_be_bytes()[..]));
            let pseudo = [&ip[12..20], &[0, 17], &udp[4..6]].concat();
            assert_eq!((sum(&[&pseudo, udp]), &udp[4..6]), (0xffff, &(length + 8).to_be_bytes()[..]));

            origin.source = "[fe80::1]:77".parse().unwrap();
            frame.clear();
            append_frame(&mut frame, &Packet { origin, ..packet }, destination, bytes.len()).unwrap();
            let (ip, udp) = frame[14..].split_at(40);
            assert_eq!(ip[4..6], (length + 8).to_be_bytes());
            let pseudo = [&ip[8..40], &[0, 17], &udp[4..6]].concat();
            assert_eq!(sum(&[&pseudo, udp]), 0xffff);
        }
    }

    #[test]
    fn a_packet_longer_than_udp_is_refused_and_leaves_no_trace() {
        let bytes = vec![0; evforge_core::packet::LARGEST_PAYLOAD + 1];
        let packet = Packet { bytes: &bytes, original_length: 0, origin: PacketOrigin::default() };
        let mut output = vec![7];
        let reason = append_packet(&mut output, &packet, [0, 0, 0, 0].into()).unwrap_err();
        assert!(reason.contains("65508 bytes, more than a UDP datagram can carry"), "{reason}");
        assert_eq!(output, [7]);
    }
}

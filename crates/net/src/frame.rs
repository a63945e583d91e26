//! From a frame, captured or received, to the UDP payload inside it.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, Ethernet2HeaderSlice, IpNumber, LaxIpSlice, SingleVlanHeaderSlice, UdpHeaderSlice, ether_type,
};
use evforge_core::packet::LARGEST_PAYLOAD;

/// How the frames of an interface begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    /// Linux "any" device, 16-byte header.
    LinuxCooked,
    /// The same, version 2, 20-byte header.
    LinuxCooked2,
    /// IPv4 or IPv6 without anything before it.
    RawIp,
    /// 4 bytes of address family, then IP.
    Loopback,
}

/// The link types above, as a person would call them.
pub(crate) const LINKS: &str =
    "Ethernet (1), raw IP (12, 101, 228, 229), Linux cooked (113, 276), loopback (0, 108)";

impl Link {
    /// From the number in the file; none if such frames cannot be read.
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        // pcap keeps the length of a frame check sequence in the upper half of the word.
        match number & 0xffff {
            1 => Some(Self::Ethernet),
            113 => Some(Self::LinuxCooked),
            276 => Some(Self::LinuxCooked2),
            12 | 101 | 228 | 229 => Some(Self::RawIp),
            0 | 108 => Some(Self::Loopback),
            _ => None,
        }
    }
}

/// Why a frame is not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    NotIp,
    NotUdp,
    Fragment,
    Malformed,
    /// Cut by the snap length of a capture before the payload.
    HeadersCut,
    UnknownLink,
    UnknownInterface,
    Obsolete,
}

/// A UDP payload and what its headers say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram<'a> {
    pub(crate) payload: &'a [u8],
    /// Larger than the payload if the frame was cut.
    pub(crate) original_length: usize,
    pub(crate) source: SocketAddr,
    /// The address it was sent to.
    pub(crate) destination: IpAddr,
    pub(crate) destination_port: u16,
    /// The header of IPv4; empty for IPv6, whose header has no checksum.
    pub(crate) ipv4_header: &'a [u8],
    /// The UDP header and the payload after it: what the UDP checksum covers, if the frame was not cut.
    pub(crate) segment: &'a [u8],
}

/// Finds the UDP payload in `frame`, of which the last `missing` bytes have not been captured.
pub(crate) fn datagram(link: Link, frame: &[u8], missing: usize) -> Result<Datagram<'_>, Skip> {
    match link {
        Link::Ethernet => {
            let header = Ethernet2HeaderSlice::from_slice(frame).map_err(|_| Skip::Malformed)?;
            of_ether_type(header.ether_type(), &frame[header.slice().len()..], missing)
        }
        // Only the protocol matters here; etherparse's own slice refuses the hardware types of tunnels and
        // loopback, whose protocol field is an ether type just the same.
        Link::LinuxCooked => of_cooked(frame, 14, 16, missing),
        Link::LinuxCooked2 => of_cooked(frame, 0, 20, missing),
        Link::RawIp => of_ip(frame, missing),
        Link::Loopback => of_ip(frame.get(4..).ok_or(Skip::Malformed)?, missing),
    }
}

fn of_cooked(frame: &[u8], protocol: usize, header: usize, missing: usize) -> Result<Datagram<'_>, Skip> {
    let payload = frame.get(header..).ok_or(Skip::Malformed)?;
    let protocol = u16::from_be_bytes([frame[protocol], frame[protocol + 1]]);
    of_ether_type(EtherType(protocol), payload, missing)
}

fn of_ether_type(mut kind: EtherType, mut bytes: &[u8], missing: usize) -> Result<Datagram<'_>, Skip> {
    loop {
        match kind {
            ether_type::IPV4 | ether_type::IPV6 => return of_ip(bytes, missing),
            ether_type::VLAN_TAGGED_FRAME
            | ether_type::PROVIDER_BRIDGING
            | ether_type::VLAN_DOUBLE_TAGGED_FRAME => {
                let tag = SingleVlanHeaderSlice::from_slice(bytes).map_err(|_| Skip::Malformed)?;
                kind = tag.ether_type();
                bytes = &bytes[tag.slice().len()..];
            }
            _ => return Err(Skip::NotIp),
        }
    }
}

fn of_ip(bytes: &[u8], missing: usize) -> Result<Datagram<'_>, Skip> {
    if !matches!(bytes.first().map(|first| first >> 4), Some(4 | 6)) {
        return Err(if bytes.is_empty() { Skip::Malformed } else { Skip::NotIp });
    }
    let (ip, stopped) = LaxIpSlice::from_slice(bytes).map_err(|_| Skip::Malformed)?;
    let inside = ip.payload();
    if inside.fragmented {
        return Err(if inside.ip_number == IpNumber::UDP { Skip::Fragment } else { Skip::NotUdp });
    }
    if stopped.is_some() {
        return Err(Skip::Malformed);
    }
    if inside.ip_number != IpNumber::UDP {
        return Err(Skip::NotUdp);
    }
    if inside.incomplete && missing == 0 {
        return Err(Skip::Malformed);
    }
    let header = UdpHeaderSlice::from_slice(inside.payload).map_err(|_| Skip::Malformed)?;
    let payload = &inside.payload[header.slice().len()..];
    let original_length = match header.length() {
        // Not filled in (a jumbogram, or taken before the network card did it): everything there is.
        0 => payload.len() + missing,
        1..8 => return Err(Skip::Malformed),
        length => usize::from(length) - 8,
    };
    if original_length > payload.len() && missing == 0 {
        return Err(Skip::Malformed);
    }
    let ipv4_header = match &ip {
        LaxIpSlice::Ipv4(ipv4) => &bytes[..ipv4.header().slice().len()],
        LaxIpSlice::Ipv6(_) => &[],
    };
    let covered = header.slice().len() + original_length.min(payload.len());
    Ok(Datagram {
        // IPv6 can carry 20 bytes more than a slab is bound to take: such a packet is handed on as cut.
        payload: &payload[..original_length.min(payload.len()).min(LARGEST_PAYLOAD)],
        original_length,
        source: SocketAddr::new(ip.source_addr(), header.source_port()),
        destination: ip.destination_addr(),
        destination_port: header.destination_port(),
        ipv4_header,
        segment: &inside.payload[..covered],
    })
}

#[cfg(test)]
mod tests {
    use etherparse::{Ipv4Header, PacketBuilder};

    use super::*;

    const PAYLOAD: &[u8] = b"neutrons";

    fn built(builder: etherparse::PacketBuilderStep<etherparse::UdpHeader>) -> Vec<u8> {
        let mut frame = Vec::new();
        builder.write(&mut frame, PAYLOAD).unwrap();
        frame
    }

    fn expect_whole(link: Link, frame: &[u8], source: &str) {
        let found = datagram(link, frame, 0).unwrap();
        assert_eq!(found.payload, PAYLOAD);
        assert_eq!(found.original_length, PAYLOAD.len());
        assert_eq!((found.source, found.destination_port), (source.parse().unwrap(), 6006));
    }

    fn ipv4() -> Vec<u8> {
        built(PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 3], 64).udp(7, 6006))
    }

    fn behind(header: &[u8], packet: &[u8]) -> Vec<u8> {
        [header, packet].concat()
    }

    #[test]
    fn every_link_type_leads_to_the_payload() {
        let ethernet = || PacketBuilder::ethernet2([1; 6], [2; 6]);
        expect_whole(
            Link::Ethernet,
            &built(ethernet().ipv4([10, 0, 0, 1], [10, 0, 0, 3], 64).udp(7, 6006)),
            "10.0.0.1:7",
        );
        let tagged = ethernet().double_vlan(1.try_into().unwrap(), 2.try_into().unwrap());
        expect_whole(
            Link::Ethernet,
            &built(tagged.ipv4([10, 0, 0, 1], [0; 4], 64).udp(7, 6006)),
            "10.0.0.1:7",
        );
        let ipv6 = ethernet().ipv6([1; 16], [2; 16], 64).udp(7, 6006);
        expect_whole(Link::Ethernet, &built(ipv6), "[101:101:101:101:101:101:101:101]:7");
        expect_whole(Link::RawIp, &ipv4(), "10.0.0.1:7");
        expect_whole(Link::Loopback, &behind(&[2, 0, 0, 0], &ipv4()), "10.0.0.1:7");
        let mut cooked = [0; 16];
        cooked[14] = 8;
        expect_whole(Link::LinuxCooked, &behind(&cooked, &ipv4()), "10.0.0.1:7");
        let mut cooked2 = [0; 20];
        cooked2[0] = 8;
        expect_whole(Link::LinuxCooked2, &behind(&cooked2, &ipv4()), "10.0.0.1:7");
    }

    #[test]
    fn ipv4_options_and_padding_are_not_payload() {
        let mut header = Ipv4Header::new(16, 64, IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 3]).unwrap();
        header.options = [1, 1, 1, 0].into();
        header.set_payload_len(16).unwrap();
        let mut packet = header.to_bytes().to_vec();
        packet.extend([0, 7, 0x17, 0x76, 0, 16, 0, 0]);
        packet.extend(PAYLOAD);
        packet.extend([0; 30]);
        expect_whole(Link::RawIp, &packet, "10.0.0.1:7");
    }

    #[test]
    fn a_snap_length_gives_a_cut_packet_and_a_short_frame_is_malformed() {
        let packet = ipv4();
        let cut = &packet[..packet.len() - 3];
        let found = datagram(Link::RawIp, cut, 3).unwrap();
        assert_eq!((found.payload, found.original_length), (&PAYLOAD[..5], PAYLOAD.len()));
        assert_eq!(datagram(Link::RawIp, cut, 0), Err(Skip::Malformed));
        assert_eq!(datagram(Link::RawIp, &packet[..25], 100), Err(Skip::Malformed));
    }

    #[test]
    fn what_is_no_udp_datagram_has_its_reason() {
        let mut packet = ipv4();
        packet[6] = 0x20; // more fragments
        assert_eq!(datagram(Link::RawIp, &packet, 0), Err(Skip::Fragment));
        packet[9] = 6;
        assert_eq!(datagram(Link::RawIp, &packet, 0), Err(Skip::NotUdp), "a fragment of TCP");
        packet = ipv4();
        packet[9] = 6;
        assert_eq!(datagram(Link::RawIp, &packet, 0), Err(Skip::NotUdp));
        packet = ipv4();
        packet[25] = 5; // UDP length below its header
        assert_eq!(datagram(Link::RawIp, &packet, 0), Err(Skip::Malformed));
        packet[25] = 17; // one more than there is
        assert_eq!(datagram(Link::RawIp, &packet, 0), Err(Skip::Malformed));
        packet[25] = 0; // not filled in
        expect_whole(Link::RawIp, &packet, "10.0.0.1:7");
        assert_eq!(datagram(Link::RawIp, b"\x77", 0), Err(Skip::NotIp));
        assert_eq!(datagram(Link::Ethernet, &[0; 60], 0), Err(Skip::NotIp));
        assert_eq!(datagram(Link::Ethernet, &[0; 13], 0), Err(Skip::Malformed));
    }
}

//! The checksums of IPv4 and UDP (RFC 768, RFC 791, RFC 8200 section 8.1).

use std::net::IpAddr;

use crate::frame::Datagram;

/// What the checksums of a datagram say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// They are right, or the sender has not used that of UDP (0, over IPv4).
    Right,
    /// Only the sum over addresses and length is there: the datagram comes from this host, whose kernel leaves
    /// the rest to the network card and knows that no wire has been in between.
    NotVerifiable,
    /// At least one is wrong.
    Wrong,
}

/// Verifies a datagram that is whole.
pub(crate) fn verify(datagram: &Datagram<'_>) -> Verdict {
    if !datagram.ipv4_header.is_empty() && fold(sum(datagram.ipv4_header)) != COMPLETE {
        return Verdict::Wrong;
    }
    let Some(&[first, second]) = datagram.segment.get(6..8) else {
        return Verdict::Wrong;
    };
    let field = u16::from_ne_bytes([first, second]);
    if field == 0 {
        // RFC 8200: not allowed over IPv6.
        return if datagram.ipv4_header.is_empty() { Verdict::Wrong } else { Verdict::Right };
    }
    let around = pseudo_header(datagram);
    if fold(around + sum(datagram.segment)) == COMPLETE {
        Verdict::Right
    } else if field == fold(around) {
        Verdict::NotVerifiable
    } else {
        Verdict::Wrong
    }
}

/// The sum over data together with its right checksum.
const COMPLETE: u16 = 0xffff;

/// Sum over what of IP is in the checksum of UDP: addresses, protocol and length.
fn pseudo_header(datagram: &Datagram<'_>) -> u64 {
    let mut last = [0; 8];
    last[..4].copy_from_slice(&(datagram.segment.len() as u32).to_be_bytes());
    last[7] = 17;
    let address = |address: IpAddr| match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    };
    address(datagram.source.ip()) + address(datagram.destination) + sum(&last)
}

/// Sum of the 16-bit words of `bytes` in the order of this machine, with its carries: the checksum does not depend
/// on the order (RFC 1071, section 2B), nor on taking two words at a time. `bytes` begin at an even place of what is
/// summed; at most 2^32 bytes.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let mut last = [0; 4];
    let rest = words.remainder();
    last[..rest.len()].copy_from_slice(rest);
    let word = |word: &[u8]| u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    words.map(word).sum::<u64>() + u64::from(u32::from_ne_bytes(last))
}

/// Adds the carries.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{Link, datagram};

    fn ipv4(payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 3], 64);
        builder.udp(7, 6006).write(&mut frame, payload).unwrap();
        frame
    }

    fn ipv6(payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([1; 16], [9; 16], 64);
        builder.udp(7, 6006).write(&mut frame, payload).unwrap();
        frame
    }

    fn verdict(frame: &[u8]) -> Verdict {
        verify(&datagram(Link::Ethernet, frame, 0).unwrap())
    }

    proptest! {
        #[test]
        fn the_checksums_of_another_program_are_right_and_one_flipped_bit_is_wrong(
            payload in proptest::collection::vec(any::<u8>(), 0..200), place: prop::sample::Index, bit in 0..8,
        ) {
            for (mut frame, covered) in [(ipv4(&payload), 26), (ipv6(&payload), 22)] {
                prop_assert_eq!(verdict(&frame), Verdict::Right);
                // Addresses and what follows; the lengths in UDP would make another datagram of it.
                let mut places: Vec<usize> = (covered..frame.len()).collect();
                let udp = frame.len() - payload.len() - 8;
                places.retain(|place| ![udp + 4, udp + 5].contains(place));
                frame[places[place.index(places.len())]] ^= 1_u8 << bit;
                // About one flip in a million makes the field one that a sender may leave so.
                let field = u16::from_ne_bytes([frame[udp + 6], frame[udp + 7]]);
                let partial = fold(pseudo_header(&datagram(Link::Ethernet, &frame, 0).unwrap()));
                let expected = match field {
                    0 if covered == 26 => Verdict::Right,
                    0 => Verdict::Wrong,
                    _ if field == partial => Verdict::NotVerifiable,
                    _ => Verdict::Wrong,
                };
                prop_assert_eq!(verdict(&frame), expected);
            }
        }
    }

    #[test]
    fn unused_and_partial_checksums_are_told_from_wrong_ones() {
        for (mut frame, unused) in [(ipv4(b"neutron"), Verdict::Right), (ipv6(b"neutron"), Verdict::Wrong)] {
            let field = frame.len() - 7 - 2;
            frame[field..field + 2].fill(0);
            assert_eq!(verdict(&frame), unused);
            let partial = fold(pseudo_header(&datagram(Link::Ethernet, &frame, 0).unwrap()));
            frame[field..field + 2].copy_from_slice(&partial.to_ne_bytes());
            assert_eq!(verdict(&frame), Verdict::NotVerifiable);
            frame[field] ^= 1;
            assert_eq!(verdict(&frame), Verdict::Wrong);
        }
    }

    #[test]
    fn a_wrong_header_of_ipv4_is_wrong() {
        let mut frame = ipv4(b"neutron");
        frame[14 + 8] -= 1; // lifetime
        assert_eq!(verdict(&frame), Verdict::Wrong);
    }
}

//! What a link can carry at most: frames, overhead and rates of UDP packets of any size, for any speed and MTU.
//!
//! Arithmetic, not a measurement: the yardstick that measurements are held against. At 10 Gb/s it is Table 1 of *Reliable UDP at
//! 10 Gb/s with BSD sockets* (the same as Table 5 of the EFU paper), which [`paper`] compares it with, cell by cell.
//!
//! | you look for | it is in |
//! |---|---|
//! | one packet on the wire | [`Link`], [`OnWire`] |
//! | the paper's table, and its errata | [`paper`] |
//! | the result: tables and plots | [`measure`] |

pub mod paper;
mod result;

pub use result::{LinkSettings, measure};

use crate::error::MeasureError;
use evforge_core::packet::LARGEST_PAYLOAD;

/// Headers of UDP (8 bytes) and IPv4 without options (20).
pub const IP_AND_UDP: u32 = 28;
const IP: u32 = 20;
const UDP: u32 = 8;
/// Header (14 bytes) and checksum (4) of an Ethernet frame without VLAN.
pub const ETHERNET: u32 = 18;
/// Bytes of the shortest frame; a shorter one is padded.
pub const SHORTEST_FRAME: u32 = 64;
/// What a frame takes on the wire besides itself: preamble (8 bytes) and gap (12). The paper calls it the inter frame gap.
pub const AROUND_FRAME: u32 = 20;
/// MTUs that IPv4 can have (RFC 791).
const MTUS: std::ops::RangeInclusive<u32> = 68..=65_535;

/// An Ethernet link that UDP packets over IPv4 are sent over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    bits_per_second: u64,
    mtu: u32,
}

/// What a UDP packet takes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnWire {
    /// Bytes of user data.
    pub user: u32,
    /// Frames: more than one where the packet does not fit into the MTU and is sent in fragments.
    pub frames: u32,
    /// Bytes of the largest frame, with header and checksum.
    pub frame: u32,
    /// Bytes that all of its frames take, with preambles and gaps.
    pub wire: u64,
    bits_per_second: u64,
}

impl Link {
    /// A link of this speed, with this MTU in bytes.
    ///
    /// # Errors
    /// If the speed is 0, or IPv4 has no such MTU.
    pub fn new(bits_per_second: u64, mtu: u32) -> Result<Self, MeasureError> {
        if bits_per_second == 0 {
            return Err(MeasureError::Wrong(
                "a link of 0 b/s carries nothing: give a speed such as 10Gb/s".to_owned(),
            ));
        }
        if !MTUS.contains(&mtu) {
            let (least, most) = (MTUS.start(), MTUS.end());
            let problem =
                format!("an MTU of {mtu} bytes is impossible: IPv4 has {least} to {most} bytes (RFC 791)");
            return Err(MeasureError::Wrong(problem));
        }
        Ok(Self { bits_per_second, mtu })
    }

    /// The largest user data that is sent in one frame, in bytes.
    pub fn largest_whole(&self) -> u32 {
        self.mtu - IP_AND_UDP
    }

    /// A packet with so much user data, in bytes.
    ///
    /// # Errors
    /// If no UDP packet has so much: 65 507 bytes at most.
    pub fn packet(&self, user: u32) -> Result<OnWire, MeasureError> {
        if user as usize > LARGEST_PAYLOAD {
            let problem =
                format!("{user} bytes are no UDP packet: 0 to {LARGEST_PAYLOAD} bytes of user data");
            return Err(MeasureError::Wrong(problem));
        }
        // Fragments but the last carry a multiple of 8 bytes of what is behind the IP header.
        let datagram = user + UDP;
        let whole = self.mtu - IP;
        let (frames, each, last) = if datagram <= whole {
            (1, 0, datagram)
        } else {
            let each = whole / 8 * 8;
            // The last one is the only one that need not be a multiple of 8.
            let before = (datagram - whole).div_ceil(each);
            (before + 1, each, datagram - before * each)
        };
        let frame = |content: u32| (content + IP + ETHERNET).max(SHORTEST_FRAME);
        let wire = |content: u32| u64::from(frame(content) + AROUND_FRAME);
        Ok(OnWire {
            user,
            frames,
            frame: frame(each.max(last)),
            wire: u64::from(frames - 1) * wire(each) + wire(last),
            bits_per_second: self.bits_per_second,
        })
    }
}

impl OnWire {
    /// The share of the link that is not user data, 0 to 1. The paper's `1 - U`.
    pub fn overhead(&self) -> f64 {
        1.0 - f64::from(self.user) / self.wire as f64
    }

    /// Packets that the link carries in a second.
    pub fn packets_per_second(&self) -> f64 {
        self.bits_per_second as f64 / (8.0 * self.wire as f64)
    }

    /// Bits of user data that it carries in a second.
    pub fn user_bits_per_second(&self) -> f64 {
        8.0 * f64::from(self.user) * self.packets_per_second()
    }

    /// Nanoseconds that the packet takes on the wire, gaps included.
    pub fn nanoseconds(&self) -> f64 {
        1e9 / self.packets_per_second()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_links_and_packets_are_explained() {
        let said = |result: Result<(), MeasureError>| result.unwrap_err().to_string();
        assert!(said(Link::new(0, 1500).map(drop)).contains("10Gb/s"));
        assert!(said(Link::new(1, 67).map(drop)).contains("68 to 65535"));
        assert!(said(Link::new(1, 1500).unwrap().packet(65_508).map(drop)).contains("65507"));
    }

    /// 1473 bytes behind an MTU of 1500: the first fragment has 1480 bytes behind its header, the second 1.
    #[test]
    fn what_does_not_fit_is_sent_in_fragments() {
        let link = Link::new(10_000_000_000, 1500).unwrap();
        let whole = link.packet(link.largest_whole()).unwrap();
        assert_eq!((whole.user, whole.frames, whole.frame, whole.wire), (1472, 1, 1518, 1538));
        let cut = link.packet(1473).unwrap();
        assert_eq!((cut.frames, cut.frame, cut.wire), (2, 1518, 1538 + 84));
        // 65 507 bytes: 65 515 behind the IP headers, 44 times 1480 and 395.
        let largest = link.packet(65_507).unwrap();
        assert_eq!((largest.frames, largest.wire), (45, 44 * 1538 + 395 + 58));
    }

    proptest! {
        /// Fragments carry everything once, each fits, and more data never take less of the wire.
        #[test]
        fn fragments_carry_everything_once(mtu in MTUS, user in 0_u32..65_507, speed in 1_u64..u64::MAX) {
            let link = Link::new(speed, mtu).unwrap();
            let (packet, next) = (link.packet(user).unwrap(), link.packet(user + 1).unwrap());
            prop_assert!(packet.frame <= (mtu + ETHERNET).max(SHORTEST_FRAME));
            prop_assert_eq!(packet.frames == 1, user <= link.largest_whole());
            let content = packet.wire - u64::from(packet.frames) * u64::from(IP + ETHERNET + AROUND_FRAME);
            // What is left is the datagram, and the padding of a short last frame.
            let padding = content - u64::from(user + UDP);
            prop_assert!(padding <= u64::from(SHORTEST_FRAME - IP - ETHERNET), "{}", padding);
            prop_assert!(next.wire >= packet.wire);
            prop_assert!((0.0..=1.0).contains(&packet.overhead()));
            let whole = packet.user_bits_per_second() / (1.0 - packet.overhead()).max(1e-9);
            prop_assert!(user == 0 || (whole / speed as f64 - 1.0).abs() < 1e-9);
        }
    }
}

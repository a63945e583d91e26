//! Whole frames around UDP payloads, sent by AF_XDP: Ethernet, IPv4 and UDP with their checksums.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use etherparse::{EtherType, Ethernet2Header, IpNumber, Ipv4Header, UdpHeader};
use evforge_core::packet::PacketBatch;

use super::transmit::{self, TransmitGrant, Transmitter};
use crate::helper::Helper;
use crate::helper::message::Request;
use crate::interfaces::next_hop::{self, NextHop};

/// Bytes of the three headers.
const HEADERS: usize = 14 + 20 + 8;
/// Hops after which a packet is given up: the usual number of hosts.
const HOPS: u8 = 64;

/// Sends UDP datagrams to one destination through one network interface.
#[derive(Debug)]
pub(crate) struct FrameSender {
    transmitter: Transmitter,
    hop: NextHop,
    destination: SocketAddrV4,
    /// One for each source port.
    sources: Vec<SocketAddrV4>,
}

impl FrameSender {
    /// Finds the way and takes a queue of the interface. The reason against it is for people.
    pub(crate) fn open(
        interface: &str,
        destination: SocketAddr,
        sources: &[SocketAddr],
    ) -> Result<Self, String> {
        let ipv4 = |address: SocketAddr| match address {
            SocketAddr::V4(address) => Ok(address),
            SocketAddr::V6(_) => Err("frames are made for IPv4 only: send by a socket".to_owned()),
        };
        let destination = ipv4(destination)?;
        let sources = sources.iter().copied().map(ipv4).collect::<Result<_, _>>()?;
        let hop = next_hop::find(interface, *destination.ip()).map_err(|error| error.to_string())?;
        let transmitter = open_transmitter(interface, hop.mtu + 14).map_err(|(step, error)| {
            let advice = match error.raw_os_error() {
                Some(libc::EPERM) => format!(
                    "evforge itself has no privileges, and no helper with them was started: {}",
                    Helper::install_command()
                ),
                Some(libc::ENOBUFS) => format!(
                    "8.4 MB of memory are locked, of {} allowed: ulimit -l, or give evforge-helper CAP_IPC_LOCK",
                    crate::privileges::lockable_memory().map_or_else(|| "any number".to_owned(), |bytes| bytes.to_string())
                ),
                Some(libc::EBUSY) => "every queue has an AF_XDP socket already".to_owned(),
                Some(libc::EINVAL) => format!(
                    "this kernel may be too old for frames of {} bytes by AF_XDP (6.6), or the driver cannot send so",
                    hop.mtu + 14
                ),
                _ => "send by a socket".to_owned(),
            };
            format!("{step}: {error} ({advice})")
        })?;
        Ok(Self { transmitter, hop, destination, sources })
    }

    /// Sends the packets of `batch` with these indices from the source port number `lane`: how many have been sent.
    ///
    /// # Errors
    /// If the first of them does not fit into a frame, or the interface takes none.
    pub(crate) fn send(
        &mut self,
        batch: &PacketBatch<'_>,
        lane: usize,
        picks: &[usize],
    ) -> io::Result<usize> {
        let source = self.sources[lane];
        let mut sent = 0;
        let mut too_long = false;
        for packet in picks.iter().filter_map(|&index| batch.get(index)) {
            let Some(headers) = headers(&self.hop, source, self.destination, packet.bytes) else {
                too_long = true;
                break;
            };
            self.transmitter.push(&headers, packet.bytes)?;
            sent += 1;
        }
        self.transmitter.flush()?;
        if too_long && sent == 0 {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        Ok(sent)
    }

    /// Frames that the interface has dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.transmitter.dropped()
    }
}

/// A socket that sends, from the helper if there is one.
fn open_transmitter(interface: &str, longest: usize) -> Result<Transmitter, (String, io::Error)> {
    let named = |(step, error): (&str, io::Error)| (step.to_owned(), error);
    let Some(helper) = Helper::of_this_process() else {
        let granted = transmit::grant(interface, longest).map_err(named)?;
        return Transmitter::adopt(granted).map_err(named);
    };
    let request = Request::Sender { interface: interface.to_owned(), longest };
    let step = || "asking the helper".to_owned();
    let (_, descriptors) = helper.ask(request, &[]).map_err(|error| {
        (step(), error.code.map_or_else(|| io::Error::other(error.message), io::Error::from_raw_os_error))
    })?;
    let [socket, memory] = <[OwnedFd; 2]>::try_from(descriptors)
        .map_err(|_| (step(), io::Error::other("it has not sent a socket and its memory")))?;
    Transmitter::adopt(TransmitGrant { socket, memory }).map_err(named)
}

/// The headers of a datagram; none if it does not fit into a frame: there are no fragments.
fn headers(
    hop: &NextHop,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    payload: &[u8],
) -> Option<[u8; HEADERS]> {
    if payload.len() + HEADERS - 14 > hop.mtu {
        return None;
    }
    let segment = u16::try_from(payload.len() + 8).ok()?;
    let (from, to) = (source.ip().octets(), destination.ip().octets());
    let mut ip = Ipv4Header::new(segment, HOPS, IpNumber::UDP, from, to).ok()?;
    ip.header_checksum = ip.calc_header_checksum();
    let udp = UdpHeader::with_ipv4_checksum(source.port(), destination.port(), &ip, payload).ok()?;
    let ethernet = Ethernet2Header { source: hop.from, destination: hop.to, ether_type: EtherType::IPV4 };
    let mut headers = [0; HEADERS];
    headers[..14].copy_from_slice(&ethernet.to_bytes());
    headers[14..34].copy_from_slice(&ip.to_bytes());
    headers[34..].copy_from_slice(&udp.to_bytes());
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::{Verdict, verify};
    use crate::frame::{Link, datagram};
    use proptest::prelude::*;

    const HOP: NextHop = NextHop { from: [2, 0, 0, 0, 0, 1], to: [2, 0, 0, 0, 0, 2], mtu: 1500 };

    proptest! {
        #[test]
        fn what_is_framed_is_found_again_with_right_checksums(
            payload in proptest::collection::vec(any::<u8>(), 0..1472), ports: [u16; 2], addresses: [[u8; 4]; 2],
        ) {
            let [source, destination] = [0, 1].map(|end| SocketAddrV4::new(addresses[end].into(), ports[end]));
            let mut frame = headers(&HOP, source, destination, &payload).expect("it fits").to_vec();
            frame.extend_from_slice(&payload);
            prop_assert_eq!(&frame[..6], &HOP.to);
            let found = datagram(Link::Ethernet, &frame, 0).expect("a datagram");
            prop_assert_eq!(found.payload, &payload);
            prop_assert_eq!(found.source, SocketAddr::V4(source));
            let to = SocketAddr::new(found.destination, found.destination_port);
            prop_assert_eq!(to, SocketAddr::V4(destination));
            prop_assert_eq!(verify(&found), Verdict::Right);
        }
    }

    #[test]
    fn a_payload_that_does_not_fit_is_refused() {
        let address = SocketAddrV4::new([10, 9, 0, 1].into(), 1);
        assert!(headers(&HOP, address, address, &[0; 1472]).is_some());
        assert!(headers(&HOP, address, address, &[0; 1473]).is_none());
    }
}

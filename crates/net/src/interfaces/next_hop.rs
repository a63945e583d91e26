//! Where the frames to a destination must go: out of which interface, and to which neighbour.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::Socket;

use super::netlink;

/// Longest wait for a neighbour's answer to ARP.
const PATIENCE: Duration = Duration::from_secs(2);
/// The port for what is to be thrown away (RFC 863): a datagram to it makes the kernel ask for the neighbour.
const DISCARD: u16 = 9;

/// An address of Ethernet.
pub(crate) type HardwareAddress = [u8; 6];

/// The ends of the line on which frames leave, and what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextHop {
    /// Of the interface.
    pub(crate) from: HardwareAddress,
    /// Of the neighbour: the destination itself, or the gateway to it.
    pub(crate) to: HardwareAddress,
    /// Most bytes of an IP packet.
    pub(crate) mtu: usize,
}

/// Why frames cannot be addressed.
#[derive(Debug)]
pub(crate) enum NextHopError {
    /// The kernel did not answer.
    Unreadable(io::Error),
    /// There is no such interface.
    NoInterface,
    /// The interface has no address of Ethernet.
    NoEthernet,
    /// Packets to the destination leave by another interface.
    OtherInterface(String),
    /// Nobody answers there.
    NoNeighbour(Ipv4Addr),
}

impl fmt::Display for NextHopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => {
                write!(f, "the kernel does not tell the way there (rtnetlink): {error}")
            }
            Self::NoInterface => {
                f.write_str("there is no such network interface. See which there are: ip -brief link")
            }
            Self::NoEthernet => f.write_str("the interface has no address of Ethernet. Send by a socket"),
            Self::OtherInterface(name) => write!(
                f,
                "packets to there leave by {name}. Name that interface, or see the routes: ip route get"
            ),
            Self::NoNeighbour(address) => write!(
                f,
                "{address} does not answer (ARP). See what is known of it: ip neighbour show {address}"
            ),
        }
    }
}

impl From<io::Error> for NextHopError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// Finds where frames to `destination` must go when they leave by `interface`.
pub(crate) fn find(interface: &str, destination: Ipv4Addr) -> Result<NextHop, NextHopError> {
    let mut socket = netlink::open()?;
    let lines = lines(&mut socket)?;
    let line = lines.iter().find(|line| line.name == interface).ok_or(NextHopError::NoInterface)?;
    let (leaves_by, gateway) = route(&mut socket, destination)?;
    if leaves_by != line.index {
        let other = lines.iter().find(|line| line.index == leaves_by);
        return Err(NextHopError::OtherInterface(
            other.map_or_else(|| "another interface".to_owned(), |line| line.name.clone()),
        ));
    }
    let from = line.address.ok_or(NextHopError::NoEthernet)?;
    let to = match group_address(destination) {
        Some(group) => group,
        None => neighbour(&mut socket, line.index, gateway.unwrap_or(destination))?,
    };
    Ok(NextHop { from, to, mtu: line.mtu })
}

/// The address of Ethernet that belongs to a multicast group (RFC 1112, section 6.4) or to everybody.
fn group_address(destination: Ipv4Addr) -> Option<HardwareAddress> {
    let [_, second, third, fourth] = destination.octets();
    if destination.is_broadcast() {
        Some([0xff; 6])
    } else if destination.is_multicast() {
        Some([0x01, 0x00, 0x5e, second & 0x7f, third, fourth])
    } else {
        None
    }
}

/// What an interface is connected by.
#[derive(Debug, Default)]
struct Line {
    index: u32,
    name: String,
    address: Option<HardwareAddress>,
    mtu: usize,
}

fn lines(socket: &mut Socket) -> io::Result<Vec<Line>> {
    let mut found = Vec::new();
    netlink::ask(socket, RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP, |answer| {
        if let RouteNetlinkMessage::NewLink(message) = answer {
            let mut line = Line { index: message.header.index, ..Line::default() };
            for attribute in message.attributes {
                match attribute {
                    LinkAttribute::IfName(name) => line.name = name,
                    LinkAttribute::Mtu(mtu) => line.mtu = mtu as usize,
                    LinkAttribute::Address(address) => line.address = address.try_into().ok(),
                    _ => {}
                }
            }
            found.push(line);
        }
    })?;
    Ok(found)
}

/// The number of the interface that packets to `destination` leave by, and the gateway, if there is one.
fn route(socket: &mut Socket, destination: Ipv4Addr) -> io::Result<(u32, Option<Ipv4Addr>)> {
    let mut question = RouteMessage::default();
    question.header.address_family = AddressFamily::Inet;
    question.header.destination_prefix_length = 32;
    question.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(destination)));
    let (mut interface, mut gateway) = (0, None);
    netlink::ask(socket, RouteNetlinkMessage::GetRoute(question), 0, |answer| {
        if let RouteNetlinkMessage::NewRoute(message) = answer {
            for attribute in message.attributes {
                match attribute {
                    RouteAttribute::Oif(index) => interface = index,
                    RouteAttribute::Gateway(RouteAddress::Inet(address)) => gateway = Some(address),
                    _ => {}
                }
            }
        }
    })?;
    Ok((interface, gateway))
}

/// The hardware address of a neighbour, for which the kernel asks if it does not know it.
fn neighbour(
    socket: &mut Socket,
    interface: u32,
    address: Ipv4Addr,
) -> Result<HardwareAddress, NextHopError> {
    let end = Instant::now() + PATIENCE;
    let mut asked = false;
    loop {
        if let Some(found) = known_neighbour(socket, interface, address)? {
            return Ok(found);
        }
        if !asked {
            asked = true;
            // An answer that the port is closed does not matter.
            let _ = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.send_to(&[], (address, DISCARD));
        }
        if Instant::now() >= end {
            return Err(NextHopError::NoNeighbour(address));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn known_neighbour(
    socket: &mut Socket,
    interface: u32,
    wanted: Ipv4Addr,
) -> io::Result<Option<HardwareAddress>> {
    let mut question = NeighbourMessage::default();
    question.header.family = AddressFamily::Inet;
    let mut found = None;
    netlink::ask(socket, RouteNetlinkMessage::GetNeighbour(question), NLM_F_DUMP, |answer| {
        let RouteNetlinkMessage::NewNeighbour(message) = answer else { return };
        let is_known = !matches!(
            message.header.state,
            NeighbourState::None | NeighbourState::Incomplete | NeighbourState::Failed
        );
        let (mut address, mut hardware) = (None, None);
        for attribute in message.attributes {
            match attribute {
                NeighbourAttribute::Destination(NeighbourAddress::Inet(inet)) => address = Some(inet),
                NeighbourAttribute::LinkLayerAddress(bytes) => hardware = bytes.try_into().ok(),
                _ => {}
            }
        }
        if is_known && message.header.ifindex == interface && address == Some(wanted) {
            found = hardware;
        }
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_addresses_of_their_own() {
        let of = |address: [u8; 4]| group_address(address.into());
        assert_eq!(of([239, 129, 2, 3]), Some([1, 0, 0x5e, 1, 2, 3]));
        assert_eq!(of([255, 255, 255, 255]), Some([255; 6]));
        assert_eq!(of([10, 9, 0, 2]), None);
    }

    #[test]
    fn what_leads_nowhere_is_said() {
        let text = find("no-such-if", Ipv4Addr::LOCALHOST).unwrap_err().to_string();
        assert!(text.contains("ip -brief link"), "{text}");
        let mut socket = netlink::open().unwrap();
        let loopback = lines(&mut socket).unwrap().into_iter().find(|line| line.name == "lo").unwrap();
        assert_eq!(route(&mut socket, Ipv4Addr::LOCALHOST).unwrap(), (loopback.index, None));
        assert!(loopback.mtu > 1500);
    }
}

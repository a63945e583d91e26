//! Asks the kernel for its interfaces and their addresses (rtnetlink).
//!
//! Unlike the files in /sys, which belong to the namespace in which they were mounted, a socket belongs to that of the
//! thread which opens it.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use super::counters::InterfaceCounters;
use super::links::Link;

/// Longest wait for an answer of the kernel, which waits itself while interfaces are being changed.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// A socket to ask by.
pub(super) fn open() -> io::Result<Socket> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket2::SockRef::from(&socket).set_read_timeout(Some(PATIENCE))?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// All interfaces.
pub(super) fn links(socket: &mut Socket) -> io::Result<Vec<Link>> {
    let mut found = Vec::new();
    ask(socket, RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP, |answer| {
        if let RouteNetlinkMessage::NewLink(message) = answer {
            found.push(link(message));
        }
    })?;
    Ok(found)
}

/// All addresses of the host, with the numbers of their interfaces.
pub(super) fn addresses(socket: &mut Socket) -> io::Result<Vec<(u32, IpAddr)>> {
    let mut found = Vec::new();
    ask(socket, RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP, |answer| {
        if let RouteNetlinkMessage::NewAddress(message) = answer {
            for attribute in message.attributes {
                // On a line between two points, the address of the other end is in `Address`.
                if let AddressAttribute::Local(address) | AddressAttribute::Address(address) = attribute {
                    found.push((message.header.index, address));
                }
            }
        }
    })?;
    Ok(found)
}

/// Sends a question, with `NLM_F_DUMP` for all there are of a kind, and hands over all answers.
pub(super) fn ask(
    socket: &mut Socket,
    question: RouteNetlinkMessage,
    flags: u16,
    mut take: impl FnMut(RouteNetlinkMessage),
) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = flags | NLM_F_REQUEST;
    header.sequence_number = 1;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let unexpected = || io::Error::new(io::ErrorKind::InvalidData, "an answer of unknown form");
    loop {
        // The kernel makes no longer ones.
        let mut datagram = Vec::with_capacity(1 << 16);
        socket.recv(&mut datagram, 0)?;
        let mut rest = &datagram[..];
        while !rest.is_empty() {
            let length = rest.get(..4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
            let length = length.and_then(|length| usize::try_from(length).ok()).ok_or_else(unexpected)?;
            let answer = rest.get(..length).filter(|_| length >= 16).ok_or_else(unexpected)?;
            rest = &rest[length.next_multiple_of(4).min(rest.len())..];
            match NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer).map(|message| message.payload) {
                Ok(NetlinkPayload::Done(_)) => return Ok(()),
                Ok(NetlinkPayload::Error(error)) => return Err(error.to_io()),
                Ok(NetlinkPayload::InnerMessage(message)) => {
                    take(message);
                    if flags & NLM_F_DUMP == 0 {
                        // Nothing follows.
                        return Ok(());
                    }
                }
                // One interface of a kind that is not known must not hide the others.
                Ok(_) | Err(_) => {}
            }
        }
    }
}

fn link(message: LinkMessage) -> Link {
    let mut link = Link {
        index: message.header.index,
        is_up: message.header.flags.contains(LinkFlags::Up),
        ..Link::default()
    };
    let (mut lower, mut lies_on_another) = (None, false);
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Link(index) => lower = Some(index),
            LinkAttribute::Controller(index) => link.upper = Some(index),
            LinkAttribute::Stats64(stats) => link.counters = counters(&stats),
            LinkAttribute::LinkInfo(infos) => {
                for info in infos {
                    if let LinkInfo::Kind(kind) = info {
                        link.is_sum = kind == InfoKind::Bond;
                        // Others, such as the ends of a virtual wire, name there what they are connected with.
                        lies_on_another =
                            matches!(kind, InfoKind::Vlan | InfoKind::MacVlan | InfoKind::IpVlan);
                    }
                }
            }
            _ => {}
        }
    }
    link.lower = lower.filter(|_| lies_on_another);
    link
}

fn counters(stats: &Stats64) -> InterfaceCounters {
    InterfaceCounters {
        received: stats.rx_packets,
        crc_errors: stats.rx_crc_errors,
        frame_errors: stats.rx_frame_errors,
        length_errors: stats.rx_length_errors,
        missed: stats.rx_missed_errors,
        fifo_errors: stats.rx_fifo_errors,
        over_errors: stats.rx_over_errors,
        dropped: stats.rx_dropped,
        no_handler: stats.rx_nohandler,
    }
}

//! What can go wrong with sockets, in words for the person at the terminal.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::pace::PaceError;

/// Packets cannot be received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The address and port could not be taken.
    #[error("cannot receive on UDP {address}: {}", bind_reason(*.address, .source))]
    Bind {
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The socket refused a setting.
    #[error("cannot receive on UDP {address}: the system refused {setting}: {source}.")]
    Setting {
        /// The address and port.
        address: SocketAddr,
        /// The setting.
        setting: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A multicast group could not be joined.
    #[error(
        "cannot receive what is sent to the group {group} on UDP {address}: {}",
        join_reason(*.address, *.group, .interface.as_deref(), .source)
    )]
    Join {
        /// The address and port of the socket.
        address: SocketAddr,
        /// The group.
        group: IpAddr,
        /// The interface that was named.
        interface: Option<String>,
        /// The system's reason.
        source: io::Error,
    },
    /// An option is outside its range.
    #[error("the receive option {option} is {value}; it must be from {} to {}.", .range.0, .range.1)]
    Option {
        /// The option's name.
        option: &'static str,
        /// What it was.
        value: usize,
        /// The smallest and largest allowed.
        range: (usize, usize),
    },
    /// The system failed to receive.
    #[error("receiving on UDP {address} failed: {source}.")]
    Receive {
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
}

/// Why a group could not be joined, and what to do.
fn join_reason(address: SocketAddr, group: IpAddr, interface: Option<&str>, source: &io::Error) -> String {
    if !group.is_multicast() {
        return "it is no multicast address. Those are 224.0.0.0 to 239.255.255.255, and ff00:: and above."
            .into();
    }
    if group.is_ipv4() != address.is_ipv4() {
        let all = if group.is_ipv4() { "0.0.0.0" } else { "[::]" };
        return format!("the addresses are of different kinds. Receive on {all}:{}.", address.port());
    }
    match interface {
        Some(name)
            if source.kind() == io::ErrorKind::NotFound || source.raw_os_error() == Some(NO_DEVICE) =>
        {
            format!("this host has no interface {name} that can. See which it has: ip -brief link")
        }
        None if source.raw_os_error() == Some(NO_DEVICE) => format!(
            "this host has no route to it. Name the interface (groups = [{{ address = \"{group}\", interface = \"eth1\" \
             }}]), or add a route: sudo ip route add {group}/32 dev eth1"
        ),
        _ => format!("{source}."),
    }
}

/// ENODEV and ENXIO are told alike for interfaces; the first is that of a missing route, too.
const NO_DEVICE: i32 = 19;

/// Why an address and port could not be taken, and what to do.
fn bind_reason(address: SocketAddr, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another program (or another stream of this one) has the port. See which: sudo ss -ulpn 'sport = :{}'",
            address.port()
        ),
        io::ErrorKind::AddrNotAvailable => format!(
            "{} is not an address of this host. See which it has: ip -brief address. To receive on all of them, \
             use {}.",
            address.ip(),
            if address.is_ipv4() { "0.0.0.0" } else { "[::]" }
        ),
        io::ErrorKind::PermissionDenied => {
            "not permitted. Ports below 1024 are kept for privileged programs: choose a higher one, or allow this \
             program to take them: sudo setcap cap_net_bind_service=+ep \"$(command -v evforge)\""
                .into()
        }
        _ => format!("{source}."),
    }
}

/// Packets cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The socket could not be made or directed.
    #[error("cannot send to UDP {destination}{}", open_reason(*.destination, *.from, .source))]
    Open {
        /// Where to.
        destination: SocketAddr,
        /// Where from, if that was asked for.
        from: Option<SocketAddr>,
        /// The system's reason.
        source: io::Error,
    },
    /// The pace cannot be kept.
    #[error("{0}")]
    Pace(#[from] PaceError),
    /// The system failed to send a packet.
    #[error(
        "sending packet {packet} ({length} bytes) to UDP {destination} failed: {source}.{}",
        send_advice(*.destination, *.segment, .source)
    )]
    Send {
        /// Where to.
        destination: SocketAddr,
        /// The packet's number since the sender was opened, from 0.
        packet: u64,
        /// Its payload in bytes.
        length: usize,
        /// True if packets are sent in pieces (UDP_SEGMENT).
        segment: bool,
        /// The system's reason.
        source: io::Error,
    },
    /// The number of source ports is outside its range.
    #[error("cannot send from {found} ports: give a number from 1 to {most}.")]
    SourcePorts {
        /// What was asked for.
        found: usize,
        /// The most there may be; the least is 1.
        most: usize,
    },
    /// AF_XDP cannot be had for sending.
    #[error("cannot send to UDP {destination} by AF_XDP through {interface}: {reason}.")]
    ByXdp {
        /// Where to.
        destination: SocketAddr,
        /// The network interface.
        interface: String,
        /// Why, and how to fix it.
        reason: String,
    },
}

/// Where from, if that was asked for, and why nothing can be sent.
fn open_reason(destination: SocketAddr, from: Option<SocketAddr>, source: &io::Error) -> String {
    match from {
        Some(from) => format!(" from {from}: {}", bind_reason(from, source)),
        None => format!(": {source}.{}", route_advice(destination, source)),
    }
}

/// What to do about a packet that was not sent.
fn send_advice(destination: SocketAddr, segment: bool, source: &io::Error) -> String {
    if segment && is_segmentation_failure(source) {
        " With segmentation (UDP_SEGMENT) every packet must fit into one frame and the network device must be able to \
         split: turn segmentation off, or see the device's MTU: ip link"
            .into()
    } else {
        route_advice(destination, source)
    }
}

fn is_segmentation_failure(source: &io::Error) -> bool {
    // EINVAL, EMSGSIZE (told by number below) and EIO.
    matches!(source.raw_os_error(), Some(libc::EINVAL | libc::EMSGSIZE | libc::EIO))
}

fn route_advice(destination: SocketAddr, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            format!(" There is no way there; see what the system tries: ip route get {}", destination.ip())
        }
        io::ErrorKind::PermissionDenied => {
            " A firewall of this host forbids it: sudo nft list ruleset".into()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind_error(kind: io::ErrorKind) -> String {
        let address = "10.1.2.3:900".parse().unwrap();
        ReceiveError::Bind { address, source: kind.into() }.to_string()
    }

    #[test]
    fn a_port_that_cannot_be_taken_comes_with_the_command_that_tells_why() {
        assert!(bind_error(io::ErrorKind::AddrInUse).contains("sudo ss -ulpn 'sport = :900'"));
        assert!(
            bind_error(io::ErrorKind::AddrNotAvailable).contains("10.1.2.3 is not an address of this host")
        );
        assert!(bind_error(io::ErrorKind::PermissionDenied).contains("Ports below 1024"));
    }

    #[test]
    fn a_packet_too_large_to_segment_names_the_option() {
        let error = SendError::Send {
            destination: "10.1.2.3:900".parse().unwrap(),
            packet: 4,
            length: 9000,
            segment: true,
            source: io::Error::from_raw_os_error(libc::EINVAL),
        };
        assert!(error.to_string().contains("turn segmentation off"), "{error}");
    }
}

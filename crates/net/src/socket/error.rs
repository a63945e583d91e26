//! What can go wrong with sockets, told to the person at the terminal.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::pace::PaceError;

/// Packets cannot be received.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The address and port could not be taken.
    Bind {
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The socket refused a setting.
    Setting {
        /// The address and port.
        address: SocketAddr,
        /// The setting.
        setting: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A multicast group could not be joined.
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
    Option {
        /// The option's name.
        option: &'static str,
        /// What it was.
        value: usize,
        /// The smallest and largest allowed.
        range: (usize, usize),
    },
    /// The system failed to receive.
    Receive {
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { address, source } => {
                write!(f, "cannot receive on UDP {address}: ")?;
                bind_reason(f, *address, source)
            }
            Self::Setting { address, setting, source } => {
                write!(f, "cannot receive on UDP {address}: the system refused {setting}: {source}.")
            }
            Self::Join { address, group, interface, source } => {
                write!(f, "cannot receive what is sent to the group {group} on UDP {address}: ")?;
                join_reason(f, *address, *group, interface.as_deref(), source)
            }
            Self::Option { option, value, range } => {
                write!(
                    f,
                    "the receive option {option} is {value}; it must be from {} to {}.",
                    range.0, range.1
                )
            }
            Self::Receive { address, source } => {
                write!(f, "receiving on UDP {address} failed: {source}.")
            }
        }
    }
}

impl std::error::Error for ReceiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Bind { source, .. }
            | Self::Join { source, .. }
            | Self::Setting { source, .. }
            | Self::Receive { source, .. } => Some(source),
            Self::Option { .. } => None,
        }
    }
}

/// Why a group could not be joined, and what to do.
fn join_reason(
    f: &mut fmt::Formatter<'_>,
    address: SocketAddr,
    group: IpAddr,
    interface: Option<&str>,
    source: &io::Error,
) -> fmt::Result {
    if !group.is_multicast() {
        return write!(
            f,
            "it is no multicast address. Those are 224.0.0.0 to 239.255.255.255, and ff00:: and above."
        );
    }
    if group.is_ipv4() != address.is_ipv4() {
        let all = if group.is_ipv4() { "0.0.0.0" } else { "[::]" };
        return write!(f, "the addresses are of different kinds. Receive on {all}:{}.", address.port());
    }
    match interface {
        Some(name)
            if source.kind() == io::ErrorKind::NotFound || source.raw_os_error() == Some(NO_DEVICE) =>
        {
            write!(f, "this host has no interface {name} that can. See which it has: ip -brief link")
        }
        None if source.raw_os_error() == Some(NO_DEVICE) => write!(
            f,
            "this host has no route to it. Name the interface (groups = [{{ address = \"{group}\", interface = \"eth1\" \
             }}]), or add a route: sudo ip route add {group}/32 dev eth1"
        ),
        _ => write!(f, "{source}."),
    }
}

/// ENODEV and ENXIO are told alike for interfaces; the first is that of a missing route, too.
const NO_DEVICE: i32 = 19;

/// Why an address and port could not be taken, and what to do.
fn bind_reason(f: &mut fmt::Formatter<'_>, address: SocketAddr, source: &io::Error) -> fmt::Result {
    match source.kind() {
        io::ErrorKind::AddrInUse => write!(
            f,
            "another program (or another stream of this one) has the port. See which: sudo ss -ulpn 'sport = :{}'",
            address.port()
        ),
        io::ErrorKind::AddrNotAvailable => write!(
            f,
            "{} is not an address of this host. See which it has: ip -brief address. To receive on all of them, \
             use {}.",
            address.ip(),
            if address.is_ipv4() { "0.0.0.0" } else { "[::]" }
        ),
        io::ErrorKind::PermissionDenied => write!(
            f,
            "not permitted. Ports below 1024 are kept for privileged programs: choose a higher one, or allow this \
             program to take them: sudo setcap cap_net_bind_service=+ep \"$(command -v evforge)\""
        ),
        _ => write!(f, "{source}."),
    }
}

/// Packets cannot be sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The socket could not be made or directed.
    Open {
        /// Where to.
        destination: SocketAddr,
        /// Where from, if that was asked for.
        from: Option<SocketAddr>,
        /// The system's reason.
        source: io::Error,
    },
    /// The pace cannot be kept.
    Pace(PaceError),
    /// The system failed to send a packet.
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
    SourcePorts {
        /// What was asked for.
        found: usize,
        /// The most there may be; the least is 1.
        most: usize,
    },
    /// AF_XDP cannot be had for sending.
    ByXdp {
        /// Where to.
        destination: SocketAddr,
        /// The network interface.
        interface: String,
        /// Why, and what mends it.
        reason: String,
    },
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { destination, from: Some(from), source } => {
                write!(f, "cannot send to UDP {destination} from {from}: ")?;
                bind_reason(f, *from, source)
            }
            Self::Open { destination, from: None, source } => {
                write!(f, "cannot send to UDP {destination}: {source}.")?;
                route_advice(f, *destination, source)
            }
            Self::Pace(error) => error.fmt(f),
            Self::ByXdp { destination, interface, reason } => {
                write!(f, "cannot send to UDP {destination} by AF_XDP through {interface}: {reason}.")
            }
            Self::Send { destination, packet, length, segment, source } => {
                write!(f, "sending packet {packet} ({length} bytes) to UDP {destination} failed: {source}.")?;
                if *segment && is_segmentation_failure(source) {
                    write!(
                        f,
                        " With segmentation (UDP_SEGMENT) every packet must fit into one frame and the network \
                         device must be able to split: turn segmentation off, or see the device's MTU: ip link"
                    )
                } else {
                    route_advice(f, *destination, source)
                }
            }
            Self::SourcePorts { found, most } => {
                write!(f, "cannot send from {found} ports: give a number from 1 to {most}.")
            }
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open { source, .. } | Self::Send { source, .. } => Some(source),
            Self::Pace(error) => Some(error),
            Self::SourcePorts { .. } | Self::ByXdp { .. } => None,
        }
    }
}

impl From<PaceError> for SendError {
    fn from(error: PaceError) -> Self {
        Self::Pace(error)
    }
}

fn is_segmentation_failure(source: &io::Error) -> bool {
    // EINVAL, EMSGSIZE (told by number below) and EIO.
    matches!(source.raw_os_error(), Some(libc::EINVAL | libc::EMSGSIZE | libc::EIO))
}

fn route_advice(f: &mut fmt::Formatter<'_>, destination: SocketAddr, source: &io::Error) -> fmt::Result {
    match source.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            write!(f, " There is no way there; see what the system tries: ip route get {}", destination.ip())
        }
        io::ErrorKind::PermissionDenied => write!(
            f,
            " A firewall of this host forbids it, or the address is a broadcast address: sudo nft list ruleset"
        ),
        _ => Ok(()),
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

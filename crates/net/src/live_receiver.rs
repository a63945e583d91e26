//! Packets from the network, whichever way they come: through a kernel socket or by AF_XDP.
//!
//! Whoever forms events sees the same packets either way. The choice is made once, when the receiver is opened, and
//! says why.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use evforge_core::packet::PacketSlab;

use crate::interfaces::InterfacesInUse;
use crate::readiness::Readiness;
use crate::socket::{
    ReceiveBuffer, ReceiveError, ReceiverCounters, ReceiverOptions, SocketDrops, UdpReceiver,
};
use crate::xdp::{XdpCounters, XdpError, XdpMode, XdpOptions, XdpReceiver};

/// Which receive backend to use: `receive.method`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ReceiveMethod {
    /// By AF_XDP where an interface is named and its driver runs XDP programs itself, else through a socket.
    #[default]
    Auto,
    /// Through a kernel socket, which needs no privilege.
    Socket,
    /// By AF_XDP, or not at all.
    Xdp,
}

/// What is to be received, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivePlan {
    /// Which backend.
    pub method: ReceiveMethod,
    /// For a socket.
    pub socket: ReceiverOptions,
    /// For AF_XDP; none if no interface is named.
    pub xdp: Option<XdpOptions>,
    /// Further ports, at the same address.
    pub ports: Vec<u16>,
    /// Sockets for each port, at least 1. The kernel spreads senders over them.
    pub sockets_per_port: usize,
}

/// Why packets cannot be received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveReceiveError {
    /// Through a socket.
    #[error("{0}")]
    Socket(#[from] ReceiveError),
    /// By AF_XDP.
    #[error("{0}")]
    Xdp(#[from] XdpError),
    /// AF_XDP was asked for without an interface.
    #[error(
        "AF_XDP receives from one network interface, and none is named: set receive.interface (--interface). \
         See which there are: ip -brief link"
    )]
    NoInterface,
}

/// Packets that reached this host and were lost on the way to us. No packet is counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveLosses {
    /// In the buffers of kernel sockets.
    pub socket: SocketDrops,
    /// In the receive rings of AF_XDP, which were full.
    pub xdp_ring: u64,
    /// In the memory of AF_XDP: none was free, or it was too short.
    pub xdp_memory: u64,
    /// By our own checks of frames: headers, merged packets, checksums.
    pub frame_checks: u64,
}

impl ReceiveLosses {
    /// All but what kernel sockets dropped.
    pub fn by_xdp(&self) -> u64 {
        self.xdp_ring + self.xdp_memory + self.frame_checks
    }

    /// Adds what was lost on the way to another receiver.
    pub fn add(&mut self, other: &Self) {
        self.socket.add(other.socket);
        self.xdp_ring += other.xdp_ring;
        self.xdp_memory += other.xdp_memory;
        self.frame_checks += other.frame_checks;
    }
}

enum Way {
    Socket(Box<UdpReceiver>),
    Xdp(Box<XdpReceiver>),
}

/// Receives UDP datagrams: on one address and port through a kernel socket, or on all ports of a stream by AF_XDP.
pub struct LiveReceiver {
    way: Way,
    description: String,
    interface: Option<String>,
}

impl fmt::Debug for LiveReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveReceiver").field("description", &self.description).finish_non_exhaustive()
    }
}

impl LiveReceiver {
    /// Opens the way that was asked for, or the one that suits: a receiver for all ports by AF_XDP, or one for each
    /// kernel socket, those of a port next to each other. There is at least one.
    ///
    /// # Errors
    /// If it cannot be had; with [`ReceiveMethod::Auto`] only if sockets cannot be had either.
    pub fn open(plan: &ReceivePlan) -> Result<Vec<Self>, LiveReceiveError> {
        let mut receivers = Self::open_way(plan)?;
        let named = plan.xdp.as_ref().map(|options| options.interface.clone());
        // One that is not there has been said to be so: the sockets receive from others.
        let interface = named.filter(|name| InterfacesInUse::Named(name.clone()).read().is_ok());
        receivers.iter_mut().for_each(|receiver| receiver.interface.clone_from(&interface));
        Ok(receivers)
    }

    fn open_way(plan: &ReceivePlan) -> Result<Vec<Self>, LiveReceiveError> {
        let by_xdp = |modes: Option<Vec<XdpMode>>, options: &XdpOptions| {
            let modes = modes.unwrap_or_else(|| options.modes.clone());
            let options = XdpOptions { modes, ports: plan.ports.clone(), ..options.clone() };
            XdpReceiver::open(&options).map(|receiver| vec![Self::of_xdp(receiver)])
        };
        match (plan.method, &plan.xdp) {
            (ReceiveMethod::Socket, _) => Self::by_sockets(plan, "as configured"),
            (ReceiveMethod::Xdp, None) => Err(LiveReceiveError::NoInterface),
            (ReceiveMethod::Xdp, Some(options)) => Ok(by_xdp(None, options)?),
            (ReceiveMethod::Auto, None) => Self::by_sockets(plan, "no receive.interface is named"),
            (ReceiveMethod::Auto, Some(options)) => {
                // The generic way is not faster than a socket, so it has to be asked for.
                match by_xdp(Some(vec![XdpMode::ZeroCopy, XdpMode::Driver]), options) {
                    Ok(receivers) => Ok(receivers),
                    Err(error) => Self::by_sockets(plan, &format!("because {error}")),
                }
            }
        }
    }

    fn by_sockets(plan: &ReceivePlan, reason: &str) -> Result<Vec<Self>, LiveReceiveError> {
        let mut receivers = Vec::new();
        let address = plan.socket.address;
        for port in [address.port()].iter().chain(&plan.ports) {
            let mut options = ReceiverOptions {
                address: SocketAddr::new(address.ip(), *port),
                share_port: plan.sockets_per_port > 1,
                ..plan.socket
            };
            for _ in 0..plan.sockets_per_port.max(1) {
                let receiver = Self::by_socket(&options, reason)?;
                // If the kernel chose the port, all of them share the one that it chose.
                options.address = receiver.local_address();
                receivers.push(receiver);
            }
        }
        Ok(receivers)
    }

    fn by_socket(options: &ReceiverOptions, reason: &str) -> Result<Self, LiveReceiveError> {
        let receiver = UdpReceiver::open(options)?;
        let together = if receiver.coalesces() { " with UDP_GRO" } else { "" };
        let description = format!("kernel socket{together} ({reason})");
        Ok(Self { way: Way::Socket(Box::new(receiver)), description, interface: None })
    }

    fn of_xdp(receiver: XdpReceiver) -> Self {
        let description = receiver.description();
        Self { way: Way::Xdp(Box::new(receiver)), description, interface: None }
    }

    /// The receive backend, and why it is this one.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The interfaces that packets come in by: the one named, or those of the address.
    pub fn interfaces_in_use(&self) -> InterfacesInUse {
        let address = || InterfacesInUse::OfAddress(self.local_address().ip());
        self.interface.clone().map_or_else(address, InterfacesInUse::Named)
    }

    /// What is wrong with receiving at this moment, or was during the run, in whole sentences: the run is then no success.
    pub fn alarms(&self) -> Vec<String> {
        match &self.way {
            Way::Socket(_) => Vec::new(),
            Way::Xdp(receiver) => receiver.alarms(),
        }
    }

    /// What was changed during the run and may cost packets, in whole sentences.
    pub fn notes(&self) -> Vec<String> {
        match &self.way {
            Way::Socket(_) => Vec::new(),
            Way::Xdp(receiver) => receiver.notes(),
        }
    }

    /// Joins a multicast group on the interface with this name; without one, on that of AF_XDP, or of the route to the
    /// group.
    ///
    /// # Errors
    /// If the address is no group, there is no such interface, or no route to the group.
    pub fn join(&self, group: IpAddr, interface: Option<&str>) -> Result<(), LiveReceiveError> {
        match &self.way {
            Way::Socket(receiver) => Ok(receiver.join(group, interface)?),
            Way::Xdp(receiver) => Ok(receiver.join(group, interface)?),
        }
    }

    /// Waits for packets until `deadline` and puts them behind those in `slab`: as soon as there are some, as many as
    /// there are and fit. Says how many. A deadline in the past polls once.
    ///
    /// # Errors
    /// If the kernel fails to receive; packets that had come before are in the slab.
    pub fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, LiveReceiveError> {
        match &mut self.way {
            Way::Socket(receiver) => Ok(receiver.receive(slab, deadline)?),
            Way::Xdp(receiver) => Ok(receiver.receive(slab, deadline)?),
        }
    }

    /// Has packets for this receiver end a sleep, too.
    pub(crate) fn watch(&self, readiness: &mut Readiness) {
        match &self.way {
            Way::Socket(receiver) => receiver.watch(readiness),
            Way::Xdp(receiver) => receiver.watch(readiness),
        }
    }

    /// Warnings, in whole sentences with the command that fixes it.
    pub fn warnings(&self) -> &[String] {
        match &self.way {
            Way::Socket(receiver) => receiver.warnings(),
            Way::Xdp(receiver) => receiver.warnings(),
        }
    }

    /// What has been handed over so far.
    pub fn counters(&self) -> ReceiverCounters {
        match &self.way {
            Way::Socket(receiver) => *receiver.counters(),
            Way::Xdp(receiver) => receiver.counters(),
        }
    }

    /// What AF_XDP has counted; none with a socket. Asks the kernel.
    pub fn xdp_counters(&self) -> Option<XdpCounters> {
        match &self.way {
            Way::Socket(_) => None,
            // Does not fail while the sockets and maps are open.
            Way::Xdp(receiver) => receiver.xdp_counters().ok(),
        }
    }

    /// What has been lost on this host so far, up to now: also after the last packet received. Asks the kernel.
    pub fn losses(&self) -> ReceiveLosses {
        // Reading the counters of what is open does not fail; a zero would only leave a loss without its place.
        match &self.way {
            Way::Socket(receiver) => {
                ReceiveLosses { socket: receiver.drops().unwrap_or_default(), ..ReceiveLosses::default() }
            }
            Way::Xdp(receiver) => {
                let counters = receiver.xdp_counters().unwrap_or_default();
                ReceiveLosses {
                    socket: receiver.drops().unwrap_or_default(),
                    xdp_ring: counters.ring_full,
                    xdp_memory: counters.dropped,
                    frame_checks: receiver.discarded(),
                }
            }
        }
    }

    /// The receive buffer of the socket; none by AF_XDP, which has rings.
    pub fn buffer(&self) -> Option<ReceiveBuffer> {
        match &self.way {
            Way::Socket(receiver) => Some(receiver.buffer()),
            Way::Xdp(_) => None,
        }
    }

    /// All addresses and ports: one through a socket, by AF_XDP one for each port.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        match &self.way {
            Way::Socket(receiver) => vec![receiver.local_address()],
            Way::Xdp(receiver) => receiver.local_addresses(),
        }
    }

    /// The address and port (by AF_XDP the first one), with the port that the kernel chose if it was asked to.
    pub fn local_address(&self) -> SocketAddr {
        match &self.way {
            Way::Socket(receiver) => receiver.local_address(),
            Way::Xdp(receiver) => receiver.local_address(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(method: ReceiveMethod, interface: Option<&str>) -> ReceivePlan {
        let address = ([127, 0, 0, 1], 0).into();
        ReceivePlan {
            method,
            socket: ReceiverOptions::new(address),
            xdp: interface.map(|interface| XdpOptions::new(interface, address)),
            ports: Vec::new(),
            sockets_per_port: 1,
        }
    }

    #[test]
    fn the_way_in_says_why_it_was_taken() {
        let describe = |method, interface| {
            let receivers = LiveReceiver::open(&plan(method, interface)).unwrap();
            assert_eq!(receivers.len(), 1);
            receivers[0].description.clone()
        };
        let asked = describe(ReceiveMethod::Socket, Some("no-such-if"));
        assert!(asked.starts_with("kernel socket") && asked.ends_with("(as configured)"), "{asked}");
        let auto = describe(ReceiveMethod::Auto, None);
        assert!(auto.contains("no receive.interface is named"), "{auto}");
        let fallen_back = describe(ReceiveMethod::Auto, Some("no-such-if"));
        assert!(fallen_back.contains("there is no network interface \"no-such-if\""), "{fallen_back}");
        let error = LiveReceiver::open(&plan(ReceiveMethod::Xdp, None)).unwrap_err().to_string();
        assert!(error.contains("set receive.interface"), "{error}");
        assert!(LiveReceiver::open(&plan(ReceiveMethod::Xdp, Some("no-such-if"))).is_err());
    }

    #[test]
    fn the_interface_in_use_is_the_one_named_if_it_is_there_else_that_of_the_address() {
        let used = |interface| {
            LiveReceiver::open(&plan(ReceiveMethod::Socket, interface)).unwrap()[0].interfaces_in_use()
        };
        let of_address = InterfacesInUse::OfAddress([127, 0, 0, 1].into());
        assert_eq!((used(None), used(Some("no-such-if"))), (of_address.clone(), of_address));
        assert_eq!(used(Some("lo")), InterfacesInUse::Named("lo".into()));
    }

    #[test]
    fn it_can_move_to_its_thread() {
        fn moves<T: Send>() {}
        moves::<LiveReceiver>();
    }
}

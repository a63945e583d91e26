//! The `[receive]` section: how packets come in live.

use evforge_core::feed::STALLED_AFTER;
use evforge_core::quantity::{ByteSize, TimeSpan};
use evforge_core::settings::SettingsError;
use evforge_net::host_counters::CountersRead;
use evforge_net::live_receiver::{ReceiveMethod, ReceivePlan};
use evforge_net::socket::ReceiverOptions;
use evforge_net::xdp::{ChecksumPolicy, XdpOptions};
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::num::TryFromIntError;

/// Most sockets of one port: more than there are cores do not help.
const MOST_SOCKETS: usize = 256;
const MICROSECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000 * MICROSECOND;

/// `[receive]`: how packets come in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveSettings {
    /// Which way.
    pub method: ReceiveMethod,
    /// Network interface to receive from by AF_XDP.
    pub interface: Option<String>,
    /// Numbers of its queues; none: all.
    pub queues: Option<Vec<u32>>,
    /// Have the network card bring the ports to these queues by flow rules.
    pub flow_rules: bool,
    /// Frames that can wait in each queue, and their memory.
    pub ring: u32,
    /// Checksums of packets that come by AF_XDP.
    pub checksums: ChecksumPolicy,
    /// Counters of the host that are read to find the places of losses.
    pub loss_counters: CountersRead,
    /// Local address (or the name of a host) and port. A multicast address is joined, too.
    #[serde(deserialize_with = "evforge_core::endpoint::from_text")]
    pub address: SocketAddr,
    /// Further ports, at the same address.
    pub ports: Vec<u16>,
    /// Sockets for each port, over which the kernel spreads the senders.
    pub sockets: usize,
    /// Multicast groups to join.
    pub groups: Vec<MulticastGroup>,
    /// Receive buffer to ask the kernel for.
    pub buffer: ByteSize,
    /// Let the kernel hand over several datagrams in one piece (UDP_GRO).
    pub coalesce: bool,
    /// Memory for one datagram without `coalesce`; larger ones are cut and counted.
    pub slot: ByteSize,
    /// How long to spin for packets before sleeping.
    pub spin: TimeSpan,
    /// The kernel stamps each packet when it arrives, and not this program when it fetches it.
    pub kernel_stamps: bool,
    /// How long the kernel asks the card for packets before it waits for an interrupt; none: not at all.
    pub busy_poll: Option<TimeSpan>,
    /// How long no packet may come until the feed is said to be stalled.
    pub stalled_after: TimeSpan,
}

/// A multicast group to receive.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MulticastGroup {
    /// Its address.
    pub address: IpAddr,
    /// The network interface to receive it from; none: that of the route to it.
    pub interface: Option<String>,
}

impl Default for ReceiveSettings {
    fn default() -> Self {
        Self {
            method: ReceiveMethod::default(),
            interface: None,
            queues: None,
            flow_rules: false,
            ring: 32_768,
            checksums: ChecksumPolicy::default(),
            loss_counters: CountersRead::default(),
            address: SocketAddr::from(([0, 0, 0, 0], 6006)),
            ports: Vec::new(),
            sockets: 1,
            groups: Vec::new(),
            buffer: ByteSize { bytes: 16_000_000 },
            coalesce: true,
            slot: ByteSize { bytes: 9216 },
            spin: TimeSpan { picoseconds: 50_000_000 },
            kernel_stamps: false,
            busy_poll: None,
            stalled_after: TimeSpan { picoseconds: STALLED_AFTER.as_secs() * SECOND },
        }
    }
}

impl ReceiveSettings {
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let refuse = |key: &str, problem: &str| {
            Err(SettingsError { key: format!("receive.{key}"), problem: problem.to_owned() })
        };
        if !(1..1 << 30).contains(&self.buffer.bytes) {
            return refuse("buffer", "must be in 1B..1GiB");
        }
        if let Some(group) = self.groups.iter().find(|group| !group.address.is_multicast()) {
            let problem = format!(
                "{} is no multicast address: those are 224.0.0.0 to 239.255.255.255, and ff00:: and above",
                group.address
            );
            return refuse("groups", &problem);
        }
        if let Some(port) = self.repeated_port() {
            return refuse(
                "ports",
                &format!("has {port} twice, or it is the port of receive.address already"),
            );
        }
        if !(1..=MOST_SOCKETS).contains(&self.sockets) {
            return refuse("sockets", &format!("must be in 1..={MOST_SOCKETS}"));
        }
        if self.busy_poll.is_some_and(|time| !(MICROSECOND..=1000 * MICROSECOND).contains(&time.picoseconds))
        {
            return refuse("busy_poll", "must be in 1us..=1ms; leave it out for none");
        }
        // The state is made once a second.
        if !(SECOND..=3600 * SECOND).contains(&self.stalled_after.picoseconds) {
            return refuse("stalled_after", "must be in 1s..=1h");
        }
        if !(1..=1 << 16).contains(&self.slot.bytes) {
            return refuse("slot", "must be in 1B..=64KiB");
        }
        if !(64..=131_072).contains(&self.ring) || !self.ring.is_power_of_two() {
            return refuse("ring", "must be a power of two in 64..=131072");
        }
        if self.interface.as_ref().is_some_and(String::is_empty) {
            return refuse("interface", "must be the name of a network interface");
        }
        if self.queues.is_some() && self.interface.is_none() {
            return refuse("queues", "are those of an interface: set receive.interface, too");
        }
        if self.flow_rules && self.interface.is_none() {
            return refuse("flow_rules", "are those of an interface: set receive.interface, too");
        }
        if self.queues.as_ref().is_some_and(Vec::is_empty) {
            return refuse("queues", "must be a list of numbers; leave it out for all queues");
        }
        Ok(())
    }

    /// Sockets that there are to receive from, if they are kernel sockets.
    pub fn receivers(&self) -> usize {
        (1 + self.ports.len()) * self.sockets
    }

    /// A further port that there is twice, or that is 0; none if all are well.
    pub fn repeated_port(&self) -> Option<u16> {
        let before =
            |index: usize| [self.address.port()].into_iter().chain(self.ports[..index].iter().copied());
        let repeated = |&(index, port): &(usize, u16)| port == 0 || before(index).any(|other| other == port);
        self.ports.iter().copied().enumerate().find(repeated).map(|(_, port)| port)
    }

    /// How receivers are to be opened.
    ///
    /// # Errors
    /// If a size does not fit into this machine's memory.
    pub fn plan(&self) -> Result<ReceivePlan, TryFromIntError> {
        let (buffer, spin) = (usize::try_from(self.buffer.bytes)?, self.spin.to_std());
        let socket = ReceiverOptions {
            receive_buffer: buffer,
            coalesce: self.coalesce,
            slot: usize::try_from(self.slot.bytes)?,
            spin,
            kernel_stamps: self.kernel_stamps,
            busy_poll: self.busy_poll.map(TimeSpan::to_std).unwrap_or_default(),
            ..ReceiverOptions::new(self.address)
        };
        let xdp = self.interface.as_ref().map(|interface| XdpOptions {
            queues: self.queues.clone(),
            flow_rules: self.flow_rules,
            ring: self.ring,
            frames: self.ring,
            checksums: self.checksums,
            spin,
            receive_buffer: buffer,
            ..XdpOptions::new(interface, self.address)
        });
        Ok(ReceivePlan {
            method: self.method,
            socket,
            xdp,
            ports: self.ports.clone(),
            sockets_per_port: self.sockets,
        })
    }
}

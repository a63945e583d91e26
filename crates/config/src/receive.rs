//! The `[receive]` section: how packets come in live.

use evforge_core::endpoint::HostAndPort;
use evforge_core::feed::STALLED_AFTER;
use evforge_core::quantity::{ByteSize, TimeSpan};
use evforge_core::settings::SettingsError;
use evforge_net::host_counters::CountersRead;
use evforge_net::live_receiver::{ReceiveMethod, ReceivePlan};
use evforge_net::socket::ReceiverOptions;
use evforge_net::xdp::{ChecksumPolicy, XdpOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::num::TryFromIntError;

/// Most sockets of one port: more than there are cores do not help.
const MOST_SOCKETS: usize = 256;
const MICROSECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000 * MICROSECOND;

/// `[receive]`: how packets come in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveSettings {
    /// `"socket"`: through a kernel socket. `"xdp"`: by AF_XDP, or not at all. `"auto"`: by AF_XDP if `interface` is set and its driver runs
    /// XDP programs itself, else through a socket. What was chosen is reported with the reason.
    pub method: ReceiveMethod,
    /// Network interface to receive from by AF_XDP.
    pub interface: Option<String>,
    /// Numbers of its queues, as in `[0, 1]`. Packets in other queues go through the kernel.
    #[schemars(extend("x-default" = "all"))]
    pub queues: Option<Vec<u32>>,
    /// AF_XDP: have the network card bring the ports to the queues that are received from (`queues`, or all), port after port. The rules are
    /// removed at the end. A card that has no such rules is a warning ([receive.md](receive.md#flow-rules)).
    pub flow_rules: bool,
    /// AF_XDP: frames that can wait in each queue. Each locks 4096 bytes of memory.
    #[schemars(range(min = 64, max = 131_072), extend("x-unit" = "frames", "x-range" = "power of two, 64 to 131072"))]
    pub ring: u32,
    /// AF_XDP: what is done about wrong checksums of IPv4 and UDP. The kernel drops such packets for its sockets.
    pub checksums: ChecksumPolicy,
    /// Which counters of the host are read to find the [loss breakdown](loss.md): the kernel's tables and those of the interfaces in use, the
    /// kernel's tables only, or none.
    pub loss_counters: CountersRead,
    /// Local address and port. `[::]:6006` takes IPv4 and IPv6. Of a **capture** with several ports, too, only this one and `ports` are read if
    /// they occur; else the ports whose packets the configuration reads. The others are counted by port in a hint, and `--port` reads
    /// another one.
    #[serde(with = "HostAndPort")]
    pub address: SocketAddr,
    /// Further ports at the same address, as in `[6007, 6008]`: they belong to the same stream.
    #[schemars(inner(range(min = 1)), extend("x-range" = "1 to 65535"))]
    pub ports: Vec<u16>,
    /// Sockets for each port (SO_REUSEPORT). The kernel spreads the senders over them by address and port, so that several threads can receive
    /// (`threads.receive.count`). One sender never uses more than one. With AF_XDP it has no effect.
    #[schemars(range(min = 1, max = 256))]
    pub sockets: usize,
    /// Multicast groups to join: `[{ address = "239.1.2.3", interface = "eth1" }]`. Without `interface` it is that of the route to the group.
    /// With a group's own address as `address` that group is joined, and nothing else is received.
    pub groups: Vec<MulticastGroup>,
    /// Receive buffer to ask the kernel for (with AF_XDP: of the kernel socket). If the kernel grants less, a warning gives the command that
    /// allows more.
    #[schemars(extend("x-range" = "1 B to 1 GiB − 1 B"))]
    pub buffer: ByteSize,
    /// Let the kernel hand over several datagrams in one piece (UDP_GRO). Faster. The socket then counts drops in pieces, so its count is a
    /// lower bound of the packets lost there ([loss.md](loss.md)).
    pub coalesce: bool,
    /// Memory for one datagram with `coalesce = false`. Larger datagrams are cut and counted.
    #[schemars(extend("x-range" = "1 B to 64 KiB"))]
    pub slot: ByteSize,
    /// How long to spin for packets before sleeping in the kernel. Spinning costs the core, waking up costs some 50 us.
    pub spin: TimeSpan,
    /// The kernel stamps each packet when it arrives, and not this program a batch of them when it fetches it. Costs some 50 ns for each packet;
    /// latencies then contain the time in the socket's buffer.
    pub kernel_stamps: bool,
    /// How long the kernel asks the network card for packets itself before it waits for an interrupt (SO_BUSY_POLL). It shortens the path of
    /// single packets; most drivers of cards know it, virtual interfaces do not. Without the capability CAP_NET_ADMIN interrupts continue as
    /// well, with a warning.
    #[schemars(extend("x-range" = "1 us to 1 ms"))]
    pub busy_poll: Option<TimeSpan>,
    /// Page, terminal and report say *No data for …* when no packet has come for so long. Longer for detectors that send seldom and have no
    /// heartbeats.
    #[schemars(extend("x-range" = "1 s to 1 h"))]
    pub stalled_after: TimeSpan,
}

/// A multicast group to receive.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MulticastGroup {
    /// Its address.
    pub address: IpAddr,
    /// The network interface to receive it from.
    #[schemars(extend("x-default" = "that of the route to it"))]
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

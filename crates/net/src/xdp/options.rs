//! Options of a receiver by AF_XDP.

use std::net::SocketAddr;
use std::time::Duration;

/// How frames come from the network card into our memory, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XdpMode {
    /// The driver runs the program, and the card writes into our memory itself.
    ZeroCopy,
    /// The driver runs the program, and the kernel copies.
    Driver,
    /// The kernel runs the program on what it has already made a packet of, and copies: possible with every
    /// interface, not faster than a socket.
    Generic,
}

impl XdpMode {
    /// All ways, best first.
    pub const ALL: [XdpMode; 3] = [XdpMode::ZeroCopy, XdpMode::Driver, XdpMode::Generic];

    /// The way as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            XdpMode::ZeroCopy => "driver, zero copy",
            XdpMode::Driver => "driver, copied",
            XdpMode::Generic => "generic",
        }
    }
}

/// What to do about the checksums of IPv4 and UDP, which no kernel verifies for us: `receive.checksums`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ChecksumPolicy {
    /// Do not look.
    Off,
    /// Count wrong ones and hand the packets on.
    Count,
    /// Count and drop packets with wrong ones, as the kernel does for its sockets.
    #[default]
    Drop,
}

/// Memory for one frame, or one piece of a larger one, in bytes. Smaller pieces would not hold the frames that
/// detectors send, larger ones need huge pages.
pub(super) const FRAME_MEMORY: usize = 4096;

/// How to receive by AF_XDP.
#[derive(Clone, Debug, PartialEq)]
pub struct XdpOptions {
    /// Name of the network interface.
    pub interface: String,
    /// Numbers of its queues to receive from; none: all there are.
    pub queues: Option<Vec<u32>>,
    /// Port, and address that packets must be sent to: `0.0.0.0` takes any IPv4 packet to the port that reaches the
    /// interface, `[::]` those of IPv4 and IPv6.
    pub address: SocketAddr,
    /// Further ports, at the same address.
    pub ports: Vec<u16>,
    /// Ways to try, in this order.
    pub modes: Vec<XdpMode>,
    /// Frames that can wait for this program in each queue: a power of two from 64 to 131 072.
    pub ring: u32,
    /// Frames of 4096 bytes of memory for each queue: a power of two from 64 to 131 072. Jumbo frames take several.
    pub frames: u32,
    /// Have the network card bring the ports to these queues (flow rules), which are taken back at the end.
    pub flow_rules: bool,
    /// Checksums.
    pub checksums: ChecksumPolicy,
    /// How long to spin for a packet before sleeping in the kernel.
    pub spin: Duration,
    /// Receive buffer of each kernel socket alongside, in bytes (see
    /// [`ReceiverOptions::receive_buffer`](crate::socket::ReceiverOptions::receive_buffer)).
    pub receive_buffer: usize,
}

impl XdpOptions {
    /// Memory that a queue of this many frames locks, in bytes.
    pub fn locked_memory(frames: u32) -> u64 {
        u64::from(frames) * FRAME_MEMORY as u64
    }

    /// All queues, every way, rings and memory of 32 768 frames (134 MB) for each queue, wrong checksums dropped,
    /// 50 us of spinning, one port, 4 MB for the kernel socket alongside.
    pub fn new(interface: &str, address: SocketAddr) -> Self {
        Self {
            interface: interface.to_owned(),
            queues: None,
            address,
            ports: Vec::new(),
            modes: XdpMode::ALL.to_vec(),
            ring: 32_768,
            frames: 32_768,
            flow_rules: false,
            checksums: ChecksumPolicy::default(),
            spin: Duration::from_micros(50),
            receive_buffer: 4_000_000,
        }
    }
}

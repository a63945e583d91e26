//! Options of a receiver and a sender.

use std::net::SocketAddr;
use std::time::Duration;

use crate::pace::Pace;

/// How to receive. [`ReceiverOptions::new`] has the values that are right for most instruments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverOptions {
    /// Local address and port: `0.0.0.0:9000` takes packets for any IPv4 address of the host, `[::]:9000`
    /// IPv4 and IPv6. Port 0 lets the kernel choose one.
    pub address: SocketAddr,
    /// Receive buffer to ask the kernel for, in bytes of its bookkeeping without the doubling that Linux
    /// adds; 1 to 1 073 741 823. What was granted is reported by
    /// [`UdpReceiver::buffer`](crate::socket::UdpReceiver::buffer).
    pub receive_buffer: usize,
    /// Ask for UDP_GRO: the kernel may hand over several datagrams in one piece. Much faster for streams of
    /// equal datagrams; the socket's drop counter then counts pieces.
    pub coalesce: bool,
    /// Memory for one datagram in bytes, 1 to 65 536, without `coalesce` (with it, it is 65 536). A larger
    /// datagram is delivered as a cut packet.
    pub slot: usize,
    /// Take the kernel's arrival stamp of each datagram, not one reading of the clock for each batch. Costs
    /// some 50 ns per datagram.
    pub kernel_stamps: bool,
    /// How long to spin for a packet before sleeping in the kernel. Waking up costs some 50 us of delay and
    /// slows the sender's core where both are on one host; spinning costs this core.
    pub spin: Duration,
    /// Datagrams (or pieces of several) taken in one call of the kernel, 1 to 64.
    pub batch: usize,
    /// Share the port with other receivers of this user that say so, too (SO_REUSEPORT). The kernel spreads senders
    /// over them by their addresses and ports: all packets of one sender's port come to one receiver, in order.
    pub share_port: bool,
    /// Have the kernel ask the network card for packets, for so long, when there are none (SO_BUSY_POLL); zero leaves
    /// it to interrupts. It does nothing for interfaces whose driver does not know it.
    pub busy_poll: Duration,
    /// Take each datagram by a call of the kernel that waits for it, as the receiver of *Reliable UDP at 10 Gb/s* does:
    /// no batches, no spinning, no UDP_GRO. For comparisons.
    pub single_calls: bool,
}

impl ReceiverOptions {
    /// 16 MB buffer, UDP_GRO, 9216 bytes for a datagram otherwise, one clock reading per batch, 50 us of
    /// spinning, batches of 64, a port of its own, no busy polling.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            receive_buffer: 16_000_000,
            coalesce: true,
            slot: 9216,
            kernel_stamps: false,
            spin: Duration::from_micros(50),
            batch: 64,
            share_port: false,
            busy_poll: Duration::ZERO,
            single_calls: false,
        }
    }
}

/// How to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderOptions {
    /// Where to.
    pub destination: SocketAddr,
    /// Local address and port; none lets the kernel choose.
    pub source: Option<SocketAddr>,
    /// Number of local ports to send from, 1 to 1024, so that a network card spreads the packets over its queues; from
    /// the port of `source` on, if it has one. Packets of one recorded source leave from one port and so keep their
    /// order.
    pub source_ports: usize,
    /// How fast.
    pub pace: Pace,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT). Several times faster on
    /// network cards that split them; every packet must then fit into one frame. Over loopback the pieces
    /// stay whole on their way, which no wire would do: do not measure with it there.
    pub segment: bool,
    /// Send buffer to ask the kernel for, in bytes; none keeps the system's default. A process without privilege gets
    /// no more than the host's limit (net.core.wmem_max).
    pub send_buffer: Option<usize>,
    /// Give each packet to the kernel by a call of its own, as the generator of *Reliable UDP at 10 Gb/s* does. For
    /// comparisons.
    pub single_calls: bool,
}

impl SenderOptions {
    /// Unpaced, packet by packet, from one port that the kernel chooses.
    pub fn new(destination: SocketAddr) -> Self {
        Self {
            destination,
            source: None,
            source_ports: 1,
            pace: Pace::Unpaced,
            segment: false,
            send_buffer: None,
            single_calls: false,
        }
    }
}

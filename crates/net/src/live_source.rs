//! What every way of receiving has in common.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Instant;

use evforge_core::packet::PacketSlab;

use crate::socket::{ReceiverCounters, SocketDrops, UdpReceiver};

/// Why packets cannot be received any more, in words for a person.
pub type LiveError = Box<dyn Error + Send + Sync>;

/// Packets from the network, as they come. Whoever records them knows no more of how they came in than this.
pub trait LiveSource: Send {
    /// Waits for packets until `deadline` and puts them behind those in `slab`: as soon as there are some, as many as
    /// there are and fit. Says how many. A deadline in the past takes what is there.
    ///
    /// # Errors
    /// If receiving fails; packets that had come before are in the slab.
    fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, LiveError>;

    /// Bytes that must be free in a slab that is not empty, for the next packets to fit.
    fn largest_piece(&self) -> usize;

    /// The local address and port.
    fn local_address(&self) -> SocketAddr;

    /// What has been handed over so far.
    fn counters(&self) -> ReceiverCounters;

    /// What reached this source and was not fetched in time, up to now.
    fn drops(&self) -> SocketDrops;
}

impl LiveSource for UdpReceiver {
    fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, LiveError> {
        Ok(UdpReceiver::receive(self, slab, deadline)?)
    }

    fn largest_piece(&self) -> usize {
        1 << 16
    }

    fn local_address(&self) -> SocketAddr {
        UdpReceiver::local_address(self)
    }

    fn counters(&self) -> ReceiverCounters {
        *UdpReceiver::counters(self)
    }

    fn drops(&self) -> SocketDrops {
        // Reading the socket's own counter does not fail on an open socket.
        UdpReceiver::drops(self).unwrap_or_default()
    }
}

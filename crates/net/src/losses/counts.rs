//! What the counters say.

use crate::host_counters::HostCounters;
use crate::live_receiver::ReceiveLosses;

use evforge_core::losses::LossLocation;

/// What the counters of a live input say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Packets missing in the sequences of all sources.
    pub sequence: u64,
    /// Packets our own queue dropped.
    pub own_queue: u64,
    /// What the counters of the socket and of AF_XDP say.
    pub receiver: ReceiveLosses,
    /// What the counters of the host and of its interfaces say; other traffic is in them as well.
    pub host: HostCounters,
    /// True if the packets carry numbers, so that `sequence` means something.
    pub numbered: bool,
}

/// What the socket's count of drops is made of.
pub(super) struct SocketSplit {
    /// Dropped because the buffer was full.
    pub(super) full: u64,
    /// Dropped for a wrong checksum.
    pub(super) wrong: u64,
    /// True if other sockets may have a part in it.
    pub(super) inferred: bool,
}

impl LossCounts {
    /// The kernel counts drops of a socket for both reasons together, and each reason for the whole host.
    pub(super) fn split_socket(&self) -> SocketSplit {
        let (drops, kernel) = (self.receiver.socket.count, &self.host.kernel);
        let wrong = kernel.checksum_errors.min(drops);
        let of_the_host = kernel.checksum_errors + kernel.receive_buffer_errors + kernel.memory_errors;
        SocketSplit { full: drops - wrong, wrong, inferred: wrong > 0 && of_the_host > drops }
    }

    /// Frames that the backlog dropped: of all interfaces, but no more than those in use have dropped.
    pub(super) fn backlog(&self) -> u64 {
        let drops = self.host.kernel.backlog_drops;
        self.host.interfaces.map_or(drops, |interfaces| drops.min(interfaces.dropped))
    }

    /// What the interfaces dropped and no other counter explains: theirs holds the drops of backlog and XDP, too.
    pub(super) fn driver_ring(&self) -> u64 {
        let dropped = self.host.interfaces.map_or(0, |interfaces| interfaces.dropped);
        dropped
            .saturating_sub(self.host.kernel.backlog_drops)
            .saturating_sub(self.receiver.xdp_ring + self.receiver.xdp_memory)
    }

    /// Counters of single packets that hold other traffic, too; and the backlog's, if it counts single ones.
    pub(super) fn hints(&self, with_backlog: bool) -> Vec<(LossLocation, u64)> {
        let (kernel, interfaces) = (&self.host.kernel, self.host.interfaces.unwrap_or_default());
        vec![
            (LossLocation::Link, interfaces.lost_on_the_link()),
            (LossLocation::NetworkCard, interfaces.lost_in_the_card()),
            (LossLocation::KernelBacklog, if with_backlog { self.backlog() } else { 0 }),
            (LossLocation::Checksum, kernel.header_errors),
            (LossLocation::Reassembly, kernel.reassembly_failures),
        ]
    }
}

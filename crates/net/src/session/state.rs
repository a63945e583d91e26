//! What a receiving side knows.

use crate::live_receiver::ReceiveLosses;
use crate::socket::ReceiverCounters;
use crate::xdp::XdpCounters;

use super::receiver::PacketReceiver;

/// What a receiving side knows, for whoever shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveState {
    /// What has been received.
    pub counters: ReceiverCounters,
    /// What has been lost on this host before it could be received.
    pub losses: ReceiveLosses,
    /// What AF_XDP has counted; none with sockets.
    pub xdp: Option<XdpCounters>,
    /// Packets received and dropped, because whoever works on them was behind.
    pub own_queue: u64,
    /// What is wrong with receiving, or was during the session, in whole sentences.
    pub alarms: Vec<String>,
    /// What was changed during the session and may cost packets, in whole sentences.
    pub notes: Vec<String>,
}

impl ReceiveState {
    /// That of a receiver, of whose packets this many have been dropped in our own queue. Asks the kernel.
    pub fn of(receiver: &dyn PacketReceiver, own_queue: u64) -> Self {
        Self {
            counters: receiver.counters(),
            losses: receiver.losses(),
            xdp: receiver.xdp_counters(),
            own_queue,
            alarms: receiver.alarms(),
            notes: receiver.notes(),
        }
    }

    /// Adds what another thread knows.
    pub fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.losses.add(&other.losses);
        // By AF_XDP there is one receiver.
        self.xdp = self.xdp.or(other.xdp);
        self.own_queue += other.own_queue;
        self.alarms.extend(other.alarms.iter().cloned());
        self.notes.extend(other.notes.iter().cloned());
    }
}

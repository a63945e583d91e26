//! Over TCP: whole trains, each with a header before it.

use super::counters::ForwardCounters;
use super::pace::Pace;
use crate::tcp::{Sending, TrainStream};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

/// The connections of all modules.
#[derive(Debug)]
pub(super) struct TcpForward {
    to: SocketAddr,
    /// What no other sender has.
    sender: u64,
    streams: BTreeMap<u8, TrainStream>,
}

impl TcpForward {
    /// To this node.
    pub(super) fn new(to: SocketAddr) -> Self {
        // The keys of the standard library's hash tables are by chance.
        Self { to, sender: RandomState::new().hash_one(to), streams: BTreeMap::new() }
    }

    /// Sends a whole train of a module, or counts why not.
    pub(super) fn send(
        &mut self,
        module: u8,
        number: u64,
        train: &[u8],
        pace: &mut Pace,
        counters: &mut ForwardCounters,
    ) {
        let (to, sender) = (self.to, self.sender);
        let stream = self.streams.entry(module).or_insert_with(|| TrainStream::new(to, sender, module));
        *match stream.send(number, train, |bytes| pace.wait(bytes)) {
            Sending::Sent => &mut counters.trains_sent,
            Sending::NotConnected => &mut counters.trains_not_connected,
            Sending::TimedOut => &mut counters.trains_not_taken_in_time,
            Sending::BrokenOff => &mut counters.trains_broken_off,
        } += 1;
    }

    /// What the streams have counted themselves.
    pub(super) fn count(&self, counters: &mut ForwardCounters) {
        let totals = self.streams.values().map(TrainStream::totals);
        let sums = totals.fold([0; 3], |[a, b, c], [x, y, z]| [a + x, b + y, c + z]);
        [counters.bytes_sent, counters.connections_made, counters.connections_not_made] = sums;
    }
}

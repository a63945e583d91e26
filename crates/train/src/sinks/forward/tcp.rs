//! Over TCP: whole trains, each with a header before it.

use super::counters::ForwardCounters;
use super::pace::Pace;
use crate::tcp::{Sending, TrainStream};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a train waits at most: for a connection that is being made, or for a next node that takes nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const LEAST_PATIENCE: Duration = Duration::from_millis(50);

/// The connections of all modules.
#[derive(Debug)]
pub(super) struct TcpForward {
    to: SocketAddr,
    /// What no other sender has.
    sender: u64,
    streams: BTreeMap<u8, TrainStream>,
    /// Trains of any module that could not be sent since one was. All modules go to one node: where one has waited in vain, the others
    /// wait for less.
    failures: u32,
}

impl TcpForward {
    /// To this node.
    pub(super) fn new(to: SocketAddr) -> Self {
        // The keys of the standard library's hash tables are by chance.
        Self { to, sender: RandomState::new().hash_one(to), streams: BTreeMap::new(), failures: 0 }
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
        let sending = stream.send(number, train, patience(self.failures), |bytes| pace.wait(bytes));
        self.failures = if sending == Sending::Sent { 0 } else { self.failures.saturating_add(1) };
        *match sending {
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

/// How long a train waits after so many in a row that were not sent: half as long each time, so that a next node that does not answer
/// takes little of this one's time.
fn patience(failures: u32) -> Duration {
    (PATIENCE / (1 << failures.min(16))).max(LEAST_PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn patience_ends_soon() {
        assert_eq!((patience(0), patience(1)), (PATIENCE, PATIENCE / 2));
        assert_eq!((patience(5), patience(u32::MAX)), (LEAST_PATIENCE, LEAST_PATIENCE));
        let all: Duration = (0..16).map(patience).sum();
        assert!(all < Duration::from_secs(3), "sixteen modules that wait in vain: {all:?}");
    }

    #[test]
    fn a_next_node_that_takes_nothing_holds_each_module_up_for_less_time() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut forward = TcpForward::new(silent.local_addr().expect("an address"));
        let (mut counters, mut pace) = (ForwardCounters::default(), Pace::new(None));
        // More than the kernel keeps for both sides.
        let train = vec![0; 64 << 20];
        for module in 0..3 {
            forward.send(module, 1, &train, &mut pace, &mut counters);
        }
        // Some may have found no connection in so little time.
        assert_eq!(counters.trains_not_taken_in_time + counters.trains_not_connected, 3, "{counters:?}");
        assert!(counters.trains_not_taken_in_time >= 1, "{counters:?}");
        assert_eq!(forward.failures, 3, "the next one waits for an eighth of the time");
    }
}

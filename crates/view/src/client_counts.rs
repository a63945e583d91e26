//! What browsers and their connections have done.

use crate::json_object::json_object;
use evforge_core::seats::Seats;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::oneshot;

json_object! {
    /// What the browsers have done since the start.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub struct ClientCounts {
        /// Browsers watching now.
        pub connected: u64,
        /// Browsers dropped because they acknowledged nothing in time or broke the protocol.
        pub dropped: u64,
        /// Browsers turned away because there were too many, all together or from one address.
        pub refused: u64,
        /// Updates sent to all browsers.
        pub updates_sent: u64,
        /// Updates that browsers missed because they were slow.
        pub updates_skipped: u64,
        /// Connections open now, those of browsers that watch among them.
        pub connections: u64,
        /// Connections turned away because too many were open: all together, from one address, or for the descriptors that the
        /// process may have.
        pub connections_refused: u64,
        /// Connections cut because they asked for nothing, or took no part of an answer, for too long.
        pub connections_timed_out: u64,
    }
}

/// Counters of the browsers, and of their connections.
#[derive(Debug, Default)]
pub(crate) struct ClientCounters {
    /// Who watches.
    pub(crate) browsers: Arc<Seats<()>>,
    /// What is open.
    pub(crate) connections: Arc<Seats<oneshot::Sender<()>>>,
    pub(crate) dropped: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) connections_timed_out: AtomicU64,
}

impl ClientCounters {
    /// Browsers watching now.
    pub(crate) fn connected(&self) -> u64 {
        self.browsers.open() as u64
    }

    pub(crate) fn snapshot(&self) -> ClientCounts {
        ClientCounts {
            connected: self.connected(),
            dropped: self.dropped.load(Relaxed),
            refused: self.refused.load(Relaxed),
            updates_sent: self.sent.load(Relaxed),
            updates_skipped: self.skipped.load(Relaxed),
            connections: self.connections.open() as u64,
            connections_refused: self.connections_refused.load(Relaxed),
            connections_timed_out: self.connections_timed_out.load(Relaxed),
        }
    }
}

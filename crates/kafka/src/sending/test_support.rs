//! A transport for tests that keeps what it is given.

use super::record::{FailureKind, OnDisk, OwnedRecord, Record, Refused, Report, Ticket, Transport, Trouble};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A broker in memory.
#[derive(Debug, Default)]
pub(crate) struct Broker {
    /// Messages that were acknowledged.
    pub(crate) topic: Vec<OwnedRecord>,
    /// Messages given to the client and not acknowledged.
    pub(crate) in_memory: VecDeque<(OwnedRecord, Ticket)>,
    /// How many of these there can be.
    pub(crate) room: usize,
    pub(crate) is_down: bool,
    /// Nothing is heard of it.
    pub(crate) is_silent: bool,
    /// Nothing is heard of messages with events.
    pub(crate) loses_events: bool,
    /// The next message fails for this reason.
    pub(crate) fails: Option<FailureKind>,
    /// All messages were given up.
    pub(crate) is_purged: bool,
}

/// A transport whose broker the test holds as well.
#[derive(Clone, Debug)]
pub(crate) struct MemoryTransport(Arc<Mutex<Broker>>);

impl MemoryTransport {
    pub(crate) fn new(room: usize) -> Self {
        Self(Arc::new(Mutex::new(Broker { room, ..Broker::default() })))
    }

    pub(crate) fn broker(&self) -> MutexGuard<'_, Broker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for MemoryTransport {
    fn send(&mut self, record: &Record<'_>, ticket: Ticket) -> Result<(), Refused> {
        let mut broker = self.broker();
        if broker.in_memory.len() >= broker.room {
            return Err(Refused::Full);
        }
        broker.in_memory.push_back((OwnedRecord::from(record), ticket));
        Ok(())
    }

    fn poll(&mut self, _: Duration, reports: &mut Vec<Report>) {
        let mut broker = self.broker();
        if broker.is_down || broker.is_silent {
            return;
        }
        let mut kept = VecDeque::new();
        while let Some((record, ticket)) = broker.in_memory.pop_front() {
            if broker.loses_events && record.events > 0 {
                kept.push_back((record, ticket));
                continue;
            }
            let purged = broker.is_purged.then_some(FailureKind::Purged);
            let failure =
                purged.or(broker.fails.take()).map(|kind| (kind, "as the test wants it".to_owned()));
            let is_given_up = broker.is_purged && matches!(ticket.on_disk, OnDisk::Then { .. });
            let given_up = is_given_up.then(|| record.clone());
            if failure.is_none() {
                broker.topic.push(record);
            }
            reports.push(Report { ticket, failure, given_up });
        }
        broker.in_memory = kept;
    }

    fn trouble(&self) -> Option<Trouble> {
        let words = "the test's broker is down".to_owned();
        self.broker().is_down.then_some(Trouble { words, is_total: true })
    }

    fn fatal(&self) -> Option<String> {
        None
    }

    fn retries(&self) -> u64 {
        0
    }

    fn purge(&mut self) {
        let mut broker = self.broker();
        (broker.is_down, broker.is_silent, broker.is_purged) = (false, false, true);
    }
}

//! Messages that wait to be sent: bounded in number and in bytes.

use crate::record::Record;
use evforge_core::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

#[cfg(all(test, loom))]
mod models;

/// Bytes that may wait.
const MOST_BYTES: usize = 16 << 20;

/// The queue, for who says something and for the thread that sends.
#[derive(Debug)]
pub(super) struct Waiting {
    queue: Mutex<Queue>,
    changed: Condvar,
    most: usize,
}

#[derive(Debug, Default)]
struct Queue {
    records: VecDeque<Arc<Record>>,
    bytes: usize,
    /// Taken out and not yet sent.
    sending: bool,
    has_ended: bool,
    /// Nobody sends any more.
    is_left: bool,
    /// How many found no room since somebody has asked.
    dropped: u64,
}

/// What the thread that sends has to do.
pub(super) enum Next {
    /// Send this.
    Send(Arc<Record>),
    /// Nothing at the moment.
    Nothing,
    /// Nothing more.
    End,
}

impl Waiting {
    pub(super) fn new(most: usize) -> Self {
        Self { queue: Mutex::new(Queue::default()), changed: Condvar::new(), most }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message: false if there is no room for it.
    pub(super) fn offer(&self, record: Arc<Record>) -> bool {
        let mut queue = self.lock();
        let bytes = record.size();
        if queue.has_ended || queue.records.len() >= self.most || queue.bytes + bytes > MOST_BYTES {
            queue.dropped += 1;
            return false;
        }
        queue.bytes += bytes;
        queue.records.push_back(record);
        drop(queue);
        self.changed.notify_all();
        true
    }

    /// Waits for the next message, not for longer than `patience`. The one before has been dealt with.
    pub(super) fn next(&self, patience: Duration) -> Next {
        let mut queue = self.lock();
        // Who waits for the end is told when the thread leaves, which it does next.
        queue.sending = false;
        let waited = self
            .changed
            .wait_timeout_while(queue, patience, |queue| queue.records.is_empty() && !queue.has_ended);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match queue.records.pop_front() {
            Some(record) => {
                queue.bytes -= record.size();
                queue.sending = true;
                Next::Send(record)
            }
            None if queue.has_ended => Next::End,
            None => Next::Nothing,
        }
    }

    /// How many found no room since this was asked last.
    pub(super) fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.lock().dropped)
    }

    /// How many wait.
    pub(super) fn count(&self) -> u64 {
        let queue = self.lock();
        queue.records.len() as u64 + u64::from(queue.sending)
    }

    /// Waits for a while before a further attempt: true if the end has come.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let queue = self.lock();
        let waited = self.changed.wait_timeout_while(queue, time, |queue| !queue.has_ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    /// Nobody sends any more: whoever waits for the end need not.
    pub(super) fn leave(&self) {
        self.lock().is_left = true;
        self.changed.notify_all();
    }

    /// Takes no more, and waits until all are sent, not for longer than `patience`: how many are left.
    pub(super) fn end(&self, patience: Duration) -> u64 {
        let mut queue = self.lock();
        queue.has_ended = true;
        self.changed.notify_all();
        let waits = |queue: &mut Queue| !queue.is_left && (!queue.records.is_empty() || queue.sending);
        let (mut queue, _) =
            self.changed.wait_timeout_while(queue, patience, waits).unwrap_or_else(PoisonError::into_inner);
        let left = queue.records.len() as u64 + u64::from(queue.sending);
        queue.records.clear();
        queue.bytes = 0;
        left
    }
}

//! When one file of a recording ends and the next begins.

use std::time::Duration;

/// When a file is closed and the next one begun: at the first limit that is reached. Without limits there is one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Largest file in bytes. A file has at least one packet, whatever its size.
    pub size: Option<u64>,
    /// Longest time that a file covers, by the arrival stamps of its packets. Where no packets come any more, the file
    /// is closed when it has been open for so long.
    pub time: Option<Duration>,
}

impl Rotation {
    /// True if there can be more than one file.
    pub fn is_on(&self) -> bool {
        self.size.is_some() || self.time.is_some()
    }

    /// True if a file that has packets, the first of them stamped `first_ns`, may not take one more, stamped
    /// `next_ns`, with which it would have `bytes` bytes.
    pub(super) fn is_due(&self, bytes: u64, first_ns: u64, next_ns: u64) -> bool {
        // A stamp that has gone back is of no file's end.
        let covered = Duration::from_nanos(next_ns.saturating_sub(first_ns));
        self.size.is_some_and(|limit| bytes > limit) || self.time.is_some_and(|limit| covered >= limit)
    }

    /// True if a file that has been open for so long is to be closed although no packets come.
    pub(super) fn is_due_while_idle(&self, open: Duration) -> bool {
        self.time.is_some_and(|limit| open >= limit)
    }
}

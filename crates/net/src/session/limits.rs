//! When a session is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What ends a session in good order.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits<'a> {
    /// Set from outside to end it.
    pub stop: &'a AtomicBool,
    /// End after so long, if set.
    pub ends_after: Option<Duration>,
    /// End when no packet has come for so long, once there were some, if set.
    pub idle_limit: Option<Duration>,
}

/// Decides when a session is over.
#[derive(Clone, Debug)]
pub struct SessionClock<'a> {
    limits: SessionLimits<'a>,
    started: Instant,
    packets: u64,
    last_packet: Option<Instant>,
}

impl<'a> SessionClock<'a> {
    /// The session begins now.
    pub fn start(limits: SessionLimits<'a>) -> Self {
        Self { limits, started: Instant::now(), packets: 0, last_packet: None }
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// So many packets have come since the beginning: if it is another number than last time, some came just now.
    pub(super) fn note(&mut self, packets: u64) {
        if packets != self.packets {
            (self.packets, self.last_packet) = (packets, Some(Instant::now()));
        }
    }

    /// True if the session is to end.
    pub(super) fn is_over(&self) -> bool {
        let SessionLimits { stop, ends_after, idle_limit } = self.limits;
        stop.load(Ordering::Relaxed)
            || ends_after.is_some_and(|limit| self.elapsed() >= limit)
            || idle_limit.zip(self.last_packet).is_some_and(|(limit, last)| last.elapsed() >= limit)
    }
}

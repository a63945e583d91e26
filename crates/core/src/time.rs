//! The clock of a run, behind an interface that a test can replace.
//!
//! Events never depend on it: it decides when something is shown, written or tried again, and, where neither the readout
//! nor the packets tell the date, the date of the detector's clock. The real one is `evforge_net::clock::SystemClock`.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Tells the time to everything in a run that may look at a clock.
pub trait Clock: Send + Sync + Debug {
    /// Nanoseconds since 1970-01-01T00:00:00Z. May jump when somebody sets the clock.
    fn unix_ns(&self) -> u64;

    /// Time since some moment before the run, which never goes back: for intervals and patience.
    fn elapsed(&self) -> Duration;

    /// Waits. A test's clock moves on instead.
    fn sleep(&self, time: Duration);
}

/// A clock that only moves when it is told to: for tests.
#[derive(Debug, Default)]
pub struct ManualClock {
    nanoseconds: AtomicU64,
    unix_start_ns: u64,
}

impl ManualClock {
    /// A clock that begins at `unix_ns` nanoseconds since 1970.
    pub fn starting_at(unix_ns: u64) -> Self {
        Self { nanoseconds: AtomicU64::new(0), unix_start_ns: unix_ns }
    }

    /// Moves the clock on.
    pub fn advance(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn unix_ns(&self) -> u64 {
        self.unix_start_ns.saturating_add(self.nanoseconds.load(Ordering::Relaxed))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    fn sleep(&self, time: Duration) {
        self.advance(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_when_it_is_told_to_or_somebody_waits() {
        let clock = ManualClock::starting_at(5);
        clock.advance(Duration::from_nanos(3));
        clock.sleep(Duration::from_nanos(2));
        assert_eq!((clock.unix_ns(), clock.elapsed()), (10, Duration::from_nanos(5)));
    }
}

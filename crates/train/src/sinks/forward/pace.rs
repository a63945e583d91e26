//! When the next bytes may leave.

use std::time::{Duration, Instant};

/// Holds bytes back so that no more leave than a rate allows.
#[derive(Debug)]
pub(super) struct Pace {
    due: Instant,
    bits_per_second: Option<u64>,
}

impl Pace {
    /// At this rate; without one nothing waits.
    pub(super) fn new(bits_per_second: Option<u64>) -> Self {
        Self { due: Instant::now(), bits_per_second }
    }

    /// Waits until so many bytes may leave.
    pub(super) fn wait(&mut self, bytes: usize) {
        let Some(rate) = self.bits_per_second else { return };
        let now = Instant::now();
        std::thread::sleep(self.due.saturating_duration_since(now));
        // What was not used is gone: no burst makes up for a pause.
        self.due = now.max(self.due) + Duration::from_secs_f64(8.0 * bytes as f64 / rate.max(1) as f64);
    }
}

//! Waits until messages are due, as they were once, or faster.

use super::sender::Sender;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long is waited before the client is served and `stop` is looked at.
const SLICE: Duration = Duration::from_millis(20);

/// When messages are due.
#[derive(Debug)]
pub(super) struct Pacer {
    /// How much faster than it was; none: at once.
    speed: Option<f64>,
    /// When the first was sent, and its time.
    begin: Option<(Instant, i64)>,
    /// The latest that one was.
    pub(super) latest: Duration,
}

impl Pacer {
    pub(super) fn new(speed: Option<f64>) -> Self {
        Self { speed, begin: None, latest: Duration::ZERO }
    }

    /// Waits until a message of this time is due. False if `stop` was set before.
    pub(super) fn wait(&mut self, time_ns: i64, sender: &mut Sender, stop: &AtomicBool) -> bool {
        let Some(speed) = self.speed else { return !stop.load(Ordering::Relaxed) };
        let (begin, first) = *self.begin.get_or_insert_with(|| (Instant::now(), time_ns));
        // One that is older than the first is due at once.
        let after = time_ns.saturating_sub(first).max(0) as f64 * 1e-9 / speed;
        let due = begin + Duration::try_from_secs_f64(after).unwrap_or(Duration::MAX / 4);
        loop {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            let now = Instant::now();
            if now >= due {
                self.latest = self.latest.max(now - due);
                return true;
            }
            // Serves the client and comes back after this time.
            sender.poll((due - now).min(SLICE));
        }
    }
}

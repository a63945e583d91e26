//! When a session is over.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evforge_core::time::Clock;

use crate::clock::SystemClock;

/// How much longer a sender is waited for that has not reported yet: its host may be busy, and its report comes behind its last packet.
pub const SENDER_PATIENCE: Duration = Duration::from_secs(10);

/// What ends a session in good order, besides whoever stops it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionLimits {
    /// End after this time, if set.
    pub ends_after: Option<Duration>,
    /// End when no packet has come for this time, once there were some, if set.
    pub idle_limit: Option<Duration>,
    /// The reports that senders write when they have sent all. While one is missing, no packet must have come for
    /// [`SENDER_PATIENCE`] more.
    pub sent: Vec<PathBuf>,
}

/// Decides when a session is over.
#[derive(Clone, Debug)]
pub struct SessionClock<'a> {
    limits: SessionLimits,
    stop: &'a AtomicBool,
    clock: Arc<dyn Clock>,
    started: Duration,
    packets: u64,
    last_packet: Option<Duration>,
    last_look: Duration,
}

impl<'a> SessionClock<'a> {
    /// The session begins now. It ends when `stop` is set, too.
    pub fn start(limits: SessionLimits, stop: &'a AtomicBool) -> Self {
        Self::start_by(limits, stop, Arc::new(SystemClock::start()))
    }

    /// The same, by the clock of a run.
    pub fn start_by(limits: SessionLimits, stop: &'a AtomicBool, clock: Arc<dyn Clock>) -> Self {
        let started = clock.elapsed();
        Self { limits, stop, clock, started, packets: 0, last_packet: None, last_look: started }
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.started)
    }

    /// This many packets, or bytes, have come since the beginning: if it is another number than last time, some came just now.
    /// To be called before each look at [whether it is over](Self::is_over): the silence lasts until then.
    pub fn note(&mut self, packets: u64) {
        self.last_look = self.clock.elapsed();
        if packets != self.packets {
            (self.packets, self.last_packet) = (packets, Some(self.last_look));
        }
    }

    /// Whoever receives has not looked again since packets came: it works on them, or is held up, and others may wait.
    pub(super) fn note_work(&mut self) {
        self.last_packet = self.last_packet.map(|_| self.last_look);
    }

    /// True if the session is to end.
    pub fn is_over(&self) -> bool {
        let SessionLimits { ends_after, idle_limit, .. } = self.limits;
        self.stop.load(Ordering::Relaxed)
            || ends_after.is_some_and(|limit| self.elapsed() >= limit)
            || idle_limit.zip(self.last_packet).is_some_and(|(limit, last)| self.is_idle(limit, last))
    }

    fn is_idle(&self, limit: Duration, last: Duration) -> bool {
        let silence = self.last_look.saturating_sub(last);
        // Files are looked at only when silence could end it.
        silence >= limit
            && (silence >= limit.saturating_add(SENDER_PATIENCE)
                || self.limits.sent.iter().all(|report| report.exists()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::time::ManualClock;

    #[test]
    fn a_session_ends_by_the_clock_that_it_is_given() {
        let stop = AtomicBool::new(false);
        let clock = Arc::new(ManualClock::default());
        let second = Duration::from_secs(1);
        let limits = SessionLimits {
            ends_after: Some(10 * second),
            idle_limit: Some(3 * second),
            ..SessionLimits::default()
        };
        let mut session = SessionClock::start_by(limits, &stop, Arc::clone(&clock) as Arc<dyn Clock>);
        clock.advance(4 * second);
        session.note(0);
        assert!(!session.is_over(), "idle counts from the first packet");
        session.note(1);
        clock.advance(2 * second);
        session.note(1);
        assert!(!session.is_over());
        clock.advance(second);
        session.note(1);
        assert!(session.is_over(), "nothing has come for three seconds");
        session.note(2);
        assert!(!session.is_over());
        clock.advance(3 * second);
        assert_eq!((session.elapsed(), session.is_over()), (10 * second, true));
    }

    #[test]
    fn a_sender_that_has_not_reported_is_waited_for() {
        let (stop, folder) = (AtomicBool::new(false), tempfile::tempdir().expect("a folder"));
        let sent = [folder.path().join("a.json"), folder.path().join("b.json")];
        let (clock, idle) = (Arc::new(ManualClock::default()), Duration::from_millis(600));
        let limits =
            SessionLimits { idle_limit: Some(idle), sent: sent.to_vec(), ..SessionLimits::default() };
        let mut session = SessionClock::start_by(limits, &stop, Arc::clone(&clock) as Arc<dyn Clock>);
        session.note(1);
        clock.advance(idle);
        session.note(1);
        std::fs::write(&sent[0], "{}").expect("a report");
        assert!(!session.is_over(), "the other one has not reported");
        std::fs::write(&sent[1], "{}").expect("a report");
        assert!(session.is_over());
        std::fs::remove_file(&sent[0]).expect("a report");
        assert!(!session.is_over());
        clock.advance(SENDER_PATIENCE);
        session.note(1);
        assert!(session.is_over(), "it may never report");
    }
}

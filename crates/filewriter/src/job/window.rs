//! Which messages of a module's source belong to a run.
//!
//! | time of the data | what becomes of the message |
//! |---|---|
//! | before the start, and the module keeps the value at the start | the newest is held, and written before the first of the run; older ones are superseded |
//! | before the start, otherwise | left out |
//! | from the start to the stop | written; one with the time of the message before only if the module takes repetitions |
//! | after the stop | left out |
//! | before that of the message before | written, and counted as unordered |

use crate::modules::WindowRule;
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of a run, nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The first time that belongs to it.
    pub start_ns: i64,
    /// The last one, if it is known.
    pub stop_ns: Option<i64>,
}

/// Nanoseconds since 1970 by the clock of this host.
pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is written.
    Write {
        /// Its data are from before those of the message before.
        is_unordered: bool,
    },
    /// It is held; the one that was held before is superseded.
    Hold,
    /// It is from before the start.
    BeforeStart,
    /// It is older than the one that is held.
    Superseded,
    /// It has the time of the message before.
    Repeated,
    /// It is from after the stop.
    AfterStop,
}

/// Where a source is in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceWindow {
    /// The time of the newest message that is held.
    pub held_ns: Option<i64>,
    /// The time of the last message that was written.
    pub last_ns: Option<i64>,
    /// True once a message from after the stop has come.
    pub has_ended: bool,
}

impl SourceWindow {
    /// Judges a message by the time of its data.
    pub fn judge(&mut self, time_ns: i64, window: &Window, rule: WindowRule) -> Verdict {
        if window.stop_ns.is_some_and(|stop| time_ns > stop) {
            self.has_ended = true;
            return Verdict::AfterStop;
        }
        if time_ns < window.start_ns {
            if !rule.keeps_last_before_start {
                return Verdict::BeforeStart;
            }
            // Once the run has begun, the value at its start is in the file.
            if self.last_ns.is_some() || self.held_ns.is_some_and(|held| time_ns < held) {
                return Verdict::Superseded;
            }
            self.held_ns = Some(time_ns);
            return Verdict::Hold;
        }
        if !rule.allows_repeats && self.last_ns == Some(time_ns) {
            return Verdict::Repeated;
        }
        let is_unordered = self.last_ns.is_some_and(|last| time_ns < last);
        self.last_ns = Some(time_ns);
        Verdict::Write { is_unordered }
    }

    /// What is held is written now.
    pub fn release(&mut self) {
        self.held_ns = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { start_ns: 100, stop_ns: Some(200) };
    const LOG: WindowRule = WindowRule { keeps_last_before_start: true, allows_repeats: false };
    const EVENTS: WindowRule = WindowRule { keeps_last_before_start: false, allows_repeats: true };

    fn verdicts(rule: WindowRule, times: &[i64]) -> Vec<Verdict> {
        let mut source = SourceWindow::default();
        times.iter().map(|time| source.judge(*time, &WINDOW, rule)).collect()
    }

    const WRITE: Verdict = Verdict::Write { is_unordered: false };
    const UNORDERED: Verdict = Verdict::Write { is_unordered: true };

    #[test]
    fn the_newest_value_from_before_the_start_is_held() {
        use Verdict::{AfterStop, Hold, Repeated, Superseded};
        assert_eq!(
            verdicts(LOG, &[50, 40, 60, 100, 100, 99, 150, 120, 200, 201, 160]),
            [
                Hold, Superseded, Hold, WRITE, Repeated, Superseded, WRITE, UNORDERED, WRITE, AfterStop,
                UNORDERED
            ]
        );
    }

    #[test]
    fn events_are_taken_from_the_start_on_and_as_often_as_they_come() {
        use Verdict::{AfterStop, BeforeStart};
        assert_eq!(
            verdicts(EVENTS, &[99, 100, 100, 200, 150, 300]),
            [BeforeStart, WRITE, WRITE, WRITE, UNORDERED, AfterStop]
        );
    }

    #[test]
    fn without_a_stop_nothing_is_too_late() {
        let open = Window { start_ns: 0, stop_ns: None };
        let mut source = SourceWindow::default();
        assert_eq!(source.judge(i64::MAX, &open, EVENTS), WRITE);
    }
}

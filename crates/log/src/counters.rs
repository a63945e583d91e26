//! What the log counts.

use crate::record::Severity;
use evforge_core::counter::{CounterSet, CounterSnapshot};
use std::sync::{Mutex, PoisonError};

evforge_core::counters! {
    /// What was said, and what of it was not.
    pub struct LogCounters: "log" {
        errors: Information, Times, "Messages that say what has failed.";
        warnings: Information, Times, "Messages that warn.";
        notices: Information, Times, "Messages that say what somebody has changed.";
        informations: Information, Times, "Messages that inform.";
        details: Information, Times, "Messages of the levels debug and trace.";
        repeats_held_back: Information, Times, "Messages that were not said because the same had been said often: a summary has their number.";
        texts_shortened: Information, Times, "Messages that were longer than a message may be.";
        not_written: Information, Times, "Messages that standard error, journald or the log's file did not take.";
        gelf_sent: Information, Times, "Messages that were sent to Graylog.";
        gelf_shortened: Information, Times, "Messages that were shortened because they were too large for Graylog.";
        gelf_dropped_full: Information, Times, "Messages for Graylog that found no room: it was away, or too slow.";
        gelf_dropped_failed: Information, Times, "Messages for Graylog that the system did not send, or of which it was told that nobody listens there.";
        gelf_dropped_end: Information, Times, "Messages for Graylog that were not sent when the program ended.";
        gelf_connections: Information, Times, "Connections to Graylog that were made.";
        gelf_connections_lost: Information, Times, "Connections to Graylog that broke.";
        gelf_waiting: Now, Times, "Messages that wait to be sent to Graylog.";
    }
}

/// The counters while they count.
#[derive(Debug, Default)]
pub struct LogCounts {
    counts: Mutex<LogCounters>,
}

impl LogCounts {
    /// Counts.
    pub fn count(&self, count: impl FnOnce(&mut LogCounters)) {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts a message of this severity.
    pub(crate) fn said(&self, severity: Severity) {
        self.count(|counts| {
            *match severity {
                Severity::Error => &mut counts.errors,
                Severity::Warning => &mut counts.warnings,
                Severity::Notice => &mut counts.notices,
                Severity::Informational => &mut counts.informations,
                Severity::Debug => &mut counts.details,
            } += 1;
        });
    }

    /// The counters now.
    pub fn snapshot(&self) -> LogCounters {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stage with its counters, for the state of a run.
    pub fn stage(&self) -> (&'static str, CounterSnapshot) {
        (LogCounters::STAGE, CounterSnapshot::of(&self.snapshot()))
    }
}

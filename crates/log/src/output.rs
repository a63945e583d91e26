//! The ways out of the log: standard error or journald, a file, Graylog.

use crate::console;
use crate::counters::LogCounts;
use crate::gelf::GelfSender;
use crate::human;
use crate::journald::Journal;
use crate::json_lines;
use crate::record::{Record, Severity};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// What people, or programs, get at once.
#[derive(Debug)]
pub(crate) enum Local {
    /// Sentences on standard error.
    Human,
    /// JSON lines on standard error.
    Json,
    /// journald, by its socket.
    Journald(Journal),
}

/// All ways out.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) local: Local,
    /// What standard error gets: this and what is more important.
    pub(crate) least: Severity,
    pub(crate) file: Option<File>,
    pub(crate) gelf: Option<GelfSender>,
}

impl Default for Outputs {
    fn default() -> Self {
        Self { local: Local::Human, least: Severity::Debug, file: None, gelf: None }
    }
}

impl Outputs {
    /// Has a message go all ways.
    pub(crate) fn deliver(&self, record: &Arc<Record>, counts: &LogCounts) {
        self.deliver_here(record, counts);
        if let Some(gelf) = &self.gelf {
            gelf.offer(record);
        }
    }

    /// All ways but that to Graylog.
    pub(crate) fn deliver_here(&self, record: &Record, counts: &LogCounts) {
        self.show(record, counts);
        self.file(record, counts);
    }

    /// To standard error, or to journald.
    pub(crate) fn show(&self, record: &Record, counts: &LogCounts) {
        if record.severity > self.least {
            return;
        }
        let shown = match &self.local {
            Local::Human if record.unshown => Ok(()),
            Local::Human => console::write(&human::to_text(record)),
            Local::Json => console::write(&json_lines::to_line(record)),
            Local::Journald(journal) => journal.send(record),
        };
        note(shown, counts);
    }

    /// Into the file, if there is one.
    pub(crate) fn file(&self, record: &Record, counts: &LogCounts) {
        if let Some(mut file) = self.file.as_ref() {
            // One piece: what others write into the file does not get into the middle of it.
            note(file.write_all(json_lines::to_line(record).as_bytes()), counts);
        }
    }
}

fn note(written: std::io::Result<()>, counts: &LogCounts) {
    if written.is_err() {
        counts.count(|counts| counts.not_written += 1);
    }
}

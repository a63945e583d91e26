//! What a repair is asked for, and what it has done.

use std::path::PathBuf;

/// What whoever knows more of a file than the file itself wants of its repair.
#[derive(Debug, Default)]
pub(super) struct Wish<'a> {
    /// Events of each group, then pulse records, that are kept at most.
    pub(super) keep: Option<&'a [u64]>,
    /// What the file is to say of it.
    pub(super) note: Option<&'a str>,
}

/// What [`recover`](super::recover) found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The file.
    pub path: PathBuf,
    /// True if there was nothing to repair, and the file was left untouched.
    pub was_whole: bool,
    /// Events in the file.
    pub events: u64,
    /// Pulse records in the file.
    pub pulses: u64,
    /// Events cut away because they belong to a commit that was not finished.
    pub events_cut: u64,
    /// Pulse records cut away, likewise.
    pub pulses_cut: u64,
    /// Time of the last event as ISO 8601 in UTC, as in `end_time`.
    pub end_time: String,
}

impl std::fmt::Display for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Recovered { events, pulses, events_cut, pulses_cut, end_time, .. } = self;
        let path = self.path.display();
        if self.was_whole {
            return write!(
                f,
                "{path} is whole: {events} events in {pulses} pulses, up to {end_time}; untouched"
            );
        }
        write!(f, "{path} is recovered: {events} events in {pulses} pulses, up to {end_time}")?;
        if *events_cut > 0 || *pulses_cut > 0 {
            write!(
                f,
                "; {events_cut} events and {pulses_cut} pulses of a commit that was not finished are cut away"
            )?;
        }
        Ok(())
    }
}

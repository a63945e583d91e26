//! What a writer module is.

use std::fmt::Debug;
use std::ops::Range;

use evforge_messages::{Message, Schema};

use crate::file::Columns;

/// What holds for the messages of a module around the beginning of a run, and in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRule {
    /// Of messages from before the start the newest is written, as the value at the start. Otherwise they are left out.
    pub keeps_last_before_start: bool,
    /// Messages with the time of the message before are written. Otherwise they are left out.
    pub allows_repeats: bool,
}

impl WindowRule {
    /// For values that hold until the next one: the last one before the start counts, and the same time twice is a repeat.
    pub(super) const LOG: Self = Self { keeps_last_before_start: true, allows_repeats: false };
    /// For what has happened at a time: nothing from before the start, and several messages of one time.
    pub(super) const EVENTS: Self = Self { keeps_last_before_start: false, allows_repeats: true };
    /// For what is counted: nothing from before the start, and the same time twice is a repeat.
    pub(super) const COUNTS: Self = Self { keeps_last_before_start: false, allows_repeats: false };
}

/// Why a message is not written: counted by reason, with the sentence of the first of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotWritten {
    /// The reason.
    pub reason: SkipReason,
    /// What was found in it.
    pub what: String,
}

impl NotWritten {
    /// A value of a kind that the module does not write.
    pub(super) fn kind(what: impl Into<String>) -> Self {
        Self { reason: SkipReason::ValueKind, what: what.into() }
    }

    /// A shape other than the datasets have.
    pub(super) fn shape(what: impl Into<String>) -> Self {
        Self { reason: SkipReason::Shape, what: what.into() }
    }

    /// A message in a schema that is none of the module's.
    pub(super) fn schema(message: &Message<'_>) -> Self {
        Self::kind(format!("a message in schema {}", message.schema().id()))
    }

    /// Refuses messages in other schemas.
    pub(super) fn unless_of(schemas: &[Schema], message: &Message<'_>) -> Result<(), Self> {
        if schemas.contains(&message.schema()) { Ok(()) } else { Err(Self::schema(message)) }
    }
}

/// Why messages of a module are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkipReason {
    /// A value of a kind that the module does not write: an array in f144, text where numbers are.
    ValueKind,
    /// A shape, or a number of variables, other than the datasets have.
    Shape,
}

/// Bytes at most of the state of a module without lists.
pub(super) const STATE_ROOM: usize = 256;

/// Writes messages of one configured stream into datasets of one group.
pub trait Module: Debug {
    /// The schemas that it writes; messages of its sources in other schemas are not its own.
    fn schemas(&self) -> &'static [Schema];

    /// What holds around the beginning of a run.
    fn rule(&self) -> WindowRule;

    /// Appends the rows of a message: all or, with an error, none.
    ///
    /// # Errors
    /// If the message has something that the module does not write.
    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten>;

    /// Of modules of events: appends the rows of some of the pulses of a message. Of one message they come in their order, each once.
    ///
    /// # Errors
    /// As [`Module::write`].
    fn write_pulses(
        &mut self,
        message: &Message<'_>,
        pulses: Range<usize>,
        columns: &mut Columns,
    ) -> Result<(), NotWritten> {
        let _ = pulses;
        self.write(message, columns)
    }

    /// Appends what a commit is to have besides the rows of messages (cues, totals). Called before each commit, and before the
    /// rows of the columns are asked for.
    fn before_commit(&mut self, columns: &mut Columns) {
        let _ = columns;
    }

    /// Appends what the file is to have at the end of the run and sets the scalars that are known only then.
    fn close(&mut self, columns: &mut Columns);

    /// Events written so far; 0 for modules without.
    fn events(&self) -> u64 {
        0
    }

    /// Those of them that are in the group of late events.
    fn events_late(&self) -> u64 {
        0
    }

    /// What people are to know of the messages that were written: a conversion, for example. The same as long as a module lives.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Appends what it must know to go on after a restart, besides what is in the datasets, as JSON.
    fn save(&self, into: &mut Vec<u8>) {
        saved(&(), into);
    }

    /// Bytes at most of what [`Module::save`] gives: the file has room for them in each record of a commit.
    fn state_room(&self) -> usize {
        STATE_ROOM
    }

    /// Takes back what [`Module::save`] gave.
    ///
    /// # Errors
    /// If that is something else.
    fn restore(&mut self, state: serde_json::Value) -> Result<(), String> {
        if state.is_null() { Ok(()) } else { Err(format!("this module keeps no state, and found {state}")) }
    }
}

/// Appends the state of a module as JSON. Straight into the record of a commit: values of JSON for thousands of modules would take
/// longer than everything else in it.
pub(super) fn saved(state: &impl serde::Serialize, into: &mut Vec<u8>) {
    let begin = into.len();
    if serde_json::to_writer(&mut *into, state).is_err() {
        // No state of a module is of a type that has no form in JSON. If one ever is, its file cannot be taken up again, which is said.
        into.truncate(begin);
        into.extend_from_slice(b"false");
    }
}

/// Takes the state of a module back.
pub(super) fn restored<T: serde::de::DeserializeOwned>(state: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(state)
        .map_err(|error| format!("the state of the module is something else: {error}"))
}

/// Why a module cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// A key of its configuration.
    #[error("{0}")]
    Settings(String),
    /// HDF5 refuses.
    #[error("HDF5 reports: {0}")]
    Hdf5(#[from] hdf5_metno::Error),
}

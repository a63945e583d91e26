//! What becomes of a message: which rows in which datasets.

use std::fmt::Debug;

use evforge_messages::{Message, Schema};
use hdf5_metno::Group;

use crate::file::Columns;
use crate::structure::StreamModule;

/// What holds for the messages of a module around the beginning of a run, and in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRule {
    /// Of messages from before the start the newest is written, as the value at the start. Otherwise they are left out.
    pub keeps_last_before_start: bool,
    /// Messages with the time of the message before are written. Otherwise they are left out.
    pub allows_repeats: bool,
}

/// Why a message is not written: counted by reason, with the sentence of the first of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotWritten {
    /// The reason.
    pub reason: SkipReason,
    /// What was found in it.
    pub what: String,
}

/// Why messages of a module are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkipReason {
    /// A value of a kind that the module does not write: an array in f144, text where numbers are.
    ValueKind,
    /// A shape, or a number of variables, other than the datasets have.
    Shape,
    /// Larger than a dataset has room for in one go.
    TooLarge,
}

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

    /// Appends what the file is to have at the end of the run and sets the scalars that are known only then.
    fn close(&mut self, columns: &mut Columns);

    /// Events written so far; 0 for modules without.
    fn events(&self) -> u64 {
        0
    }

    /// What it must know to go on after a restart, besides what is in the datasets.
    fn save(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    /// Takes back what [`Module::save`] gave.
    ///
    /// # Errors
    /// If that is something else.
    fn restore(&mut self, state: serde_json::Value) -> Result<(), String> {
        if state.is_null() { Ok(()) } else { Err(format!("this module keeps no state, and found {state}")) }
    }
}

/// A module with its datasets, which are made, or, after a restart, opened: `columns` knows which.
///
/// # Errors
/// If its settings are wrong (with the key, what was found, what is expected), or HDF5 refuses.
pub fn open(
    module: &StreamModule,
    group: &Group,
    columns: &mut Columns,
) -> Result<Box<dyn Module>, ModuleError> {
    let _ = (group, columns);
    Err(ModuleError::Settings(format!("module {} is not written yet", module.kind)))
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

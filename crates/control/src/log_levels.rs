//! How much the groups of a log say, and changing it.

use crate::control::Refusal;

/// A group of messages that is switched as one: `input`, `output`, …
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogGroup {
    /// Its name.
    pub name: String,
    /// The least severe messages of it that are said: `error`, `warn`, `info`, `debug`, `trace`; `off` for none.
    pub level: String,
    /// What its messages are about, in one sentence.
    pub help: String,
}

/// The log of a program.
pub trait LogLevels: Send + Sync {
    /// All groups, in a stable order.
    fn groups(&self) -> Vec<LogGroup>;

    /// Changes what a group says, from now on.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] if there is no such group or no such level; it names those there are.
    fn set(&self, group: &str, level: &str) -> Result<(), Refusal>;
}

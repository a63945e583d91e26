//! What becomes of a message: which rows in which datasets.

mod alarm;
mod dtype;
mod event_vetoes;
mod events;
mod log;
mod module;
mod open;
mod own_events;
mod places;
mod settings;

pub use module::{Module, ModuleError, NotWritten, SkipReason, WindowRule};
pub use open::{Opened, open};

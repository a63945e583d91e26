//! What becomes of a message: which rows in which datasets.

mod alarm;
mod array_attributes;
mod array_settings;
mod chopper;
mod companions;
mod connection;
mod data_array;
mod dtype;
mod event_vetoes;
mod events;
mod frames;
mod histogram;
mod late_grid;
mod ledger;
mod log;
mod module;
mod monitor;
mod open;
mod own_events;
mod packets;
mod places;
mod pulses;
mod samples;
mod settings;

pub use companions::companions;
pub use module::{Module, ModuleError, NotWritten, SkipReason, WindowRule};
pub use open::{Opened, open};

//! Dumps: what is written is read again, and damaged files do no harm.

mod hostile_files;
mod recorded;
mod round_trip;
#[path = "../shared/mod.rs"]
mod shared;

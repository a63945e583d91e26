//! Trains, from datagrams to files.

mod assembly;
mod bridge;
mod files;
mod node;
mod processing;
mod tcp;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lets tests that start processes, and those that have HDF5 files open, run one at a time. A process that one of them starts inherits
/// all files that HDF5 has open for the others, and keeps the locks on them until it ends.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

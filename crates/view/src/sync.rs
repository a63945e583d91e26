//! Locks that outlive a panic, and the end of a run as a task waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until this turns true, or nobody can turn it any more.
pub(crate) async fn turned(over: &mut watch::Receiver<bool>) {
    let _ = over.wait_for(|&over| over).await;
}

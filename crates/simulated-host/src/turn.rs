//! How the turn goes from a thread to another: by a word in memory that the kernel wakes a thread at.

use crate::real;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls the kernel's futex.
fn futex(word: &AtomicU32, operation: c_int, value: u32) {
    let address = std::ptr::from_ref(word) as usize;
    // SAFETY: the word lives for ever, and there is no time-out.
    unsafe { real::syscall(libc::SYS_futex, address, operation as usize, value as usize, 0, 0, 0) };
}

/// Gives a thread its turn.
pub(crate) fn give(turn: &AtomicU32) {
    turn.store(1, Ordering::Release);
    futex(turn, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
}

/// Waits for one's own turn.
pub(crate) fn take(turn: &AtomicU32) {
    while turn.swap(0, Ordering::Acquire) == 0 {
        futex(turn, libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, 0);
    }
}

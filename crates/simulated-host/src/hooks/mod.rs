//! The functions that stand in for those of the C library. Each does what its namesake does, as the plan has it.

mod clock;
mod descriptors;
mod files;
mod random;
mod rooms;
mod sockets;
mod threads;
mod waits;

use crate::real;
use std::ffi::{CStr, c_char, c_int};

/// The result of a call that may fail: as the C library tells it.
fn answer<T: From<i8>>(result: Result<T, c_int>) -> T {
    match result {
        Ok(value) => value,
        Err(number) => {
            real::set_errno(number);
            T::from(-1)
        }
    }
}

/// A result of the C library as such.
fn checked<T: PartialOrd + From<i8>>(value: T) -> Result<T, c_int> {
    if value < T::from(0) { Err(real::errno()) } else { Ok(value) }
}

/// The path of a call; empty if it is no text.
///
/// # Safety
/// The path must end with a zero byte, and live for the call.
unsafe fn text<'a>(path: *const c_char) -> &'a str {
    if path.is_null() {
        return "";
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(path) }.to_str().unwrap_or_default()
}

/// Nanoseconds of a time of the C library; 0 for none that is one.
fn nanoseconds(time: libc::timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

//! Randomness.

use crate::host::enter;
use crate::real;
use std::ffi::{c_uint, c_void};

/// Fills with what the seed gives; false if this thread is none of the host's.
///
/// # Safety
/// There must be `count` bytes.
pub(super) unsafe fn fill(bytes: *mut c_void, count: usize) -> bool {
    enter(|host, _| {
        let mut state = host.state();
        for index in 0..count {
            let byte = state.random.bits().to_le_bytes()[7];
            // SAFETY: the caller's promise.
            unsafe { bytes.cast::<u8>().add(index).write(byte) };
        }
    })
    .is_some()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(bytes: *mut c_void, count: usize, flags: c_uint) -> isize {
    // SAFETY: the caller's arguments.
    if unsafe { fill(bytes, count) } {
        return count.cast_signed();
    }
    // SAFETY: as above.
    unsafe { real::getrandom(bytes, count, flags) }
}

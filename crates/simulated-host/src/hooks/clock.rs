//! Clocks.

use super::answer;
use crate::host::enter;
use crate::real;
use std::ffi::c_int;

/// The time of a clock, in nanoseconds; none of those that count processor time.
fn read(clock: c_int) -> Option<i64> {
    enter(|host, _| {
        let mut state = host.state();
        match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => {
                Some(state.read_clock().cast_signed().saturating_add(state.wall))
            }
            libc::CLOCK_MONOTONIC
            | libc::CLOCK_MONOTONIC_RAW
            | libc::CLOCK_MONOTONIC_COARSE
            | libc::CLOCK_BOOTTIME => Some(state.read_clock().cast_signed()),
            _ => None,
        }
    })
    .flatten()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut libc::timespec) -> c_int {
    let Some(nanoseconds) = read(clock) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::clock_gettime(clock, time) };
    };
    let value = libc::timespec {
        tv_sec: nanoseconds.div_euclid(1_000_000_000),
        tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
    };
    // SAFETY: the caller gives room for a time.
    unsafe { time.write(value) };
    answer(Ok(0))
}

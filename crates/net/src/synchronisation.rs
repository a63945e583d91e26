//! Whether something keeps the clock of this host right, as the kernel knows it.
//!
//! chrony, ntpd and systemd-timesyncd tell the kernel how wrong the clock may be; ptp4l does it by phc2sys. Asking needs no
//! privileges.

use std::io;
use std::time::Duration;

/// Bits of the status (include/uapi/linux/timex.h).
const UNSYNCHRONISED: i32 = 0x0040;
const OFFSET_IN_NANOSECONDS: i32 = 0x2000;

/// What the kernel says of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronisation {
    /// True if something keeps it right.
    pub is_synchronised: bool,
    /// How wrong it may be at most: grows by half a millisecond a second while nobody corrects it, up to 16 s.
    pub maximum_error: Duration,
    /// How wrong it probably is.
    pub estimated_error: Duration,
    /// What it is being corrected by at this moment, in nanoseconds.
    pub offset_ns: i64,
}

impl Synchronisation {
    /// Asks the kernel.
    ///
    /// # Errors
    /// If the system does not answer: a sandbox may forbid the question.
    pub fn read() -> io::Result<Self> {
        // SAFETY: made of integers, for which all zeros is valid; `modes` 0 changes nothing.
        let mut answer: libc::timex = unsafe { std::mem::zeroed() };
        // SAFETY: valid for reads and writes.
        let state = unsafe { libc::adjtimex(&raw mut answer) };
        if state < 0 {
            return Err(io::Error::last_os_error());
        }
        let micros = |time: libc::c_long| Duration::from_micros(time.unsigned_abs());
        let unit = if answer.status & OFFSET_IN_NANOSECONDS == 0 { 1000 } else { 1 };
        Ok(Self {
            is_synchronised: answer.status & UNSYNCHRONISED == 0,
            maximum_error: micros(answer.maxerror),
            estimated_error: micros(answer.esterror),
            offset_ns: answer.offset.saturating_mul(unit),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_answers() {
        let clock = Synchronisation::read().expect("nothing forbids the question here");
        // The kernel's own limit is 16 s.
        assert!(clock.maximum_error <= Duration::from_secs(17), "{clock:?}");
    }
}

//! Threads that go before all others.
//!
//! A thread of real-time priority (SCHED_FIFO) is not preempted by ordinary programs: being set aside for a few
//! milliseconds is what overflows buffers. A spinning one leaves its core to nothing else, so give it a core of its own.

use std::fmt;
use std::io;

use crate::helper::Helper;
use crate::helper::message::Request;

/// The priorities that exist, lowest first.
pub const PRIORITIES: std::ops::RangeInclusive<u8> = 1..=99;

/// A thread could not be given a real-time priority.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PriorityError {
    /// There is no such priority.
    OutOfRange {
        /// What was asked for.
        priority: u8,
    },
    /// The system refused.
    Refused {
        /// What was asked for.
        priority: u8,
        /// The system's reason.
        source: io::Error,
    },
    /// The helper has not granted it.
    NotGranted {
        /// Its reason, in whole sentences.
        message: String,
    },
}

impl fmt::Display for PriorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { priority } => {
                write!(f, "there is no real-time priority {priority}: they go from 1 to 99.")
            }
            Self::Refused { priority, source } if source.kind() == io::ErrorKind::PermissionDenied => write!(
                f,
                "this process may not have the real-time priority {priority}. Allow it: ulimit -r {priority} (in a systemd \
                 unit: LimitRTPRIO={priority}), or evforge-helper with largest_priority = {priority} in its rules \
                 (docs/receive.md), or leave the priority out."
            ),
            Self::NotGranted { message } => f.write_str(message),
            Self::Refused { priority, source } => {
                write!(f, "the system refused the real-time priority {priority}: {source}.")
            }
        }
    }
}

/// Gives the current thread a real-time priority, [`PRIORITIES`]. Threads that it starts are ordinary ones.
///
/// # Errors
/// If there is no such priority, or it is not allowed.
pub fn set_real_time_priority(priority: u8) -> Result<(), PriorityError> {
    if !PRIORITIES.contains(&priority) {
        return Err(PriorityError::OutOfRange { priority });
    }
    // Not libc's, which the C library has only since 2.30.
    let thread = rustix::thread::gettid().as_raw_pid();
    let Err(source) = set_of_thread(thread, priority) else { return Ok(()) };
    if source.kind() == io::ErrorKind::PermissionDenied
        && let Some(helper) = Helper::of_this_process()
    {
        let asked = helper.ask(Request::Priority { thread, priority }, &[]);
        return asked.map(drop).map_err(|error| PriorityError::NotGranted { message: error.message });
    }
    Err(PriorityError::Refused { priority, source })
}

/// Gives a thread of any process a real-time priority, which must be in [`PRIORITIES`].
pub(crate) fn set_of_thread(thread: i32, priority: u8) -> io::Result<()> {
    if !PRIORITIES.contains(&priority) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let parameters = libc::sched_param { sched_priority: priority.into() };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameters are valid for reads.
    if unsafe { libc::sched_setscheduler(thread, policy, &parameters) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_its_priority_or_a_reason() {
        std::thread::spawn(|| {
            let refused = match set_real_time_priority(7) {
                Ok(()) => {
                    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
                    // Field 40 (proc(5)); the name in field 2 may have spaces.
                    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
                    assert_eq!(fields[40 - 3], "7", "{stat}");
                    return;
                }
                Err(error) => error.to_string(),
            };
            assert!(refused.contains("LimitRTPRIO=7"), "{refused}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn priorities_that_do_not_exist_are_refused() {
        for priority in [0, 100] {
            let text = set_real_time_priority(priority).unwrap_err().to_string();
            assert!(text.contains("they go from 1 to 99"), "{text}");
        }
    }
}

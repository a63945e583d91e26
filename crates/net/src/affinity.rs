//! Threads on cores of their own.
//!
//! A receiving thread keeps up best on a core where nothing else runs, least of all the kernel's own network
//! processing of the same packets.

use std::io;

/// A thread could not be bound to a core.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// The host has no such core, or this process may not use it.
    #[error(
        "cannot run on core {core}: it does not exist or this process may not use it (taskset, container). \
         Cores are counted from 0; allowed are {}.",
        ranges(.allowed)
    )]
    NotAllowed {
        /// The core asked for.
        core: usize,
        /// The cores that may be used, in order.
        allowed: Vec<usize>,
    },
    /// The system refused.
    #[error("the system does not let this thread choose its core: {source}.")]
    Refused {
        /// The system's reason.
        source: io::Error,
    },
}

/// Cores as people write them: "0-3, 6".
fn ranges(cores: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &core in cores {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => runs.push((core, core)),
        }
    }
    let text: Vec<String> = runs
        .iter()
        .map(|(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") })
        .collect();
    if text.is_empty() { "none".into() } else { text.join(", ") }
}

/// Cores that a set of the C library can name.
const MOST_CORES: usize = libc::CPU_SETSIZE as usize;

fn empty_set() -> libc::cpu_set_t {
    // SAFETY: the set is an array of integers, for which all zeros is a valid value: the empty set.
    unsafe { std::mem::zeroed() }
}

/// The cores that the current thread may run on, in order.
///
/// # Errors
/// If the system does not tell.
pub fn allowed_cores() -> Result<Vec<usize>, PinError> {
    let mut set = empty_set();
    // SAFETY: `set` is valid for writes of its own size; 0 means the current thread.
    let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
    if status != 0 {
        return Err(PinError::Refused { source: io::Error::last_os_error() });
    }
    // SAFETY: `core` is below the number of cores in a set.
    Ok((0..MOST_CORES).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect())
}

/// Binds the current thread to one of `cores`, which threads take in turn by their numbers; without cores, to none.
///
/// # Errors
/// As [`pin_current_thread`].
pub fn pin_current_thread_in_turn(cores: &[usize], number: usize) -> Result<(), PinError> {
    let core = cores.get(number % cores.len().max(1)).copied();
    core.map_or(Ok(()), pin_current_thread)
}

/// Binds the current thread to `core` (counted from 0, as in /proc/cpuinfo).
///
/// # Errors
/// If there is no such core or it may not be used; the error lists those that may.
pub fn pin_current_thread(core: usize) -> Result<(), PinError> {
    let not_allowed = || -> PinError {
        match allowed_cores() {
            Ok(allowed) => PinError::NotAllowed { core, allowed },
            Err(error) => error,
        }
    };
    if core >= MOST_CORES {
        return Err(not_allowed());
    }
    let mut set = empty_set();
    // SAFETY: `core` is below the number of cores in a set.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: `set` is valid for reads of its own size; 0 means the current thread.
    if unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) } == 0 {
        return Ok(());
    }
    let source = io::Error::last_os_error();
    if source.raw_os_error() == Some(libc::EINVAL) {
        Err(not_allowed())
    } else {
        Err(PinError::Refused { source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_listed_as_people_write_them() {
        assert_eq!(ranges(&[0, 1, 2, 3, 6]), "0-3, 6");
        assert_eq!(ranges(&[]), "none");
    }

    #[test]
    fn a_thread_can_be_bound_to_an_allowed_core_and_to_no_other() {
        std::thread::spawn(|| {
            let last = *allowed_cores().unwrap().last().unwrap();
            pin_current_thread(last).unwrap();
            assert_eq!(allowed_cores().unwrap(), [last]);
            for absent in [1023, 100_000] {
                let text = pin_current_thread(absent).unwrap_err().to_string();
                assert!(text.contains(&format!("cannot run on core {absent}")), "{text}");
                assert!(text.ends_with(&format!("allowed are {last}.")), "{text}");
            }
        })
        .join()
        .unwrap();
    }
}

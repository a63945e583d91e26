//! How many descriptors (open files and sockets) this process may have.
//!
//! A shell gives a process 1024 at first, for the sake of old programs, and lets it take more: as many as the hard limit says.
//! Sockets, recordings and viewers of the page together can need more than 1024.

use std::io;

/// Raises this process's limit of descriptors to the hard limit, and gives it.
///
/// # Errors
/// If the system refuses; the limit is then as it was.
pub fn raise_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is valid for writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the limit is valid for reads.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(limit.rlim_cur)
}

//! Sleeping until one of several sockets has packets, or a pipe something to read.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The sockets of one thread. They are closed after it, or the kernel says at once that something is there.
#[derive(Debug)]
pub(crate) struct Readiness(Vec<libc::pollfd>);

impl Readiness {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// From now on this socket ends the sleep, too.
    pub(crate) fn watch(&mut self, socket: BorrowedFd<'_>) {
        self.0.push(libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    }

    /// Sleeps until one of the sockets has something (or has ended), or `patience` is over: true if it is the former.
    pub(crate) fn wait(&mut self, patience: Duration) -> io::Result<bool> {
        let timeout = libc::timespec {
            tv_sec: patience.as_secs().min(i32::MAX as u64) as libc::time_t,
            tv_nsec: patience.subsec_nanos() as _,
        };
        let count = self.0.len() as libc::nfds_t;
        // SAFETY: this many entries, valid for writes; the timeout is valid for reads; no signal mask.
        let ready = unsafe { libc::ppoll(self.0.as_mut_ptr(), count, &timeout, std::ptr::null()) };
        if ready >= 0 {
            return Ok(ready > 0);
        }
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
    }
}

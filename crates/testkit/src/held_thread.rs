//! A thread of another process that is made to stand still, while its other threads run on.

use std::io;

/// A thread that stands still as long as this lives (as a debugger does it: `ptrace`). Needs root, or a child process.
#[derive(Debug)]
pub struct HeldThread {
    thread: libc::pid_t,
}

impl HeldThread {
    /// Stops the first thread of the process with this number.
    ///
    /// # Panics
    /// If the system does not allow it.
    pub fn first_of(process: u32) -> Self {
        let thread = libc::pid_t::try_from(process).expect("the number of a process");
        ask(libc::PTRACE_SEIZE, thread);
        let held = Self { thread };
        ask(libc::PTRACE_INTERRUPT, thread);
        let mut status = 0;
        // SAFETY: the status is valid for writes.
        let waited = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) };
        assert_eq!(waited, thread, "waiting for the thread: {}", io::Error::last_os_error());
        held
    }
}

impl Drop for HeldThread {
    fn drop(&mut self) {
        // SAFETY: no memory is handed over.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.thread, 0, 0) };
    }
}

fn ask(what: libc::c_uint, thread: libc::pid_t) {
    // SAFETY: no memory is handed over.
    let status = unsafe { libc::ptrace(what, thread, 0, 0) };
    assert_eq!(status, 0, "holding a thread: {}", io::Error::last_os_error());
}

//! Inputs that may be silent for ever (pipes, devices), read until somebody asks to stop.
//!
//! A plain `open` of a pipe waits for its writer, and a plain `read` for what it writes, whatever signals come meanwhile. Here
//! both wait only in short steps, and look at a flag in between.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::readiness::Readiness;

/// Time between looks at the flag. A signal to this thread ends the wait at once.
const STEP: Duration = Duration::from_millis(100);

/// Why reading has ended: it was asked for.
#[derive(Debug, thiserror::Error)]
#[error("reading was stopped on request")]
struct Stopped;

/// True if reading has failed because it was to stop.
pub(super) fn is_stop(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|reason| reason.is::<Stopped>())
}

/// A pipe or a device.
pub(super) struct Pipe {
    // Before the file, which it watches.
    readiness: Readiness,
    file: File,
    stop: Arc<AtomicBool>,
}

impl Pipe {
    /// Opens it without waiting for a writer. Reading fails once `stop` is set; see [`is_stop`].
    pub(super) fn open(path: &Path, stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        let mut readiness = Readiness::new();
        readiness.watch(file.as_fd());
        Ok(Self { readiness, file, stop: Arc::clone(stop) })
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other(Stopped));
            }
            // A pipe that has had no writer yet would be read as if at its end: it is not ready.
            if !self.readiness.wait(STEP)? {
                continue;
            }
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

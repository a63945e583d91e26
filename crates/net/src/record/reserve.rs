//! A file descriptor in reserve, so that others who use up those of the process cannot stop a recording.
//!
//! The next file of a recording is opened while the one before it is still being brought to the disk: it takes one
//! descriptor more than the file before had. That one is kept here. When a file has been closed, its descriptor becomes
//! the new reserve without having been free in between, so that nobody else can get it.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The process, or the whole system, has no more descriptors.
const EXHAUSTED: [i32; 2] = [libc::EMFILE, libc::ENFILE];

/// True if nothing could be opened because there is no descriptor for it.
pub(super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| EXHAUSTED.contains(&number))
}

/// The reserve of a recording, shared by its files.
#[derive(Clone, Debug)]
pub(super) struct Reserve {
    /// What descriptors in reserve are copies of; open for as long as the recording lasts.
    nothing: Arc<File>,
    spare: Arc<Mutex<Option<File>>>,
}

impl Reserve {
    /// A reserve of one descriptor.
    ///
    /// # Errors
    /// If there are none left already.
    pub(super) fn new() -> io::Result<Self> {
        let nothing = File::open("/dev/null")?;
        let spare = nothing.try_clone()?;
        Ok(Self { nothing: Arc::new(nothing), spare: Arc::new(Mutex::new(Some(spare))) })
    }

    /// Opens something; with the descriptor in reserve if there is no other.
    ///
    /// # Errors
    /// What `open` says, the last time.
    pub(super) fn open<T>(&self, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
        let mut result = open();
        if result.as_ref().is_err_and(is_out_of_descriptors) && self.spare().take().is_some() {
            result = open();
        }
        self.fill();
        result
    }

    /// Takes a descriptor into reserve if there is none and one can be had.
    pub(super) fn fill(&self) {
        let mut spare = self.spare();
        if spare.is_none() {
            *spare = self.nothing.try_clone().ok();
        }
    }

    /// Closes a file; its descriptor goes into reserve if there is none.
    pub(super) fn close(&self, file: File) {
        let mut spare = self.spare();
        if spare.is_none() {
            *spare = self.become_nothing(file);
        }
    }

    /// The descriptor of a file, which is closed, as one of `/dev/null`.
    fn become_nothing(&self, file: File) -> Option<File> {
        use std::os::fd::AsRawFd;
        // SAFETY: both descriptors are open, and the second one belongs to `file`, which is used as such only by this
        // function: whoever has the file afterwards gets what it now stands for.
        let result = unsafe { libc::dup3(self.nothing.as_raw_fd(), file.as_raw_fd(), libc::O_CLOEXEC) };
        (result >= 0).then_some(file)
    }

    fn spare(&self) -> MutexGuard<'_, Option<File>> {
        // What a panic of another thread leaves is a descriptor or none.
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_in_reserve_is_used_when_there_is_no_other_and_comes_back() {
        let reserve = Reserve::new().unwrap();
        let exhausted = || io::Error::from_raw_os_error(EXHAUSTED[0]);
        // Nothing can be opened for as long as there is a reserve.
        let open = || match reserve.spare.try_lock().unwrap().is_some() {
            true => Err(exhausted()),
            false => Ok(7),
        };
        assert_eq!(reserve.open(open).unwrap(), 7);
        assert!(reserve.spare().is_some(), "taken back");
        assert!(reserve.open(|| Err::<(), _>(exhausted())).is_err_and(|error| is_out_of_descriptors(&error)));
        let other = reserve.open(|| Err::<(), _>(io::ErrorKind::NotFound.into())).unwrap_err();
        assert!(!is_out_of_descriptors(&other) && reserve.spare().is_some());
    }

    #[test]
    fn the_descriptor_of_a_closed_file_becomes_the_reserve() {
        use std::os::fd::AsRawFd;
        let reserve = Reserve::new().unwrap();
        *reserve.spare() = None;
        let file = tempfile::tempfile().unwrap();
        let number = file.as_raw_fd();
        reserve.close(file);
        let spare = reserve.spare();
        let spare = spare.as_ref().unwrap();
        assert_eq!(spare.as_raw_fd(), number);
        assert_eq!(spare.metadata().unwrap().len(), 0);
        assert_eq!(
            std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap(),
            std::path::Path::new("/dev/null")
        );
    }
}

//! The lock file of an event file.

use evforge_core::whole_file::WRITE_HINT;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::NexusError;

/// Lock files that are tried, each of which its owner has removed at the same moment.
const ATTEMPTS: u32 = 100;
/// For people who wonder about the file.
const TEXT: &str = "evforge holds this file while it writes the file of that name.\n\
                    What a killed process has left of it holds nothing, and may be removed.\n";

/// The lock file of an event file, locked.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Locks the event file `path` for whoever writes or repairs it.
    ///
    /// # Errors
    /// [`NexusError::InUse`] if somebody else has done so; else if there can be no lock file.
    pub fn take(path: &Path) -> Result<Self, NexusError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let lock_path = path.with_file_name(name);
        let failed = |cause| NexusError::io("lock", &lock_path, cause);
        for _ in 0..ATTEMPTS {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
                .open(&lock_path)
                .map_err(|cause| {
                    let problem = format!("{cause} ({WRITE_HINT})");
                    NexusError::io("make", &lock_path, std::io::Error::new(cause.kind(), problem))
                })?;
            let about = file.metadata().map_err(failed)?;
            if !about.is_file() {
                return Err(failed(std::io::Error::new(ErrorKind::InvalidInput, "it is not a plain file")));
            }
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Err(NexusError::InUse(path.to_owned()));
            }
            // Who held it before may have removed the name after we opened it: then it holds nothing.
            if fs::symlink_metadata(&lock_path).is_ok_and(|now| identity(&now) == identity(&about)) {
                if about.len() == 0 {
                    // Its content is for people; a full disk is no reason to fail here.
                    let _ = file.write_all(TEXT.as_bytes());
                }
                return Ok(Self { path: lock_path, file });
            }
        }
        Err(NexusError::InUse(path.to_owned()))
    }

    /// The same for an event file that is there; none where the folder may not be written to.
    pub(crate) fn take_if_possible(path: &Path) -> Result<Option<Self>, NexusError> {
        match Self::take(path) {
            Err(NexusError::Io { cause, .. })
                if matches!(cause.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                Ok(None)
            }
            lock => lock.map(Some),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is still locked, so that it is certainly ours.
        let is_ours = |now: &Metadata| self.file.metadata().is_ok_and(|own| identity(now) == identity(&own));
        if fs::symlink_metadata(&self.path).is_ok_and(|now| is_ours(&now)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Device and number of a file.
pub fn identity(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

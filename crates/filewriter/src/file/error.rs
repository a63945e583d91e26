//! Why a file cannot be written, in words for a person.

use evforge_stream::nexus::{NexusError, Shortage};
use std::path::{Path, PathBuf};

/// Why a file cannot be made, written, taken up again or ended.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Something of this name is there already.
    #[error("{0} exists already: nothing is written over it")]
    Exists(PathBuf),
    /// Another process writes it.
    #[error("{0} is being written by another process")]
    InUse(PathBuf),
    /// There is no room on the disk. Nothing was changed; it can be tried again.
    #[error("there is no room for {}: {} more bytes are needed on its file system, where {} are free", .path.display(), .shortage.missing, .shortage.free)]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// How much is missing.
        shortage: Shortage,
    },
    /// The operating system refuses.
    #[error("cannot {attempt} {}: {cause}", .path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        #[source]
        cause: std::io::Error,
    },
    /// HDF5 refuses.
    #[error("cannot {attempt} {}: HDF5 reports: {cause}", .path.display())]
    Hdf5 {
        /// What was attempted.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// What the library says.
        cause: String,
    },
    /// What the file is to contain cannot be made.
    #[error("{0}")]
    Content(String),
    /// It was written over, renamed or removed while it was written.
    #[error("{0} was removed, renamed or replaced while it was written")]
    Gone(PathBuf),
    /// It cannot be taken up again.
    #[error("{} cannot be taken up again: {why}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// Whether it can be taken up is not known yet; it can be tried again.
    #[error("{} was not tried in a process of its own first: {why}", .path.display())]
    NotRehearsed {
        /// The file.
        path: PathBuf,
        /// What was in the way.
        why: String,
    },
    /// Of the parts that event files share.
    #[error("{0}")]
    Nexus(#[from] NexusError),
}

impl FileError {
    pub(crate) fn io(attempt: &'static str, path: &Path, cause: std::io::Error) -> Self {
        Self::Io { attempt, path: path.to_owned(), cause }
    }

    pub(crate) fn hdf5(attempt: &'static str, path: &Path, error: &hdf5_metno::Error) -> Self {
        // The innermost of the library's messages says what happened; all others where.
        let text = error.to_string();
        let cause = text.lines().last().unwrap_or_default().trim().to_owned();
        Self::Hdf5 { attempt, path: path.to_owned(), cause }
    }
}

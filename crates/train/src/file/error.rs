//! What can go wrong with files of trains, in words for a person.

use std::path::{Path, PathBuf};

use evforge_stream::storage::space::Shortage;

/// Why a file of trains could not be written or repaired.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// An option makes no sense.
    #[error("{0}")]
    Option(String),
    /// The run has files of this detector already.
    #[error("{path} exists already and is not written over: choose another run number or folder{}", advice(.path))]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another process has the file open.
    #[error("{0} is in use: another process is writing it or has it open. Wait until it ends")]
    InUse(PathBuf),
    /// There is no room on the disk. Nothing was changed, and it can be tried again.
    #[error(
        "there is no room for {path}: {} more bytes are needed on its file system, where {} are free. \
         Finished trains in it are safe; make room, or write elsewhere",
        .shortage.missing, .shortage.free
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// How much is missing, and how much there is.
        shortage: Shortage,
    },
    /// The operating system refused.
    #[error("cannot {attempt} {path}: {cause}")]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        #[source]
        cause: std::io::Error,
    },
    /// HDF5 refused before there was anything in the file, or while it was repaired.
    #[error("cannot {attempt} {path}: HDF5 reports: {cause}")]
    Hdf5 {
        /// What was attempted.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// What the library says.
        cause: String,
    },
    /// Writing failed in mid-run. The file is given up, and the next train begins the next one.
    #[error(
        "cannot {attempt} {path}: {cause}. {safe} trains up to the last commit are safe in the file, {lost} later \
         ones are lost. Make room on the disk if it is full, then repair the file"
    )]
    Write {
        /// The file, as it is called now.
        path: PathBuf,
        /// What was attempted.
        attempt: &'static str,
        /// What HDF5 or the operating system says.
        cause: String,
        /// Trains that are safe: all up to the last commit.
        safe: u64,
        /// Trains that were taken and are not in the file.
        lost: u64,
    },
    /// It is no file that this writer has left.
    #[error("{path} cannot be repaired: {finding}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found, and what was expected.
        finding: String,
    },
}

impl FileError {
    pub(super) fn io(attempt: &'static str, path: &Path, cause: std::io::Error) -> Self {
        Self::Io { attempt, path: path.to_owned(), cause }
    }

    pub(super) fn hdf5(attempt: &'static str, path: &Path, cause: &hdf5_metno::Error) -> Self {
        Self::Hdf5 { attempt, path: path.to_owned(), cause: says(cause) }
    }
}

/// What HDF5 says: the operating system's reason, where there is one in its stack of errors.
pub(super) fn says(error: &hdf5_metno::Error) -> String {
    let all = error.to_string();
    let system = all.split_once("error message = '").and_then(|(_, after)| after.split_once('\''));
    system.map_or(all.clone(), |(message, _)| message.to_owned())
}

fn advice(path: &Path) -> &'static str {
    if super::name::finished(path).is_some() {
        ". A writer that was killed has left it: a repair makes it readable"
    } else {
        ""
    }
}

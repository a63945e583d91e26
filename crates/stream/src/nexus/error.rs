//! What can go wrong with an event file, in words for a person.

use crate::storage::text::readable;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use evforge_core::geometry::LogicalGeometry;

use rustix::io::Errno;

use crate::storage::space::Shortage;

/// Why an event file could not be written, read or repaired.
#[derive(Debug, thiserror::Error)]
pub enum NexusError {
    /// There is a file at the path already, and the options say not to touch it.
    #[error("{path} exists already{}", exists_advice(.path, *.unfinished))]
    Exists {
        /// The file.
        path: PathBuf,
        /// True if a writer that was killed left it.
        unfinished: bool,
    },
    /// Another process is writing the file at this moment, or reads it where it is to be changed.
    #[error(
        "{0} is in use: another process is writing it or has it open. Wait until it ends, or choose another \
         name"
    )]
    InUse(PathBuf),
    /// The operating system refused.
    #[error("cannot {attempt} {path}: {cause}")]
    Io {
        /// What was attempted: "create", "open", "repair".
        attempt: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        #[source]
        cause: std::io::Error,
    },
    /// The HDF5 library refused.
    #[error("cannot {attempt} of {path}: HDF5 reports: {cause}")]
    Hdf5 {
        /// What was attempted: "create the layout", "open".
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// What the library says.
        cause: String,
    },
    /// Writing failed in mid-run; the writer takes no more events.
    #[error(
        "cannot {attempt} in {path}: {cause}. The {safe} events up to the last commit are safe in \
         the file, {lost} later ones are lost. Make room on the disk if it is full, then repair the file \
         by `evforge write --recover {path}`"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        attempt: &'static str,
        /// What HDF5 or the operating system says.
        cause: String,
        /// Events that are safe in the file: all up to its last commit.
        safe: u64,
        /// Events that were taken and are not in the file.
        lost: u64,
    },
    /// Somebody has removed or replaced the file while it was written; the writer takes no more events.
    #[error(
        "{path} was removed, renamed or replaced by another file while it was written: what it held is not there \
         under that name any more ({lost} events), and no more events are taken"
    )]
    Gone {
        /// The file.
        path: PathBuf,
        /// Events that were taken and are lost.
        lost: u64,
    },
    /// There is no room on the disk. Nothing was changed, and it can be tried again.
    #[error(
        "there is no room for {path}: {} more are needed on its file system, where {} are free",
        size(.shortage.missing),
        size(.shortage.free)
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// How much is missing, and how much there is.
        shortage: Shortage,
    },
    /// The operating system or HDF5 has found no room. It can be tried again.
    #[error("there is no room for {path} on its file system ({cause})")]
    WaitsForRoom {
        /// The file.
        path: PathBuf,
        /// What they say.
        cause: String,
    },
    /// The disk has not yet confirmed that it has what was written. It can be waited for.
    #[error("the disk has not yet confirmed that it has what was written to {path}")]
    WaitsForDisk {
        /// The file.
        path: PathBuf,
    },
    /// A thread that compresses has ended.
    #[error(
        "a thread that compresses the events of {path} has ended: this is a fault of evforge, please report it. What was \
         committed is safe in the file; `compression = \"none\"` needs no such threads"
    )]
    WorkerLost {
        /// The file.
        path: PathBuf,
    },
    /// There is a file at the path of an output already.
    #[error("the file {0} exists already: choose another name, or give --overwrite or --if-exists number")]
    NameTaken(PathBuf),
    /// The writer has failed before and takes no more events.
    #[error("{path} takes no more events since writing failed; {safe} events are safe in it")]
    Stopped {
        /// The file.
        path: PathBuf,
        /// Events that are safe in the file.
        safe: u64,
    },
    /// The file is not an HDF5 file.
    #[error(
        "{0} is not an HDF5 file: it does not begin with the signature \\x89HDF. Name one, such as `evforge run --nexus run.nxs` writes"
    )]
    NotHdf5(PathBuf),
    /// The file is an HDF5 file that evforge has not written.
    #[error("{path} is an HDF5 file, but not an event file of evforge: {missing}. It was left as it is")]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What was looked for and not found.
        missing: String,
    },
    /// The file is shorter than its own header says, or its header is damaged.
    #[error("{path} is damaged: {finding}. It was left as it is")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        finding: String,
    },
    /// An option makes no sense.
    #[error("{0}")]
    Option(String),
    /// The pixels of this geometry do not fit into the 32-bit signed ids of the file format.
    #[error(
        "a detector of {} pixels cannot be written: event_id holds at most {}",
        .0.pixel_count(),
        i32::MAX
    )]
    TooManyPixels(LogicalGeometry),
    /// The text does not fit into the space that the file reserves for it.
    #[error(
        "the report of {length} bytes does not fit into the {reserved} bytes that {path} reserves for it; the \
         events are complete"
    )]
    ReportTooLong {
        /// The file.
        path: PathBuf,
        /// Bytes of the report.
        length: usize,
        /// Bytes reserved.
        reserved: usize,
    },
}

impl NexusError {
    pub(crate) fn io(attempt: &'static str, path: &Path, cause: std::io::Error) -> Self {
        NexusError::Io { attempt, path: path.to_owned(), cause }
    }

    pub(crate) fn hdf5(attempt: &'static str, path: &Path, cause: &hdf5_metno::Error) -> Self {
        NexusError::Hdf5 { attempt, path: path.to_owned(), cause: saying(cause) }
    }
}

/// True if this is what the operating system says of a disk that is full.
pub(crate) fn is_lack_of_space(error: &NexusError) -> bool {
    match error {
        NexusError::Io { cause, .. } => {
            matches!(cause.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        }
        NexusError::Hdf5 { cause, .. } | NexusError::Write { cause, .. } => {
            [Errno::NOSPC, Errno::DQUOT].iter().any(|&errno| {
                let text = std::io::Error::from(errno).to_string();
                text.split(" (os").next().is_some_and(|text| cause.contains(text))
            })
        }
        NexusError::NoSpace { .. } | NexusError::WaitsForRoom { .. } => true,
        _ => false,
    }
}

/// Bytes as people say them.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..10_000_000_000 => format!("{:.1} MB", bytes as f64 * 1e-6),
        _ => format!("{:.1} GB", bytes as f64 * 1e-9),
    }
}

/// What HDF5 says, without its inner life: the message of the operating system if there is one, else the
/// outermost and innermost of its stack of errors.
pub fn saying(error: &hdf5_metno::Error) -> String {
    const MARK: &str = "error message = '";
    // Names of the file may be in it.
    let all = readable(error.to_string().as_bytes());
    let system = all.split_once(MARK).and_then(|(_, after)| after.split_once('\''));
    match system {
        Some((message, _)) => message.to_owned(),
        None => all,
    }
}

fn exists_advice(path: &Path, unfinished: bool) -> String {
    if unfinished {
        format!(
            ": a writer that was killed has left it. Repair it by `evforge write --recover {}`, or choose another name",
            path.display()
        )
    } else {
        format!(
            " and is not overwritten: choose another name, give --overwrite, or say `number` (which writes {} and so on) for \
             files that exist (--if-exists, if_exists)",
            numbered(path, 1).display()
        )
    }
}

/// `run.nxs` with a number: `run-1.nxs`.
pub(crate) fn numbered(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(extension) => format!("{stem}-{number}.{}", extension.to_string_lossy()),
        None => format!("{stem}-{number}"),
    };
    path.with_file_name(name)
}

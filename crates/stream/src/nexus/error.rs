//! What can go wrong with an event file, in words for a person.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use evforge_core::geometry::LogicalGeometry;

use rustix::io::Errno;

use super::space::Shortage;

/// Why an event file could not be written, read or repaired.
#[derive(Debug)]
pub enum NexusError {
    /// There is a file at the path already, and the options say not to touch it.
    Exists {
        /// The file.
        path: PathBuf,
        /// True if a writer that was killed left it.
        unfinished: bool,
    },
    /// Another process is writing the file at this moment, or reads it where it is to be changed.
    InUse(PathBuf),
    /// The operating system refused.
    Io {
        /// What was attempted: "create", "open", "repair".
        attempt: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        cause: std::io::Error,
    },
    /// The HDF5 library refused.
    Hdf5 {
        /// What was attempted: "create the layout", "open".
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// What the library says.
        cause: String,
    },
    /// Writing failed in mid-run; the writer takes no more events.
    Write {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        attempt: &'static str,
        /// What the library says.
        cause: String,
        /// Events that are safe in the file: all up to its last commit.
        safe: u64,
        /// Events that were taken and are not in the file.
        lost: u64,
    },
    /// Somebody has removed or replaced the file while it was written; the writer takes no more events.
    Gone {
        /// The file.
        path: PathBuf,
        /// Events that were taken and are lost.
        lost: u64,
    },
    /// There is no room on the disk. Nothing was changed, and it can be tried again.
    NoSpace {
        /// The file.
        path: PathBuf,
        /// How much is missing, and how much there is.
        shortage: Shortage,
    },
    /// The operating system or HDF5 has found no room. It can be tried again.
    WaitsForRoom {
        /// The file.
        path: PathBuf,
        /// What they say.
        cause: String,
    },
    /// There is a file at the path of an output already.
    NameTaken(PathBuf),
    /// The writer has failed before and takes no more events.
    Stopped {
        /// The file.
        path: PathBuf,
        /// Events that are safe in the file.
        safe: u64,
    },
    /// The file is not an HDF5 file.
    NotHdf5(PathBuf),
    /// The file is an HDF5 file that evforge has not written.
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What was looked for and not found.
        missing: String,
    },
    /// The file is shorter than its own header says, or its header is damaged.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        finding: String,
    },
    /// An option makes no sense.
    Option(String),
    /// The pixels of this geometry do not fit into the 32-bit signed ids of the file format.
    TooManyPixels(LogicalGeometry),
    /// The text does not fit into the space that the file reserves for it.
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
pub(crate) fn saying(error: &hdf5_metno::Error) -> String {
    const MARK: &str = "error message = '";
    let all = error.to_string();
    let system = all.split_once(MARK).and_then(|(_, after)| after.split_once('\''));
    match system {
        Some((message, _)) => message.to_owned(),
        None => all,
    }
}

impl fmt::Display for NexusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NexusError::Exists { path, unfinished: false } => write!(
                f,
                "{} exists already and is not overwritten: choose another name, or say `overwrite` or `number` \
                 (which writes {} and so on) for files that exist",
                path.display(),
                numbered(path, 1).display()
            ),
            NexusError::Exists { path, unfinished: true } => write!(
                f,
                "{} exists already: a writer that was killed has left it. Repair it by `evforge write --recover \
                 {}`, or choose another name",
                path.display(),
                path.display()
            ),
            NexusError::InUse(path) => write!(
                f,
                "{} is in use: another process is writing it or has it open. Wait until it ends, or choose another \
                 name",
                path.display()
            ),
            NexusError::Io { attempt, path, cause } => {
                write!(f, "cannot {attempt} {}: {cause}", path.display())
            }
            NexusError::Hdf5 { attempt, path, cause } => {
                write!(f, "cannot {attempt} of {}: HDF5 says: {cause}", path.display())
            }
            NexusError::Write { path, attempt, cause, safe, lost } => write!(
                f,
                "cannot {attempt} in {}: HDF5 says: {cause}. The {safe} events up to the last commit are safe in \
                 the file, {lost} later ones are lost. Make room on the disk if it is full, then repair the file \
                 by `evforge write --recover {}`",
                path.display(),
                path.display()
            ),
            NexusError::Gone { path, lost } => write!(
                f,
                "{} was removed, renamed or replaced by another file while it was written: what it held is not there \
                 under that name any more ({lost} events), and no more events are taken",
                path.display()
            ),
            NexusError::NoSpace { path, shortage } => write!(
                f,
                "there is no room for {}: {} more are needed on its file system, where {} are free",
                path.display(),
                size(shortage.missing),
                size(shortage.free)
            ),
            NexusError::WaitsForRoom { path, cause } => {
                write!(f, "there is no room for {} on its file system ({cause})", path.display())
            }
            NexusError::NameTaken(path) => write!(
                f,
                "the file {} exists already: choose another name, or say --if-exists overwrite or number",
                path.display()
            ),
            NexusError::Stopped { path, safe } => write!(
                f,
                "{} takes no more events since writing failed; {safe} events are safe in it",
                path.display()
            ),
            NexusError::NotHdf5(path) => write!(
                f,
                "{} is not an HDF5 file: it does not begin with the signature \\x89HDF",
                path.display()
            ),
            NexusError::NotOurs { path, missing } => write!(
                f,
                "{} is an HDF5 file, but not an event file of evforge: {missing}. It was left as it is",
                path.display()
            ),
            NexusError::Damaged { path, finding } => {
                write!(f, "{} is damaged: {finding}. It was left as it is", path.display())
            }
            NexusError::Option(complaint) => f.write_str(complaint),
            NexusError::TooManyPixels(geometry) => write!(
                f,
                "a detector of {} pixels cannot be written: event_id holds at most {}",
                geometry.pixel_count(),
                i32::MAX
            ),
            NexusError::ReportTooLong { path, length, reserved } => write!(
                f,
                "the report of {length} bytes does not fit into the {reserved} bytes that {} reserves for it; the \
                 events are complete",
                path.display()
            ),
        }
    }
}

impl std::error::Error for NexusError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NexusError::Io { cause, .. } => Some(cause),
            _ => None,
        }
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

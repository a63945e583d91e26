//! The recording that a killed process has left: checked, cut to whole packets, and given its name.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use evforge_core::packet::PacketSlab;

use crate::capture::{CaptureError, CaptureReader, Fill};
use crate::staged_file::{is_being_written, rename_new, target_of};

/// How pcapng begins.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// A recorder's blocks are shorter than this in bytes; what is cut away at the end is at most one of them.
const LARGEST_BLOCK: u64 = 1 << 17;
/// Names that are tried before it is believed that none is free.
const ATTEMPTS: u32 = 1000;

/// What [`finish_recording`] has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedRecording {
    /// The file that it was.
    pub partial: PathBuf,
    /// The name that it has now.
    pub path: PathBuf,
    /// Packets in it.
    pub packets: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of a packet that was not written to its end, which were cut away.
    pub cut_bytes: u64,
}

impl fmt::Display for FinishedRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { partial, path, packets, file_bytes, cut_bytes } = self;
        write!(
            f,
            "{} is {} now: {packets} packets in {file_bytes} bytes",
            partial.display(),
            path.display()
        )?;
        match cut_bytes {
            0 => Ok(()),
            cut => write!(f, "; {cut} bytes of a packet that was not written to its end are cut away"),
        }
    }
}

/// Why a recording could not be finished. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    /// Its name is not that of a partial file.
    #[error(
        "{0} is not called like a recording that has not ended: run.pcapng.partial, or run.pcapng.partial- and more"
    )]
    NotPartial(PathBuf),
    /// A process is writing it.
    #[error("{0} is being written by a recording at this moment: wait until it ends")]
    InUse(PathBuf),
    /// It is not a recording in pcapng.
    #[error("{0} is not a recording: it does not begin as pcapng does. It was left as it is")]
    NotPcapng(PathBuf),
    /// It has not a single whole packet.
    #[error("{0} has not a single whole packet. It was left as it is, and may be removed")]
    NoPackets(PathBuf),
    /// It is damaged at a place that is not its end.
    #[error(
        "{source} That is not the end of a file that was cut off, so nothing was cut away at byte {position}: \
         the file was left as it is"
    )]
    Damaged {
        /// Byte at which the damage begins.
        position: u64,
        /// What the reader says.
        source: CaptureError,
    },
    /// The system refused.
    #[error("{path} cannot be {attempt}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was attempted: "opened", "cut".
        attempt: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// Makes a capture of the partial file of a recording that has not ended: reads it through, cuts away a last packet that
/// is not whole, and gives it its name. If that is taken, or another recording is going to have it, the name says
/// `-recovered`. No file is ever replaced.
///
/// # Errors
/// If it is not such a file, is being written, has no whole packet, or is damaged before its end. It is then as it was.
pub fn finish_recording(partial: &Path) -> Result<FinishedRecording, FinishError> {
    let io = |attempt| move |source| FinishError::Io { path: partial.to_owned(), attempt, source };
    let target = target_of(partial).ok_or_else(|| FinishError::NotPartial(partial.to_owned()))?;
    let mut file = open(partial).map_err(io("opened"))?;
    // Held to the end: nobody else finishes it meanwhile.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(FinishError::InUse(partial.to_owned()));
    }
    let mut first = [0; SECTION_HEADER.len()];
    if file.read_exact(&mut first).is_err() || first != SECTION_HEADER {
        return Err(FinishError::NotPcapng(partial.to_owned()));
    }
    let length = file.metadata().map_err(io("looked at"))?.len();
    let (packets, whole) = whole_packets(partial, &mut file, length)?;
    if packets == 0 {
        return Err(FinishError::NoPackets(partial.to_owned()));
    }
    if whole < length {
        file.set_len(whole).map_err(io("cut"))?;
    }
    file.sync_all().map_err(io("brought to the disk"))?;
    let path = rename(partial, &target).map_err(io("renamed"))?;
    Ok(FinishedRecording {
        partial: partial.to_owned(),
        path,
        packets,
        file_bytes: whole,
        cut_bytes: length - whole,
    })
}

fn open(partial: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.read(true).write(true).open(partial)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
    }
    Ok(file)
}

/// Packets in the file, and the byte at which the last whole block ends.
fn whole_packets(path: &Path, file: &mut File, length: u64) -> Result<(u64, u64), FinishError> {
    let mut reader = match CaptureReader::open(path) {
        Ok(reader) => reader,
        Err(source) => return Err(FinishError::Damaged { position: 0, source }),
    };
    let mut slab = PacketSlab::new(4096, 8 << 20);
    let ends_at = |reader: &CaptureReader| (reader.counters().packets, reader.position());
    loop {
        slab.clear();
        match reader.fill(&mut slab) {
            Ok(Fill::More) => {}
            Ok(Fill::End) => return Ok(ends_at(&reader)),
            Err(source) => {
                let (packets, position) = ends_at(&reader);
                let is_last_block = match source {
                    CaptureError::Truncated { needed, .. } => {
                        needed < LARGEST_BLOCK && length - position < LARGEST_BLOCK
                    }
                    _ => false,
                };
                // What a crash of the host can leave where bytes had not been brought to the disk.
                if is_last_block || is_zero_from(file, position).unwrap_or(false) {
                    return Ok((packets, position));
                }
                return Err(FinishError::Damaged { position, source });
            }
        }
    }
}

fn is_zero_from(file: &mut File, position: u64) -> io::Result<bool> {
    file.seek(SeekFrom::Start(position))?;
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(true),
            read if piece[..read].iter().any(|&byte| byte != 0) => return Ok(false),
            _ => {}
        }
    }
}

/// Gives the file the name `target`, or another one if that is taken.
fn rename(partial: &Path, target: &Path) -> io::Result<PathBuf> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_reserved = is_awaited(folder, target, partial)?;
    for number in u32::from(is_reserved)..ATTEMPTS {
        let name = recovered_name(target, number);
        match rename_new(partial, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|()| name),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no name like its own is free"))
}

/// True if a recording under way, of another file than `partial`, is going to have this name.
fn is_awaited(folder: &Path, target: &Path, partial: &Path) -> io::Result<bool> {
    let mut others = std::fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    Ok(others.any(|path| {
        path.file_name() != partial.file_name()
            && target_of(&path).is_some_and(|name| name.file_name() == target.file_name())
            && is_being_written(&path)
    }))
}

/// `run.pcapng`, `run-recovered.pcapng`, `run-recovered-2.pcapng` and so on.
fn recovered_name(target: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return target.to_owned();
    }
    let mut name = target.file_stem().unwrap_or_default().to_owned();
    name.push("-recovered");
    if number > 1 {
        name.push(format!("-{number}"));
    }
    if let Some(ending) = target.extension() {
        name.push(".");
        name.push(ending);
    }
    target.with_file_name(name)
}

//! What can go wrong with a capture file, in words for the person who named it.

use crate::staged_file::{is_standard_output, shown};
use std::io;
use std::path::{Path, PathBuf};

use crate::frame::LINKS;

/// A capture file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file could not be opened or asked about.
    #[error("cannot open the capture file {path}: {source}.{}", open_advice(.path, .source))]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The path is a directory.
    #[error("{path} is a directory, not a capture file. Name a file in it (pcap, pcapng or .pkts).")]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// The file has no bytes.
    #[error("the capture file {path} is empty (0 bytes): nothing was recorded in it.")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is in none of the formats that can be read.
    #[error(
        "{path} is not a capture file that can be read: it begins with{}. Accepted are pcap (begins with d4 c3 b2 a1, a1 b2 \
         c3 d4, 4d 3c b2 a1, a1 b2 3c 4d or 34 cd b2 a1), pcapng (begins with 0a 0d 0d 0a) and files named *.pkts (repeated: \
         u32 little-endian length, payload).{}",
        listed(.first_bytes),
        unpack_advice(.path, .first_bytes)
    )]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// Its first bytes, at most 16.
        first_bytes: Vec<u8>,
    },
    /// The whole capture is of a link type that cannot be read.
    #[error("the frames in {path} are of link type {number}, which cannot be read. Readable are: {LINKS}.")]
    UnknownLink {
        /// The file.
        path: PathBuf,
        /// The link type's number.
        number: i32,
    },
    /// The system failed to read on.
    #[error("reading {path} failed at byte {position}, after {packets} packets: {source}.")]
    Read {
        /// The file.
        path: PathBuf,
        /// Byte at which reading stopped.
        position: u64,
        /// Packets delivered before.
        packets: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The file ends in the middle of a record.
    #[error(
        "{path} is truncated: at byte {position} {expected} of {needed} bytes begins, but only {left} bytes \
         are left in the file. The {packets} packets before it have been read. If the file is still being \
         written or copied, wait for the end; otherwise fetch it again from its origin."
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Byte at which the incomplete record begins.
        position: u64,
        /// What should be there.
        expected: &'static str,
        /// How many bytes that takes.
        needed: u64,
        /// How many bytes are left.
        left: u64,
        /// Packets delivered before.
        packets: u64,
    },
    /// The bytes contradict the format, so that the next record cannot be found.
    #[error(
        "{path} is damaged at byte {position}: found {found}, expected {expected}. The {packets} packets before \
         it have been read; what follows cannot be found any more."
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Byte at which the record begins.
        position: u64,
        /// What was found.
        found: String,
        /// What the format demands.
        expected: &'static str,
        /// Packets delivered before.
        packets: u64,
    },
    /// The system failed to write.
    #[error("writing {} failed after {packets} packets: {source}.{}", shown(.path), write_advice(.path, .source))]
    Write {
        /// The file that was to be made.
        path: PathBuf,
        /// Packets taken before.
        packets: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The file exists and is something that must not be replaced (a directory, a device).
    #[error(
        "{path} exists and is not a plain file: a capture is written next to its target and then renamed, which \
         would replace it. Name a file."
    )]
    NotReplaceable {
        /// The file that was to be made.
        path: PathBuf,
    },
    /// The packet cannot be expressed in this format.
    #[error("packet {packet} cannot be written to {path}: {reason}")]
    Unwritable {
        /// The file that is being made.
        path: PathBuf,
        /// The packet's number in it, from 0.
        packet: u64,
        /// Why, and what to do instead.
        reason: String,
    },
}

fn open_advice(path: &Path, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => " Check the name; relative names count from the current directory.".into(),
        io::ErrorKind::PermissionDenied => format!(" See who may read it: ls -l {}", path.display()),
        _ => String::new(),
    }
}

fn write_advice(path: &Path, source: &io::Error) -> String {
    match source.kind() {
        _ if is_standard_output(path) => " What has come out is not complete.".into(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => format!(
            " The disk is full. Free some space (df -h {}) or write to another one; the incomplete file has been removed.",
            folder_of(path).display()
        ),
        io::ErrorKind::NotFound => " Does the folder exist?".into(),
        _ => String::new(),
    }
}

fn listed(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!(" {byte:02x}")).collect()
}

/// What to do with a file of a well-known other kind.
fn unpack_advice(path: &Path, first_bytes: &[u8]) -> String {
    let advice = match first_bytes {
        [0x1f, 0x8b, ..] => "It is compressed; unpack it first: gunzip -k",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "It is compressed; unpack it first: zstd -d",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "It is compressed; unpack it first: unxz -k",
        [0x89, b'H', b'D', b'F', ..] => "It is an HDF5 file; see what is in it: h5dump -H",
        _ => return String::new(),
    };
    format!(" {advice} {}", path.display())
}

/// The folder a file lies in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_called_by_its_name() {
        let error = CaptureError::Write {
            path: "/data/run.pcapng".into(),
            packets: 7,
            source: io::ErrorKind::StorageFull.into(),
        };
        let text = error.to_string();
        assert!(text.contains("after 7 packets") && text.contains("df -h /data"), "{text}");
    }

    #[test]
    fn a_compressed_capture_comes_with_the_command_that_unpacks_it() {
        let error =
            CaptureError::Unrecognised { path: "run.pcap.gz".into(), first_bytes: vec![0x1f, 0x8b, 8] };
        let text = error.to_string();
        assert!(text.contains("begins with 1f 8b 08.") && text.ends_with("gunzip -k run.pcap.gz"), "{text}");
    }
}

//! What can go wrong with a capture file, told to the person who named it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::frame::LINKS;

/// A capture file could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file could not be opened or asked about.
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The path is a directory.
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// The file has no bytes.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is in none of the formats that can be read.
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// Its first bytes, at most 16.
        first_bytes: Vec<u8>,
    },
    /// The whole capture is of a link type that cannot be read.
    UnknownLink {
        /// The file.
        path: PathBuf,
        /// The link type's number.
        number: i32,
    },
    /// The system failed to read on.
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
    Write {
        /// The file that was to be made.
        path: PathBuf,
        /// Packets taken before.
        packets: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The file exists and is something that must not be replaced (a directory, a device).
    NotReplaceable {
        /// The file that was to be made.
        path: PathBuf,
    },
    /// The packet cannot be told in this format.
    Unwritable {
        /// The file that is being made.
        path: PathBuf,
        /// The packet's number in it, from 0.
        packet: u64,
        /// Why, and what to do instead.
        reason: String,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { path, source } => {
                write!(f, "cannot open the capture file {}: {source}.", path.display())?;
                match source.kind() {
                    io::ErrorKind::NotFound => {
                        write!(f, " Check the name; relative names count from the current directory.")
                    }
                    io::ErrorKind::PermissionDenied => {
                        write!(f, " See who may read it: ls -l {}", path.display())
                    }
                    _ => Ok(()),
                }
            }
            Self::Directory { path } => {
                write!(
                    f,
                    "{} is a directory, not a capture file. Name a file in it (pcap, pcapng or .pkts).",
                    path.display()
                )
            }
            Self::Empty { path } => write!(
                f,
                "the capture file {} is empty (0 bytes): nothing was recorded in it.",
                path.display()
            ),
            Self::Unrecognised { path, first_bytes } => {
                write!(f, "{} is not a capture file that can be read: it begins with", path.display())?;
                first_bytes.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
                write!(
                    f,
                    ". Accepted are pcap (begins with d4 c3 b2 a1, a1 b2 c3 d4, 4d 3c b2 a1, a1 b2 3c 4d or 34 cd b2 a1), \
                     pcapng (begins with 0a 0d 0d 0a) and files named *.pkts (repeated: u32 little-endian length, payload)."
                )?;
                match advice(first_bytes) {
                    Some(advice) => write!(f, " {advice} {}", path.display()),
                    None => Ok(()),
                }
            }
            Self::UnknownLink { path, number } => write!(
                f,
                "the frames in {} are of link type {number}, which cannot be read. Readable are: {LINKS}.",
                path.display()
            ),
            Self::Read { path, position, packets, source } => write!(
                f,
                "reading {} failed at byte {position}, after {packets} packets: {source}.",
                path.display()
            ),
            Self::Truncated { path, position, expected, needed, left, packets } => write!(
                f,
                "{} is truncated: at byte {position} {expected} of {needed} bytes begins, but only {left} bytes \
                 are left in the file. The {packets} packets before it have been read. If the file is still being \
                 written or copied, wait for the end; otherwise fetch it again from its origin.",
                path.display()
            ),
            Self::Corrupt { path, position, found, expected, packets } => write!(
                f,
                "{} is damaged at byte {position}: found {found}, expected {expected}. The {packets} packets before \
                 it have been read; what follows cannot be found any more.",
                path.display()
            ),
            Self::Write { path, packets, source } => {
                write!(f, "writing {} failed after {packets} packets: {source}.", path.display())?;
                match source.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        let folder = folder_of(path);
                        write!(
                            f,
                            " The disk is full. Free some space (df -h {}) or write to another one; the incomplete \
                             file has been removed.",
                            folder.display()
                        )
                    }
                    io::ErrorKind::NotFound => write!(f, " Does the folder exist?"),
                    _ => Ok(()),
                }
            }
            Self::NotReplaceable { path } => write!(
                f,
                "{} exists and is not a plain file: a capture is written beside its target and then renamed, which \
                 would replace it. Name a file.",
                path.display()
            ),
            Self::Unwritable { path, packet, reason } => {
                write!(f, "packet {packet} cannot be written to {}: {reason}", path.display())
            }
        }
    }
}

/// What to do with a file of a well-known other kind.
fn advice(first_bytes: &[u8]) -> Option<&'static str> {
    match first_bytes {
        [0x1f, 0x8b, ..] => Some("It is compressed; unpack it first: gunzip -k"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("It is compressed; unpack it first: zstd -d"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Some("It is compressed; unpack it first: unxz -k"),
        [0x89, b'H', b'D', b'F', ..] => Some("It is an HDF5 file; see what is in it: h5dump -H"),
        _ => None,
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } | Self::Write { source, .. } => {
                Some(source)
            }
            _ => None,
        }
    }
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

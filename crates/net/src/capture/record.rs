//! What the formats of capture files yield: records, or the reason why reading cannot go on.

use std::io;

use evforge_core::packet::{ArrivalClock, PacketOrigin};

use super::window::Window;
use crate::frame::{self, Link, Skip};

/// No record is longer than this, in bytes; a longer one is taken for damage, so that memory stays bounded.
pub(super) const LARGEST_RECORD: usize = 64 << 20;

/// One record of a capture file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// A UDP payload.
    Packet { bytes: &'a [u8], original_length: usize, origin: PacketOrigin },
    /// A frame that is not delivered.
    Skipped(Skip),
    /// Something else that belongs to the format.
    Other,
}

impl<'a> Record<'a> {
    /// The UDP payload in a captured frame, or why there is none. `arrival_ns` is none without a stamp.
    pub(super) fn of_frame(
        link: Link,
        frame: &'a [u8],
        original_length: u32,
        arrival_ns: Option<u64>,
    ) -> Self {
        let missing = (original_length as usize).saturating_sub(frame.len());
        match frame::datagram(link, frame, missing) {
            // What is missing may be what makes it look wrong.
            Err(Skip::Malformed) if missing > 0 => Self::Skipped(Skip::HeadersCut),
            Err(reason) => Self::Skipped(reason),
            Ok(datagram) => Self::Packet {
                bytes: datagram.payload,
                original_length: datagram.original_length,
                origin: PacketOrigin {
                    source: datagram.source,
                    destination_port: datagram.destination_port,
                    arrival_ns: arrival_ns.unwrap_or(0),
                    arrival_clock: arrival_ns.map_or(ArrivalClock::None, |_| ArrivalClock::Capture),
                },
            },
        }
    }
}

/// Why reading cannot go on; the reader adds the file, the place and the packets before.
#[derive(Debug)]
pub(super) enum Fault {
    Read(io::Error),
    Truncated { expected: &'static str, needed: u64, left: u64 },
    Corrupt { found: String, expected: &'static str },
    UnknownLink(i32),
    Unrecognised,
}

/// Brings `header` bytes into the window; false at the end of the file.
pub(super) fn require_header(
    window: &mut Window,
    header: usize,
    expected: &'static str,
) -> Result<bool, Fault> {
    match window.require(header).map_err(Fault::Read)? {
        0 => Ok(false),
        left if left < header => Err(Fault::Truncated { expected, needed: header as u64, left: left as u64 }),
        _ => Ok(true),
    }
}

/// Brings a whole record of `length` bytes into the window.
pub(super) fn require_record(
    window: &mut Window,
    length: usize,
    expected: &'static str,
) -> Result<Option<usize>, Fault> {
    let left = window.require(length).map_err(Fault::Read)?;
    if left < length {
        return Err(Fault::Truncated { expected, needed: length as u64, left: left as u64 });
    }
    Ok(Some(length))
}

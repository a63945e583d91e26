//! The formats of capture files: how they are told apart, and what all of them yield.

use std::io;
use std::path::Path;

use evforge_core::packet::{ArrivalClock, PacketOrigin};

use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::pkts::Pkts;
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

/// The format of an open file and what must be remembered between its records.
#[derive(Debug)]
pub(super) enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Pkts(Pkts),
}

impl Format {
    /// Recognises the format by the first bytes, or `.pkts` by the name, and reads the file header.
    pub(super) fn recognise(path: &Path, window: &mut Window) -> Result<Self, Fault> {
        window.require(4).map_err(Fault::Read)?;
        let first_bytes = window.bytes();
        if Pcap::begins(first_bytes) {
            Pcap::open(window).map(Self::Pcap)
        } else if Pcapng::begins(first_bytes) {
            Ok(Self::Pcapng(Pcapng::default()))
        } else if path.extension().is_some_and(|name| name.eq_ignore_ascii_case("pkts")) {
            Ok(Self::Pkts(Pkts))
        } else {
            Err(Fault::Unrecognised)
        }
    }

    /// Brings the next record into the window and says how long it is; none at the end of the file.
    pub(super) fn next_record(&self, window: &mut Window) -> Result<Option<usize>, Fault> {
        match self {
            Self::Pcap(pcap) => pcap.next_record(window),
            Self::Pcapng(pcapng) => pcapng.next_record(window),
            Self::Pkts(pkts) => pkts.next_record(window),
        }
    }

    /// What the record says. A record that is not a packet may be decoded only once.
    pub(super) fn decode<'a>(&mut self, record: &'a [u8]) -> Result<Record<'a>, Fault> {
        match self {
            Self::Pcap(pcap) => pcap.decode(record),
            Self::Pcapng(pcapng) => pcapng.decode(record),
            Self::Pkts(pkts) => Ok(pkts.decode(record)),
        }
    }
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

//! pcap: one file header with one link type, then frames.

use pcap_parser::{
    LegacyPcapBlock, PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header,
};

use super::record::{Fault, LARGEST_RECORD, Record, require_header, require_record};
use super::window::Window;
use crate::frame::Link;

const FILE_HEADER: usize = 24;
/// The magic numbers as they are in the file: microseconds, nanoseconds, and the variant with a longer
/// record header ("modified"), which exists in little-endian order only.
const MAGICS: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
];

/// Reads the frames of a pcap file.
#[derive(Debug)]
pub(super) struct Pcap {
    header: PcapHeader,
    link: Link,
}

impl Pcap {
    /// True if a file that begins like this is pcap.
    pub(super) fn begins(first_bytes: &[u8]) -> bool {
        MAGICS.iter().any(|magic| first_bytes.starts_with(magic))
    }

    /// Reads the file header.
    pub(super) fn open(window: &mut Window) -> Result<Self, Fault> {
        require_header(window, FILE_HEADER, "a pcap file header")?;
        let (_, header) = parse_pcap_header(window.bytes()).map_err(|_| Fault::Unrecognised)?;
        let number = header.network.0;
        let link = Link::from_number(number).ok_or(Fault::UnknownLink(number))?;
        window.advance(FILE_HEADER);
        Ok(Self { header, link })
    }

    pub(super) fn next_record(&self, window: &mut Window) -> Result<Option<usize>, Fault> {
        let record_header = if self.header.is_modified_format() { 24 } else { 16 };
        if !require_header(window, record_header, "a frame header")? {
            return Ok(None);
        }
        let bytes = window.bytes();
        let length = [bytes[8], bytes[9], bytes[10], bytes[11]];
        let length =
            if self.header.is_bigendian() { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) };
        if length as usize > LARGEST_RECORD {
            return Err(Fault::Corrupt {
                found: format!("a frame of {length} bytes"),
                expected: "at most 64 MiB",
            });
        }
        require_record(window, record_header + length as usize, "a frame with its header")
    }

    pub(super) fn decode<'a>(&self, record: &'a [u8]) -> Result<Record<'a>, Fault> {
        let parse = if self.header.is_modified_format() {
            parse_pcap_frame_modified
        } else if self.header.is_bigendian() {
            parse_pcap_frame_be
        } else {
            parse_pcap_frame
        };
        let (_, frame) = parse(record).map_err(|_| Fault::Corrupt {
            found: "a frame that cannot be parsed".into(),
            expected: "a frame header and its bytes",
        })?;
        Ok(Record::of_frame(self.link, frame.data, frame.origlen, Some(self.nanoseconds(&frame))))
    }

    fn nanoseconds(&self, frame: &LegacyPcapBlock<'_>) -> u64 {
        let unit = if self.header.is_nanosecond_precision() { 1 } else { 1000 };
        u64::from(frame.ts_sec) * 1_000_000_000 + u64::from(frame.ts_usec) * unit
    }
}

//! `.pkts`: payloads one after the other, each behind its length.

use evforge_core::packet::{LARGEST_PAYLOAD, PacketOrigin};

use super::record::{Fault, Record, require_header, require_record};
use super::window::Window;

/// Bytes of a length.
pub(super) const LENGTH_BYTES: usize = 4;

/// Reads `.pkts`; there is nothing to remember between its records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pkts;

impl Pkts {
    pub(super) fn next_record(self, window: &mut Window) -> Result<Option<usize>, Fault> {
        if !require_header(window, LENGTH_BYTES, "a payload length")? {
            return Ok(None);
        }
        let bytes = window.bytes();
        let length = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if length as usize > LARGEST_PAYLOAD {
            return Err(Fault::Corrupt {
                found: format!("a payload length of {length} bytes"),
                expected: "at most 65507, the largest payload of a UDP datagram",
            });
        }
        require_record(window, LENGTH_BYTES + length as usize, "a length and payload")
    }

    pub(super) fn decode(self, record: &[u8]) -> Record<'_> {
        let bytes = &record[LENGTH_BYTES..];
        Record::Packet { bytes, original_length: bytes.len(), origin: PacketOrigin::default() }
    }
}

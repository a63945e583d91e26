//! pcapng: sections of blocks, each with a byte order and interfaces of its own.

use pcap_parser::{Block, InterfaceDescriptionBlock, parse_block_be, parse_block_le};

use super::record::{Fault, LARGEST_RECORD, Record, require_header, require_record};
use super::window::Window;
use crate::frame::{Link, Skip};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const OBSOLETE_PACKET: u32 = 2;
const INTERFACE_DESCRIPTION: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Where a section header tells its byte order, and how it does in little-endian order.
const BYTE_ORDER_MARK: std::ops::Range<usize> = 8..12;
const LITTLE_ENDIAN: [u8; 4] = [0x4d, 0x3c, 0x2b, 0x1a];
const BIG_ENDIAN: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
/// More interfaces than anybody has; beyond it frames count as of an unknown interface, so that a hostile
/// file cannot fill the memory.
const MOST_INTERFACES: usize = 1 << 16;

/// What the section says about an interface.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Option<Link>,
    snap_length: u32,
    /// Units of the time stamps in a second; none if there is no such number.
    units_per_second: Option<u64>,
    /// Seconds to be added to the time stamps.
    offset: i64,
}

/// Reads the blocks of a pcapng file.
#[derive(Debug, Default)]
pub(super) struct Pcapng {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

impl Pcapng {
    /// True if a file that begins like this is pcapng.
    pub(super) fn begins(first_bytes: &[u8]) -> bool {
        first_bytes.starts_with(&SECTION_HEADER.to_be_bytes())
    }

    pub(super) fn next_record(&self, window: &mut Window) -> Result<Option<usize>, Fault> {
        if !require_header(window, 12, "a block")? {
            return Ok(None);
        }
        let bytes = window.bytes();
        // The type of a section header reads the same in both byte orders; its length must be read in the
        // order that the section is going to have.
        let big_endian = if Self::begins(bytes) { section_order(bytes)? } else { self.big_endian };
        let length = word(bytes, 4, big_endian);
        if length < 12 || !length.is_multiple_of(4) || length as usize > LARGEST_RECORD {
            return Err(Fault::Corrupt {
                found: format!("a block of {length} bytes"),
                expected: "a multiple of 4 from 12 bytes to 64 MiB",
            });
        }
        let whole = require_record(window, length as usize, "a block")?;
        let repeated = word(window.bytes(), length as usize - 4, big_endian);
        if repeated != length {
            return Err(Fault::Corrupt {
                found: format!(
                    "a block that begins with a length of {length} bytes and ends with {repeated}"
                ),
                expected: "the same length at both ends",
            });
        }
        Ok(whole)
    }

    pub(super) fn decode<'a>(&mut self, record: &'a [u8]) -> Result<Record<'a>, Fault> {
        if Self::begins(record) {
            self.big_endian = section_order(record)?;
            self.interfaces.clear();
            return Ok(Record::Other);
        }
        let kind = word(record, 0, self.big_endian);
        match kind {
            OBSOLETE_PACKET => return Ok(Record::Skipped(Skip::Obsolete)),
            INTERFACE_DESCRIPTION | SIMPLE_PACKET | ENHANCED_PACKET => {}
            _ => return Ok(Record::Other),
        }
        let parse = if self.big_endian { parse_block_be } else { parse_block_le };
        match (parse(record), kind) {
            (Ok((_, Block::EnhancedPacket(packet))), _) => {
                let Some(interface) = self.interfaces.get(packet.if_id as usize) else {
                    return Ok(Record::Skipped(Skip::UnknownInterface));
                };
                let Some(link) = interface.link else {
                    return Ok(Record::Skipped(Skip::UnknownLink));
                };
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let arrival = interface
                    .units_per_second
                    .map(|per_second| nanoseconds(units, per_second, interface.offset));
                let frame = &packet.data[..packet.data.len().min(packet.caplen as usize)];
                Ok(Record::of_frame(link, frame, packet.origlen, arrival))
            }
            (Ok((_, Block::SimplePacket(packet))), _) => {
                let Some(interface) = self.interfaces.first() else {
                    return Ok(Record::Skipped(Skip::UnknownInterface));
                };
                let Some(link) = interface.link else {
                    return Ok(Record::Skipped(Skip::UnknownLink));
                };
                // The block does not say how much was captured: as much as the interface allows.
                let limit = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
                let captured = packet.data.len().min(packet.origlen.min(limit) as usize);
                Ok(Record::of_frame(link, &packet.data[..captured], packet.origlen, None))
            }
            (Ok((_, Block::InterfaceDescription(interface))), _) => {
                if self.interfaces.len() < MOST_INTERFACES {
                    self.interfaces.push(Interface::of_block(&interface, self.big_endian));
                }
                Ok(Record::Other)
            }
            (Err(_), INTERFACE_DESCRIPTION) => Err(Fault::Corrupt {
                found: "an interface description that cannot be parsed".into(),
                expected: "a link type, a snap length and options",
            }),
            // The block's own length is sound, so what follows can be found.
            _ => Ok(Record::Skipped(Skip::Malformed)),
        }
    }
}

impl Interface {
    fn of_block(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        // pcap-parser reads this option in little-endian order whatever the section's order is.
        let offset = if big_endian { block.if_tsoffset.swap_bytes() } else { block.if_tsoffset };
        Self {
            link: Link::from_number(block.linktype.0),
            snap_length: block.snaplen,
            units_per_second: units_per_second(block.if_tsresol),
            offset,
        }
    }
}

/// Units per second from an `if_tsresol`: a power of 10, or of 2 with the highest bit set. (pcap-parser's own
/// function refuses all powers of 2, because it compares before it masks the bit.)
fn units_per_second(resolution: u8) -> Option<u64> {
    let exponent = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 { 10_u64.checked_pow(exponent) } else { 1_u64.checked_shl(exponent) }
}

/// A time stamp in nanoseconds since the Unix epoch; what lies outside 1970 to 2554 is put on its edge.
fn nanoseconds(units: u64, per_second: u64, offset: i64) -> u64 {
    if per_second == 1_000_000_000 && offset == 0 {
        return units;
    }
    let since = u128::from(units) * 1_000_000_000 / u128::from(per_second);
    // At most 2^64 * 10^9 + 2^63 * 10^9 < 2^95.
    let shifted = since as i128 + i128::from(offset) * 1_000_000_000;
    u64::try_from(shifted.max(0)).unwrap_or(u64::MAX)
}

/// True for big-endian.
fn section_order(header: &[u8]) -> Result<bool, Fault> {
    match header.get(BYTE_ORDER_MARK) {
        Some(mark) if mark == LITTLE_ENDIAN => Ok(false),
        Some(mark) if mark == BIG_ENDIAN => Ok(true),
        mark => Err(Fault::Corrupt {
            found: format!("a section header with the byte-order mark {:02x?}", mark.unwrap_or_default()),
            expected: "4d 3c 2b 1a or 1a 2b 3c 4d",
        }),
    }
}

/// The 32-bit word at byte `at`, which must be there.
fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_of_every_resolution_become_nanoseconds() {
        assert_eq!(units_per_second(6), Some(1_000_000));
        assert_eq!(units_per_second(0x80 | 20), Some(1 << 20));
        assert_eq!((units_per_second(20), units_per_second(0x80 | 64)), (None, None));
        assert_eq!(nanoseconds(1_600_000_000_123_456, 1_000_000, 0), 1_600_000_000_123_456_000);
        assert_eq!(nanoseconds(5, 1_000_000_000, 2), 2_000_000_005);
        assert_eq!(nanoseconds(3 << 19, 1 << 20, 0), 1_500_000_000);
        assert_eq!(nanoseconds(5, 1, -6), 0);
        assert_eq!(nanoseconds(u64::MAX, 1, i64::MAX), u64::MAX);
        assert_eq!(nanoseconds(u64::MAX, 1, i64::MIN), u64::MAX);
    }
}

//! Single numbered packets.

use evforge_wire::numbered::{HEADER_BYTES, NumberedHeader, Rejection};

/// Parses `bytes` as a numbered packet. What parses is encoded again.
///
/// # Panics
/// If a packet that is long enough is too short, or another one is not; or if the header changes on the way (but for the
/// byte that is not looked at).
pub fn numbered(bytes: &[u8]) {
    let parsed = NumberedHeader::parse(bytes);
    assert_eq!(parsed == Err(Rejection::TooShort), bytes.len() < HEADER_BYTES);
    if let Ok(header) = parsed {
        let mut expected = bytes[..HEADER_BYTES].to_vec();
        expected[5] = 0;
        assert_eq!(header.bytes()[..], expected, "the header changed on the way");
    }
}

//! Inputs of several pieces.

/// Pieces behind a head, each behind its length (u16, little-endian).
pub(super) fn joined<P: AsRef<[u8]>>(head: Vec<u8>, pieces: &[P]) -> Vec<u8> {
    let mut bytes = head;
    for piece in pieces {
        let piece = piece.as_ref();
        let length = u16::try_from(piece.len()).expect("a piece of at most 65 535 bytes");
        bytes.extend(length.to_le_bytes());
        bytes.extend(piece);
    }
    bytes
}

//! Messages in datagrams: whole, or in chunks that the other side puts together.

use crate::settings::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{Result, Write};

/// What a chunk begins with.
pub const MAGIC: [u8; 2] = [0x1e, 0x0f];
/// Magic, identity, number and count.
pub const HEADER: usize = 12;
/// Chunks of a message.
pub const MOST_CHUNKS: usize = 128;

/// The message as it is sent.
///
/// # Errors
/// Does not fail: writing into memory.
pub fn compressed(json: Vec<u8>, compression: Compression) -> Result<Vec<u8>> {
    match compression {
        Compression::None => Ok(json),
        Compression::Zlib => {
            let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&json)?;
            encoder.finish()
        }
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&json)?;
            encoder.finish()
        }
    }
}

/// The datagrams of a message, each with at most `most` bytes; none if it would take more than [`MOST_CHUNKS`]. `identity`
/// tells its chunks from those of others.
pub fn datagrams(bytes: &[u8], most: usize, identity: u64) -> Option<Vec<Vec<u8>>> {
    if bytes.len() <= most {
        return Some(vec![bytes.to_vec()]);
    }
    let parts = bytes.chunks(most.saturating_sub(HEADER).max(1));
    let count = u8::try_from(parts.len()).ok().filter(|count| usize::from(*count) <= MOST_CHUNKS)?;
    let with_header = |(number, part): (u8, &[u8])| {
        let header = [&MAGIC[..], &identity.to_be_bytes(), &[number, count]].concat();
        [&header[..], part].concat()
    };
    Some((0..).zip(parts).map(with_header).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_their_number_and_all_of_the_message() {
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let datagrams = datagrams(&bytes, 1420, 0x0102_0304_0506_0708).expect("it fits");
        assert_eq!(datagrams.len(), 100_000_usize.div_ceil(1408));
        let count = u8::try_from(datagrams.len()).expect("few");
        let mut whole = Vec::new();
        for (number, datagram) in (0..).zip(&datagrams) {
            assert_eq!(datagram[..12], [0x1e, 0x0f, 1, 2, 3, 4, 5, 6, 7, 8, number, count]);
            assert!(datagram.len() <= 1420);
            whole.extend_from_slice(&datagram[12..]);
        }
        assert_eq!(whole, bytes);
    }

    #[test]
    fn small_messages_are_one_datagram_and_there_is_a_largest_one() {
        assert_eq!(datagrams(b"{}", 1420, 1).expect("it fits"), [b"{}".to_vec()]);
        let most = MOST_CHUNKS * (1420 - HEADER);
        assert_eq!(datagrams(&vec![0; most], 1420, 1).expect("it fits").len(), 128);
        assert!(datagrams(&vec![0; most + 1], 1420, 1).is_none());
        assert!(datagrams(&vec![0; 10 * most], 1420, 1).is_none());
    }
}

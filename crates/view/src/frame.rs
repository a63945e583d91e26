//! A picture as bytes: the binary message of the WebSocket, and the answer to `GET /api/image.bin`.
//!
//! All numbers are little-endian. The header has 32 bytes:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4 | `EVFV` |
//! | 4 | 1 | version of this format: 1 |
//! | 5 | 1 | bytes per count of the image: 1, 2 or 4 (unsigned integers) or 8 (IEEE 754 double) |
//! | 6 | 1 | bytes per count of the spectrum: likewise |
//! | 7 | 1 | 0 |
//! | 8 | 4 | number of the picture, from 1 |
//! | 12 | 4 | `nx`: columns of the image |
//! | 16 | 4 | `ny`: rows of the image |
//! | 20 | 4 | `bins`: bins of the time-of-flight spectrum |
//! | 24 | 8 | 0 |
//!
//! Then follows the spectrum (`bins` counts), zeros up to the next multiple of 8, and the image (`nx * ny`
//! counts), row by row from y = 0, each row from x = 0 (see [`projection`](crate::projection)). So both
//! start at a multiple of their count's size, and a reader can lay an array over them. The writer takes the
//! smallest size that holds the largest count.
//!
//! The decoder of the page is `web/src/frame.ts`.

use crate::projection::Image;
use bytes::{BufMut, Bytes, BytesMut};

/// The four bytes a frame begins with.
pub const MAGIC: [u8; 4] = *b"EVFV";
/// The version of the format.
pub const VERSION: u8 = 1;
/// Length of the header in bytes.
pub const HEADER_LENGTH: usize = 32;

/// The image and the spectrum at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Number of the picture, from 1. Equal numbers of one server are equal pictures.
    pub number: u32,
    /// Counts per pixel.
    pub image: Image,
    /// Counts per bin of time of flight.
    pub spectrum: Vec<u64>,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It does not begin with the magic bytes, or has another version.
    #[error("these bytes are not a picture of version {VERSION}")]
    NotAFrame,
    /// It has another length than its header says: found and expected bytes.
    #[error("the picture has {found} bytes; its header says {expected}")]
    WrongLength {
        /// Bytes there are.
        found: usize,
        /// Bytes there should be.
        expected: usize,
    },
    /// The size of a count is none of 1, 2, 4 and 8.
    #[error("the picture has counts of {0} bytes; expected were 1, 2, 4 or 8")]
    WrongCountSize(u8),
}

/// Bytes that hold every one of `counts`.
fn count_size(counts: &[u64]) -> u8 {
    match counts.iter().max() {
        Some(0x1_0000_0000..) => 8,
        Some(0x1_0000..) => 4,
        Some(0x100..) => 2,
        _ => 1,
    }
}

fn put_counts(bytes: &mut BytesMut, counts: &[u64], size: u8) {
    match size {
        1 => bytes.extend(counts.iter().map(|&count| count as u8)),
        2 => counts.iter().for_each(|&count| bytes.put_u16_le(count as u16)),
        4 => counts.iter().for_each(|&count| bytes.put_u32_le(count as u32)),
        _ => counts.iter().for_each(|&count| bytes.put_f64_le(count as f64)),
    }
}

impl Picture {
    /// The picture as a frame. Counts above 2^53 are rounded.
    pub fn encode(&self) -> Bytes {
        let (image_size, spectrum_size) = (count_size(&self.image.counts), count_size(&self.spectrum));
        let image_start =
            (HEADER_LENGTH + self.spectrum.len() * usize::from(spectrum_size)).next_multiple_of(8);
        let length = image_start + self.image.counts.len() * usize::from(image_size);
        let mut bytes = BytesMut::with_capacity(length);
        bytes.put_slice(&MAGIC);
        bytes.put_slice(&[VERSION, image_size, spectrum_size, 0]);
        bytes.put_u32_le(self.number);
        bytes.put_u32_le(self.image.nx);
        bytes.put_u32_le(self.image.ny);
        bytes.put_u32_le(self.spectrum.len() as u32);
        bytes.put_u64_le(0);
        put_counts(&mut bytes, &self.spectrum, spectrum_size);
        bytes.put_bytes(0, image_start - bytes.len());
        put_counts(&mut bytes, &self.image.counts, image_size);
        bytes.freeze()
    }

    /// Reads a frame back.
    ///
    /// # Errors
    /// If the bytes are not a frame of this version or are not as long as it says.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let Some((header, _)) = bytes.split_at_checked(HEADER_LENGTH) else {
            return Err(FrameError::NotAFrame);
        };
        if header[..4] != MAGIC || header[4] != VERSION {
            return Err(FrameError::NotAFrame);
        }
        let (image_size, spectrum_size) = (header[5], header[6]);
        if let Some(&size) = [image_size, spectrum_size].iter().find(|size| ![1, 2, 4, 8].contains(*size)) {
            return Err(FrameError::WrongCountSize(size));
        }
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (nx, ny, bins) = (word(12), word(16), word(20) as usize);
        let spectrum_end = HEADER_LENGTH + bins * usize::from(spectrum_size);
        let image_start = spectrum_end.next_multiple_of(8);
        let pixels = (nx as usize).saturating_mul(ny as usize);
        let expected = pixels.saturating_mul(usize::from(image_size)).saturating_add(image_start);
        if bytes.len() != expected {
            return Err(FrameError::WrongLength { found: bytes.len(), expected });
        }
        Ok(Self {
            number: word(8),
            image: Image { nx, ny, counts: get_counts(&bytes[image_start..], image_size) },
            spectrum: get_counts(&bytes[HEADER_LENGTH..spectrum_end], spectrum_size),
        })
    }
}

fn get_counts(bytes: &[u8], size: u8) -> Vec<u64> {
    let little_endian = |chunk: &[u8]| {
        let mut wide = [0; 8];
        wide[..chunk.len()].copy_from_slice(chunk);
        wide
    };
    let chunks = bytes.chunks_exact(usize::from(size)).map(little_endian);
    match size {
        8 => chunks.map(|wide| f64::from_le_bytes(wide) as u64).collect(),
        _ => chunks.map(u64::from_le_bytes).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_the_documented_one() {
        let picture = Picture {
            number: 0x01020304,
            image: Image { nx: 3, ny: 1, counts: vec![0, 256, 7] },
            spectrum: vec![9, 10, 11],
        };
        let bytes = picture.encode();
        assert_eq!(bytes[..12], [b'E', b'V', b'F', b'V', 1, 2, 1, 0, 4, 3, 2, 1]);
        assert_eq!(bytes[12..24], [3, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[32..40], [9, 10, 11, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[40..], [0, 0, 0, 1, 7, 0]);
    }

    #[test]
    fn each_size_holds_its_largest_count() {
        for (largest, size) in [(255, 1), (256, 2), (65_535, 2), (65_536, 4), (4_294_967_296, 8)] {
            let image = Image { nx: 1, ny: 1, counts: vec![largest] };
            let bytes = Picture { image: image.clone(), ..Picture::default() }.encode();
            assert_eq!(bytes[5], size);
            assert_eq!(Picture::decode(&bytes).unwrap().image, image);
        }
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(nx in 0..9_u32, ny in 0..9_u32, number: u32, bits in 0..53_u32,
                                    seed: u64, spectrum in proptest::collection::vec(0..1_u64 << 53, 0..20)) {
            let counts = (0..u64::from(nx * ny)).map(|at| at.wrapping_mul(seed) & ((1 << bits) - 1)).collect();
            let picture = Picture { number, image: Image { nx, ny, counts }, spectrum };
            prop_assert_eq!(Picture::decode(&picture.encode()), Ok(picture));
        }

        #[test]
        fn any_bytes_are_refused_or_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Picture::decode(&bytes);
            let framed = [&MAGIC[..], &[VERSION], &bytes[..]].concat();
            let _ = Picture::decode(&framed);
        }
    }
}

//! Pictures as bytes: the binary message of the WebSocket, and the answer to `GET /api/image.bin`.
//!
//! All numbers are little-endian. The header has 16 bytes:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4 | `EVFV` |
//! | 4 | 1 | version of this format: 2 |
//! | 5 | 1 | bytes per count of the spectrum: 1, 2 or 4 (unsigned integers) or 8 (IEEE 754 double) |
//! | 6 | 2 | number of images |
//! | 8 | 4 | number of the picture, from 1; in `/api/image.bin` the number of events, as in `/api/image.json` |
//! | 12 | 4 | `bins`: bins of the time-of-flight spectrum |
//!
//! Then follow 16 bytes for each image:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4 | which picture it is: its place in `/api/pictures.json` and in `pictures` of the greeting, from 0 |
//! | 4 | 4 | `nx`: columns |
//! | 8 | 4 | `ny`: rows |
//! | 12 | 4 | bytes per count, as above |
//!
//! Then the spectrum (`bins` counts), zeros up to the next multiple of 8, and each image (`nx * ny` counts, row by row
//! from the bottom), followed by zeros up to the next multiple of 8. So everything starts at a multiple of its count's size,
//! and a reader can lay an array over it. The writer takes the smallest size that holds the largest count.
//!
//! The decoder of the page is `web/src/frame.ts`.

use bytes::{BufMut, Bytes, BytesMut};
pub use evforge_picture::Image;

/// The four bytes a frame begins with.
pub const MAGIC: [u8; 4] = *b"EVFV";
/// The version of the format.
pub const VERSION: u8 = 2;
/// Length of the header in bytes.
pub const HEADER_LENGTH: usize = 16;
/// Length of what is said of each image.
pub const ENTRY_LENGTH: usize = 16;

/// The images and the spectrum at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Number of the picture, from 1. Equal numbers of one server are equal pictures.
    pub number: u32,
    /// Counts per pixel of all pictures, in the order of the greeting.
    pub images: Vec<Image>,
    /// Counts per bin of time of flight.
    pub spectrum: Vec<u64>,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It does not begin with the magic bytes, or has another version.
    #[error("these bytes are not a picture of version {VERSION}")]
    NotAFrame,
    /// The same of a look ([`look_frame`](crate::look_frame)).
    #[error("these bytes are not the frame of a look")]
    NotALook,
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
    WrongCountSize(u32),
}

/// Bytes that hold every one of `counts`.
pub(crate) fn count_size(counts: &[u64]) -> u8 {
    match counts.iter().max() {
        Some(0x1_0000_0000..) => 8,
        Some(0x1_0000..) => 4,
        Some(0x100..) => 2,
        _ => 1,
    }
}

pub(crate) fn put_counts(bytes: &mut BytesMut, counts: &[u64], size: u8) {
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
        let spectrum_size = count_size(&self.spectrum);
        let sizes: Vec<u8> = self.images.iter().map(|image| count_size(&image.counts)).collect();
        let images = self.images.iter().zip(&sizes);
        let spectrum_end = HEADER_LENGTH
            + ENTRY_LENGTH * self.images.len()
            + self.spectrum.len() * usize::from(spectrum_size);
        let length = images.clone().fold(spectrum_end.next_multiple_of(8), |length, (image, &size)| {
            length + (image.counts.len() * usize::from(size)).next_multiple_of(8)
        });
        let mut bytes = BytesMut::with_capacity(length);
        bytes.put_slice(&MAGIC);
        bytes.put_slice(&[VERSION, spectrum_size]);
        bytes.put_u16_le(self.images.len() as u16);
        bytes.put_u32_le(self.number);
        bytes.put_u32_le(self.spectrum.len() as u32);
        for ((image, &size), which) in images.clone().zip(0..) {
            [which, image.nx, image.ny, u32::from(size)].into_iter().for_each(|word| bytes.put_u32_le(word));
        }
        put_counts(&mut bytes, &self.spectrum, spectrum_size);
        for (image, &size) in images {
            bytes.put_bytes(0, bytes.len().next_multiple_of(8) - bytes.len());
            put_counts(&mut bytes, &image.counts, size);
        }
        bytes.put_bytes(0, length - bytes.len());
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
        let count = usize::from(u16::from_le_bytes([header[6], header[7]]));
        let (number, bins) = (word(header, 8), word(header, 12) as usize);
        let entries_end = HEADER_LENGTH + ENTRY_LENGTH * count;
        let too_short = |expected| FrameError::WrongLength { found: bytes.len(), expected };
        let entries = bytes.get(HEADER_LENGTH..entries_end).ok_or(too_short(entries_end))?;
        let mut counts = Counts { bytes, at: entries_end };
        let spectrum = counts.take(bins, header[5].into())?;
        let mut images = Vec::with_capacity(count);
        for (entry, index) in entries.chunks_exact(ENTRY_LENGTH).zip(0..) {
            if word(entry, 0) != index {
                return Err(FrameError::NotAFrame);
            }
            let (nx, ny) = (word(entry, 4), word(entry, 8));
            let pixels = (nx as usize).saturating_mul(ny as usize);
            images.push(Image { nx, ny, counts: counts.take(pixels, word(entry, 12))? });
        }
        if counts.at.next_multiple_of(8) != bytes.len() {
            return Err(too_short(counts.at.next_multiple_of(8)));
        }
        Ok(Self { number, images, spectrum })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The counts of a frame, one list after the other.
struct Counts<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Counts<'_> {
    fn take(&mut self, count: usize, size: u32) -> Result<Vec<u64>, FrameError> {
        if ![1, 2, 4, 8].contains(&size) {
            return Err(FrameError::WrongCountSize(size));
        }
        let start = self.at.next_multiple_of(8);
        let end = count.saturating_mul(size as usize).saturating_add(start);
        let found = self.bytes.len();
        let counts = self.bytes.get(start..end).ok_or(FrameError::WrongLength { found, expected: end })?;
        self.at = end;
        Ok(get_counts(counts, size as u8))
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
            images: vec![
                Image { nx: 3, ny: 1, counts: vec![0, 256, 7] },
                Image { nx: 1, ny: 1, counts: vec![5] },
            ],
            spectrum: vec![9, 10, 11],
        };
        let bytes = picture.encode();
        assert_eq!(bytes[..16], [b'E', b'V', b'F', b'V', 2, 1, 2, 0, 4, 3, 2, 1, 3, 0, 0, 0]);
        assert_eq!(bytes[16..32], [0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes[32..48], [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[48..56], [9, 10, 11, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[56..], [0, 0, 0, 1, 7, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn each_size_holds_its_largest_count() {
        for (largest, size) in [(255, 1), (256, 2), (65_535, 2), (65_536, 4), (4_294_967_296, 8)] {
            let images = vec![Image { nx: 1, ny: 1, counts: vec![largest] }];
            let bytes = Picture { images: images.clone(), ..Picture::default() }.encode();
            assert_eq!(bytes[28], size);
            assert_eq!(Picture::decode(&bytes).unwrap().images, images);
        }
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(sides in proptest::collection::vec((0..9_u32, 0..9_u32), 0..4), number: u32,
                                    bits in 0..53_u32, seed: u64,
                                    spectrum in proptest::collection::vec(0..1_u64 << 53, 0..20)) {
            let image = |(nx, ny): (u32, u32)| {
                let counts = (0..u64::from(nx * ny)).map(|at| at.wrapping_mul(seed) & ((1 << bits) - 1)).collect();
                Image { nx, ny, counts }
            };
            let picture = Picture { number, images: sides.into_iter().map(image).collect(), spectrum };
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

//! A look as bytes: the binary message of the WebSocket, and the answer to `GET /api/look.bin`.
//!
//! All numbers are little-endian.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4 | `EVFV` |
//! | 4 | 1 | version: 3 |
//! | 5 | 1 | coding of the body: 0 plain, 1 deflate without a header (RFC 1951) |
//! | 6 | 2 | 0 |
//! | 8 | 4 | number of the frame, from 1: equal numbers of one look and one server are equal frames |
//! | 12 | 4 | length of the body, decoded |
//! | 16 | | the body |
//!
//! The body begins with the length of the head in bytes (4) and zeros (4); then the head, a JSON object ([`LookHead`]), with spaces up to
//! a multiple of 8; then the arrays that it names, each at a multiple of 8: the spectrum of the picture, those of the regions, the
//! image (row by row from the bottom). `u1`, `u2` and `u4` are unsigned integers of as many bytes, `f8` are IEEE 754 doubles; the
//! writer takes the smallest that holds the largest count.
//!
//! The decoder of the page is `web/src/frame.ts`.

use crate::frame::{FrameError, MAGIC, count_size, put_counts};
use crate::json_object::json_object;
use crate::spectrum::TimeBins;
use bytes::{BufMut, Bytes, BytesMut};
use evforge_picture::Image;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// The version of the format.
pub const VERSION: u8 = 3;
/// Length of what comes before the body.
const HEADER_LENGTH: usize = 16;
/// A body below this is not made smaller.
const SMALL: usize = 1024;
/// No body is longer: a look with the most points, regions and bins.
const LONGEST_BODY: usize = 8 * (4096 * 4096 + 17 * 10_000) + (1 << 20);

json_object! {
    /// What a frame says of its look.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct LookHead {
        /// Name of the picture.
        pub picture: String,
        /// The part of it that the image shows, in pixels: left, bottom, right, top (the first ones beyond).
        pub part: [u32; 4],
        /// Pixels whose counts are added up in one of the image, to the right and upwards; the last ones may have fewer.
        pub block: [u32; 2],
        /// Columns of the image.
        pub nx: u32,
        /// Rows of the image.
        pub ny: u32,
        /// Every event from then on is counted: milliseconds since the Unix epoch.
        pub since_ms: u64,
        /// Events that belong to it and are not counted: they were gone before anybody asked, or faster than they could be counted.
        pub missed: u64,
        /// Length of the window in seconds.
        pub seconds: f64,
        /// Pulses in the window.
        pub pulses: u64,
        /// Proton charge in the window in µAh; absent where none was told since the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub charge_uah: Option<f64>,
        /// Events in the slice, in the whole picture.
        pub events: u64,
        /// Events in the whole picture, whatever their time of flight.
        pub all: u64,
        /// Events of each beam monitor in the window; absent without any.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub monitors: BTreeMap<String, u64>,
        /// Bins of the spectra.
        pub bins: TimeBins,
        /// What the spectrum of the whole picture is written in. The slice does not concern it.
        pub spectrum: String,
        /// The regions.
        pub regions: Vec<HeadRegion>,
        /// What the image is written in.
        pub image: String,
    }
}

json_object! {
    /// What a frame says of a region.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct HeadRegion {
        /// Its name.
        pub name: String,
        /// Pixels in it.
        pub pixels: u64,
        /// Events in it, in the slice.
        pub events: u64,
        /// Events in it, whatever their time of flight.
        pub all: u64,
        /// What its spectrum is written in.
        pub spectrum: String,
    }
}

/// A look with its counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LookFrame {
    /// Number of the frame.
    pub number: u32,
    /// What it says of itself. The sizes of counts are those of [`encode`](Self::encode).
    pub head: LookHead,
    /// The counts of the part, in blocks.
    pub image: Image,
    /// Counts per bin, of the whole picture.
    pub spectrum: Vec<u64>,
    /// Counts per bin, of each region.
    pub region_spectra: Vec<Vec<u64>>,
}

/// What holds every one of `counts`, and how many bytes that are.
fn kind(counts: &[u64]) -> (&'static str, u8) {
    let size = count_size(counts);
    let name = match size {
        1 => "u1",
        2 => "u2",
        4 => "u4",
        _ => "f8",
    };
    (name, size)
}

fn put(body: &mut BytesMut, counts: &[u64], size: u8) {
    body.put_bytes(0, body.len().next_multiple_of(8) - body.len());
    put_counts(body, counts, size);
}

impl LookFrame {
    /// The frame as bytes, made smaller where that is worth it. Counts above 2^53 are rounded.
    pub fn encode(&self) -> Bytes {
        let spectra = self.region_spectra.iter().map(|spectrum| (kind(spectrum), spectrum));
        let spectra: Vec<_> =
            std::iter::once((kind(&self.spectrum), &self.spectrum)).chain(spectra).collect();
        let image = kind(&self.image.counts);
        let mut head = self.head.clone();
        (head.spectrum, head.image) = (spectra[0].0.0.into(), image.0.into());
        for (region, ((kind, _), _)) in head.regions.iter_mut().zip(&spectra[1..]) {
            region.spectrum = (*kind).into();
        }
        // Plain numbers and texts: their JSON cannot fail.
        let mut json = serde_json::to_vec(&head).unwrap_or_default();
        json.resize(json.len().next_multiple_of(8), b' ');
        let mut body =
            BytesMut::with_capacity(8 + json.len() + self.image.counts.len() * 2 + self.spectrum.len() * 8);
        body.put_u32_le(json.len() as u32);
        body.put_u32_le(0);
        body.put_slice(&json);
        for ((_, size), spectrum) in spectra {
            put(&mut body, spectrum, size);
        }
        put(&mut body, &self.image.counts, image.1);
        let deflated = (body.len() >= SMALL).then(|| deflated(&body)).flatten();
        let (coding, bytes) = deflated.as_deref().map_or((0, &body[..]), |bytes| (1, bytes));
        let mut frame = BytesMut::with_capacity(HEADER_LENGTH + bytes.len());
        frame.put_slice(&MAGIC);
        frame.put_slice(&[VERSION, coding, 0, 0]);
        frame.put_u32_le(self.number);
        frame.put_u32_le(body.len() as u32);
        frame.put_slice(bytes);
        frame.freeze()
    }

    /// Reads a frame back.
    ///
    /// # Errors
    /// If the bytes are not a frame of this version or are not as long as it says.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let header = bytes.get(..HEADER_LENGTH).ok_or(FrameError::NotALook)?;
        if header[..4] != MAGIC || header[4] != VERSION || header[5] > 1 {
            return Err(FrameError::NotALook);
        }
        let length = word(header, 12).ok_or(FrameError::NotALook)? as usize;
        let rest = &bytes[HEADER_LENGTH..];
        let body = if header[5] == 1 { inflated(rest, length) } else { rest.to_vec() };
        if body.len() != length {
            return Err(FrameError::WrongLength { found: body.len(), expected: length });
        }
        let head_length = word(&body, 0).ok_or(FrameError::NotALook)? as usize;
        let json = body.get(8..8_usize.saturating_add(head_length)).ok_or(FrameError::NotALook)?;
        let head: LookHead = serde_json::from_slice(json).map_err(|_| FrameError::NotALook)?;
        let mut arrays = Arrays { body: &body, at: 8 + head_length };
        let bins = head.bins.count as usize;
        let spectrum = arrays.take(bins, &head.spectrum)?;
        let region_spectra = head
            .regions
            .iter()
            .map(|region| arrays.take(bins, &region.spectrum))
            .collect::<Result<_, _>>()?;
        let pixels = (head.nx as usize).saturating_mul(head.ny as usize);
        let image = Image { nx: head.nx, ny: head.ny, counts: arrays.take(pixels, &head.image)? };
        if arrays.at != body.len() {
            return Err(FrameError::WrongLength { found: body.len(), expected: arrays.at });
        }
        let number = word(header, 8).ok_or(FrameError::NotALook)?;
        Ok(Self { number, head, image, spectrum, region_spectra })
    }
}

/// The body made smaller; none if it does not become so.
fn deflated(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::with_capacity(body.len() / 2), flate2::Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().filter(|bytes| bytes.len() < body.len())
}

/// At most `length` bytes, and one more where there are more.
fn inflated(bytes: &[u8], length: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let most = length.min(LONGEST_BODY) as u64 + 1;
    // What is not deflate ends early, and is then too short.
    let _ = flate2::read::DeflateDecoder::new(bytes).take(most).read_to_end(&mut body);
    body
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

/// The arrays of a body, one after the other.
struct Arrays<'a> {
    body: &'a [u8],
    at: usize,
}

impl Arrays<'_> {
    fn take(&mut self, count: usize, kind: &str) -> Result<Vec<u64>, FrameError> {
        let size = match kind {
            "u1" => 1,
            "u2" => 2,
            "u4" => 4,
            "f8" => 8,
            _ => return Err(FrameError::NotALook),
        };
        let start = self.at.next_multiple_of(8);
        let end = start.saturating_add(count.saturating_mul(size));
        let bytes = self
            .body
            .get(start..end)
            .ok_or(FrameError::WrongLength { found: self.body.len(), expected: end })?;
        self.at = end;
        let value = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            if kind == "f8" { f64::from_le_bytes(word) as u64 } else { u64::from_le_bytes(word) }
        };
        Ok(bytes.chunks_exact(size).map(value).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(nx: u32, ny: u32, largest: u64) -> LookFrame {
        let counts = (0..u64::from(nx * ny)).map(|at| at * 7919 % (largest + 1)).collect();
        let region =
            HeadRegion { name: "beam".into(), pixels: 3, events: 4, all: 5, spectrum: String::new() };
        LookFrame {
            number: 7,
            head: LookHead {
                picture: "xy".into(),
                nx,
                ny,
                bins: TimeBins { from_ns: 0, width_ns: 10, count: 3 },
                regions: vec![region],
                ..LookHead::default()
            },
            image: Image { nx, ny, counts },
            spectrum: vec![1, 2, largest],
            region_spectra: vec![vec![0, 300, 70_000]],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (size, largest) in [(3, 255), (60, 9), (60, 300), (60, 70_000), (60, 1 << 40)] {
            let written = frame(size, size, largest);
            let bytes = written.encode();
            let read = LookFrame::decode(&bytes).unwrap();
            assert_eq!(
                (&read.image, &read.spectrum),
                (&written.image, &written.spectrum),
                "{size} {largest}"
            );
            assert_eq!((read.number, read.region_spectra), (7, written.region_spectra));
            assert_eq!(bytes[5], u8::from(size == 60), "small ones are plain, and larger ones made smaller");
        }
    }

    #[test]
    fn a_frame_that_says_another_length_is_refused() {
        let mut bytes = frame(3, 3, 5).encode().to_vec();
        bytes.push(0);
        assert!(matches!(LookFrame::decode(&bytes), Err(FrameError::WrongLength { .. })));
        let mut bytes = frame(60, 60, 5).encode().to_vec();
        bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(LookFrame::decode(&bytes), Err(FrameError::WrongLength { .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), coding in 0..2_u8) {
            for (at, byte) in MAGIC.into_iter().chain([VERSION, coding]).enumerate() {
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
            let _ = LookFrame::decode(&bytes);
        }

        #[test]
        fn a_frame_with_a_turned_byte_never_panics(at in 0..400_usize, by in 1..=255_u8, large: bool) {
            let mut bytes = frame(if large { 60 } else { 3 }, 3, 5).encode().to_vec();
            if let Some(place) = bytes.get_mut(at) {
                *place ^= by;
            }
            let _ = LookFrame::decode(&bytes);
        }
    }
}

//! A picture from a PNG file: grey levels are intensities, white gets most neutrons.

use super::layer::{Area, Layer};
use crate::error::SimulationError;
use evforge_core::whole_file;
use png::{ColorType, Decoder, Limits, Transformations};
use std::io::Cursor;
use std::path::Path;

/// Files are not larger than this.
const LARGEST_FILE: u64 = 64 << 20;
/// Pictures have at most this many pixels: 4096 x 4096.
const MOST_PIXELS: u64 = 1 << 24;

/// A picture's intensities.
#[derive(Clone, Debug, PartialEq)]
pub struct GreyPicture {
    width: usize,
    height: usize,
    /// From 0 (black) to 1 (white), from the top row down.
    greys: Vec<f32>,
}

impl GreyPicture {
    /// Decodes a PNG file's bytes, whatever its type of colour and bit depth. Levels are taken as intensities, without
    /// any correction of gamma; colours count as bright as they look (ITU-R BT.709), and transparency dims.
    ///
    /// # Errors
    /// If the bytes are no PNG file, or one that is too large or all black.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let wrong = |error: png::DecodingError| format!("is not a PNG file that can be read: {error}");
        let mut decoder =
            Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: LARGEST_FILE as usize });
        decoder.set_transformations(Transformations::EXPAND);
        decoder.set_ignore_text_chunk(true);
        let (width, height) = decoder.read_header_info().map_err(wrong)?.size();
        if u64::from(width) * u64::from(height) > MOST_PIXELS {
            return Err(format!("has {width} x {height} pixels, expected at most {MOST_PIXELS} in all"));
        }
        let mut reader = decoder.read_info().map_err(wrong)?;
        let size = reader.output_buffer_size().ok_or("is too large")?;
        let mut samples = vec![0; size];
        let frame = reader.next_frame(&mut samples).map_err(wrong)?;
        // Only the first frame of an animation may be smaller than the picture.
        let (width, height) = (frame.width as usize, frame.height as usize);
        let bytes_per_sample = if frame.bit_depth == png::BitDepth::Sixteen { 2 } else { 1 };
        let bytes_per_pixel = frame.color_type.samples() * bytes_per_sample;
        let greys: Vec<f32> = samples
            .chunks_exact(frame.line_size.max(1))
            .take(height)
            .flat_map(|line| line.chunks_exact(bytes_per_pixel).take(width))
            .map(|pixel| grey(pixel, frame.color_type, bytes_per_sample))
            .collect();
        if greys.len() != width * height {
            return Err(format!("has {} pixels, expected {width} x {height}", greys.len()));
        }
        if greys.iter().all(|grey| *grey <= 0.0) {
            return Err("is black everywhere: no neutron could pass".into());
        }
        Ok(Self { width, height, greys })
    }

    /// Mean grey level of an area.
    pub(super) fn mean(&self, area: &Area) -> f64 {
        let columns = cover(area.x, self.width);
        let rows = cover(area.y, self.height);
        let (mut sum, mut size) = (0.0, 0.0);
        for (row, high) in rows {
            let line = &self.greys[(self.height - 1 - row) * self.width..][..self.width];
            for (column, wide) in columns.clone() {
                sum += high * wide * f64::from(line[column]);
                size += high * wide;
            }
        }
        if size > 0.0 { sum / size } else { 0.0 }
    }
}

/// The picture's columns that a part of its side covers, each with the length that is covered of it.
fn cover([from, to]: [f64; 2], count: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
    let (from, to) = (from * count as f64, to * count as f64);
    let last = (to.ceil() as usize).min(count);
    (from as usize..last).map(move |column| {
        let covered = to.min(column as f64 + 1.0) - from.max(column as f64);
        (column, covered.max(0.0))
    })
}

fn grey(pixel: &[u8], color: ColorType, bytes_per_sample: usize) -> f32 {
    let sample = |index: usize| match pixel[index * bytes_per_sample..] {
        [high, low, ..] if bytes_per_sample == 2 => f32::from(u16::from_be_bytes([high, low])) / 65_535.0,
        [level, ..] => f32::from(level) / 255.0,
        [] => 0.0,
    };
    let bright = || 0.2126 * sample(0) + 0.7152 * sample(1) + 0.0722 * sample(2);
    match color {
        ColorType::Grayscale | ColorType::Indexed => sample(0),
        ColorType::GrayscaleAlpha => sample(0) * sample(1),
        ColorType::Rgb => bright(),
        ColorType::Rgba => bright() * sample(3),
    }
}

pub(super) fn layer(path: &Path) -> Result<Layer, SimulationError> {
    let picture = read(path).and_then(|bytes| GreyPicture::decode(&bytes)).map_err(|problem| {
        SimulationError(format!("simulation.beam.image.png: {}: {problem}", path.display()))
    })?;
    Ok(Layer { name: "picture", share: 1.0, intensity: Box::new(move |area| picture.mean(area)) })
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    whole_file::bytes(path, LARGEST_FILE).map_err(|error| format!("cannot be read: {error}"))
}

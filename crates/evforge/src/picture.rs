//! Counts as a PNG: the detector image, in logarithmic colours and y upwards, and histograms of words.

use crate::CommandError;
use evforge_core::geometry::LogicalGeometry;
use evforge_lab::link::drop::{SIDE as WORD_SIDE, WordHistogram};

/// Side that a picture is enlarged to, in points, by whole factors.
const SIDE: u32 = 512;

/// Colours from no counts to the most, evenly spaced; between them colours are mixed.
const COLOURS: [[u8; 3]; 6] =
    [[8, 8, 24], [59, 28, 110], [143, 42, 112], [214, 77, 72], [248, 149, 64], [252, 244, 180]];

/// Encodes counts per pixel (pixel 1 first, as `nx` × `ny`) as a PNG.
///
/// # Errors
/// If encoding fails, or `counts` is shorter than the geometry.
pub(crate) fn png_of_counts(geometry: &LogicalGeometry, counts: &[u64]) -> Result<Vec<u8>, CommandError> {
    let (nx, ny) = (geometry.nx(), geometry.ny());
    let scale = (SIDE / nx.max(ny)).max(1);
    let (width, height) = (nx * scale, ny * scale);
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut points = Vec::with_capacity((width * height * 3) as usize);
    for row in 0..height {
        for column in 0..width {
            // Row 0 of the picture is the top, row 0 of the detector the bottom.
            let (x, y) = (column / scale, (height - 1 - row) / scale);
            let count = counts.get((y * nx + x) as usize).ok_or("fewer counts than pixels")?;
            let share = if most == 0 { 0.0 } else { (1.0 + *count as f64).ln() / (1.0 + most as f64).ln() };
            points.extend(colour(share));
        }
    }
    encode(width, height, &points)
}

/// Encodes a histogram of 16-bit words as a PNG: a row for each upper byte, 0 at the top, and a column for each lower
/// byte. The rarest words are dark, the most frequent ones bright, and the colours between them are even: two areas
/// that are off by one look as different as can be.
///
/// # Errors
/// If encoding fails.
pub(crate) fn png_of_words(histogram: &WordHistogram) -> Result<Vec<u8>, CommandError> {
    let scale = SIDE as usize / WORD_SIDE;
    let counts = histogram.counts();
    let least = counts.iter().copied().min().unwrap_or(0);
    let spread = counts.iter().copied().max().unwrap_or(0) - least;
    let mut points = Vec::with_capacity((SIDE * SIDE * 3) as usize);
    for row in counts.chunks_exact(WORD_SIDE) {
        let start = points.len();
        for &count in row {
            let share = if spread == 0 { 1.0 } else { (count - least) as f64 / spread as f64 };
            (0..scale).for_each(|_| points.extend(colour(share)));
        }
        let end = points.len();
        (1..scale).for_each(|_| points.extend_from_within(start..end));
    }
    encode(SIDE, SIDE, &points)
}

fn encode(width: u32, height: u32, points: &[u8]) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(points)?;
    Ok(bytes)
}

/// The colour of a share between 0 and 1.
fn colour(share: f64) -> [u8; 3] {
    let place = share * (COLOURS.len() - 1) as f64;
    let below = (place as usize).min(COLOURS.len() - 2);
    let part = place - below as f64;
    std::array::from_fn(|channel| {
        let (from, to) = (f64::from(COLOURS[below][channel]), f64::from(COLOURS[below + 1][channel]));
        (from + part * (to - from)).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(bytes: Vec<u8>) -> Vec<u8> {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
        let mut points = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut points).expect("a picture");
        assert_eq!((info.width, info.height), (512, 512));
        points
    }

    #[test]
    fn words_lie_by_upper_and_lower_byte() {
        let mut histogram = WordHistogram::default();
        let points_of = |histogram: &WordHistogram| points(png_of_words(histogram).unwrap());
        assert!(points_of(&histogram).chunks_exact(3).all(|point| point == COLOURS[5]));
        histogram.count(&[1, 3]);
        let seen = points_of(&histogram);
        let lit: Vec<_> =
            (0..512 * 512).filter(|point| seen[3 * point..3 * point + 3] == COLOURS[5]).collect();
        assert_eq!(lit, [2 * 512 + 6, 2 * 512 + 7, 3 * 512 + 6, 3 * 512 + 7]);
    }

    #[test]
    fn pixel_1_is_at_the_bottom_left() {
        let geometry = LogicalGeometry::flat(2, 2).unwrap();
        let bytes = png_of_counts(&geometry, &[9, 0, 0, 0]).unwrap();
        let points = points(bytes);
        let bottom_left = (511 * 512) * 3;
        assert_eq!(points[bottom_left..bottom_left + 3], COLOURS[5]);
        assert_eq!(points[..3], COLOURS[0]);
        assert!(png_of_counts(&geometry, &[1]).is_err());
    }
}

//! The histogram of words as a PNG.

use crate::CommandError;
use evforge_lab::link::drop::{SIDE as WORD_SIDE, WordHistogram};
use evforge_picture::{Scale, encode_png};

/// Side of the picture in points.
const SIDE: usize = 512;

/// Encodes a histogram of 16-bit words as a PNG: a row for each upper byte, 0 at the top, and a column for each lower
/// byte. The rarest words are dark, the most frequent ones bright, and the colours between them are even: two areas
/// that are off by one look as different as can be.
///
/// # Errors
/// If encoding fails.
pub(super) fn png_of_words(histogram: &WordHistogram) -> Result<Vec<u8>, CommandError> {
    let factor = SIDE / WORD_SIDE;
    let counts = histogram.counts();
    let least = counts.iter().copied().min().unwrap_or(0);
    let most = counts.iter().copied().max().unwrap_or(0);
    let scale = Scale::linear((most - least) as f64);
    let mut points = Vec::with_capacity(SIDE * SIDE * 3);
    for row in counts.chunks_exact(WORD_SIDE) {
        let start = points.len();
        for &count in row {
            let colour = scale.colour((count - least) as f64);
            (0..factor).for_each(|_| points.extend(colour));
        }
        let end = points.len();
        (1..factor).for_each(|_| points.extend_from_within(start..end));
    }
    Ok(encode_png(SIDE as u32, SIDE as u32, &points, &[])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_picture::{EMPTY_COLOUR, colours};

    fn points(histogram: &WordHistogram) -> Vec<u8> {
        let bytes = png_of_words(histogram).expect("a PNG");
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
        let mut points = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut points).expect("a picture");
        assert_eq!((info.width, info.height), (512, 512));
        points
    }

    #[test]
    fn words_lie_by_upper_and_lower_byte() {
        let mut histogram = WordHistogram::default();
        assert!(points(&histogram).chunks_exact(3).all(|point| point == EMPTY_COLOUR));
        histogram.count(&[1, 3]);
        let seen = points(&histogram);
        let lit: Vec<_> =
            (0..512 * 512).filter(|point| seen[3 * point..3 * point + 3] == colours()[255]).collect();
        assert_eq!(lit, [2 * 512 + 6, 2 * 512 + 7, 3 * 512 + 6, 3 * 512 + 7]);
    }
}

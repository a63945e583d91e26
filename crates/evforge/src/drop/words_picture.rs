//! The histogram of words as a PNG.

use crate::CommandError;
use evforge_lab::link::drop::{SIDE, WordHistogram};
use evforge_picture::{Axis, Grid, Unit};
use evforge_pipeline::report::grouped;

/// Points that a word takes in both directions.
const FACTOR: u32 = 2;

/// Encodes a histogram of 16-bit words as a PNG, and says where its words begin: a row for each upper byte, 0 at the top, and a
/// column for each lower byte. The rarest words are dark, the most frequent ones bright, and the colours between them are
/// even: two areas that are off by one look as different as can be.
///
/// # Errors
/// If encoding fails.
pub(super) fn png_of_words(histogram: &WordHistogram) -> Result<(Vec<u8>, [u32; 2]), CommandError> {
    let counts = histogram.counts();
    let least = counts.iter().copied().min().unwrap_or(0);
    let values: Vec<f64> = counts.iter().map(|count| (count - least) as f64).collect();
    let byte = |name: &str| Axis {
        label: format!("{name} byte of the word"),
        unit: Unit::Column,
        pixels: SIDE as u32,
        first: 0.0,
        step: 1.0,
        pitch: None,
    };
    let grid = Grid {
        title: "How often each word came".to_owned(),
        across: byte("lower"),
        down: byte("upper"),
        values: &values,
        factor: FACTOR,
        counts: format!("occurrences beyond the {} of the rarest word", grouped(least)),
    };
    Ok(grid.to_png()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_picture::{EMPTY_COLOUR, colours};

    /// The points of the words, without what is around them.
    fn points(histogram: &WordHistogram) -> Vec<[u8; 3]> {
        let (bytes, [left, top]) = png_of_words(histogram).expect("a PNG");
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
        let mut points = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut points).expect("a picture");
        let (columns, side) = (info.width as usize, SIDE * FACTOR as usize);
        let rows = points.as_chunks::<3>().0.chunks_exact(columns).skip(top as usize).take(side);
        rows.flat_map(|row| row[left as usize..left as usize + side].iter().copied()).collect()
    }

    #[test]
    fn words_lie_by_upper_and_lower_byte() {
        let mut histogram = WordHistogram::default();
        assert!(points(&histogram).iter().all(|point| *point == EMPTY_COLOUR));
        histogram.count(&[1, 3]);
        let seen = points(&histogram);
        assert_eq!(seen.len(), 512 * 512);
        let lit: Vec<_> = (0..512 * 512).filter(|point| seen[*point] == colours()[255]).collect();
        assert_eq!(lit, [2 * 512 + 6, 2 * 512 + 7, 3 * 512 + 6, 3 * 512 + 7]);
        assert!(seen.iter().filter(|point| **point != colours()[255]).all(|point| *point == EMPTY_COLOUR));
    }
}

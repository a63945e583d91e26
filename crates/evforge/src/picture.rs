//! The detector image as a PNG: logarithmic colours, y upwards.

use crate::CommandError;
use evforge_core::geometry::LogicalGeometry;

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
            points.extend(colour(*count, most));
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&points)?;
    Ok(bytes)
}

fn colour(count: u64, most: u64) -> [u8; 3] {
    let share = if most == 0 { 0.0 } else { (1.0 + count as f64).ln() / (1.0 + most as f64).ln() };
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

    #[test]
    fn pixel_1_is_at_the_bottom_left() {
        let geometry = LogicalGeometry::flat(2, 2).unwrap();
        let bytes = png_of_counts(&geometry, &[9, 0, 0, 0]).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut points = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut points).unwrap();
        assert_eq!((info.width, info.height), (512, 512));
        let bottom_left = (511 * 512) * 3;
        assert_eq!(points[bottom_left..bottom_left + 3], COLOURS[5]);
        assert_eq!(points[..3], COLOURS[0]);
        assert!(png_of_counts(&geometry, &[1]).is_err());
    }
}

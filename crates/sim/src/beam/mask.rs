//! The built-in picture on the pixels of a flat detector, drawn from by itself.

use super::image::mask::intensity;
use evforge_core::geometry::LogicalGeometry;
use rand::{Rng, RngExt};

/// Relative intensities of all pixels of a flat geometry, and a way to draw pixels with them.
#[derive(Clone, Debug)]
pub struct Mask {
    nx: u32,
    intensities: Vec<f64>,
    /// Sum of the intensities up to and including each pixel.
    cumulative: Vec<f64>,
}

impl Mask {
    /// The picture stretched over `nx` × `ny` pixels; row 0 of the detector is the bottom of the picture.
    pub fn new(geometry: &LogicalGeometry) -> Self {
        let (nx, ny) = (geometry.nx(), geometry.ny());
        let place = |index: u32, side: u32| (f64::from(index) + 0.5) / f64::from(side);
        let intensity = |index: u32| intensity([place(index % nx, nx), place(index / nx, ny)]);
        let intensities: Vec<f64> = (0..nx * ny).map(intensity).collect();
        let cumulative = intensities
            .iter()
            .scan(0.0, |sum, intensity| {
                *sum += intensity;
                Some(*sum)
            })
            .collect();
        Self { nx, intensities, cumulative }
    }

    /// Relative intensity of every pixel, pixel 1 first.
    pub fn intensities(&self) -> &[f64] {
        &self.intensities
    }

    /// Draws a pixel: column and row.
    pub fn draw(&self, random: &mut impl Rng) -> (u32, u32) {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let pick = random.random::<f64>() * total;
        let index = self.cumulative.partition_point(|&sum| sum <= pick).min(self.cumulative.len() - 1) as u32;
        (index % self.nx, index / self.nx)
    }
}

/// Correlation (Pearson) of two pictures of the same size; 0 if one of them is flat.
pub fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let count = one.len().min(other.len()).max(1) as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (mean_one, mean_other) = (mean(one), mean(other));
    let (mut both, mut square_one, mut square_other) = (0.0, 0.0, 0.0);
    for (a, b) in one.iter().zip(other) {
        both += (a - mean_one) * (b - mean_other);
        square_one += (a - mean_one).powi(2);
        square_other += (b - mean_other).powi(2);
    }
    let scale = (square_one * square_other).sqrt();
    if scale > 0.0 { both / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_unlike_its_mirror_images() {
        let mask = Mask::new(&LogicalGeometry::flat(128, 128).unwrap());
        let picture = mask.intensities();
        let mirrored = |map: fn(usize, usize) -> (usize, usize)| -> Vec<f64> {
            (0..128 * 128)
                .map(|index| {
                    let (x, y) = map(index % 128, index / 128);
                    picture[y * 128 + x]
                })
                .collect()
        };
        for (name, other) in [
            ("left-right", mirrored(|x, y| (127 - x, y))),
            ("up-down", mirrored(|x, y| (x, 127 - y))),
            ("turned", mirrored(|x, y| (127 - x, 127 - y))),
            ("transposed", mirrored(|x, y| (y, x))),
        ] {
            let correlation = correlation(picture, &other);
            assert!(correlation < 0.25, "{name}: {correlation}");
        }
        assert!((correlation(picture, picture) - 1.0).abs() < 1e-12);
    }
}

//! An image on fewer or more points than it has pixels, each axis by itself.
//!
//! Where an axis has more pixels than there are points, neighbouring ones share a cell, as few as possible, and the cell has
//! the **mean** of their counts; the other axis keeps its pixels. Where it has fewer, a pixel takes a whole number of points.

use crate::image::Image;

/// How the pixels of an axis lie on points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisFit {
    /// Pixels along the axis.
    pub pixels: u32,
    /// Neighbouring pixels that share a cell; the last cell may have fewer.
    pub block: u32,
    /// Points that a cell takes.
    pub factor: u32,
}

impl AxisFit {
    /// An axis of `pixels` that should take about `wanted` points, and takes at most `most`.
    pub fn new(pixels: u32, wanted: f64, most: u32) -> Self {
        let (pixels, most) = (pixels.max(1), most.max(1));
        if pixels > most {
            return Self { pixels, block: pixels.div_ceil(most), factor: 1 };
        }
        let wanted = (wanted / f64::from(pixels)).round().max(1.0) as u32;
        Self { pixels, block: 1, factor: wanted.min(most / pixels) }
    }

    /// Cells along the axis.
    pub fn cells(&self) -> u32 {
        self.pixels.div_ceil(self.block)
    }

    /// Points along the axis.
    pub fn points(&self) -> u32 {
        self.cells() * self.factor
    }
}

/// No picture is more than so many times as wide as it is high, or the other way round: beyond, it is a line.
const LONGEST_SHAPE: f64 = 3.0;

/// Fits columns and rows of `pixels` into `most` points each. The longer side takes about `wanted` points or a point per
/// pixel; the shape is that of the detector if the pitch of both axes is known, else that of the grid, but never a mere line.
pub fn fit(pixels: [u32; 2], pitch: Option<[f64; 2]>, wanted: u32, most: u32) -> [AxisFit; 2] {
    let [across, up] = pitch.unwrap_or([1.0, 1.0]);
    let shape = (f64::from(pixels[0]) * across / (f64::from(pixels[1]) * up))
        .clamp(1.0 / LONGEST_SHAPE, LONGEST_SHAPE);
    let wanted = f64::from(wanted);
    let size = if shape >= 1.0 { [wanted, wanted / shape] } else { [wanted * shape, wanted] };
    // An axis with more pixels than wanted takes more points, and the other one with it.
    let larger = (0..2).map(|axis| f64::from(pixels[axis].min(most)) / size[axis]).fold(1.0, f64::max);
    std::array::from_fn(|axis| AxisFit::new(pixels[axis], size[axis] * larger, most))
}

/// What is coloured: pixels, or the mean of some.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// Cells to the right.
    pub columns: u32,
    /// Cells upwards.
    pub rows: u32,
    /// Mean counts per pixel, row by row from the **top**, as a picture is written.
    pub values: Vec<f64>,
    /// The largest of them.
    pub largest: f64,
    /// The smallest value above 0 that a whole cell can have.
    pub smallest_possible: f64,
}

impl Cells {
    /// The cells of an image.
    pub fn of(image: &Image, [across, up]: [AxisFit; 2]) -> Self {
        let sums = image.block_sums([0, 0], [image.nx, image.ny], [across.block, up.block]);
        let (columns, rows) = (sums.nx as usize, sums.ny as usize);
        let from_the_top = sums.counts.chunks_exact(columns.max(1)).rev().flatten().copied();
        let covered = |axis: &AxisFit, cell: usize| axis.block.min(axis.pixels - cell as u32 * axis.block);
        let value = |(at, sum): (usize, u64)| {
            let pixels = covered(&across, at % columns) * covered(&up, rows - 1 - at / columns);
            sum as f64 / f64::from(pixels)
        };
        let values: Vec<f64> = from_the_top.enumerate().map(value).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let smallest_possible = 1.0 / f64::from(across.block * up.block);
        Self { columns: across.cells(), rows: up.cells(), values, largest, smallest_possible }
    }
}

/// What a cell shows: "counts per pixel", or that it is a mean of several.
pub(crate) fn counts_label([across, up]: [AxisFit; 2]) -> String {
    if across.block * up.block == 1 {
        return "counts per pixel".into();
    }
    format!("counts per pixel (mean of {} \u{d7} {} pixels)", across.block, up.block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks_and_factors(fit: [AxisFit; 2]) -> [[u32; 2]; 2] {
        [fit.map(|axis| axis.block), fit.map(|axis| axis.factor)]
    }

    #[test]
    fn an_axis_is_never_coarser_than_it_needs_to_be() {
        // FREIA: 64 columns, 1024 rows, on a screen of 600 x 600 and on a large sheet.
        assert_eq!(blocks_and_factors(fit([64, 1024], None, 600, 600)), [[1, 2], [3, 1]]);
        assert_eq!(blocks_and_factors(fit([64, 1024], None, 600, 2560)), [[1, 1], [5, 1]]);
        assert_eq!(blocks_and_factors(fit([128, 128], None, 768, 2560)), [[1, 1], [6, 6]]);
        assert_eq!(blocks_and_factors(fit([1280, 1280], None, 768, 2560)), [[1, 1], [1, 1]]);
        assert_eq!(blocks_and_factors(fit([2560, 640], None, 768, 1600)), [[2, 1], [1, 1]]);
    }

    #[test]
    fn the_shape_is_that_of_the_detector_within_reason() {
        let points = |pixels, pitch| fit(pixels, pitch, 600, 2560).map(|axis| axis.points());
        assert_eq!(points([100, 100], Some([0.002, 0.001])), [600, 300]);
        assert_eq!(points([100, 100], Some([1.0, 0.001])), [600, 200]);
        assert_eq!(points([12, 1], None), [600, 200]);
    }

    #[test]
    fn a_cell_has_the_mean_of_its_pixels_and_the_last_one_of_those_it_has() {
        let image = Image { nx: 3, ny: 2, counts: vec![1, 3, 5, 10, 20, 30] };
        let fit = [AxisFit { pixels: 3, block: 2, factor: 1 }, AxisFit { pixels: 2, block: 1, factor: 4 }];
        let cells = Cells::of(&image, fit);
        assert_eq!((cells.columns, cells.rows, cells.largest), (2, 2, 30.0));
        assert_eq!(cells.values, [15.0, 30.0, 2.0, 5.0]);
        assert_eq!((cells.smallest_possible, fit[1].points()), (0.5, 8));
        assert_eq!(counts_label(fit), "counts per pixel (mean of 2 \u{d7} 1 pixels)");
    }

    proptest! {
        #[test]
        fn cells_keep_the_sum(nx in 1..30_u32, ny in 1..30_u32, most in 1..40_u32, seed: u32) {
            let counts: Vec<u64> = (0..nx * ny).map(|at| u64::from(at.wrapping_mul(seed) >> 28)).collect();
            let image = Image { nx, ny, counts };
            let fit = fit([nx, ny], None, 20, most);
            let cells = Cells::of(&image, fit);
            let covered = |axis: &AxisFit, cell: u32| axis.block.min(axis.pixels - cell * axis.block);
            let sum: f64 = cells.values.iter().zip(0..).map(|(value, at)| {
                let row = cells.rows - 1 - at / cells.columns;
                value * f64::from(covered(&fit[0], at % cells.columns) * covered(&fit[1], row))
            }).sum();
            prop_assert!((sum - image.total() as f64).abs() < 1e-6 * (1.0 + sum));
            prop_assert!(fit.iter().all(|axis| axis.points() <= most && (axis.block == 1 || axis.factor == 1)));
        }
    }
}

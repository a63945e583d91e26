//! How the pixels of any geometry become a flat image.
//!
//! | geometry | image |
//! |---|---|
//! | flat, one panel | the detector itself |
//! | with depth | the sum over z |
//! | several panels | side by side, panel 0 at the left; each the sum over its z |
//!
//! So the image is `panels * nx` wide and `ny` high. Its columns count from the left and its rows from the
//! **bottom**: row 0 is y = 0, and the page draws y upwards.

use evforge_core::geometry::LogicalGeometry;

/// A flat image of counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
    /// Counts, row by row from y = 0, each row from x = 0; `nx * ny` of them.
    pub counts: Vec<u64>,
}

impl Image {
    /// An image of zeros with the width and height for `geometry`.
    pub fn for_geometry(geometry: &LogicalGeometry) -> Self {
        let (nx, ny) = (geometry.panels() * geometry.nx(), geometry.ny());
        Self { nx, ny, counts: vec![0; nx as usize * ny as usize] }
    }

    /// Adds the counts of the pixels of `geometry`, pixel 1 first. Counts beyond its last pixel are ignored.
    pub fn add_pixels(&mut self, geometry: &LogicalGeometry, pixels: impl IntoIterator<Item = u64>) {
        let (nx, ny) = (geometry.nx() as usize, geometry.ny() as usize);
        let (nz, width) = (geometry.nz() as usize, self.nx as usize);
        let mut pixels = pixels.into_iter();
        for panel in 0..geometry.panels() as usize {
            for _ in 0..nz {
                for y in 0..ny {
                    let from = y * width + panel * nx;
                    for (count, more) in self.counts[from..from + nx].iter_mut().zip(&mut pixels) {
                        *count += more;
                    }
                }
            }
        }
    }

    /// Sum of all counts.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::geometry::Coordinates;
    use proptest::prelude::*;

    #[test]
    fn a_flat_detector_is_its_own_image() {
        let geometry = LogicalGeometry::flat(3, 2).unwrap();
        let mut image = Image::for_geometry(&geometry);
        image.add_pixels(&geometry, [1, 2, 3, 4, 5, 6]);
        assert_eq!((image.nx, image.ny, image.counts.as_slice()), (3, 2, [1, 2, 3, 4, 5, 6].as_slice()));
    }

    proptest! {
        #[test]
        fn every_pixel_is_in_the_column_and_row_that_the_table_says(
            nx in 1..6_u32, ny in 1..6_u32, nz in 1..4_u32, panels in 1..4_u32, pick: u32,
        ) {
            let geometry = LogicalGeometry::new(nx, ny, nz, panels).unwrap();
            let pixel = pick % geometry.pixel_count() + 1;
            let Coordinates { x, y, panel, .. } = geometry.coordinates(pixel).unwrap();
            let mut image = Image::for_geometry(&geometry);
            image.add_pixels(&geometry, (1..=geometry.pixel_count()).map(|id| u64::from(id == pixel)));
            prop_assert_eq!(image.total(), 1);
            let at = image.counts.iter().position(|&count| count == 1).unwrap();
            prop_assert_eq!(at as u32, y * image.nx + panel * nx + x);
        }
    }
}

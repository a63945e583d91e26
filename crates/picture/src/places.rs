//! Where each pixel is in a picture: the projection as a table, for whoever counts events straight into pictures.

use crate::picture_set::PictureSet;
use evforge_core::geometry::{Coordinates, LogicalGeometry};

/// The place of a pixel that a picture does not show.
pub const NOWHERE: u32 = u32::MAX;

impl PictureSet {
    /// For each pixel, pixel 1 first, its place in the counts of the picture `which` (row by row from the bottom), or
    /// [`NOWHERE`]. Several pixels have one place where a picture is a sum along an axis.
    pub fn places(&self, which: usize) -> Vec<u32> {
        self.places_within(which, [0, u32::MAX])
    }

    /// The same of a section: only pixels from `from` to below `to` along the axis that the picture does not show have a place.
    pub fn places_within(&self, which: usize, [from, to]: [u32; 2]) -> Vec<u32> {
        let Some(plan) = self.plans().get(which) else { return Vec::new() };
        let columns = plan.across.pixels;
        self.table(which, |_, at| {
            let ([column, row], beyond) = plan.place(at);
            if (from..to).contains(&beyond) { row * columns + column } else { NOWHERE }
        })
    }

    /// For each pixel, pixel 1 first, its place along axis 0, 1 or 2 (x, y or z) of the part that picture `which` shows, or
    /// [`NOWHERE`]: panels follow one another. With it comes how many places there are.
    pub fn places_along(&self, which: usize, axis: usize) -> (Vec<u32>, u32) {
        let side = |geometry: &LogicalGeometry| [geometry.nx(), geometry.ny(), geometry.nz()][axis.min(2)];
        let count = self.part(which).map_or(0, |(_, geometry)| side(&geometry) * geometry.panels());
        let along =
            self.table(which, |geometry, at| at.panel * side(geometry) + [at.x, at.y, at.z][axis.min(2)]);
        (along, count)
    }

    fn table(&self, which: usize, place: impl Fn(&LogicalGeometry, Coordinates) -> u32) -> Vec<u32> {
        let mut places = vec![NOWHERE; self.pixel_count()];
        let Some((first, geometry)) = self.part(which) else { return places };
        for (entry, pixel) in places.iter_mut().skip(first).zip(1..=geometry.pixel_count()) {
            if let Some(at) = geometry.coordinates(pixel) {
                *entry = place(&geometry, at);
            }
        }
        places
    }
}

/// The axes of a geometry that have more than one pixel, with their letters.
pub fn long_axes(geometry: &LogicalGeometry) -> impl Iterator<Item = (usize, char)> {
    let sides = [geometry.nx(), geometry.ny(), geometry.nz()];
    let panels = geometry.panels();
    ['x', 'y', 'z']
        .into_iter()
        .enumerate()
        .filter(move |&(axis, _)| sides[axis] > 1 || (axis == 0 && panels > 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counting_by_places_is_projecting(
            nx in 1..6_u32, ny in 1..6_u32, nz in 1..4_u32, panels in 1..4_u32, seed: u32,
        ) {
            let geometry = LogicalGeometry::new(nx, ny, nz, panels).unwrap();
            let set = PictureSet::of_geometry(&geometry);
            let counts: Vec<u64> =
                (0..geometry.pixel_count()).map(|at| u64::from(at.wrapping_mul(seed) >> 28)).collect();
            let mut projected = set.images();
            set.add(&mut projected, counts.iter().copied());
            let sections: Vec<Vec<u32>> = (0..nz).map(|layer| set.places_within(0, [layer, layer + 1])).collect();
            for (pixel, &place) in set.places(0).iter().enumerate() {
                let seen: Vec<u32> = sections.iter().map(|section| section[pixel]).filter(|&at| at != NOWHERE).collect();
                prop_assert_eq!(seen, [place]);
            }
            for (which, image) in projected.iter().enumerate() {
                let mut counted = vec![0; image.counts.len()];
                for (&place, &count) in set.places(which).iter().zip(&counts) {
                    counted[place as usize] += count;
                }
                prop_assert_eq!(&counted, &image.counts);
            }
        }

        #[test]
        fn along_an_axis_are_the_sums_of_the_picture(nx in 1..6_u32, ny in 1..6_u32, panels in 1..4_u32) {
            let geometry = LogicalGeometry::new(nx, ny, 1, panels).unwrap();
            let set = PictureSet::of_geometry(&geometry);
            let (x, columns) = set.places_along(0, 0);
            let (y, rows) = set.places_along(0, 1);
            prop_assert_eq!((columns, rows), (nx * panels, ny * panels));
            for ((&place, x), y) in set.places(0).iter().zip(x).zip(y) {
                prop_assert_eq!(place % columns, x);
                // Panels stand side by side in the picture, and follow one another along an axis.
                prop_assert_eq!(place / columns, y % ny);
                prop_assert_eq!(x / nx, y / ny);
            }
        }
    }

    #[test]
    fn a_picture_shows_only_the_pixels_of_its_part() {
        let set = PictureSet::of_geometry(&LogicalGeometry::flat(2, 2).unwrap());
        assert_eq!(set.places(0), [0, 1, 2, 3]);
        assert!(set.places(7).is_empty());
        let axes =
            |geometry: LogicalGeometry| long_axes(&geometry).map(|(_, letter)| letter).collect::<String>();
        assert_eq!(axes(LogicalGeometry::new(4, 1, 3, 1).unwrap()), "xz");
        assert_eq!(axes(LogicalGeometry::new(1, 4, 1, 2).unwrap()), "xy");
    }
}

//! Which pixels of a picture a region has.

use super::limits::MOST_CORNERS;
use super::wanted::RegionWanted;
use serde::Serialize;

/// Longest name, in characters.
const LONGEST_NAME: usize = 40;
/// Corners lie no further outside than so many pixels.
const FARTHEST: f64 = 1e6;

/// A region with its corners.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Region {
    pub(crate) name: String,
    corners: Vec<[f64; 2]>,
}

impl Region {
    /// Checks a region.
    ///
    /// # Errors
    /// With what is wrong with it, in words.
    pub(crate) fn new(wanted: RegionWanted) -> Result<Self, String> {
        let RegionWanted { name, shape, points } = wanted;
        let letters = name.chars().count();
        if !(1..=LONGEST_NAME).contains(&letters) || name.chars().any(char::is_control) {
            return Err(format!(
                "name: found {letters} characters, expected 1 to {LONGEST_NAME} that can be read"
            ));
        }
        if let Some(point) =
            points.iter().flatten().find(|value| !value.is_finite() || value.abs() > FARTHEST)
        {
            return Err(format!("points: found {point}, expected pixels of the picture"));
        }
        let corners = match (&*shape, &points[..]) {
            ("rectangle", &[[x0, y0], [x1, y1]]) => vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]],
            ("rectangle", points) => {
                return Err(format!("points: found {}, expected 2 opposite corners", points.len()));
            }
            ("polygon", points) if (3..=MOST_CORNERS).contains(&points.len()) => points.to_vec(),
            ("polygon", points) => {
                return Err(format!("points: found {}, expected 3 to {MOST_CORNERS} corners", points.len()));
            }
            (other, _) => {
                return Err(format!("shape: found {other:?}, expected \"rectangle\" or \"polygon\""));
            }
        };
        Ok(Self { name, corners })
    }

    /// Calls `pixel` with column and row of each pixel inside, in a picture of `nx` x `ny` pixels. A pixel is inside if its middle
    /// is, by the even-odd rule.
    pub(crate) fn pixels(&self, [nx, ny]: [u32; 2], mut pixel: impl FnMut(u32, u32)) {
        let mut crossings = Vec::new();
        for row in 0..ny {
            let middle = f64::from(row) + 0.5;
            crossings.clear();
            let ends = self.corners.iter().cycle().skip(1);
            for (&[x0, y0], &[x1, y1]) in self.corners.iter().zip(ends) {
                // Half open: a line through a corner crosses the row once.
                if (y0 <= middle) != (y1 <= middle) {
                    crossings.push(x0 + (middle - y0) / (y1 - y0) * (x1 - x0));
                }
            }
            crossings.sort_by(f64::total_cmp);
            for inside in crossings.chunks_exact(2) {
                // The first column whose middle is not before the line.
                let first = |x: f64| (x - 0.5).ceil().clamp(0.0, f64::from(nx)) as u32;
                (first(inside[0])..first(inside[1])).for_each(|column| pixel(column, row));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wanted(shape: &str, points: &[[f64; 2]]) -> RegionWanted {
        RegionWanted { name: "r".into(), shape: shape.into(), points: points.to_vec() }
    }

    fn pixels(region: &Region, size: [u32; 2]) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        region.pixels(size, |x, y| found.push((x, y)));
        found
    }

    #[test]
    fn a_rectangle_has_its_pixels_and_no_others() {
        for points in [[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]] {
            let region = Region::new(wanted("rectangle", &points)).unwrap();
            assert_eq!(pixels(&region, [8, 8]), [(1, 2), (2, 2), (1, 3), (2, 3)]);
        }
        let beyond = Region::new(wanted("rectangle", &[[-5.0, -5.0], [1.0, 900.0]])).unwrap();
        assert_eq!(pixels(&beyond, [4, 2]), [(0, 0), (0, 1)]);
    }

    #[test]
    fn a_polygon_that_crosses_itself_has_a_hole() {
        // A bow tie: the pixels at the sides are inside, those above and below the middle are not.
        let region =
            Region::new(wanted("polygon", &[[0.0, 0.0], [4.0, 4.0], [4.0, 0.0], [0.0, 4.0]])).unwrap();
        let found = pixels(&region, [4, 4]);
        assert!(found.contains(&(0, 1)) && found.contains(&(3, 2)));
        assert!(!found.contains(&(1, 0)) && !found.contains(&(2, 3)), "{found:?}");
    }

    #[test]
    fn what_is_no_region_is_refused_in_words() {
        let refused = |region| Region::new(region).unwrap_err();
        assert!(refused(wanted("circle", &[])).contains("\"circle\""));
        assert!(refused(wanted("rectangle", &[[0.0, 0.0]])).contains("2 opposite corners"));
        assert!(refused(wanted("polygon", &[[0.0, 0.0]; 65])).contains("3 to 64"));
        assert!(refused(wanted("polygon", &[[0.0, f64::NAN]; 3])).contains("NaN"));
        assert!(refused(RegionWanted { name: String::new(), ..wanted("rectangle", &[]) }).contains("name"));
    }

    proptest! {
        #[test]
        fn inside_is_what_a_ray_says(corners in proptest::collection::vec([-3.0..12.0_f64, -3.0..12.0_f64], 3..9)) {
            let region = Region::new(wanted("polygon", &corners)).unwrap();
            let found = pixels(&region, [9, 9]);
            for (x, y) in (0..9).flat_map(|y| (0..9).map(move |x| (x, y))) {
                let (px, py) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
                let mut inside = false;
                for (at, &[x0, y0]) in corners.iter().enumerate() {
                    let [x1, y1] = corners[(at + 1) % corners.len()];
                    if (y0 <= py) != (y1 <= py) && px >= x0 + (py - y0) / (y1 - y0) * (x1 - x0) {
                        inside = !inside;
                    }
                }
                prop_assert_eq!(found.contains(&(x, y)), inside);
            }
        }
    }
}

//! A flat image of counts.

use crate::plane::Plane;
use evforge_core::geometry::LogicalGeometry;

/// A flat image of counts. Columns count from the left and rows from the **bottom**.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
    /// Counts, row by row from the bottom, each row from the left; `nx * ny` of them.
    pub counts: Vec<u64>,
}

impl Image {
    /// An image of zeros for a geometry seen in a plane, its panels side by side.
    pub fn for_plane(geometry: &LogicalGeometry, plane: Plane) -> Self {
        let [nx, ny] = plane.size(geometry);
        let nx = nx * geometry.panels();
        Self { nx, ny, counts: vec![0; nx as usize * ny as usize] }
    }

    /// Sum of all counts.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds one row of pixels along x: `row` of layer `layer` in `panel`.
    pub(crate) fn add_row(
        &mut self,
        plane: Plane,
        [row, layer, panel]: [usize; 3],
        [nx, ny]: [usize; 2],
        counts: &[u64],
    ) {
        let width = self.nx as usize;
        let (start, is_sum) = match plane {
            Plane::Xy => (row * width + panel * nx, false),
            Plane::Xz => (layer * width + panel * nx, false),
            Plane::Yz => (layer * width + panel * ny + row, true),
        };
        if is_sum {
            self.counts[start] += counts.iter().sum::<u64>();
            return;
        }
        for (count, more) in self.counts[start..start + nx].iter_mut().zip(counts) {
            *count += more;
        }
    }
}

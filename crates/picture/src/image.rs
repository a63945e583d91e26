//! A flat image of counts.

use crate::plane::Plane;

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
    /// An image of zeros.
    pub(crate) fn zeros([nx, ny]: [u32; 2]) -> Self {
        Self { nx, ny, counts: vec![0; nx as usize * ny as usize] }
    }

    /// Sum of all counts.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sums over blocks of `block` pixels (across, up) in columns `from[0]` to `to[0] - 1` and rows `from[1]` to `to[1] - 1`,
    /// as far as there are any; blocks at the right and at the top may have fewer pixels.
    #[must_use]
    pub fn block_sums(&self, from: [u32; 2], to: [u32; 2], block: [u32; 2]) -> Self {
        let to = [to[0].min(self.nx), to[1].min(self.ny)];
        block_sums(&self.counts, self.nx, from, to, block)
    }

    /// Adds one row of pixels along x: row `row` of layer `layer`, in a panel whose lower left pixel is at `corner`.
    pub(crate) fn add_row(
        &mut self,
        plane: Plane,
        [row, layer]: [usize; 2],
        corner: [u32; 2],
        counts: &[u64],
    ) {
        let width = self.nx as usize;
        let corner = corner[1] as usize * width + corner[0] as usize;
        let (start, is_sum) = match plane {
            Plane::Xy => (row * width + corner, false),
            Plane::Xz => (layer * width + corner, false),
            Plane::Yz => (layer * width + corner + row, true),
        };
        if is_sum {
            self.counts[start] += counts.iter().sum::<u64>();
            return;
        }
        for (count, more) in self.counts[start..start + counts.len()].iter_mut().zip(counts) {
            *count += more;
        }
    }
}

/// [`Image::block_sums`] of counts that lie elsewhere, in rows of `columns`.
pub fn block_sums(
    counts: &[u64],
    columns: u32,
    from: [u32; 2],
    [x1, y1]: [u32; 2],
    block: [u32; 2],
) -> Image {
    let x1 = x1.min(columns);
    let [x0, y0] = [from[0].min(x1), from[1].min(y1)];
    let [across, up] = block.map(|block| block.max(1));
    let (nx, ny) = ((x1 - x0).div_ceil(across), (y1 - y0).div_ceil(up));
    let mut sums = vec![0; nx as usize * ny as usize];
    let lines = counts.chunks_exact((columns as usize).max(1)).skip(y0 as usize).take((y1 - y0) as usize);
    for (line, row) in lines.zip(0_usize..) {
        let start = row / up as usize * nx as usize;
        let cells = &mut sums[start..start + nx as usize];
        for (cell, pixels) in cells.iter_mut().zip(line[x0 as usize..x1 as usize].chunks(across as usize)) {
            *cell += pixels.iter().sum::<u64>();
        }
    }
    Image { nx, ny, counts: sums }
}

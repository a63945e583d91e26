//! A Multi-Blade blade by blade.
//!
//! The rows (or columns) of its pixels are the wires of one blade after the other: its picture is the unfolded one already. What
//! people look for besides it is which blade counts less than its neighbours, and how deep neutrons get in a blade. For both, blades
//! are taken for layers: strips and wires in a blade, and blades behind one another.

use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_core::placement::{GridAxis, Placement};

/// Where blades begin among the rows or columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blades {
    /// True if a blade has rows of the detector, false for columns.
    is_of_rows: bool,
    /// Wires of a blade.
    wires: u32,
}

impl Blades {
    /// Those of a flat detector in one piece whose blocks are inclined to the line of sight: that is what makes a block a blade.
    pub(crate) fn of(geometry: &LogicalGeometry, placement: Option<&Placement>) -> Option<Self> {
        let arc = placement?.arc.filter(|arc| arc.inclination != 90.0)?;
        let is_flat = geometry.nz() == 1 && geometry.panels() == 1;
        let length = arc.along.length(geometry);
        let is_divided = arc.size > 1 && length > arc.size && length.is_multiple_of(arc.size);
        let blades = Self { is_of_rows: arc.along == GridAxis::Row, wires: arc.size };
        (is_flat && is_divided && arc.along != GridAxis::Layer).then_some(blades)
    }

    /// True if wires are rows of the detector, false if they are columns.
    pub fn is_of_rows(self) -> bool {
        self.is_of_rows
    }

    /// Columns, rows and blades.
    pub(crate) fn sides(self, geometry: &LogicalGeometry) -> [u32; 3] {
        let [nx, ny] = [geometry.nx(), geometry.ny()];
        if self.is_of_rows { [nx, self.wires, ny / self.wires] } else { [self.wires, ny, nx / self.wires] }
    }

    /// A pixel in its blade; the blade is its layer.
    #[inline]
    pub(crate) fn within(self, at: Coordinates) -> Coordinates {
        match self.is_of_rows {
            true => Coordinates { y: at.y % self.wires, z: at.y / self.wires, ..at },
            false => Coordinates { x: at.x % self.wires, z: at.x / self.wires, ..at },
        }
    }
}

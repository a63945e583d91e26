//! The planes onto which pixels are projected.

use evforge_core::geometry::{Coordinates, LogicalGeometry};

/// A plane: the first letter is the axis to the right, the second the axis upwards. What lies along the third axis is added
/// up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Seen from the front.
    Xy,
    /// Seen from above.
    Xz,
    /// Seen from the side.
    Yz,
}

impl Plane {
    /// The planes on which a geometry is shown: the front alone if it is flat, else all three.
    pub fn of(geometry: &LogicalGeometry) -> &'static [Self] {
        if geometry.nz() > 1 { &[Self::Xy, Self::Xz, Self::Yz] } else { &[Self::Xy] }
    }

    /// "xy", "xz" or "yz".
    pub fn name(self) -> &'static str {
        match self {
            Self::Xy => "xy",
            Self::Xz => "xz",
            Self::Yz => "yz",
        }
    }

    /// Which of x, y and z (0, 1, 2) points to the right, which upwards, and along which counts are added up.
    pub fn axes(self) -> [usize; 3] {
        match self {
            Self::Xy => [0, 1, 2],
            Self::Xz => [0, 2, 1],
            Self::Yz => [1, 2, 0],
        }
    }

    /// Columns and rows of one panel in this plane.
    pub fn size(self, geometry: &LogicalGeometry) -> [u32; 2] {
        let sides = [geometry.nx(), geometry.ny(), geometry.nz()];
        let [across, up, _] = self.axes();
        [sides[across], sides[up]]
    }

    /// Column and row of a pixel in its panel.
    pub fn place(self, at: Coordinates) -> [u32; 2] {
        let coordinates = [at.x, at.y, at.z];
        let [across, up, _] = self.axes();
        [coordinates[across], coordinates[up]]
    }
}

//! Logical geometry: pixel ids from coordinates and back.
//!
//! The convention is that of the ESS (EFU formats of 2018, section 6): ids count from 1, x runs fastest,
//! then y, then z, and panels follow one another; id 0 is "no pixel".

use crate::event::PixelId;

/// Where a pixel is: coordinates count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coordinates {
    /// Column, `0..nx`.
    pub x: u32,
    /// Row, `0..ny`.
    pub y: u32,
    /// Depth, `0..nz`; 0 for flat detectors.
    pub z: u32,
    /// Panel, `0..panels`; 0 for detectors of one piece.
    pub panel: u32,
}

/// The grid of pixels of a detector: `nx` × `ny` × `nz` in each of `panels` panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct LogicalGeometry {
    nx: u32,
    ny: u32,
    nz: u32,
    panels: u32,
}

/// Why a geometry is invalid: a side of length 0, or more pixels than a 32-bit id can number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a geometry of {} x {} x {} pixels in {} panels cannot be numbered: each side must be at least 1 and the number of \
     pixels at most {}",
    .sides[0], .sides[1], .sides[2], .sides[3], PixelId::MAX
)]
pub struct GeometryError {
    /// The sides that were asked for: nx, ny, nz, panels.
    pub sides: [u32; 4],
}

impl LogicalGeometry {
    /// A detector of several panels, each `nx` × `ny` × `nz`.
    ///
    /// # Errors
    /// If a side is 0 or the product of all sides exceeds `u32::MAX`.
    pub fn new(nx: u32, ny: u32, nz: u32, panels: u32) -> Result<Self, GeometryError> {
        let sides = [nx, ny, nz, panels];
        let pixels = sides.iter().try_fold(1_u32, |product, &side| product.checked_mul(side));
        match pixels {
            Some(pixels) if pixels > 0 => Ok(Self { nx, ny, nz, panels }),
            _ => Err(GeometryError { sides }),
        }
    }

    /// A flat detector in one piece.
    ///
    /// # Errors
    /// As [`LogicalGeometry::new`].
    pub fn flat(nx: u32, ny: u32) -> Result<Self, GeometryError> {
        Self::new(nx, ny, 1, 1)
    }

    /// Columns per panel.
    pub fn nx(&self) -> u32 {
        self.nx
    }

    /// Rows per panel.
    pub fn ny(&self) -> u32 {
        self.ny
    }

    /// Layers per panel.
    pub fn nz(&self) -> u32 {
        self.nz
    }

    /// Panels.
    pub fn panels(&self) -> u32 {
        self.panels
    }

    /// Number of pixels, which is the largest id.
    pub fn pixel_count(&self) -> u32 {
        self.nx * self.ny * self.nz * self.panels
    }

    /// True for ids `1..=pixel_count()`.
    pub fn is_valid(&self, pixel: PixelId) -> bool {
        (1..=self.pixel_count()).contains(&pixel)
    }

    /// Id of a pixel of a flat detector: `y*nx + x + 1`, or 0 outside the grid.
    #[inline]
    pub fn pixel_2d(&self, x: u32, y: u32) -> PixelId {
        self.pixel(Coordinates { x, y, z: 0, panel: 0 })
    }

    /// Id of a pixel of a detector with depth: `z*nx*ny + y*nx + x + 1`, or 0 outside the grid.
    #[inline]
    pub fn pixel_3d(&self, x: u32, y: u32, z: u32) -> PixelId {
        self.pixel(Coordinates { x, y, z, panel: 0 })
    }

    /// Id of any pixel: `panel*nx*ny*nz + z*nx*ny + y*nx + x + 1`, or 0 outside the grid.
    #[inline]
    pub fn pixel(&self, at: Coordinates) -> PixelId {
        if at.x >= self.nx || at.y >= self.ny || at.z >= self.nz || at.panel >= self.panels {
            return 0;
        }
        ((at.panel * self.nz + at.z) * self.ny + at.y) * self.nx + at.x + 1
    }

    /// Coordinates of a pixel, or none if the id is not one of this detector's.
    pub fn coordinates(&self, pixel: PixelId) -> Option<Coordinates> {
        if !self.is_valid(pixel) {
            return None;
        }
        let index = pixel - 1;
        let layer = self.nx * self.ny;
        Some(Coordinates {
            x: index % self.nx,
            y: index / self.nx % self.ny,
            z: index / layer % self.nz,
            panel: index / (layer * self.nz),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// EFU formats of 2018, section 6: the reference's own test value.
    #[test]
    fn section_6_last_pixel_of_a_multi_panel_detector() {
        let geometry = LogicalGeometry::new(5, 7, 11, 3).unwrap();
        let last = Coordinates { x: 4, y: 6, z: 10, panel: 2 };
        assert_eq!(geometry.pixel(last), 1155);
        assert_eq!(geometry.pixel_count(), 1155);
        assert_eq!(geometry.pixel(Coordinates { x: 5, ..last }), 0);
        assert!(!geometry.is_valid(0) && !geometry.is_valid(1156));
    }

    #[test]
    fn impossible_geometries_are_refused_with_their_sides() {
        assert!(LogicalGeometry::flat(0, 4).is_err());
        let error = LogicalGeometry::new(1 << 16, 1 << 16, 1, 1).unwrap_err();
        assert!(error.to_string().contains("65536 x 65536"));
    }

    proptest! {
        #[test]
        fn coordinates_and_pixel_are_inverse(nx in 1..40_u32, ny in 1..40_u32, nz in 1..9_u32, panels in 1..5_u32,
                                             pick in any::<u32>()) {
            let geometry = LogicalGeometry::new(nx, ny, nz, panels).unwrap();
            let pixel = pick % geometry.pixel_count() + 1;
            let at = geometry.coordinates(pixel).unwrap();
            prop_assert_eq!(geometry.pixel(at), pixel);
        }

        #[test]
        fn any_coordinates_give_a_valid_pixel_or_none(x: u32, y: u32, z: u32, panel: u32) {
            let geometry = LogicalGeometry::new(5, 7, 11, 3).unwrap();
            let pixel = geometry.pixel(Coordinates { x, y, z, panel });
            prop_assert!(pixel == 0 || geometry.is_valid(pixel));
        }
    }
}

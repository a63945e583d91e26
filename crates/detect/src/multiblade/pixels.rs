//! Which pixel a wire and a strip of a cassette are.

use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;

/// The cassettes on the detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CassettePixels {
    /// Column and row of wire 0 and strip 0 of each cassette.
    origins: Vec<(u32, u32)>,
    /// Whether wires are counted along the columns, and strips along the rows; or the other way round.
    wires_are_columns: bool,
    geometry: LogicalGeometry,
}

impl CassettePixels {
    pub(super) fn new(origins: Vec<(u32, u32)>, wires_are_columns: bool, geometry: LogicalGeometry) -> Self {
        Self { origins, wires_are_columns, geometry }
    }

    /// Cassettes.
    pub(super) fn cassettes(&self) -> usize {
        self.origins.len()
    }

    /// Memory in bytes.
    pub(super) fn memory_bound(&self) -> usize {
        self.origins.len() * size_of::<(u32, u32)>()
    }

    /// The pixel; 0 if it lies outside.
    #[inline]
    pub(super) fn pixel(&self, cassette: usize, wire: u32, strip: u32) -> PixelId {
        let Some(&(column, row)) = self.origins.get(cassette) else { return 0 };
        let (x, y) = if self.wires_are_columns { (wire, strip) } else { (strip, wire) };
        self.geometry.pixel_2d(column + x, row + y)
    }
}

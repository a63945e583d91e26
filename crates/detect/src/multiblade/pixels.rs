//! Which pixel a wire and a strip of a cassette are.

use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;

/// The cassettes on the detector.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct CassettePixels {
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

    /// Number of cassettes.
    pub fn cassettes(&self) -> usize {
        self.origins.len()
    }

    /// Column and row of wire 0 and strip 0 of a cassette.
    pub fn origin(&self, cassette: usize) -> Option<(u32, u32)> {
        self.origins.get(cassette).copied()
    }

    /// Whether wires are counted along the columns, and strips along the rows; else it is the other way round.
    pub fn wires_are_columns(&self) -> bool {
        self.wires_are_columns
    }

    /// The geometry that the cassettes are placed on.
    pub fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    /// The pixel; 0 if it lies outside.
    #[inline]
    pub fn pixel(&self, cassette: usize, wire: u32, strip: u32) -> PixelId {
        let Some(&(column, row)) = self.origins.get(cassette) else { return 0 };
        let (x, y) = if self.wires_are_columns { (wire, strip) } else { (strip, wire) };
        self.geometry.pixel_2d(column + x, row + y)
    }
}

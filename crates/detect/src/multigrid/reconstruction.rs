//! From the hits of a trigger to its pixel (EFU formats of 2018, section 2.4).
//!
//! The three strategies do without branches on the data: which channel comes next, and whether it is larger
//! than the one before, cannot be predicted, and a wrong prediction costs as much as five readouts.

use super::digital_geometry::{Channel, GRID, OUTSIDE, WIRE};
use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;

/// Why a trigger has no pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// No wire has a signal.
    NoWire,
    /// Wires, but no grid has a signal.
    NoGrid,
    /// The position is not in the logical geometry.
    Outside,
}

/// Takes the hits of one trigger and finds its pixel.
pub trait Reconstruction: Default {
    /// Takes a hit; a channel of no kind changes nothing.
    fn take(&mut self, channel: Channel, amplitude: u16);

    /// The pixel, after the last hit.
    ///
    /// # Errors
    /// Why there is none.
    fn pixel(&self, geometry: &LogicalGeometry) -> Result<PixelId, Miss>;
}

/// All ones for a wire, zero otherwise.
#[inline(always)]
fn wire_mask(channel: Channel) -> u64 {
    0_u64.wrapping_sub(u64::from(channel.kind & WIRE))
}

/// All ones for a grid, zero otherwise.
#[inline(always)]
fn grid_mask(channel: Channel) -> u64 {
    0_u64.wrapping_sub(u64::from(channel.kind / GRID))
}

/// The wire and the grid with the largest amplitude; of equal ones the last. An amplitude of 0 counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Maximum {
    /// Amplitude and one in the upper half, part of the pixel in the lower; 0 before the first.
    wire: u64,
    grid: u64,
}

#[inline(always)]
fn keep_larger(best: &mut u64, candidate: u64) {
    // Compares the upper halves only: of equal amplitudes the last counts.
    if candidate | u64::from(u32::MAX) >= *best {
        *best = candidate;
    }
}

impl Reconstruction for Maximum {
    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u16) {
        let candidate = (u64::from(amplitude) + 1) << 32 | u64::from(channel.pixel_part);
        keep_larger(&mut self.wire, candidate & wire_mask(channel));
        keep_larger(&mut self.grid, candidate & grid_mask(channel));
    }

    #[inline(always)]
    fn pixel(&self, _: &LogicalGeometry) -> Result<PixelId, Miss> {
        if self.wire == 0 {
            return Err(Miss::NoWire);
        }
        if self.grid == 0 {
            return Err(Miss::NoGrid);
        }
        // Both parts are below 2^31 unless they are outside.
        let pixel = (self.wire as u32).saturating_add(self.grid as u32);
        if pixel >= OUTSIDE { Err(Miss::Outside) } else { Ok(pixel) }
    }
}

/// The mean position of wires and of grids, weighted with the amplitudes.
#[derive(Clone, Copy, Debug, Default)]
pub struct CenterMass {
    wires: u64,
    columns: u64,
    layers: u64,
    grids: u64,
    rows: u64,
}

impl Reconstruction for CenterMass {
    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u16) {
        let wire = u64::from(amplitude) & wire_mask(channel);
        let grid = u64::from(amplitude) & grid_mask(channel);
        self.wires += wire;
        self.columns += wire * u64::from(channel.across);
        self.layers += wire * u64::from(channel.layer);
        self.grids += grid;
        self.rows += grid * u64::from(channel.across);
    }

    #[inline(always)]
    fn pixel(&self, geometry: &LogicalGeometry) -> Result<PixelId, Miss> {
        let &Self { wires, columns, layers, grids, rows } = self;
        mean_pixel([columns, layers, wires], [rows, grids], geometry)
    }
}

/// The mean position of those wires, and of those grids, that have the largest amplitude.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prioritized {
    wire: Largest,
    grid: Largest,
}

/// The channels with the largest amplitude so far.
#[derive(Clone, Copy, Debug, Default)]
struct Largest {
    amplitude: u64,
    count: u64,
    across: u64,
    layers: u64,
}

impl Largest {
    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u64) {
        // An amplitude of 0 never counts: larger ones replace what is there, equal ones join it.
        let replaces = amplitude > self.amplitude;
        let counts = u64::from((amplitude >= self.amplitude) & (amplitude > 0));
        let kept = if replaces { 0 } else { u64::MAX };
        self.amplitude = self.amplitude.max(amplitude);
        self.count = (self.count & kept) + counts;
        self.across = (self.across & kept) + counts * u64::from(channel.across);
        self.layers = (self.layers & kept) + counts * u64::from(channel.layer);
    }
}

impl Reconstruction for Prioritized {
    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u16) {
        self.wire.take(channel, u64::from(amplitude) & wire_mask(channel));
        self.grid.take(channel, u64::from(amplitude) & grid_mask(channel));
    }

    #[inline(always)]
    fn pixel(&self, geometry: &LogicalGeometry) -> Result<PixelId, Miss> {
        // Equal weights: the mean is that of the positions.
        let Self { wire, grid } = self;
        mean_pixel([wire.across, wire.layers, wire.count], [grid.across, grid.count], geometry)
    }
}

/// The pixel at the means, rounded down, of sums over wires and grids with their weights.
#[inline(always)]
fn mean_pixel(
    [columns, layers, wires]: [u64; 3],
    [rows, grids]: [u64; 2],
    geometry: &LogicalGeometry,
) -> Result<PixelId, Miss> {
    let (Some(x), Some(z)) = (columns.checked_div(wires), layers.checked_div(wires)) else {
        return Err(Miss::NoWire);
    };
    let Some(y) = rows.checked_div(grids) else { return Err(Miss::NoGrid) };
    // Means of 16-bit numbers fit 16 bits.
    match geometry.pixel_3d(x as u32, y as u32, z as u32) {
        0 => Err(Miss::Outside),
        pixel => Ok(pixel),
    }
}

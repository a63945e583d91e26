//! From the hits of a trigger, or of a window of time, to their pixel (EFU formats of 2018, section 2.4; ESS readout
//! formats, section 3).
//!
//! The strategies do without branches on the data: which channel comes next, and whether it is larger
//! than the one before, cannot be predicted, and a wrong prediction costs as much as five readouts.

use super::channel::Channel;
use super::digital_geometry::Place;
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
pub trait Reconstruction: Default + get_size2::GetSize {
    /// What this reconstruction needs to know of a channel: the content of its entry in the table.
    /// Its coordinates unless given.
    fn content(place: &Place, _geometry: &LogicalGeometry) -> u32 {
        coordinates(place)
    }

    /// Takes a hit; a channel that is none changes nothing.
    fn take(&mut self, channel: Channel, amplitude: u16);

    /// The pixel, after the last hit.
    ///
    /// # Errors
    /// Why there is none.
    fn pixel(&self, geometry: &LogicalGeometry) -> Result<PixelId, Miss>;
}

/// A part of a pixel id that makes the sum of both parts larger than every pixel id.
const OUTSIDE: u32 = 1 << 31;

/// The wire and the grid with the largest amplitude; of equal ones the last. An amplitude of 0 counts.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub struct Maximum {
    /// Amplitude in the upper half, part of the pixel in the lower; 0 before the first.
    wire: u64,
    grid: u64,
}

#[inline(always)]
fn keep_larger(best: &mut u64, candidate: u64) {
    // Compares the upper halves only: of equal amplitudes the last counts.
    *best = if candidate | u64::from(u32::MAX) >= *best { candidate } else { *best };
}

impl Reconstruction for Maximum {
    /// What it adds to the pixel id: a wire its layer and column (and 1), a grid its row.
    fn content(place: &Place, geometry: &LogicalGeometry) -> u32 {
        let (wire, across) = (place.is_wire, u32::from(place.across));
        let pixel = if wire {
            geometry.pixel_3d(across, 0, place.layer.into())
        } else {
            geometry.pixel_3d(0, across, 0)
        };
        if pixel == 0 { OUTSIDE } else { pixel - u32::from(!wire) }
    }

    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u16) {
        let candidate = channel.with_amplitude(amplitude);
        keep_larger(&mut self.wire, candidate & channel.wire_mask());
        keep_larger(&mut self.grid, candidate & channel.grid_mask());
    }

    #[inline(always)]
    fn pixel(&self, _: &LogicalGeometry) -> Result<PixelId, Miss> {
        if self.wire == 0 {
            return Err(Miss::NoWire);
        }
        if self.grid == 0 {
            return Err(Miss::NoGrid);
        }
        // Both parts are below 2^30 unless they are outside, and then the sum is not.
        let pixel = (self.wire as u32).saturating_add(self.grid as u32);
        if pixel >= OUTSIDE { Err(Miss::Outside) } else { Ok(pixel) }
    }
}

/// Column of a wire or row of a grid, and layer, in the content of a channel.
fn coordinates(place: &Place) -> u32 {
    u32::from(place.layer) << 16 | u32::from(place.across)
}

#[inline(always)]
fn across(channel: Channel) -> u64 {
    u64::from(channel.content() & 0xFFFF)
}

#[inline(always)]
fn layer(channel: Channel) -> u64 {
    u64::from(channel.content() >> 16)
}

/// Sums over the wires and the grids of a neutron, weighted with the amplitudes.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
struct Sums {
    wires: u64,
    columns: u64,
    layers: u64,
    grids: u64,
    rows: u64,
}

impl Sums {
    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u16) {
        let wire = u64::from(amplitude) & channel.wire_mask();
        let grid = u64::from(amplitude) & channel.grid_mask();
        self.wires += wire;
        self.columns += wire * across(channel);
        self.layers += wire * layer(channel);
        self.grids += grid;
        self.rows += grid * across(channel);
    }
}

/// The mean position of wires and of grids, weighted with the amplitudes. Columns, layers and rows have a mean each,
/// rounded down (EFU formats of 2018, section 2.4).
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub struct CenterMass(Sums);

impl Reconstruction for CenterMass {
    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u16) {
        self.0.take(channel, amplitude);
    }

    #[inline(always)]
    fn pixel(&self, geometry: &LogicalGeometry) -> Result<PixelId, Miss> {
        let Sums { wires, columns, layers, grids, rows } = self.0;
        mean_pixel([columns, layers, wires], [rows, grids], geometry)
    }
}

/// The wire and the grid that are nearest to the mean, weighted with the amplitudes (ESS readout formats, section 3).
/// Wires are counted along the layers, then along the columns, and their mean is that of these numbers: right where a
/// neutron fires wires that are neighbours along the beam, as it does because columns are insulated from one another.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub struct Centroid(Sums);

impl Reconstruction for Centroid {
    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u16) {
        self.0.take(channel, amplitude);
    }

    #[inline(always)]
    fn pixel(&self, geometry: &LogicalGeometry) -> Result<PixelId, Miss> {
        let Sums { wires, columns, layers, grids, rows } = self.0;
        let depth = geometry.nz();
        let Some(wire) = nearest(columns * u64::from(depth) + layers, wires) else {
            return Err(Miss::NoWire);
        };
        let Some(row) = nearest(rows, grids) else { return Err(Miss::NoGrid) };
        match geometry.pixel_3d(wire / depth, row, wire % depth) {
            0 => Err(Miss::Outside),
            pixel => Ok(pixel),
        }
    }
}

/// The mean position of those wires, and of those grids, that have the largest amplitude.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub struct Prioritized {
    wire: Largest,
    grid: Largest,
}

/// The channels with the largest amplitude so far.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
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
        let counts = u64::from((amplitude >= self.amplitude) & (amplitude > 0));
        let kept = if amplitude > self.amplitude { 0 } else { u64::MAX };
        let taken = 0_u64.wrapping_sub(counts);
        self.amplitude = self.amplitude.max(amplitude);
        self.count = (self.count & kept) + counts;
        self.across = (self.across & kept) + (taken & across(channel));
        self.layers = (self.layers & kept) + (taken & layer(channel));
    }
}

impl Reconstruction for Prioritized {
    #[inline(always)]
    fn take(&mut self, channel: Channel, amplitude: u16) {
        self.wire.take(channel, u64::from(amplitude) & channel.wire_mask());
        self.grid.take(channel, u64::from(amplitude) & channel.grid_mask());
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
    let (Some(x), Some(z)) = (mean(columns, wires), mean(layers, wires)) else { return Err(Miss::NoWire) };
    let Some(y) = mean(rows, grids) else { return Err(Miss::NoGrid) };
    match geometry.pixel_3d(x, y, z) {
        0 => Err(Miss::Outside),
        pixel => Ok(pixel),
    }
}

/// The mean, rounded to the nearest whole number, halves up; none without weight.
#[inline(always)]
fn nearest(sum: u64, weight: u64) -> Option<u32> {
    mean(2 * sum + weight, 2 * weight)
}

/// The mean, rounded down, of 16-bit numbers whose weighted sum is `sum`; none without weight.
#[inline(always)]
fn mean(sum: u64, weight: u64) -> Option<u32> {
    // Most triggers are small, and short divisions are much cheaper than long ones.
    match (u32::try_from(sum), u32::try_from(weight)) {
        (Ok(sum), Ok(weight)) => sum.checked_div(weight),
        _ => sum.checked_div(weight).map(|mean| mean as u32),
    }
}

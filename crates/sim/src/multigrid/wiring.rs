//! Which wires and grids cross, and which channel reads each: the digital geometry of the detector, read backwards.
//!
//! Nothing is worked out here twice: what a channel is, is asked of the tables that form the events.

use crate::ess_readout;
use crate::layout::{Layout, Place};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::ess::{PlaceRequest, VmmSettings};
use evforge_detect::multigrid::cncs::CncsGeometry;
use evforge_detect::multigrid::digital_geometry::DigitalGeometry;
use evforge_detect::multigrid::ess_readout::EssMultiGridSettings;
use evforge_detect::multigrid::settings::{CncsSettings, MesytecSettings};
use evforge_detect::settings::SettingsError;

/// Plane of the wires.
pub const WIRES: u8 = 0;
/// Plane of the grids.
pub const GRIDS: u8 = 1;

/// What a channel reads: a wire at a column and a layer, or a grid at a row, of a stack of grids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    place: Place,
    stack: usize,
    /// Column, for a wire; row, for a grid.
    across: u32,
    layer: u32,
}

/// No channel, or no stack.
const NONE: u32 = u32::MAX;

/// Grids one above the other, and the wires through them.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    module: u16,
    first_column: u32,
    layers: u32,
    /// The wires' channels, those of a column one after the other.
    wires: Vec<u32>,
    first_row: u32,
    grids: Vec<u32>,
}

impl Stack {
    /// The stack with these wires and grids.
    fn new(readings: &[Reading], layers: u32, layout: &Layout) -> Self {
        let of_plane = |plane| readings.iter().filter(move |reading| reading.place.plane == plane);
        let range = |plane| {
            let first = of_plane(plane).map(|reading| reading.across).min()?;
            Some(first..=of_plane(plane).map(|reading| reading.across).max()?)
        };
        let (Some(columns), Some(rows)) = (range(WIRES), range(GRIDS)) else { return Self::default() };
        let mut stack = Self {
            module: readings.first().map_or(0, |reading| reading.place.module),
            first_column: *columns.start(),
            layers,
            wires: vec![NONE; columns.count() * layers as usize],
            first_row: *rows.start(),
            grids: vec![NONE; rows.count()],
        };
        for reading in readings {
            let channel = layout.channel(reading.place).unwrap_or(NONE);
            if reading.place.plane == WIRES {
                stack.wires[((reading.across - stack.first_column) * layers + reading.layer) as usize] =
                    channel;
            } else {
                stack.grids[(reading.across - stack.first_row) as usize] = channel;
            }
        }
        stack
    }

    /// Rows and columns with a grid and at least one wire.
    fn cells(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let columns = self.wires.chunks(self.layers.max(1) as usize).zip(self.first_column..);
        let columns = columns.filter(|(wires, _)| wires.iter().any(|channel| *channel != NONE));
        let rows = self.grids.iter().zip(self.first_row..).filter(|(channel, _)| **channel != NONE);
        rows.flat_map(move |(_, row)| columns.clone().map(move |(_, column)| (row, column)))
    }

    /// The part of the detector that it belongs to, as in [`Place::module`].
    pub fn module(&self) -> u16 {
        self.module
    }

    /// The channel of a wire.
    #[inline]
    pub fn wire(&self, column: u32, layer: u32) -> Option<u32> {
        if layer >= self.layers {
            return None;
        }
        let index = column.checked_sub(self.first_column)? * self.layers + layer;
        self.wires.get(index as usize).copied().filter(|channel| *channel != NONE)
    }

    /// The channel of a grid.
    #[inline]
    pub fn grid(&self, row: u32) -> Option<u32> {
        let index = row.checked_sub(self.first_row)?;
        self.grids.get(index as usize).copied().filter(|channel| *channel != NONE)
    }
}

/// All wires and grids of a detector.
#[derive(Clone, Debug)]
pub struct Wiring {
    geometry: LogicalGeometry,
    layout: Layout,
    axes: Axes,
    /// Columns, rows and layers.
    sides: [u32; 3],
    stacks: Vec<Stack>,
    /// The stack at each column and row, row by row.
    at: Vec<u32>,
}

/// What the coordinates of pixels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axes {
    /// Columns, rows, layers.
    ColumnsFirst,
    /// Layers, rows, columns.
    LayersFirst,
}

impl Axes {
    /// Columns, rows and layers as coordinates of pixels, or the other way round.
    fn swapped<T: Copy>(self, [first, second, third]: [T; 3]) -> [T; 3] {
        match self {
            Self::ColumnsFirst => [first, second, third],
            Self::LayersFirst => [third, second, first],
        }
    }
}

impl Wiring {
    /// The wires and grids of VMMR modules. All of them are read with one trigger: they are one module, in which a
    /// wire or grid has the [`address`] of its channel.
    pub fn of_vmmr(settings: &MesytecSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let geometry = settings
            .geometry()
            .map_err(|error| SettingsError { key: "bus".into(), problem: error.to_string() })?;
        let digital = DigitalGeometry::new(settings, |_| 0);
        let mut readings = Vec::new();
        for (number, bus) in settings.buses.iter().enumerate() {
            for channel in 0..bus.max_channel {
                let Some(at) = digital.place(number as u8, channel) else { continue };
                let plane = if at.is_wire { WIRES } else { GRIDS };
                let place = Place { module: 0, plane, coordinate: address(number as u8, channel) };
                let (across, layer) = (at.across.into(), at.layer.into());
                readings.push(Reading { place, stack: number, across, layer });
            }
        }
        let layout = Layout::new(readings.iter().map(|reading| reading.place).collect());
        Ok(Self::new(geometry, Axes::ColumnsFirst, layout, &readings))
    }

    /// The wires and grids of vessels with the ESS readout: each front end reads a module.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn of_vessels(settings: &EssMultiGridSettings, vmm: &VmmSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let x_offsets = settings.x_offsets();
        let layers = settings.geometry.nz();
        let requests = vmm.hybrids.iter().flat_map(|hybrid| hybrid.channels.iter().flatten());
        let readings: Vec<Reading> = requests
            .map(|request| {
                let PlaceRequest { target, plane, coordinate, .. } = *request;
                let place = Place { module: target, plane, coordinate };
                let stack = usize::from(target);
                let coordinate = u32::from(coordinate);
                if plane == GRIDS {
                    return Reading { place, stack, across: coordinate, layer: 0 };
                }
                let column = x_offsets.get(stack).copied().unwrap_or(0) + coordinate / layers;
                Reading { place, stack, across: column, layer: coordinate % layers }
            })
            .collect();
        Ok(Self::new(settings.geometry, Axes::ColumnsFirst, ess_readout::layout(vmm, module), &readings))
    }

    /// The wires and grids of the demonstrator at CNCS. Those that cross are a module, in which a wire or grid has the
    /// position that is in the packets.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn of_cncs(settings: &CncsSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let cncs = CncsGeometry::new(settings)?;
        let geometry = settings
            .geometry()
            .map_err(|error| SettingsError { key: "geometry".into(), problem: error.to_string() })?;
        let cells_across = u32::from(settings.wires_x) * u32::from(settings.wires_z);
        let most =
            [cells_across, settings.grids.into()].map(|of_module| of_module * u32::from(settings.modules));
        // Wires are wired in swapped pairs: the number of the last one may be one more.
        let [wires, grids] =
            [(0, most[0] + 1), (1, most[1])].map(|(plane, most)| positions(cncs.numbers()[plane], most));
        let crosses = |wire: u16, grid: u16| geometry.coordinates(cncs.pixel(wire, grid));
        // Of each stack a wire and a grid, by which the others are known.
        let mut stacks: Vec<(u16, u16)> = Vec::new();
        let mut readings = Vec::new();
        let mut take = |stack: usize, plane: u8, position: u16, across: u32, layer: u32| {
            let place = Place { module: stack as u16, plane, coordinate: position };
            readings.push(Reading { place, stack, across, layer });
        };
        for &grid in &grids {
            let known = stacks.iter().position(|(wire, _)| crosses(*wire, grid).is_some());
            let stack = known.or_else(|| {
                let wire = wires.iter().find(|wire| crosses(**wire, grid).is_some())?;
                stacks.push((*wire, grid));
                Some(stacks.len() - 1)
            });
            if let Some((stack, at)) = stack.and_then(|stack| Some((stack, crosses(stacks[stack].0, grid)?)))
            {
                take(stack, GRIDS, grid, at.y, 0);
            }
        }
        for &wire in &wires {
            let mut found = stacks.iter().enumerate();
            let found = found.find_map(|(stack, (_, grid))| Some((stack, crosses(wire, *grid)?)));
            if let Some((stack, at)) = found {
                let [column, _, layer] = Axes::LayersFirst.swapped([at.x, at.y, at.z]);
                take(stack, WIRES, wire, column, layer);
            }
        }
        let layout = Layout::new(readings.iter().map(|reading| reading.place).collect());
        Ok(Self::new(geometry, Axes::LayersFirst, layout, &readings))
    }

    fn new(geometry: LogicalGeometry, axes: Axes, layout: Layout, readings: &[Reading]) -> Self {
        let sides = axes.swapped([geometry.nx(), geometry.ny(), geometry.nz()]);
        let [columns, rows, layers] = sides;
        let mut of_stacks = vec![Vec::new(); readings.iter().map(|of| of.stack + 1).max().unwrap_or(0)];
        for reading in readings {
            let side = if reading.place.plane == WIRES { columns } else { rows };
            if reading.across < side && reading.layer < layers {
                of_stacks[reading.stack].push(*reading);
            }
        }
        let stacks: Vec<Stack> =
            of_stacks.iter().map(|readings| Stack::new(readings, layers, &layout)).collect();
        let mut at = vec![NONE; columns as usize * rows as usize];
        for (stack, number) in stacks.iter().zip(0..) {
            for (row, column) in stack.cells() {
                at[(row * columns + column) as usize] = number;
            }
        }
        Self { geometry, layout, axes, sides, stacks, at }
    }

    /// The pixels.
    pub fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    /// The channels.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Layers of cells.
    pub fn layers(&self) -> u32 {
        self.sides[2]
    }

    /// The column, with what comes after the point, of a neutron at this first coordinate of pixels. Where that is the
    /// layer, the picture of the beam is stretched over the columns.
    #[inline]
    pub fn column(&self, x: f64) -> f64 {
        match self.axes {
            Axes::ColumnsFirst => x,
            Axes::LayersFirst => x * f64::from(self.sides[0]) / f64::from(self.sides[2]),
        }
    }

    /// A place of column, row and layer in the coordinates of pixels.
    #[inline]
    pub fn position(&self, place: [f64; 3]) -> [f64; 3] {
        self.axes.swapped(place)
    }

    /// The stack at a column and a row; none where nothing is wired.
    #[inline]
    pub fn stack(&self, column: u32, row: u32) -> Option<&Stack> {
        if column >= self.sides[0] || row >= self.sides[1] {
            return None;
        }
        let number = *self.at.get((row * self.sides[0] + column) as usize)?;
        self.stacks.get(number as usize)
    }
}

/// The first position of each number in 1..=`most`.
fn positions(numbers: &[u16], most: u32) -> Vec<u16> {
    let mut seen = vec![false; most as usize + 1];
    let mut positions = Vec::new();
    for (number, position) in numbers.iter().zip(0..) {
        if let Some(seen @ false) = seen.get_mut(usize::from(*number)) {
            *seen = true;
            positions.push(position);
        }
    }
    positions
}

/// A VMMR channel as it is in a readout: bus in the upper 4 bits, channel in the lower 12.
pub fn address(bus: u8, channel: u16) -> u16 {
    u16::from(bus) << 12 | channel & 0xFFF
}

/// Bus and channel of an [`address`].
pub fn bus_and_channel(address: u16) -> (u8, u16) {
    ((address >> 12) as u8, address & 0xFFF)
}

/// The module of a channel of the ESS readout.
pub fn module(request: &PlaceRequest) -> u16 {
    request.target
}

//! Which wires and grids cross, and which channel reads each: the digital geometry of the detector, read backwards.
//!
//! Nothing is worked out here twice: what a channel is, is asked of the tables that form the events.

use crate::ess_readout;
use crate::layout::{Layout, Place};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::ess::{PlaceRequest, VmmSettings};
use evforge_detect::multigrid::digital_geometry::DigitalGeometry;
use evforge_detect::multigrid::ess_readout::EssMultiGridSettings;
use evforge_detect::multigrid::settings::MesytecSettings;
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
    stacks: Vec<Stack>,
    /// The stack at each column and row, row by row.
    at: Vec<u32>,
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
        Ok(Self::new(geometry, layout, &readings))
    }

    /// The wires and grids of vessels with today's ESS readout: each front end reads a module.
    ///
    /// # Errors
    /// The first setting that cannot be.
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
        Ok(Self::new(settings.geometry, ess_readout::layout(vmm, module), &readings))
    }

    fn new(geometry: LogicalGeometry, layout: Layout, readings: &[Reading]) -> Self {
        let mut stacks = vec![Stack::default(); readings.iter().map(|of| of.stack + 1).max().unwrap_or(0)];
        let mut at = vec![NONE; geometry.nx() as usize * geometry.ny() as usize];
        for (number, stack) in stacks.iter_mut().enumerate() {
            let of_plane = |plane| {
                let is_inside = move |reading: &&Reading| {
                    let side = if plane == WIRES { geometry.nx() } else { geometry.ny() };
                    (reading.place.plane, reading.stack) == (plane, number)
                        && reading.across < side
                        && reading.layer < geometry.nz()
                };
                readings.iter().filter(is_inside)
            };
            let range = |plane| {
                let first = of_plane(plane).map(|reading| reading.across).min()?;
                Some(first..=of_plane(plane).map(|reading| reading.across).max()?)
            };
            let (Some(columns), Some(rows)) = (range(WIRES), range(GRIDS)) else { continue };
            stack.module = of_plane(WIRES).next().map_or(0, |reading| reading.place.module);
            (stack.first_column, stack.first_row) = (*columns.start(), *rows.start());
            stack.layers = geometry.nz();
            stack.wires = vec![NONE; columns.clone().count() * stack.layers as usize];
            stack.grids = vec![NONE; rows.clone().count()];
            for reading in of_plane(WIRES) {
                let index = (reading.across - stack.first_column) * stack.layers + reading.layer;
                stack.wires[index as usize] = layout.channel(reading.place).unwrap_or(NONE);
            }
            for reading in of_plane(GRIDS) {
                let index = reading.across - stack.first_row;
                stack.grids[index as usize] = layout.channel(reading.place).unwrap_or(NONE);
            }
            for (row, column) in rows.flat_map(|row| columns.clone().map(move |column| (row, column))) {
                let has_wire = (0..stack.layers).any(|layer| stack.wire(column, layer).is_some());
                if has_wire && stack.grid(row).is_some() {
                    at[(row * geometry.nx() + column) as usize] = number as u32;
                }
            }
        }
        Self { geometry, layout, stacks, at }
    }

    /// The pixels.
    pub fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    /// The channels.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The stack at a column and a row; none where nothing is wired.
    #[inline]
    pub fn stack(&self, column: u32, row: u32) -> Option<&Stack> {
        if column >= self.geometry.nx() || row >= self.geometry.ny() {
            return None;
        }
        let number = *self.at.get((row * self.geometry.nx() + column) as usize)?;
        self.stacks.get(number as usize)
    }
}

/// A VMMR channel as it stands in a readout: bus in the upper 4 bits, channel in the lower 12.
pub fn address(bus: u8, channel: u16) -> u16 {
    u16::from(bus) << 12 | channel & 0xFFF
}

/// Bus and channel of an [`address`].
pub fn bus_and_channel(address: u16) -> (u8, u16) {
    ((address >> 12) as u8, address & 0xFFF)
}

/// The module of a channel of today's ESS readout.
pub fn module(request: &PlaceRequest) -> u16 {
    request.target
}

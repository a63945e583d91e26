//! The digital geometry: bus and channel to wire or grid (EFU formats of 2018, section 2.3).
//!
//! Everything about a channel is worked out beforehand. A readout finds it in one step, by the 16 bits of its
//! address, in a table that also has an entry for fill words.

use super::amplitude::{AmplitudeFilter, RescaledAmplitudes, TABLE_BYTES};
use super::settings::{BusSettings, MesytecSettings};
use crate::channel_mask::{ChannelMask, MaskEntry};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::monitor::{ChannelGroup, MonitorPlan};
use evforge_wire::mesytec::{ADDRESSES, DataWord};

/// What is known of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Column of a wire, row of a grid.
    pub across: u16,
    /// Layer of a wire.
    pub layer: u16,
    /// What it adds to the pixel id: a wire its layer and column (and 1), a grid its row. [`OUTSIDE`] where that
    /// is not in the logical geometry.
    pub pixel_part: u32,
    /// 1 for a wire, [`GRID`] for a grid, 0 for neither: added up, the numbers of both.
    pub kind: u32,
    /// 0: every amplitude is taken as it is. Otherwise one more than the place in the list of special channels.
    special: u32,
}

/// Kind of a wire.
pub const WIRE: u32 = 1;
/// Kind of a grid: counted in the upper half of a sum of kinds. A packet has less than 2^16 readouts.
pub const GRID: u32 = 1 << 16;
/// A part of a pixel id that makes any sum of parts larger than every pixel id.
pub const OUTSIDE: u32 = 1 << 31;

/// Neither wire nor grid.
const NOTHING: Channel = Channel { across: 0, layer: 0, pixel_part: 0, kind: 0, special: 0 };

/// Special number of channels that no wire or grid is wired to.
const UNMAPPED: u32 = u32::MAX;

/// A channel whose amplitudes are not just taken.
#[derive(Clone, Copy, Debug)]
struct Special {
    filter: AmplitudeFilter,
    /// Table of its factor.
    table: u16,
    /// Index in the monitor plan and in the mask.
    index: usize,
    masked: bool,
}

/// Readouts that make no hit, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// No wire or grid is wired to the channel.
    pub unmapped: u64,
    /// The rescaled amplitude is not within the channel's limits.
    pub filtered: u64,
    /// The channel is masked.
    pub masked: u64,
}

/// All channels.
#[derive(Debug)]
pub struct DigitalGeometry {
    /// One entry for each address, and one for fill words.
    channels: Box<[Channel; ADDRESSES + 1]>,
    special: Vec<Special>,
    amplitudes: RescaledAmplitudes,
    mask: ChannelMask,
    /// Index of channel 0 of each bus in the monitor plan.
    first_index: Vec<usize>,
    plan: MonitorPlan,
}

impl DigitalGeometry {
    /// The channels of these settings, which have been checked.
    pub fn new(settings: &MesytecSettings, geometry: &LogicalGeometry) -> Self {
        let plan = monitor_plan(settings);
        let mut first_index = Vec::new();
        let mut indices = 0;
        for bus in &settings.buses {
            first_index.push(indices);
            indices += usize::from(bus.max_channel);
        }
        let entries: Vec<MaskEntry> = settings
            .mask
            .iter()
            .filter_map(|masked| {
                let first = first_index.get(usize::from(masked.bus))?;
                let channel = first + usize::from(masked.channel);
                Some(MaskEntry { channel, reason: masked.reason.clone() })
            })
            .collect();
        let mut all = vec![Channel { special: UNMAPPED, ..NOTHING }; ADDRESSES];
        all.push(NOTHING);
        // The vector has as many entries as the array.
        let channels: Box<[Channel; ADDRESSES + 1]> =
            all.try_into().unwrap_or_else(|_| unreachable!("one entry for each address and one more"));
        let mut this = Self {
            channels,
            special: Vec::new(),
            amplitudes: RescaledAmplitudes::default(),
            mask: ChannelMask::new(indices, &entries),
            first_index,
            plan,
        };
        let mut first_column = 0;
        for (number, bus) in settings.buses.iter().enumerate() {
            this.add_bus(number, bus, first_column, geometry);
            first_column += bus.columns();
        }
        this
    }

    fn add_bus(&mut self, number: usize, bus: &BusSettings, first_column: u32, geometry: &LogicalGeometry) {
        for raw in 0..bus.max_channel {
            let (channel, filter) = place(bus, raw, first_column, geometry);
            let index = self.first_index[number] + usize::from(raw);
            let masked = self.mask.contains(index);
            let special = if filter.is_transparent() && !masked {
                0
            } else {
                let table = self.amplitudes.number(filter.factor);
                self.special.push(Special { filter, table, index, masked });
                self.special.len() as u32
            };
            if let Some(entry) = self.channels.get_mut(number << 12 | usize::from(raw)) {
                *entry = Channel { special, ..channel };
            }
        }
    }

    /// The channel of a readout and its amplitude; for a fill word, and for a readout that makes no hit, a
    /// channel of no kind. The latter are counted.
    #[inline(always)]
    pub fn place(&mut self, word: DataWord, refused: &mut Refused) -> (Channel, u16) {
        let channel = self.channels[word.place()];
        if channel.special == 0 {
            return (channel, word.adc());
        }
        self.place_special(channel, word.adc(), refused)
    }

    #[cold]
    #[inline(never)]
    fn place_special(&mut self, channel: Channel, adc: u16, refused: &mut Refused) -> (Channel, u16) {
        let Some(special) = self.special.get(channel.special.wrapping_sub(1) as usize) else {
            refused.unmapped += 1;
            return (NOTHING, 0);
        };
        if special.masked {
            self.mask.hides(special.index);
            refused.masked += 1;
            return (NOTHING, 0);
        }
        let adc = self.amplitudes.rescaled(special.table, adc);
        if !special.filter.admits(adc) {
            refused.filtered += 1;
            return (NOTHING, 0);
        }
        (channel, adc)
    }

    /// The channel and the amplitude of a readout that makes a hit; counts nothing.
    pub fn peek(&self, word: DataWord) -> Option<(Channel, u16)> {
        let channel = self.channels[word.place()];
        if channel.special == 0 {
            return (channel.kind != 0).then(|| (channel, word.adc()));
        }
        let special = self.special.get(channel.special.wrapping_sub(1) as usize)?;
        let adc = self.amplitudes.rescaled(special.table, word.adc());
        let taken = !special.masked && special.filter.admits(adc);
        taken.then_some((channel, adc))
    }

    /// Index in the monitor plan of a bus and a channel, if they are configured.
    pub fn index(&self, bus: u8, channel: u16) -> Option<usize> {
        let index = self.first_index.get(usize::from(bus))? + usize::from(channel);
        let next = self.first_index.get(usize::from(bus) + 1).copied();
        (index < next.unwrap_or_else(|| self.plan.channel_count())).then_some(index)
    }

    /// The masked channels.
    pub fn mask(&self) -> &ChannelMask {
        &self.mask
    }

    /// What there is to monitor.
    pub fn plan(&self) -> &MonitorPlan {
        &self.plan
    }

    /// Memory in bytes.
    pub fn memory_bound(&self) -> usize {
        let names: usize =
            self.plan.groups.iter().map(|group| size_of::<ChannelGroup>() + group.name.len()).sum();
        size_of_val(&*self.channels)
            + self.special.capacity() * (size_of::<Special>() + TABLE_BYTES)
            + self.mask.memory_bound()
            + self.first_index.capacity() * size_of::<usize>()
            + 2 * names
    }
}

/// A bus's channel and its filter.
fn place(
    bus: &BusSettings,
    raw: u16,
    first_column: u32,
    geometry: &LogicalGeometry,
) -> (Channel, AmplitudeFilter) {
    let swapped = |swap: bool| if swap { raw ^ 1 } else { raw };
    if raw < bus.max_wire {
        let wire = swapped(bus.swap_wires);
        let (column, layer) = (wire / bus.max_z, wire % bus.max_z);
        let column = if bus.flipped_x { (bus.max_wire / bus.max_z - 1).wrapping_sub(column) } else { column };
        let layer = if bus.flipped_z { bus.max_z - 1 - layer } else { layer };
        let x = first_column + u32::from(column);
        let pixel = geometry.pixel_3d(x, 0, u32::from(layer));
        let pixel_part = if pixel == 0 { OUTSIDE } else { pixel };
        let channel = Channel { across: x as u16, layer, pixel_part, kind: WIRE, special: 0 };
        (channel, bus.wire_filters.at(raw))
    } else {
        let grid = swapped(bus.swap_grids) - bus.max_wire;
        let pixel = geometry.pixel_3d(0, u32::from(grid), 0);
        let pixel_part = if pixel == 0 { OUTSIDE } else { pixel - 1 };
        let channel = Channel { across: grid, layer: 0, pixel_part, kind: GRID, special: 0 };
        (channel, bus.grid_filters.at(grid))
    }
}

fn monitor_plan(settings: &MesytecSettings) -> MonitorPlan {
    let groups = settings.buses.iter().enumerate();
    MonitorPlan {
        groups: groups
            .map(|(number, bus)| ChannelGroup {
                name: format!("bus {number}"),
                channels: usize::from(bus.max_channel),
            })
            .collect(),
        planes: vec!["wires", "grids"],
        amplitude_bits: 12,
        cluster_amplitude_bits: 14,
    }
}

//! The digital geometry: bus and channel to wire or grid (EFU formats of 2018, section 2.3).
//!
//! Everything about a channel is worked out beforehand. A readout finds it in one step, by its address, in a
//! table that also has entries for fill words.

use super::amplitude::{AmplitudeFilter, RescaledAmplitudes};
use super::channel::Channel;
use super::settings::{BusSettings, MesytecSettings};
use crate::channel_mask::{ChannelMask, MaskEntry};
use evforge_core::monitor::{ChannelGroup, MonitorPlan, threshold_of_readouts};
use evforge_wire::mesytec::{ADDRESSES, DataWord, LARGEST_ADC, SLOTS};

/// Where a channel is wired to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct Place {
    /// A wire, or else a grid.
    pub is_wire: bool,
    /// Column of a wire, row of a grid.
    pub across: u16,
    /// Layer of a wire.
    pub layer: u16,
}

/// Where the wire or grid of a channel is, for a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Coordinates {
    /// Column of a wire, row of a grid.
    pub across: u16,
    /// Layer of a wire.
    pub layer: u16,
}

/// A channel that a wire or grid is wired to.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Wired {
    place: Place,
    /// Its entry if every amplitude were just taken.
    channel: Channel,
    filter: AmplitudeFilter,
    /// Table of the filter's factor.
    table: u16,
    masked: bool,
}

impl Wired {
    fn is_special(&self) -> bool {
        self.masked || !self.filter.is_transparent()
    }
}

/// Number of special channels that no wire or grid is wired to.
const UNMAPPED: u32 = u32::MAX;

/// Readouts that make no hit, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Refused {
    /// No wire or grid is wired to the channel.
    pub unmapped: u64,
    /// The rescaled amplitude is not within the channel's limits.
    pub filtered: u64,
    /// The channel is masked.
    pub masked: u64,
}

/// All channels.
#[derive(Debug, get_size2::GetSize)]
pub struct DigitalGeometry {
    /// One entry for each slot of a data word.
    channels: Box<[Channel; SLOTS]>,
    /// Where they are, by slot; empty if nobody asks.
    coordinates: Vec<Coordinates>,
    /// What is behind the entries, by the index of the channel in the monitor plan and in the mask.
    wired: Vec<Wired>,
    amplitudes: RescaledAmplitudes,
    mask: ChannelMask,
    /// Index of channel 0 of each bus.
    first_index: Vec<usize>,
    plan: MonitorPlan,
}

impl DigitalGeometry {
    /// The channels of these settings, which have been checked, for a reconstruction that needs `content` of
    /// each.
    pub fn new(settings: &MesytecSettings, content: impl Fn(&Place) -> u32) -> Self {
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
        let mut channels = vec![Channel::default(); SLOTS];
        let asked_for = settings.double_neutrons.is_some();
        let mut coordinates = vec![Coordinates::default(); if asked_for { SLOTS } else { 0 }];
        channels[ADDRESSES..].fill(Channel::special(UNMAPPED));
        let mask = ChannelMask::new(indices, &entries);
        let mut wired = Vec::with_capacity(indices);
        let mut amplitudes = RescaledAmplitudes::default();
        let mut first_column = 0_u16;
        for (number, bus) in settings.buses.iter().enumerate() {
            for raw in 0..bus.max_channel {
                let (place, filter) = place(bus, raw, first_column);
                let of_plane = if place.is_wire { Channel::wire } else { Channel::grid };
                let behind = Wired {
                    place,
                    channel: of_plane(content(&place)),
                    filter,
                    table: amplitudes.number(filter.factor),
                    masked: mask.contains(wired.len()),
                };
                let special = Channel::special(wired.len() as u32);
                let slot = ADDRESSES | number << 12 | usize::from(raw);
                channels[slot] = if behind.is_special() { special } else { behind.channel };
                if let Some(coordinates) = coordinates.get_mut(slot) {
                    *coordinates = Coordinates { across: place.across, layer: place.layer };
                }
                wired.push(behind);
            }
            // The columns of all buses are at most 2^16, which the sum behind the last one may just reach.
            first_column = first_column.wrapping_add(bus.columns() as u16);
        }
        // The vector has as many entries as the array.
        let channels = channels.try_into().unwrap_or_else(|_| unreachable!("one entry for each slot"));
        Self { channels, coordinates, wired, amplitudes, mask, first_index, plan }
    }

    /// The channel of a readout and its amplitude; none for a fill word, and for a readout that makes no hit.
    /// The latter are counted.
    #[inline(always)]
    pub fn look_up(&mut self, word: DataWord, refused: &mut Refused) -> (Channel, u16) {
        let channel = self.channels[word.slot()];
        if channel.is_special() {
            return self.look_up_special(channel.content(), word.adc(), refused);
        }
        (channel, word.adc())
    }

    /// Where the wire or grid of a readout is, if the settings have a rule for double neutrons.
    #[inline(always)]
    pub fn coordinates(&self, word: DataWord) -> Coordinates {
        self.coordinates.get(word.slot()).copied().unwrap_or_default()
    }

    #[cold]
    #[inline(never)]
    fn look_up_special(&mut self, number: u32, adc: u16, refused: &mut Refused) -> (Channel, u16) {
        let index = number as usize;
        let Some(wired) = self.wired.get(index) else {
            refused.unmapped += 1;
            return (Channel::default(), 0);
        };
        if wired.masked {
            self.mask.hides(index);
            refused.masked += 1;
            return (Channel::default(), 0);
        }
        let adc = self.amplitudes.rescaled(wired.table, adc);
        if !wired.filter.admits(adc) {
            refused.filtered += 1;
            return (Channel::default(), 0);
        }
        (wired.channel, adc)
    }

    /// The place and the amplitude of a readout that makes a hit; counts nothing.
    pub fn peek(&self, word: DataWord) -> Option<(Place, u16)> {
        if !word.is_readout() {
            return None;
        }
        let wired = self.wired.get(self.index((word.address() >> 12) as u8, word.address() & 0xFFF)?)?;
        let adc = self.amplitudes.rescaled(wired.table, word.adc());
        let taken = !wired.masked && wired.filter.admits(adc);
        taken.then_some((wired.place, adc))
    }

    /// Where a channel is wired to, masked or not; none if it is not configured.
    pub fn place(&self, bus: u8, channel: u16) -> Option<Place> {
        self.wired.get(self.index(bus, channel)?).map(|wired| wired.place)
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

    /// The same with the planes of the channels, 0 for wires and 1 for grids, and their least amplitudes.
    pub fn monitor_plan(&self) -> MonitorPlan {
        let mut plan = self.plan.clone();
        for (group, first) in plan.groups.iter_mut().zip(&self.first_index) {
            let wired = self.wired.iter().skip(*first).take(group.channels);
            let least = |wired: &Wired| {
                let rescaled = |adc| self.amplitudes.rescaled(wired.table, adc);
                threshold_of_readouts(wired.filter.min, LARGEST_ADC, rescaled)
            };
            group.thresholds = wired.clone().map(least).collect();
            group.planes = wired.map(|wired| u8::from(!wired.place.is_wire)).collect();
        }
        plan
    }
}

/// Where a bus's channel is wired to, and its filter.
fn place(bus: &BusSettings, raw: u16, first_column: u16) -> (Place, AmplitudeFilter) {
    let swapped = |swap: bool| if swap { raw ^ 1 } else { raw };
    if raw < bus.max_wire {
        let wire = swapped(bus.swap_wires);
        let (column, layer) = (wire / bus.max_z, wire % bus.max_z);
        let column = if bus.flipped_x { bus.max_wire / bus.max_z - 1 - column } else { column };
        let layer = if bus.flipped_z { bus.max_z - 1 - layer } else { layer };
        (Place { is_wire: true, across: first_column + column, layer }, bus.wire_filters.at(raw))
    } else {
        let grid = swapped(bus.swap_grids) - bus.max_wire;
        (Place { is_wire: false, across: grid, layer: 0 }, bus.grid_filters.at(grid))
    }
}

fn monitor_plan(settings: &MesytecSettings) -> MonitorPlan {
    let groups = settings.buses.iter().enumerate();
    MonitorPlan {
        groups: groups
            .map(|(number, bus)| {
                let channels = usize::from(bus.max_channel);
                ChannelGroup::new(format!("bus {number}"), channels)
                    .masked_by(channels, &[("bus", number as u32)])
            })
            .collect(),
        planes: vec!["wires", "grids"],
        amplitude_bits: 12,
        cluster_amplitude_bits: 14,
    }
}

//! Everything about a Multi-Grid detector that can be configured, and its checks.

use super::amplitude::{AmplitudeFilter, Factor, MOST_FACTORS};
use crate::event_order::OrderRules;
use crate::hit::PAYLOAD_LIMIT;
use crate::settings::{Picoseconds, SettingsError, SortingSettings};
use crate::source_clocks::ClockRules;
use crate::tick::TickLength;
use evforge_core::geometry::{GeometryError, LogicalGeometry};
use evforge_wire::cncs::LARGEST_VALUE;
use evforge_wire::mesytec::LARGEST_ADC;
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;

/// How the wires and grids of a trigger, or of a window of time, make a position (EFU formats of 2018, section 2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The wire and the grid with the largest amplitude; of equal ones the last.
    #[default]
    Maximum,
    /// The mean of all wires and of all grids, weighted with their amplitudes and rounded down.
    CenterMass,
    /// The mean, rounded down, of those wires and grids that have the largest amplitude.
    Prioritized,
    /// The wire and the grid nearest to the mean, weighted with the amplitudes, of their numbers (ESS readout formats,
    /// section 3).
    Centroid,
}

impl Strategy {
    /// Its name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Maximum => "maximum",
            Self::CenterMass => "center-mass",
            Self::Prioritized => "prioritized",
            Self::Centroid => "centroid",
        }
    }
}

/// What the time of an event counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventTime {
    /// The zero of the detector's clock.
    #[default]
    Clock,
    /// As the reference of 2018 sends it: raw and 32 bits wide. VMMR: ticks since the last external trigger;
    /// CNCS: the 30 bits of the read-out.
    #[serde(rename = "raw-2018")]
    Raw2018,
}

/// The order in which events leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// The order (time, pixel).
    Time(SortingSettings),
    /// The order in which the electronics sent them.
    Arrival,
}

/// What both read-outs share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeSettings {
    /// A tick of the electronics' clock; none to leave times in ticks.
    pub tick: Option<Picoseconds>,
    /// What times count from.
    pub event_time: EventTime,
    /// The order of events.
    pub order: Ordering,
}

impl TimeSettings {
    /// Length of a tick.
    ///
    /// # Errors
    /// If it is zero or too long.
    pub fn tick_length(&self) -> Result<TickLength, SettingsError> {
        self.tick.map_or(Ok(TickLength::RAW), |tick| TickLength::of(tick, "tick"))
    }

    /// The rules of the order (time, pixel), or none for the order of arrival.
    ///
    /// # Errors
    /// As [`TimeSettings::tick_length`].
    pub fn order_rules(&self, packet_events: usize) -> Result<Option<OrderRules>, SettingsError> {
        let Ordering::Time(sorting) = self.order else { return Ok(None) };
        // Without a tick, times and durations are counted in nanoseconds alike.
        let tick = self.tick_length()?;
        Ok(Some(OrderRules {
            clocks: ClockRules::new(&sorting, |duration| tick.ticks_in(duration), packet_events),
            max_held: sorting.max_held_hits,
        }))
    }

    fn check(&self, geometry: &LogicalGeometry) -> Result<(), SettingsError> {
        self.tick_length()?;
        if self.event_time == EventTime::Raw2018 {
            if self.tick.is_some() {
                return SettingsError::refuse("tick", "times as in 2018 are raw: tick = \"raw\"");
            }
            if self.order != Ordering::Arrival {
                let problem = "times as in 2018 start over all the time: order = \"arrival\"";
                return SettingsError::refuse("order", problem);
            }
        }
        if let Ordering::Time(sorting) = &self.order {
            sorting.check()?;
            if geometry.pixel_count() >= PAYLOAD_LIMIT {
                let problem = format!(
                    "{} pixels are more than can be sorted (at most {}): order = \"arrival\"",
                    geometry.pixel_count(),
                    PAYLOAD_LIMIT - 1
                );
                return SettingsError::refuse("order", problem);
            }
        }
        Ok(())
    }
}

/// Amplitude filters of the wires or of the grids of a bus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FilterSettings {
    /// For all channels.
    pub blanket: AmplitudeFilter,
    /// For single ones, in place of the blanket: their index and their filter.
    #[serde(deserialize_with = "exceptions")]
    #[schemars(with = "Vec<Exception>")]
    pub exceptions: Vec<(u16, AmplitudeFilter)>,
}

/// A filter for a single channel, with its index.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exception {
    /// The raw channel of a wire; of a grid its number, from 0.
    idx: u16,
    /// Least rescaled amplitude that is taken.
    #[serde(default)]
    min: u16,
    /// Largest rescaled amplitude that is taken.
    #[serde(default = "largest")]
    max: u16,
    /// Multiplied before the limits are looked at.
    #[serde(default = "unchanged")]
    rescale: Factor,
}

fn largest() -> u16 {
    u16::MAX
}

fn unchanged() -> Factor {
    Factor::ONE
}

fn exceptions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u16, AmplitudeFilter)>, D::Error> {
    let entries = Vec::deserialize(deserializer)?.into_iter();
    let filter = |Exception { idx, min, max, rescale }| (idx, AmplitudeFilter { min, max, factor: rescale });
    Ok(entries.map(filter).collect())
}

impl FilterSettings {
    /// The filter at `index`. The last exception given for it counts.
    pub fn at(&self, index: u16) -> AmplitudeFilter {
        let own = self.exceptions.iter().rev().find(|(other, _)| *other == index);
        own.map_or(self.blanket, |(_, filter)| *filter)
    }
}

/// One bus of VMMR modules: a column of the detector with its wires and grids.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BusSettings {
    /// Channels; those from `max_wire` on are grids.
    pub max_channel: u16,
    /// Channels of wires, from 0 on.
    pub max_wire: u16,
    /// Wires one behind the other.
    pub max_z: u16,
    /// Wire channels are wired in swapped pairs.
    #[serde(default)]
    pub swap_wires: bool,
    /// Grid channels are wired in swapped pairs.
    #[serde(default)]
    pub swap_grids: bool,
    /// Columns run the other way.
    #[serde(default)]
    pub flipped_x: bool,
    /// Layers run the other way.
    #[serde(default)]
    pub flipped_z: bool,
    /// Filters of the wires, by the raw channel.
    #[serde(default)]
    pub wire_filters: FilterSettings,
    /// Filters of the grids, by the number of the grid.
    #[serde(default)]
    pub grid_filters: FilterSettings,
}

impl Default for BusSettings {
    /// 120 channels, 80 of them wires, 20 deep (section 2.3).
    fn default() -> Self {
        Self {
            max_channel: 120,
            max_wire: 80,
            max_z: 20,
            swap_wires: false,
            swap_grids: false,
            flipped_x: false,
            flipped_z: false,
            wire_filters: FilterSettings::default(),
            grid_filters: FilterSettings::default(),
        }
    }
}

/// When a trigger is taken for two neutrons: wires, or grids, with at least this amplitude lie at least so far
/// apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoubleNeutronRule {
    /// Least amplitude, after rescaling, of the wires and grids that are looked at.
    pub threshold: u16,
    /// Least distance in columns, layers or rows, at least 1. Charge of one neutron spreads to neighbours, so
    /// that 2 is the least that tells anything.
    #[serde(default = "least_separation")]
    pub separation: u16,
}

fn least_separation() -> u16 {
    2
}

/// A channel that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskSettings {
    /// Its bus.
    pub bus: u8,
    /// Its raw channel.
    pub channel: u16,
    /// Why.
    pub reason: String,
}

/// A detector read out by VMMR modules behind an SIS3153.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MesytecSettings {
    /// How positions are found.
    pub strategy: Strategy,
    /// Times.
    pub time: TimeSettings,
    /// Ignore extended time stamps and count the turns of the low time instead.
    pub spoof_high_time: bool,
    /// Discard a packet as a whole if the framing of any of its triggers is damaged, as the reference does;
    /// otherwise only the damaged triggers are lost.
    pub discard_damaged_packets: bool,
    /// How two neutrons in one trigger are recognised, if they are looked for at all.
    pub double_neutrons: Option<DoubleNeutronRule>,
    /// Drop the events that are recognised as two neutrons; they are counted in any case.
    pub drop_double_neutrons: bool,
    /// The buses, from number 0 on.
    pub buses: Vec<BusSettings>,
    /// Channels to leave out.
    pub mask: Vec<MaskSettings>,
}

/// Buses that the format can tell apart.
const MOST_BUSES: usize = 16;
/// Channels that the format can tell apart on a bus.
const MOST_CHANNELS: u16 = 4096;

impl MesytecSettings {
    /// Checks every setting, alone and with the others. Settings that pass make a detector.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        if !(1..=MOST_BUSES).contains(&self.buses.len()) {
            let problem = format!("a detector has 1 to {MOST_BUSES} [[multigrid.bus]] entries");
            return SettingsError::refuse("bus", problem);
        }
        for (number, bus) in self.buses.iter().enumerate() {
            check_bus(number, bus)?;
        }
        let factors: BTreeSet<u64> = self.buses.iter().flat_map(BusSettings::factors).collect();
        if factors.len() > MOST_FACTORS {
            let problem = format!("more than {MOST_FACTORS} different factors");
            return SettingsError::refuse("bus", problem);
        }
        let geometry = self
            .geometry()
            .map_err(|error| SettingsError { key: "bus".into(), problem: error.to_string() })?;
        if geometry.pixel_count() >= 1 << 30 || geometry.nx() > 1 << 16 {
            return SettingsError::refuse("bus", "more than 2^30 pixels, or more than 2^16 columns");
        }
        self.time.check(&geometry)?;
        match &self.double_neutrons {
            Some(rule) if rule.separation == 0 => {
                let key = "double_neutron_rule.separation";
                return SettingsError::refuse(key, "must be at least 1");
            }
            None if self.drop_double_neutrons => {
                let problem = "without [multigrid.double_neutron_rule] there is nothing to drop";
                return SettingsError::refuse("double_neutrons", problem);
            }
            _ => {}
        }
        for (index, masked) in self.mask.iter().enumerate() {
            let key = |key| format!("mask[{index}].{key}");
            let Some(bus) = self.buses.get(usize::from(masked.bus)) else {
                return SettingsError::refuse(key("bus"), format!("there is no bus {}", masked.bus));
            };
            if masked.channel >= bus.max_channel {
                let problem = format!("bus {} has {} channels", masked.bus, bus.max_channel);
                return SettingsError::refuse(key("channel"), problem);
            }
        }
        Ok(())
    }

    /// The pixels: the columns of all buses side by side, rows and layers of the last bus (section 2.3).
    ///
    /// # Errors
    /// If there is no bus or a side that is 0.
    pub fn geometry(&self) -> Result<LogicalGeometry, GeometryError> {
        let nx = self.buses.iter().map(BusSettings::columns).sum();
        let (ny, nz) = self.buses.last().map_or((0, 0), |bus| (bus.rows(), u32::from(bus.max_z)));
        LogicalGeometry::new(nx, ny, nz, 1)
    }
}

impl BusSettings {
    /// Columns of this bus.
    pub fn columns(&self) -> u32 {
        u32::from(self.max_wire.checked_div(self.max_z).unwrap_or(0))
    }

    /// Rows of this bus: one for each grid.
    pub fn rows(&self) -> u32 {
        u32::from(self.max_channel.saturating_sub(self.max_wire))
    }

    fn factors(&self) -> impl Iterator<Item = u64> + '_ {
        [&self.wire_filters, &self.grid_filters].into_iter().flat_map(|filters| {
            let exceptions = filters.exceptions.iter().map(|(_, filter)| filter);
            exceptions.chain([&filters.blanket]).map(|filter| filter.factor.get().to_bits())
        })
    }
}

fn check_bus(number: usize, bus: &BusSettings) -> Result<(), SettingsError> {
    let key = |key: &str| format!("bus[{number}].{key}");
    let refuse = |name: &str, problem: String| SettingsError::refuse(key(name), problem);
    if !(2..=MOST_CHANNELS).contains(&bus.max_channel) {
        return refuse("max_channel", format!("{} is not in 2..={MOST_CHANNELS}", bus.max_channel));
    }
    if !(1..bus.max_channel).contains(&bus.max_wire) {
        return refuse("max_wire", format!("{} is not in 1..max_channel", bus.max_wire));
    }
    if bus.max_z == 0 || !bus.max_wire.is_multiple_of(bus.max_z) {
        let problem = format!("the {} wires are not whole columns of {}", bus.max_wire, bus.max_z);
        return refuse("max_z", problem);
    }
    if (bus.swap_wires || bus.swap_grids) && !bus.max_wire.is_multiple_of(2) {
        return refuse("max_wire", "swapped channels come in pairs: must be even".into());
    }
    if bus.swap_grids && !bus.max_channel.is_multiple_of(2) {
        return refuse("max_channel", "swapped channels come in pairs: must be even".into());
    }
    let grids = bus.max_channel - bus.max_wire;
    for (name, filters, count) in
        [("wire_filters", &bus.wire_filters, bus.max_wire), ("grid_filters", &bus.grid_filters, grids)]
    {
        if let Some(place) = filters.exceptions.iter().position(|(index, _)| *index >= count) {
            let problem = format!("{} is not below {count}", filters.exceptions[place].0);
            return refuse(&format!("{name}.exceptions[{place}].idx"), problem);
        }
    }
    Ok(())
}

/// The demonstrator at CNCS, 2016 (section 2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CncsSettings {
    /// Times.
    pub time: TimeSettings,
    /// Least amplitude of the first wire, and amplitude from which on a second wire means a second neutron.
    pub wire_threshold: u16,
    /// Least amplitude of the grid.
    pub grid_threshold: u16,
    /// Drop the events that are recognised as two neutrons; they are counted in any case.
    pub drop_double_neutrons: bool,
    /// Panels of the detector, and which of them this read-out is, from 1 on.
    pub panels: u16,
    /// The panel of this read-out, 1..=`panels`.
    pub panel: u16,
    /// Modules of a panel.
    pub modules: u16,
    /// Grids of a module.
    pub grids: u16,
    /// Wires of a module across the beam.
    pub wires_x: u16,
    /// Wires of a module along the beam.
    pub wires_z: u16,
    /// Wire for each position, from 0 on; positions beyond the end are wires themselves.
    pub wire_calibration: Vec<u16>,
    /// Grid for each position, as `wire_calibration`.
    pub grid_calibration: Vec<u16>,
}

impl CncsSettings {
    /// Checks every setting, alone and with the others. Settings that pass make a detector.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        let geometry = self
            .geometry()
            .map_err(|error| SettingsError { key: "geometry".into(), problem: error.to_string() })?;
        if u32::from(self.modules) * u32::from(self.grids) > 1 << 16
            || u64::from(self.modules) * u64::from(self.wires_x) * u64::from(self.wires_z) > 1 << 16
        {
            let problem = "a panel has at most 65536 wires and 65536 grids";
            return SettingsError::refuse("geometry", problem);
        }
        if !(1..=self.panels).contains(&self.panel) {
            return SettingsError::refuse("geometry.panel", format!("{} is not in 1..=panels", self.panel));
        }
        for (key, threshold) in
            [("wire_threshold", self.wire_threshold), ("grid_threshold", self.grid_threshold)]
        {
            if threshold > LARGEST_VALUE {
                let problem = format!("{threshold} is above the largest amplitude {LARGEST_VALUE}");
                return SettingsError::refuse(key, problem);
            }
        }
        for (key, table) in
            [("wire_calibration", &self.wire_calibration), ("grid_calibration", &self.grid_calibration)]
        {
            if table.len() > usize::from(LARGEST_VALUE) + 1 {
                let problem = format!("more than {} entries", usize::from(LARGEST_VALUE) + 1);
                return SettingsError::refuse(key, problem);
            }
        }
        self.time.check(&geometry)
    }

    /// The pixels. In the numbering of this detector depth runs fastest, then the grids, then the columns.
    ///
    /// # Errors
    /// If a side is 0 or there are too many pixels.
    pub fn geometry(&self) -> Result<LogicalGeometry, GeometryError> {
        let columns = u32::from(self.modules).checked_mul(u32::from(self.wires_x));
        let columns = columns.and_then(|columns| columns.checked_mul(u32::from(self.panels)));
        LogicalGeometry::new(u32::from(self.wires_z), u32::from(self.grids), columns.unwrap_or(u32::MAX), 1)
    }
}

/// A Multi-Grid detector with either read-out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiGridSettings {
    /// VMMR modules behind an SIS3153.
    Mesytec(MesytecSettings),
    /// The demonstrator at CNCS.
    Cncs(CncsSettings),
}

impl MultiGridSettings {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        match self {
            Self::Mesytec(settings) => settings.check(),
            Self::Cncs(settings) => settings.check(),
        }
    }
}

// A readout that is not rescaled keeps its amplitude, and the largest factor makes no more of it than 16 bits.
const _: () = assert!(LARGEST_ADC as u32 * super::amplitude::LARGEST_FACTOR as u32 <= u16::MAX as u32);

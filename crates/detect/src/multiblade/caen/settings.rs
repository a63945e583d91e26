//! Settings of a Multi-Blade with CAEN digitisers.

use crate::multiblade::pixels::CassettePixels;
use crate::multiblade::settings::window;
pub use crate::multiblade::settings::{Plane, Rounding, WindowRule, WindowSettings};
use crate::settings::{
    FlatGeometry, Picoseconds, SettingsError, SortingSettings, continuous, flat_geometry, second_of_two,
};
use crate::tick::TickLength;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::InPicoseconds;
use evforge_wire::caen::{CHANNELS, LARGEST_PACKET};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, HashSet};

/// What the packets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize, Deserialize, JsonSchema)]
pub enum ReadoutFormat {
    /// Records of 8 bytes without a header (August 2018).
    #[serde(rename = "records")]
    Records,
    /// jadaq of June 2018.
    #[serde(rename = "jadaq-2018-06")]
    JadaqOfJune2018,
    /// jadaq 1.3.
    #[serde(rename = "jadaq-1.3")]
    Jadaq1_3,
}

/// In which order hits are looked at and events leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HitOrder {
    /// In order of time. Events leave in the order (time, pixel).
    #[default]
    Time,
    /// As they arrive, as in the reference of 2018: times are 32 bits and wrap, events leave as windows close.
    /// Digitisers that share a cassette must then share a sender.
    Arrival,
}

/// What times count from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeBase {
    /// The start of the electronics' clock.
    #[default]
    Electronics,
    /// The millisecond since 1970 in the header of each jadaq packet; the times of its elements count from there.
    GlobalTime,
}

/// What a run of channels is wired to: channel `first_channel + i` is wire or strip `first + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelMapping {
    /// Number of the digitizer.
    pub digitizer: u32,
    /// First channel of the run.
    #[schemars(range(max = 63))]
    pub first_channel: u16,
    /// Channels in the run, within 0 to 63.
    #[schemars(range(max = 64))]
    pub channels: u16,
    /// The cassette, from 0.
    pub cassette: u16,
    /// The plane.
    pub plane: Plane,
    /// Wire or strip of the first channel, from 0.
    #[serde(default)]
    pub first: u16,
}

/// Channels to leave out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaskedChannels {
    /// Number of the digitizer.
    pub digitizer: u32,
    /// The channels.
    pub channels: Vec<u16>,
    /// Why.
    pub reason: String,
}

/// Channels with a threshold of their own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelThreshold {
    /// Number of the digitizer.
    pub digitizer: u32,
    /// The channels.
    pub channels: Vec<u16>,
    /// Least amplitude.
    pub adc: u16,
}

/// All settings of a Multi-Blade: the section `[multiblade]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiBladeSettings {
    /// What the packets are.
    #[serde(rename = "readout")]
    pub format: ReadoutFormat,
    /// In order of time, events leave in the order (time, pixel). In order of arrival, as in the reference of 2018, they leave as windows
    /// close, times are 32 bits, and cassettes must not be read by digitisers of different senders.
    #[serde(default)]
    pub order: HitOrder,
    /// What times count from: the start of the electronics' clock (32 bits are extended), or the millisecond since 1970 in the header of each
    /// jadaq packet.
    #[serde(default)]
    pub time_base: TimeBase,
    /// Length of a tick.
    #[serde(default = "usual_tick", with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    pub tick: Picoseconds,
    /// What events carry.
    #[serde(default, rename = "times", deserialize_with = "raw_ticks")]
    #[schemars(with = "String", extend("enum" = ["nanoseconds", "ticks"], "default" = "nanoseconds"))]
    pub raw_ticks: bool,
    /// Time order, with `order = "time"`. `max_held_hits` is per cassette, and `max_group_hits` (at most 16384) is the number of hits that a
    /// window may have, in either order.
    #[serde(default = "continuous::default", with = "continuous")]
    pub sorting: SortingSettings,
    /// Least amplitude of a hit.
    #[serde(default)]
    pub threshold: u16,
    /// Channels with a threshold of their own.
    #[serde(default, rename = "channel_threshold")]
    pub channel_thresholds: Vec<ChannelThreshold>,
    /// Channels that are left out.
    #[serde(default)]
    pub mask: Vec<MaskedChannels>,
    /// What belongs together.
    #[serde(default = "window::default", with = "window")]
    pub window: WindowSettings,
    /// Position of a cluster; of equal maxima the lowest wire or strip.
    #[serde(default, rename = "position", deserialize_with = "maximum")]
    #[schemars(with = "String", extend("enum" = ["centre-of-gravity", "maximum"], "default" = "centre-of-gravity"))]
    pub maximum: bool,
    /// Position to pixel.
    #[serde(default)]
    pub rounding: Rounding,
    /// Number of cassettes.
    #[schemars(range(min = 1, max = 1024))]
    pub cassettes: u16,
    /// Wires of a cassette.
    #[schemars(range(min = 1, max = 64))]
    pub wires: u16,
    /// Strips of a cassette.
    #[schemars(range(min = 1, max = 64))]
    pub strips: u16,
    /// The wiring.
    pub mapping: Vec<ChannelMapping>,
    /// `{ nx = 32, ny = 192 }`: at least `strips` columns and `cassettes` × `wires` rows, less than 2^23 pixels. Column = strip, row =
    /// cassette × `wires` + wire.
    #[serde(deserialize_with = "flat_geometry")]
    #[schemars(with = "FlatGeometry")]
    pub geometry: LogicalGeometry,
}

fn usual_tick() -> Picoseconds {
    16_000
}

fn raw_ticks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    second_of_two(&["nanoseconds", "ticks"], deserializer)
}

fn maximum<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    second_of_two(&["centre-of-gravity", "maximum"], deserializer)
}

/// Readouts of the largest packet.
pub(super) const LARGEST_READOUT_COUNT: usize = LARGEST_PACKET / 8 + 1;

impl MultiBladeSettings {
    /// The digitisers in the mapping, each once, in order of their numbers.
    pub fn digitizers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.mapping.iter().map(|entry| entry.digitizer).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Where the cassettes are.
    pub fn pixels(&self) -> CassettePixels {
        let rows = (0..u32::from(self.cassettes)).map(|cassette| cassette * u32::from(self.wires));
        CassettePixels::new(rows.map(|row| (0, row)).collect(), false, self.geometry)
    }

    /// Checks the settings, alone and with one another.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        TickLength::of(self.tick, "tick")?;
        self.sorting.check()?;
        if self.time_base == TimeBase::GlobalTime {
            if self.format == ReadoutFormat::Records {
                return SettingsError::refuse("time_base", "records have no header with a global time");
            }
            if self.order == HitOrder::Arrival {
                return SettingsError::refuse("time_base", "a global time needs order = \"time\"");
            }
            if 1_000_000_000 % self.tick != 0 {
                return SettingsError::refuse(
                    "tick",
                    "a millisecond of global time is not whole in this tick",
                );
            }
        }
        self.window.check(self.sorting.max_group_hits)?;
        self.check_size()?;
        self.check_mapping()?;
        self.check_channels()?;
        self.check_room()
    }

    fn check_size(&self) -> Result<(), SettingsError> {
        if !(1..=1024).contains(&self.cassettes) {
            return SettingsError::refuse("cassettes", "must be in 1..=1024");
        }
        for (key, count) in [("wires", self.wires), ("strips", self.strips)] {
            if !(1..=64).contains(&count) {
                return SettingsError::refuse(key, "must be in 1..=64");
            }
        }
        let rows = u32::from(self.cassettes) * u32::from(self.wires);
        if self.geometry.nx() < u32::from(self.strips) || self.geometry.ny() < rows {
            let problem = format!(
                "{} x {} pixels are too few for {} strips and {} cassettes of {} wires",
                self.geometry.nx(),
                self.geometry.ny(),
                self.strips,
                self.cassettes,
                self.wires
            );
            return SettingsError::refuse("geometry", problem);
        }
        if self.geometry.pixel_count() >= crate::hit::PAYLOAD_LIMIT {
            return SettingsError::refuse("geometry", "must have fewer than 2^23 pixels");
        }
        Ok(())
    }

    fn check_mapping(&self) -> Result<(), SettingsError> {
        if self.mapping.is_empty() {
            return SettingsError::refuse("mapping", "no channel is wired to anything");
        }
        let (mut channels, mut places) = (HashSet::new(), HashSet::new());
        for (index, entry) in self.mapping.iter().enumerate() {
            let refuse = |key: &str, problem: String| {
                SettingsError::refuse(format!("mapping[{index}].{key}"), problem)
            };
            if self.format == ReadoutFormat::Records && entry.digitizer > 255 {
                return refuse("digitizer", "records number digitisers from 0 to 255".into());
            }
            if entry.cassette >= self.cassettes {
                return refuse("cassette", format!("{} is not below {}", entry.cassette, self.cassettes));
            }
            let limit = if entry.plane == Plane::Wires { self.wires } else { self.strips };
            let end = u32::from(entry.first) + u32::from(entry.channels);
            if end > u32::from(limit) {
                return refuse("first", format!("the run ends at {end}, beyond {limit}"));
            }
            let end = u32::from(entry.first_channel) + u32::from(entry.channels);
            if entry.channels == 0 || end > CHANNELS as u32 {
                return refuse(
                    "channels",
                    format!("the run ends at channel {end}; a digitizer has {CHANNELS}"),
                );
            }
            for step in 0..entry.channels {
                if !channels.insert((entry.digitizer, entry.first_channel + step)) {
                    let channel = entry.first_channel + step;
                    return refuse("first_channel", format!("channel {channel} is wired twice"));
                }
                if !places.insert((entry.cassette, entry.plane, entry.first + step)) {
                    let place = entry.first + step;
                    return refuse("first", format!("wire or strip {place} is wired to two channels"));
                }
            }
        }
        if self.digitizers().len() > 1000 {
            return SettingsError::refuse("mapping", "more than 1000 digitisers");
        }
        Ok(())
    }

    fn check_channels(&self) -> Result<(), SettingsError> {
        let masks = self.mask.iter().map(|entry| (entry.digitizer, &entry.channels));
        let thresholds = self.channel_thresholds.iter().map(|entry| (entry.digitizer, &entry.channels));
        let digitizers = self.digitizers();
        let lists = masks.enumerate().map(|(index, entry)| (format!("mask[{index}]"), entry));
        let others =
            thresholds.enumerate().map(|(index, entry)| (format!("channel_threshold[{index}]"), entry));
        for (key, (digitizer, channels)) in lists.chain(others) {
            if digitizers.binary_search(&digitizer).is_err() {
                return SettingsError::refuse(
                    format!("{key}.digitizer"),
                    format!("digitizer {digitizer} is in no mapping"),
                );
            }
            if let Some(channel) = channels.iter().find(|&&channel| usize::from(channel) >= CHANNELS) {
                return SettingsError::refuse(
                    format!("{key}.channels"),
                    format!("{channel} is not in 0..=63"),
                );
            }
        }
        Ok(())
    }

    /// What a packet and the release of all quarantines can bring must fit a cassette twice.
    fn check_room(&self) -> Result<(), SettingsError> {
        let needed = 2 * self.room_for_a_packet();
        if self.order == HitOrder::Time && self.sorting.max_held_hits < needed {
            let problem = format!(
                "{} is less than {needed}, which the digitisers of one cassette need",
                self.sorting.max_held_hits
            );
            return SettingsError::refuse("sorting.max_held_hits", problem);
        }
        Ok(())
    }

    /// Hits of one cassette that a packet can bring with the quarantines of all its digitisers.
    pub(super) fn room_for_a_packet(&self) -> usize {
        (self.digitizers_of_a_cassette() + 1) * LARGEST_READOUT_COUNT
    }

    /// The largest number of digitisers that one cassette is wired to.
    fn digitizers_of_a_cassette(&self) -> usize {
        let mut of_cassette: BTreeMap<u16, HashSet<u32>> = BTreeMap::new();
        for entry in &self.mapping {
            of_cassette.entry(entry.cassette).or_default().insert(entry.digitizer);
        }
        of_cassette.values().map(HashSet::len).max().unwrap_or(1)
    }
}

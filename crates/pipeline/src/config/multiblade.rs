//! The `[multiblade]` section of a configuration file.

use super::sorting::Sorting;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::Duration;
use evforge_detect::multiblade::caen::settings::{
    ChannelMapping, ChannelThreshold, HitOrder, MaskedChannels, MultiBladeSettings, Plane, ReadoutFormat,
    Rounding, TimeBase, WindowRule, WindowSettings,
};
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
enum Readout {
    #[serde(rename = "records")]
    Records,
    #[serde(rename = "jadaq-2018-06")]
    JadaqOfJune2018,
    #[serde(rename = "jadaq-1.3")]
    Jadaq1_3,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    #[default]
    Time,
    Arrival,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Base {
    #[default]
    Electronics,
    GlobalTime,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Times {
    #[default]
    Nanoseconds,
    Ticks,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Method {
    #[default]
    CentreOfGravity,
    Maximum,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RoundingName {
    #[default]
    Nearest,
    Down,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlaneName {
    Wires,
    Strips,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Rule {
    Box,
    Gap,
}

/// `[multiblade.window]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Window {
    rule: Rule,
    ticks: u32,
    max_wires: u32,
    max_strips: u32,
    max_gap_wires: u32,
    max_gap_strips: u32,
    max_amplitude_ratio: Option<f64>,
    separate: bool,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            rule: Rule::Box,
            ticks: 185,
            max_wires: 64,
            max_strips: 64,
            max_gap_wires: 0,
            max_gap_strips: 0,
            max_amplitude_ratio: None,
            separate: false,
        }
    }
}

/// Largest `max_amplitude_ratio`.
const LARGEST_RATIO: f64 = 1e6;

/// `window.max_amplitude_ratio` in thousandths.
pub(super) fn thousandths(ratio: Option<f64>) -> Result<Option<u32>, SettingsError> {
    match ratio {
        None => Ok(None),
        Some(ratio) if (1.0..=LARGEST_RATIO).contains(&ratio) => Ok(Some((ratio * 1000.0).round() as u32)),
        Some(ratio) => {
            let problem = format!("{ratio} is not in 1..={LARGEST_RATIO}");
            SettingsError::refuse("window.max_amplitude_ratio", problem)
        }
    }
}

impl Window {
    fn settings(&self) -> Result<WindowSettings, SettingsError> {
        Ok(WindowSettings {
            rule: match self.rule {
                Rule::Box => WindowRule::Box,
                Rule::Gap => WindowRule::Gap,
            },
            ticks: self.ticks,
            max_wires: self.max_wires,
            max_strips: self.max_strips,
            max_gap_wires: self.max_gap_wires,
            max_gap_strips: self.max_gap_strips,
            max_amplitude_ratio: thousandths(self.max_amplitude_ratio)?,
            separate: self.separate,
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Geometry {
    nx: u32,
    ny: u32,
}

impl Geometry {
    /// So many columns and rows.
    pub(super) fn flat(&self) -> Result<LogicalGeometry, SettingsError> {
        LogicalGeometry::flat(self.nx, self.ny)
            .map_err(|error| SettingsError { key: "geometry".into(), problem: error.to_string() })
    }
}

/// `[[multiblade.mapping]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mapping {
    digitizer: u32,
    first_channel: u16,
    channels: u16,
    cassette: u16,
    plane: PlaneName,
    #[serde(default)]
    first: u16,
}

/// `[[multiblade.mask]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mask {
    digitizer: u32,
    channels: Vec<u16>,
    reason: String,
}

/// `[[multiblade.channel_threshold]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Threshold {
    digitizer: u32,
    channels: Vec<u16>,
    adc: u16,
}

/// The whole section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MultiBladeSection {
    readout: Readout,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    time_base: Base,
    #[serde(default = "MultiBladeSection::tick")]
    tick: Duration,
    #[serde(default)]
    times: Times,
    #[serde(default)]
    threshold: u16,
    #[serde(default)]
    position: Method,
    #[serde(default)]
    rounding: RoundingName,
    cassettes: u16,
    wires: u16,
    strips: u16,
    geometry: Geometry,
    #[serde(default)]
    window: Window,
    #[serde(default)]
    sorting: Sorting,
    #[serde(default)]
    mask: Vec<Mask>,
    #[serde(default)]
    channel_threshold: Vec<Threshold>,
    mapping: Vec<Mapping>,
}

impl MultiBladeSection {
    fn tick() -> Duration {
        Duration { picoseconds: 16_000 }
    }

    /// The detector's settings. What is wrong with single values is found by the detector itself.
    pub(super) fn settings(&self) -> Result<MultiBladeSettings, SettingsError> {
        let geometry = self.geometry.flat()?;
        let mapping = |entry: &Mapping| ChannelMapping {
            digitizer: entry.digitizer,
            first_channel: entry.first_channel,
            channels: entry.channels,
            cassette: entry.cassette,
            plane: match entry.plane {
                PlaneName::Wires => Plane::Wires,
                PlaneName::Strips => Plane::Strips,
            },
            first: entry.first,
        };
        let mask = |entry: &Mask| MaskedChannels {
            digitizer: entry.digitizer,
            channels: entry.channels.clone(),
            reason: entry.reason.clone(),
        };
        let threshold = |entry: &Threshold| ChannelThreshold {
            digitizer: entry.digitizer,
            channels: entry.channels.clone(),
            adc: entry.adc,
        };
        Ok(MultiBladeSettings {
            format: match self.readout {
                Readout::Records => ReadoutFormat::Records,
                Readout::JadaqOfJune2018 => ReadoutFormat::JadaqOfJune2018,
                Readout::Jadaq1_3 => ReadoutFormat::Jadaq1_3,
            },
            order: match self.order {
                Order::Time => HitOrder::Time,
                Order::Arrival => HitOrder::Arrival,
            },
            time_base: match self.time_base {
                Base::Electronics => TimeBase::Electronics,
                Base::GlobalTime => TimeBase::GlobalTime,
            },
            tick: self.tick.picoseconds,
            raw_ticks: matches!(self.times, Times::Ticks),
            sorting: self.sorting.settings(),
            threshold: self.threshold,
            channel_thresholds: self.channel_threshold.iter().map(threshold).collect(),
            mask: self.mask.iter().map(mask).collect(),
            window: self.window.settings()?,
            maximum: matches!(self.position, Method::Maximum),
            rounding: match self.rounding {
                RoundingName::Nearest => Rounding::Nearest,
                RoundingName::Down => Rounding::Down,
            },
            cassettes: self.cassettes,
            wires: self.wires,
            strips: self.strips,
            mapping: self.mapping.iter().map(mapping).collect(),
            geometry,
        })
    }
}

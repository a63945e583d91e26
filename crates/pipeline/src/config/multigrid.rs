//! The `[multigrid]` section of a configuration file.

use super::sorting::Sorting;
use evforge_core::quantity::Duration;
use evforge_detect::multigrid::MultiGridSettings;
use evforge_detect::multigrid::amplitude::{AmplitudeFilter, Factor, LARGEST_FACTOR};
use evforge_detect::multigrid::settings::{
    BusSettings, CncsSettings, DoubleNeutronRule, EventTime, FilterSettings, MaskSettings, MesytecSettings,
    Ordering, Strategy, TimeSettings,
};
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Readout {
    #[serde(rename = "mesytec")]
    Mesytec,
    #[serde(rename = "cncs-2016")]
    Cncs,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StrategyName {
    Maximum,
    CenterMass,
    Prioritized,
    Centroid,
}

impl StrategyName {
    pub(super) fn settings(self) -> Strategy {
        match self {
            Self::Maximum => Strategy::Maximum,
            Self::CenterMass => Strategy::CenterMass,
            Self::Prioritized => Strategy::Prioritized,
            Self::Centroid => Strategy::Centroid,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TimeName {
    Clock,
    #[serde(rename = "raw-2018")]
    Raw2018,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OrderName {
    Time,
    Arrival,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fate {
    Keep,
    Drop,
}

/// A length of time, or `raw`.
#[derive(Clone, Copy, Debug)]
struct Tick(Option<Duration>);

impl<'de> Deserialize<'de> for Tick {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "raw" {
            return Ok(Self(None));
        }
        text.parse()
            .map(|tick| Self(Some(tick)))
            .map_err(|error| serde::de::Error::custom(format!("{error}, or \"raw\" to leave times in ticks")))
    }
}

/// Rescaling and limits of an amplitude.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Filter {
    min: u16,
    max: u16,
    rescale: f64,
}

impl Default for Filter {
    fn default() -> Self {
        Self { min: 0, max: u16::MAX, rescale: 1.0 }
    }
}

/// A [`Filter`] for one channel.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    idx: u16,
    #[serde(default)]
    min: u16,
    #[serde(default = "Exception::max")]
    max: u16,
    #[serde(default = "Exception::rescale")]
    rescale: f64,
}

impl Exception {
    fn max() -> u16 {
        Filter::default().max
    }
    fn rescale() -> f64 {
        Filter::default().rescale
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Filters {
    blanket: Filter,
    exceptions: Vec<Exception>,
}

impl Filters {
    fn settings(&self, key: &str) -> Result<FilterSettings, SettingsError> {
        let exceptions = self.exceptions.iter().enumerate().map(|(place, exception)| {
            let Exception { idx, min, max, rescale } = *exception;
            Ok((idx, filter(Filter { min, max, rescale }, &format!("{key}.exceptions[{place}]"))?))
        });
        Ok(FilterSettings {
            blanket: filter(self.blanket, &format!("{key}.blanket"))?,
            exceptions: exceptions.collect::<Result<_, _>>()?,
        })
    }
}

fn filter(Filter { min, max, rescale }: Filter, key: &str) -> Result<AmplitudeFilter, SettingsError> {
    match Factor::new(rescale) {
        Some(factor) => Ok(AmplitudeFilter { min, max, factor }),
        None => {
            let problem = format!("{rescale} is not in 0..={LARGEST_FACTOR}");
            SettingsError::refuse(format!("{key}.rescale"), problem)
        }
    }
}

/// `[[multigrid.bus]]`; the names are those of the reference's JSON files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bus {
    max_channel: u16,
    max_wire: u16,
    max_z: u16,
    #[serde(default)]
    swap_wires: bool,
    #[serde(default)]
    swap_grids: bool,
    #[serde(default)]
    flipped_x: bool,
    #[serde(default)]
    flipped_z: bool,
    #[serde(default)]
    wire_filters: Filters,
    #[serde(default)]
    grid_filters: Filters,
}

impl Bus {
    fn settings(&self, number: usize) -> Result<BusSettings, SettingsError> {
        Ok(BusSettings {
            max_channel: self.max_channel,
            max_wire: self.max_wire,
            max_z: self.max_z,
            swap_wires: self.swap_wires,
            swap_grids: self.swap_grids,
            flipped_x: self.flipped_x,
            flipped_z: self.flipped_z,
            wire_filters: self.wire_filters.settings(&format!("bus[{number}].wire_filters"))?,
            grid_filters: self.grid_filters.settings(&format!("bus[{number}].grid_filters"))?,
        })
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DoubleRule {
    threshold: u16,
    #[serde(default = "DoubleRule::separation")]
    separation: u16,
}

impl DoubleRule {
    fn separation() -> u16 {
        2
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mask {
    bus: u8,
    channels: Vec<u16>,
    reason: String,
}

/// `[multigrid.geometry]` of the demonstrator at CNCS.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Geometry {
    #[serde(default = "Geometry::one")]
    panels: u16,
    #[serde(default = "Geometry::one")]
    panel: u16,
    modules: u16,
    grids: u16,
    wires_x: u16,
    wires_z: u16,
}

impl Geometry {
    fn one() -> u16 {
        1
    }
}

/// The whole section. What belongs to one read-out only is optional here and asked for below.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MultiGridSection {
    readout: Readout,
    tick: Tick,
    #[serde(default = "MultiGridSection::time")]
    event_time: TimeName,
    #[serde(default = "MultiGridSection::order")]
    order: OrderName,
    #[serde(default)]
    sorting: Sorting,
    #[serde(default = "MultiGridSection::double_neutrons")]
    double_neutrons: Fate,
    strategy: Option<StrategyName>,
    spoof_high_time: Option<bool>,
    discard_damaged_packets: Option<bool>,
    double_neutron_rule: Option<DoubleRule>,
    bus: Option<Vec<Bus>>,
    mask: Option<Vec<Mask>>,
    wire_threshold: Option<u16>,
    grid_threshold: Option<u16>,
    geometry: Option<Geometry>,
    wire_calibration: Option<Vec<u16>>,
    grid_calibration: Option<Vec<u16>>,
}

impl MultiGridSection {
    fn time() -> TimeName {
        TimeName::Clock
    }
    fn order() -> OrderName {
        OrderName::Time
    }
    fn double_neutrons() -> Fate {
        Fate::Keep
    }

    /// The detector's settings. What is wrong with single values is found by the detector itself.
    pub(super) fn settings(&self) -> Result<MultiGridSettings, SettingsError> {
        self.refuse_keys_of_the_other()?;
        match self.readout {
            Readout::Mesytec => self.mesytec().map(MultiGridSettings::Mesytec),
            Readout::Cncs => self.cncs().map(MultiGridSettings::Cncs),
        }
    }

    fn refuse_keys_of_the_other(&self) -> Result<(), SettingsError> {
        let of_mesytec = [
            ("strategy", self.strategy.is_some()),
            ("spoof_high_time", self.spoof_high_time.is_some()),
            ("discard_damaged_packets", self.discard_damaged_packets.is_some()),
            ("double_neutron_rule", self.double_neutron_rule.is_some()),
            ("bus", self.bus.is_some()),
            ("mask", self.mask.is_some()),
        ];
        let of_cncs = [
            ("wire_threshold", self.wire_threshold.is_some()),
            ("grid_threshold", self.grid_threshold.is_some()),
            ("geometry", self.geometry.is_some()),
            ("wire_calibration", self.wire_calibration.is_some()),
            ("grid_calibration", self.grid_calibration.is_some()),
        ];
        let (other, name): (&[_], _) = match self.readout {
            Readout::Mesytec => (&of_cncs, "cncs-2016"),
            Readout::Cncs => (&of_mesytec, "mesytec"),
        };
        match other.iter().find(|(_, given)| *given) {
            Some((key, _)) => SettingsError::refuse(*key, format!("only with readout = \"{name}\"")),
            None => Ok(()),
        }
    }

    fn time_settings(&self) -> TimeSettings {
        TimeSettings {
            tick: self.tick.0.map(|tick| tick.picoseconds),
            event_time: match self.event_time {
                TimeName::Clock => EventTime::Clock,
                TimeName::Raw2018 => EventTime::Raw2018,
            },
            order: match self.order {
                OrderName::Time => Ordering::Time(self.sorting.settings()),
                OrderName::Arrival => Ordering::Arrival,
            },
        }
    }

    fn mesytec(&self) -> Result<MesytecSettings, SettingsError> {
        let buses = self.bus.iter().flatten().enumerate();
        let mask = self.mask.iter().flatten().flat_map(|mask| {
            let Mask { bus, channels, reason } = mask;
            channels.iter().map(|&channel| MaskSettings { bus: *bus, channel, reason: reason.clone() })
        });
        Ok(MesytecSettings {
            strategy: self.strategy.map_or(Strategy::Maximum, StrategyName::settings),
            time: self.time_settings(),
            spoof_high_time: self.spoof_high_time.unwrap_or(false),
            discard_damaged_packets: self.discard_damaged_packets.unwrap_or(false),
            double_neutrons: self
                .double_neutron_rule
                .map(|DoubleRule { threshold, separation }| DoubleNeutronRule { threshold, separation }),
            drop_double_neutrons: self.double_neutrons == Fate::Drop,
            buses: buses.map(|(number, bus)| bus.settings(number)).collect::<Result<_, _>>()?,
            mask: mask.collect(),
        })
    }

    fn cncs(&self) -> Result<CncsSettings, SettingsError> {
        let Some(Geometry { panels, panel, modules, grids, wires_x, wires_z }) = self.geometry else {
            let problem = "[multigrid.geometry] with modules, grids, wires_x and wires_z is missing";
            return SettingsError::refuse("geometry", problem);
        };
        Ok(CncsSettings {
            time: self.time_settings(),
            wire_threshold: self.wire_threshold.unwrap_or(0),
            grid_threshold: self.grid_threshold.unwrap_or(0),
            drop_double_neutrons: self.double_neutrons == Fate::Drop,
            panels,
            panel,
            modules,
            grids,
            wires_x,
            wires_z,
            wire_calibration: self.wire_calibration.clone().unwrap_or_default(),
            grid_calibration: self.grid_calibration.clone().unwrap_or_default(),
        })
    }
}

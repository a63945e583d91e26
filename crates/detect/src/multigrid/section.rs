//! The section `[multigrid]` as it is written: either readout, with the keys of the other refused.

use super::settings::{
    BusSettings, CncsSettings, DoubleNeutronRule, EventTime, MaskSettings, MesytecSettings,
    MultiGridSettings, Ordering, Strategy, TimeSettings,
};
use crate::settings::{Picoseconds, SettingsError, SortingSettings, continuous, second_of_two};
use evforge_core::quantity::TimeSpan;
use evforge_core::settings::RefusedValue;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The whole section. What belongs to one readout only is optional here and asked for below.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    readout: Readout,
    #[serde(deserialize_with = "tick")]
    tick: Option<Picoseconds>,
    #[serde(default)]
    event_time: EventTime,
    #[serde(default, rename = "order", deserialize_with = "by_arrival")]
    by_arrival: bool,
    #[serde(default = "continuous::default", with = "continuous")]
    sorting: SortingSettings,
    #[serde(default, rename = "double_neutrons", deserialize_with = "drop")]
    drop_double_neutrons: bool,
    strategy: Option<Strategy>,
    spoof_high_time: Option<bool>,
    discard_damaged_packets: Option<bool>,
    double_neutron_rule: Option<DoubleNeutronRule>,
    bus: Option<Vec<BusSettings>>,
    mask: Option<Vec<Mask>>,
    wire_threshold: Option<u16>,
    grid_threshold: Option<u16>,
    geometry: Option<Geometry>,
    wire_calibration: Option<Vec<u16>>,
    grid_calibration: Option<Vec<u16>>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
enum Readout {
    #[serde(rename = "mesytec")]
    Mesytec,
    #[serde(rename = "cncs-2016")]
    Cncs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mask {
    bus: u8,
    channels: Vec<u16>,
    reason: String,
}

/// `[multigrid.geometry]` of the demonstrator at CNCS.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Geometry {
    #[serde(default = "one")]
    panels: u16,
    #[serde(default = "one")]
    panel: u16,
    modules: u16,
    grids: u16,
    wires_x: u16,
    wires_z: u16,
}

fn one() -> u16 {
    1
}

/// A length of time, or `raw`.
fn tick<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Picoseconds>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text == "raw" {
        return Ok(None);
    }
    text.parse::<TimeSpan>()
        .map(|tick| Some(tick.picoseconds))
        .map_err(|error| D::Error::custom(format!("{error}, or \"raw\" to leave times in ticks")))
}

fn by_arrival<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    second_of_two(&["time", "arrival"], deserializer)
}

fn drop<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    second_of_two(&["keep", "drop"], deserializer)
}

impl<'de> Deserialize<'de> for MultiGridSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let section = Section::deserialize(deserializer)?;
        let settings = section.refuse_keys_of_the_other().and_then(|()| match section.readout {
            Readout::Mesytec => Ok(Self::Mesytec(section.mesytec())),
            Readout::Cncs => section.cncs().map(Self::Cncs),
        });
        settings.map_err(|error| D::Error::custom(RefusedValue(error)))
    }
}

impl Section {
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

    fn time(&self) -> TimeSettings {
        let order = if self.by_arrival { Ordering::Arrival } else { Ordering::Time(self.sorting) };
        TimeSettings { tick: self.tick, event_time: self.event_time, order }
    }

    fn mesytec(self) -> MesytecSettings {
        let time = self.time();
        let mask = self.mask.into_iter().flatten().flat_map(|Mask { bus, channels, reason }| {
            channels.into_iter().map(move |channel| MaskSettings { bus, channel, reason: reason.clone() })
        });
        MesytecSettings {
            strategy: self.strategy.unwrap_or_default(),
            time,
            spoof_high_time: self.spoof_high_time.unwrap_or(false),
            discard_damaged_packets: self.discard_damaged_packets.unwrap_or(false),
            double_neutrons: self.double_neutron_rule,
            drop_double_neutrons: self.drop_double_neutrons,
            buses: self.bus.unwrap_or_default(),
            mask: mask.collect(),
        }
    }

    fn cncs(self) -> Result<CncsSettings, SettingsError> {
        let time = self.time();
        let Some(Geometry { panels, panel, modules, grids, wires_x, wires_z }) = self.geometry else {
            let problem = "[multigrid.geometry] with modules, grids, wires_x and wires_z is missing";
            return SettingsError::refuse("geometry", problem);
        };
        Ok(CncsSettings {
            time,
            wire_threshold: self.wire_threshold.unwrap_or(0),
            grid_threshold: self.grid_threshold.unwrap_or(0),
            drop_double_neutrons: self.drop_double_neutrons,
            panels,
            panel,
            modules,
            grids,
            wires_x,
            wires_z,
            wire_calibration: self.wire_calibration.unwrap_or_default(),
            grid_calibration: self.grid_calibration.unwrap_or_default(),
        })
    }
}

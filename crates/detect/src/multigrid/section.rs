//! The section `[multigrid]` as it is written: either readout, with the keys of the other refused.

use super::settings::{
    BusSettings, CncsSettings, DoubleNeutronRule, EventTime, MaskSettings, MesytecSettings,
    MultiGridSettings, Ordering, Strategy, TimeSettings,
};
use crate::settings::{Picoseconds, SettingsError, SortingSettings, continuous, second_of_two};
use evforge_core::quantity::TimeSpan;
use evforge_core::settings::RefusedValue;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The whole section. What belongs to one readout only is optional here and asked for below.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Section {
    /// VMMR modules behind an SIS3153, or the demonstrator at CNCS.
    readout: Readout,
    /// A tick of the electronics' clock (VMMR: 62.5 ns). `"raw"` leaves times in ticks.
    #[serde(deserialize_with = "tick")]
    #[schemars(with = "Tick", extend("x-range" = "above 0, at most 1 ms, or `\"raw\"`"))]
    tick: Option<Picoseconds>,
    /// What times count from: the zero of the clock; or as in 2018 (with `tick = "raw"`, `order = "arrival"`): 32 bits since the last external
    /// trigger (VMMR), the 30 bits of the read-out (CNCS).
    #[serde(default)]
    event_time: EventTime,
    /// Events leave in the order (time, pixel), or as the triggers come.
    #[serde(default, rename = "order", deserialize_with = "by_arrival")]
    #[schemars(with = "String", extend("enum" = ["time", "arrival"], "default" = "time"))]
    by_arrival: bool,
    /// With `order = "time"`; `max_held_hits` counts events. A VMMR clock restarts after 51 days, which is taken for a restart.
    #[serde(default = "continuous::default", with = "continuous")]
    sorting: SortingSettings,
    /// What happens to triggers that are recognised as two neutrons; they are counted in any case (`double_neutrons`).
    #[serde(default, rename = "double_neutrons", deserialize_with = "drop")]
    #[schemars(with = "String", extend("enum" = ["keep", "drop"], "default" = "keep"))]
    drop_double_neutrons: bool,
    /// With `"mesytec"`: how the wires and the grids of a trigger make a position: the largest of each, of equal ones the last; the mean weighted
    /// with the amplitudes; the mean of those that have the largest amplitude. Means are of columns, layers and rows apart, and rounded
    /// down. `"centroid"` is the rule of `[ess_multigrid]`.
    #[schemars(extend("default" = "maximum"))]
    strategy: Option<Strategy>,
    /// With `"mesytec"`: ignore extended time stamps and count the turns of the low 30 bits instead.
    #[schemars(extend("default" = false))]
    spoof_high_time: Option<bool>,
    /// With `"mesytec"`: discard a packet as a whole if the framing of any of its triggers is damaged, as the reference of 2018 does. Otherwise
    /// only damaged triggers are lost.
    #[schemars(extend("default" = false))]
    discard_damaged_packets: Option<bool>,
    /// With `"mesytec"`: two neutrons in one trigger: wires, or grids, of at least this rescaled amplitude lie apart by at least `separation`
    /// columns, layers or rows. Not looked for without this key.
    double_neutron_rule: Option<DoubleNeutronRule>,
    /// With `"mesytec"`: the wiring, bus by bus, with the names of the reference's JSON files.
    #[schemars(length(min = 1, max = 16))]
    bus: Option<Vec<BusSettings>>,
    /// With `"mesytec"`: channels to leave out.
    mask: Option<Vec<Mask>>,
    /// With `"cncs-2016"`: least amplitude of the first wire; a second wire that reaches it means two neutrons.
    #[schemars(range(max = 16383), extend("default" = 0))]
    wire_threshold: Option<u16>,
    /// With `"cncs-2016"`: least amplitude of the grid.
    #[schemars(range(max = 16383), extend("default" = 0))]
    grid_threshold: Option<u16>,
    /// With `"cncs-2016"`: the grid of wires and grids.
    geometry: Option<Geometry>,
    /// With `"cncs-2016"`: number of the wire for position 0, 1, 2 …; further positions are numbers themselves.
    #[schemars(length(max = 16384))]
    wire_calibration: Option<Vec<u16>>,
    /// With `"cncs-2016"`: the same of grids.
    #[schemars(length(max = 16384))]
    grid_calibration: Option<Vec<u16>>,
}

/// A length of time, or `raw`.
enum Tick {}

evforge_core::written_as! {
    Tick: |generator| schemars::json_schema!({ "anyOf": [{ "const": "raw" }, TimeSpan::json_schema(generator)], "x-unit": "time" });
    MultiGridSettings: |generator| Section::json_schema(generator);
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
enum Readout {
    /// VMMR modules behind an SIS3153.
    #[serde(rename = "mesytec")]
    Mesytec,
    /// The demonstrator at CNCS.
    #[serde(rename = "cncs-2016")]
    Cncs,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Mask {
    /// The bus, from 0.
    bus: u8,
    /// Its channels.
    channels: Vec<u16>,
    /// Why.
    reason: String,
}

/// `[multigrid.geometry]` of the demonstrator at CNCS.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Geometry {
    /// Panels of the detector.
    #[serde(default = "one")]
    panels: u16,
    /// The panel that is read here, from 1.
    #[serde(default = "one")]
    panel: u16,
    /// Modules of a panel.
    modules: u16,
    /// Grids of a module.
    grids: u16,
    /// Wires of a module across the beam.
    wires_x: u16,
    /// Wires of a module along the beam.
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

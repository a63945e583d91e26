//! The section `[sonde]` as it is written.

use super::settings::{
    EventSequence, GroupAddress, GroupSettings, MaskSettings, ModuleSettings, SondeSettings, TimeSettings,
};
use crate::settings::{
    FlatGeometry, Picoseconds, SettingsError, SortingSettings, continuous, flat_geometry, second_of_two,
};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::SomeInPicoseconds;
use evforge_core::settings::RefusedValue;
use evforge_wire::sonde::{ASICS, CHANNELS};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::net::IpAddr;

/// The whole section.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Section {
    /// The pixels of the whole detector, below 2^23.
    #[serde(deserialize_with = "flat_geometry")]
    #[schemars(with = "FlatGeometry")]
    geometry: LogicalGeometry,
    /// Times extended to 64 bits by the time in the packets' headers, or the 32 bits as they are.
    #[serde(default = "yes", rename = "clock", deserialize_with = "extended")]
    #[schemars(with = "String", extend("enum" = ["extended", "raw"], "default" = "extended"))]
    extended_clock: bool,
    /// Length of a tick; without it times stay in ticks, and durations of `sorting` count 1 ns for a tick.
    #[serde(default, with = "SomeInPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    tick: Option<Picoseconds>,
    /// Events by time and pixel over all modules, or as they come, which is many times faster. By time needs extended times.
    #[serde(default)]
    order: EventSequence,
    /// Time order, with `order = "time"`.
    #[serde(default = "continuous::default", with = "continuous")]
    sorting: SortingSettings,
    /// Modules of a group: `{ system, x, y }`.
    modules: Vec<ModuleSettings>,
    /// `{ address, x, y }` or `{ port, x, y }`: the address that the packets come from, or the UDP port that they go to; without both there is
    /// one group. At most 4096 modules in all.
    groups: Vec<Group>,
    /// Channels to leave out.
    #[serde(default)]
    mask: Vec<Mask>,
}

evforge_core::written_as! {
    SondeSettings: |generator| Section::json_schema(generator);
}

fn yes() -> bool {
    true
}

fn extended<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    second_of_two(&["raw", "extended"], deserializer)
}

/// A group of modules: those of the section, or its own.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Group {
    /// The address that its packets come from.
    address: Option<IpAddr>,
    /// The UDP port that they go to.
    port: Option<u16>,
    /// Column of its first pixel.
    x: u32,
    /// Row of its first pixel.
    y: u32,
    /// Its modules, in place of those of the section.
    modules: Option<Vec<ModuleSettings>>,
}

/// `[[sonde.mask]]`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Mask {
    /// The group, from 0.
    group: usize,
    /// The system number of the module, if it has one.
    system: Option<u8>,
    /// The ASIC.
    #[schemars(range(max = ASICS - 1))]
    asic: u8,
    /// Its channels.
    #[schemars(inner(range(max = CHANNELS - 1)))]
    channels: Vec<u8>,
    /// Why.
    reason: String,
}

impl<'de> Deserialize<'de> for SondeSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = Section::deserialize(deserializer)?.settings();
        settings.map_err(|error| D::Error::custom(RefusedValue(error)))
    }
}

impl Section {
    fn settings(self) -> Result<SondeSettings, SettingsError> {
        let groups = self.groups.iter().enumerate().map(|(number, group)| self.group(number, group));
        let groups: Vec<_> = groups.collect::<Result<_, _>>()?;
        Ok(SondeSettings {
            geometry: self.geometry,
            mask: self.mask(&groups)?,
            groups,
            time: TimeSettings { extended: self.extended_clock, tick: self.tick },
            sequence: self.order,
            sorting: self.sorting,
        })
    }

    fn group(&self, number: usize, group: &Group) -> Result<GroupSettings, SettingsError> {
        let address = match (group.address, group.port) {
            (None, None) => GroupAddress::Any,
            (Some(address), None) => GroupAddress::Source(address),
            (None, Some(port)) => GroupAddress::Port(port),
            (Some(_), Some(_)) => {
                let problem = "has an address and a port: one of the two tells groups apart";
                return SettingsError::refuse(format!("groups[{number}]"), problem);
            }
        };
        let modules = group.modules.as_ref().unwrap_or(&self.modules).clone();
        Ok(GroupSettings { address, x: group.x, y: group.y, modules })
    }

    /// One entry for each channel.
    fn mask(&self, groups: &[GroupSettings]) -> Result<Vec<MaskSettings>, SettingsError> {
        let mut entries = Vec::new();
        for (number, mask) in self.mask.iter().enumerate() {
            let group = groups.get(mask.group);
            let module =
                group.and_then(|group| group.modules.iter().position(|module| module.system == mask.system));
            let Some(module) = module else {
                let problem = "there is no module with this group (counted from 0) and system";
                return SettingsError::refuse(format!("mask[{number}]"), problem);
            };
            entries.extend(mask.channels.iter().map(|&channel| MaskSettings {
                group: mask.group,
                module,
                asic: mask.asic,
                channel,
                reason: mask.reason.clone(),
            }));
        }
        Ok(entries)
    }
}

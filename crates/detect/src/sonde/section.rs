//! The section `[sonde]` as it is written.

use super::settings::{
    EventSequence, GroupAddress, GroupSettings, MaskSettings, ModuleSettings, SondeSettings, TimeSettings,
};
use crate::settings::{
    Picoseconds, SettingsError, SortingSettings, continuous, flat_geometry, second_of_two,
};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::some_picoseconds;
use evforge_core::settings::RefusedValue;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::net::IpAddr;

/// The whole section.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    #[serde(deserialize_with = "flat_geometry")]
    geometry: LogicalGeometry,
    #[serde(default = "yes", rename = "clock", deserialize_with = "extended")]
    extended_clock: bool,
    #[serde(default, deserialize_with = "some_picoseconds")]
    tick: Option<Picoseconds>,
    #[serde(default)]
    order: EventSequence,
    #[serde(default = "continuous::default", with = "continuous")]
    sorting: SortingSettings,
    modules: Vec<ModuleSettings>,
    groups: Vec<Group>,
    #[serde(default)]
    mask: Vec<Mask>,
}

fn yes() -> bool {
    true
}

fn extended<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    second_of_two(&["raw", "extended"], deserializer)
}

/// A group of modules: those of the section, or its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    address: Option<IpAddr>,
    port: Option<u16>,
    x: u32,
    y: u32,
    modules: Option<Vec<ModuleSettings>>,
}

/// `[[sonde.mask]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mask {
    group: usize,
    system: Option<u8>,
    asic: u8,
    channels: Vec<u8>,
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

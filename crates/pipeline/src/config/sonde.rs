//! The `[sonde]` section of a configuration file.

use super::sorting::Sorting;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::Duration;
use evforge_detect::settings::SettingsError;
use evforge_detect::sonde::settings::{
    EventSequence, GroupAddress, GroupSettings, MaskSettings, ModuleSettings, SondeSettings, TimeSettings,
};
use serde::Deserialize;
use std::net::IpAddr;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Clock {
    Raw,
    Extended,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    Arrival,
    Time,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Geometry {
    nx: u32,
    ny: u32,
}

/// A module in its group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    system: Option<u8>,
    x: u32,
    y: u32,
}

/// A group of modules.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    address: Option<IpAddr>,
    port: Option<u16>,
    x: u32,
    y: u32,
    modules: Option<Vec<Module>>,
}

/// `[[sonde.mask]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mask {
    group: usize,
    system: Option<u8>,
    asic: u8,
    channels: Vec<u8>,
    reason: String,
}

/// The whole section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SondeSection {
    geometry: Geometry,
    #[serde(default = "SondeSection::clock")]
    clock: Clock,
    tick: Option<Duration>,
    #[serde(default = "SondeSection::order")]
    order: Order,
    #[serde(default)]
    sorting: Sorting,
    modules: Vec<Module>,
    groups: Vec<Group>,
    #[serde(default)]
    mask: Vec<Mask>,
}

impl SondeSection {
    fn clock() -> Clock {
        Clock::Extended
    }

    fn order() -> Order {
        Order::Time
    }

    /// The detector's settings. What is wrong with single values is found by the detector itself.
    pub(super) fn settings(&self) -> Result<SondeSettings, SettingsError> {
        let geometry = LogicalGeometry::flat(self.geometry.nx, self.geometry.ny)
            .map_err(|error| SettingsError { key: "geometry".into(), problem: error.to_string() })?;
        let groups: Vec<_> = self
            .groups
            .iter()
            .enumerate()
            .map(|(number, group)| self.group(number, group))
            .collect::<Result<_, _>>()?;
        Ok(SondeSettings {
            geometry,
            mask: self.mask(&groups)?,
            groups,
            time: TimeSettings {
                extended: matches!(self.clock, Clock::Extended),
                tick: self.tick.map(|tick| tick.picoseconds),
            },
            sequence: match self.order {
                Order::Arrival => EventSequence::Arrival,
                Order::Time => EventSequence::Time,
            },
            sorting: self.sorting.settings(),
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
        let modules = group.modules.as_ref().unwrap_or(&self.modules);
        let module = |module: &Module| ModuleSettings { system: module.system, x: module.x, y: module.y };
        Ok(GroupSettings { address, x: group.x, y: group.y, modules: modules.iter().map(module).collect() })
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

#[cfg(test)]
mod tests {
    use super::super::{Config, DetectorSettings};
    use std::path::Path;

    const GOOD: &str = r#"
name = "test"
[sonde]
geometry = { nx = 16, ny = 16 }
modules = [
  { system = 0, x = 0, y = 0 },
  { system = 1, x = 8, y = 0 },
]
groups = [
  { port = 9000, x = 0, y = 0 },
  { port = 9001, x = 0, y = 8, modules = [{ x = 8, y = 0 }] },
]
[[sonde.mask]]
group = 0
system = 1
asic = 3
channels = [0, 15]
reason = "hot"
"#;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("test.toml"), text, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn groups_have_the_common_modules_or_their_own() {
        let config = parse(GOOD).unwrap();
        let DetectorSettings::Sonde(settings) = &config.detector else { panic!("another detector") };
        assert_eq!((settings.module_count(), settings.groups[1].modules[0].system), (3, None));
        assert_eq!((settings.mask.len(), settings.mask[1].module, settings.mask[1].channel), (2, 1, 15));
        assert!(config.build_detector().is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (from, to, expected) in [
            ("port = 9001", "port = 9000", "sonde.groups[1]: has the same address as groups[0]"),
            ("port = 9001", "address = \"10.0.0.1\"", "sonde.groups[1]: all groups are told apart by"),
            ("port = 9001, ", "", "sonde.groups[1]: all groups are told apart by"),
            ("port = 9001", "port = 1, address = \"10.0.0.1\"", "has an address and a port"),
            ("x = 0, y = 8", "x = 0, y = 9", "sonde.groups[1]: one of its modules lies outside"),
            (
                "x = 0, y = 8",
                "x = 0, y = 7",
                "sonde.groups[1]: one of its modules lies over one of groups[0]",
            ),
            ("system = 0, x", "system = 1, x", "sonde.groups[0]: two of its modules have the same system"),
            ("system = 0, x", "system = 32, x", "sonde.groups[0]: system numbers lie in 0..=31"),
            ("system = 0, x", "x", "sonde.groups[0]: a module without a system number"),
            ("system = 1\n", "system = 2\n", "sonde.mask[0]: there is no module with this group"),
            ("[0, 15]", "[0, 16]", "sonde.mask[1]: there is no such channel"),
            ("[sonde]\n", "[sonde]\nclock = \"raw\"\n", "sonde.clock: times of 32 bits"),
            ("[sonde]\n", "[sonde]\ntick = \"0ns\"\n", "sonde.tick: must lie above 0"),
            ("nx = 16", "nx = 1000000", "sonde.geometry: 16000000 pixels are too many"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let error = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(expected), "{error}\n  expected {expected}");
        }
    }
}

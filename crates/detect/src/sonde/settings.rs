//! Everything that can be configured of a SoNDe detector. Durations are in picoseconds.

use super::digital_geometry::{MODULE_SIDE, pixel_table};
use crate::hit::PAYLOAD_LIMIT;
use crate::settings::{Picoseconds, SettingsError, SortingSettings};
use crate::tick::TickLength;
use evforge_core::geometry::LogicalGeometry;
use evforge_wire::sonde::{ASICS, CHANNELS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// System numbers run below this.
pub const SYSTEMS: usize = 32;

/// Modules that a detector can have.
pub const MOST_MODULES: usize = 4096;

/// How the packets of a group are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAddress {
    /// All packets are of this group, which is the only one.
    Any,
    /// By the address that sent them.
    Source(IpAddr),
    /// By the UDP port that they were sent to.
    Port(u16),
}

/// A module in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModuleSettings {
    /// System number in its packets. Without it the module is the only one of its group, whatever the number is.
    #[schemars(range(max = SYSTEMS - 1))]
    pub system: Option<u8>,
    /// Column of its first pixel, counted from that of the group.
    pub x: u32,
    /// Row of its first pixel, counted from that of the group.
    pub y: u32,
}

/// Modules that send together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// How its packets are recognised.
    pub address: GroupAddress,
    /// Column of its first pixel.
    pub x: u32,
    /// Row of its first pixel.
    pub y: u32,
    /// Its modules.
    pub modules: Vec<ModuleSettings>,
}

/// What becomes of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSettings {
    /// Extends the 32 bits of a time to 64 by following the time of the packets' headers.
    pub extended: bool,
    /// Length of a tick of the boards; none to leave times in ticks.
    pub tick: Option<Picoseconds>,
}

/// In which order events leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EventSequence {
    /// As the readouts come.
    Arrival,
    #[default]
    /// By time, then by pixel, over all modules.
    Time,
}

/// A channel that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskSettings {
    /// The group, counted from 0 in the order of the settings.
    pub group: usize,
    /// The module, counted from 0 within its group.
    pub module: usize,
    /// The ASIC, 0..=3.
    pub asic: u8,
    /// The channel, 0..=15.
    pub channel: u8,
    /// Why it is left out.
    pub reason: String,
}

/// The settings of a SoNDe detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SondeSettings {
    /// The pixels of the whole detector.
    pub geometry: LogicalGeometry,
    /// The groups of modules.
    pub groups: Vec<GroupSettings>,
    /// What becomes of times.
    pub time: TimeSettings,
    /// In which order events leave.
    pub sequence: EventSequence,
    /// How events are put into order.
    pub sorting: SortingSettings,
    /// Channels that are left out.
    pub mask: Vec<MaskSettings>,
}

impl SondeSettings {
    /// Checks the settings, alone and with one another.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.geometry.pixel_count() >= PAYLOAD_LIMIT {
            let problem = format!("{} pixels are too many: at most 2^23 - 1", self.geometry.pixel_count());
            return SettingsError::refuse("geometry", problem);
        }
        self.tick_length()?;
        if self.sequence == EventSequence::Time && !self.time.extended {
            let problem = "times of 32 bits, which start over, have no order: take \"extended\", or the order \
                           \"arrival\"";
            return SettingsError::refuse("clock", problem);
        }
        self.sorting.check()?;
        self.check_addresses()?;
        self.check_modules()?;
        self.check_overlaps()?;
        self.check_mask()
    }

    /// The length of a tick.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn tick_length(&self) -> Result<TickLength, SettingsError> {
        self.time.tick.map_or(Ok(TickLength::RAW), |tick| TickLength::of(tick, "tick"))
    }

    /// Number of modules in all groups.
    pub fn module_count(&self) -> usize {
        self.groups.iter().map(|group| group.modules.len()).sum()
    }

    fn check_addresses(&self) -> Result<(), SettingsError> {
        let Some(first) = self.groups.first() else {
            return SettingsError::refuse("groups", "a detector has at least one group of modules");
        };
        let kind = std::mem::discriminant(&first.address);
        let mut seen = Vec::with_capacity(self.groups.len());
        for (number, group) in self.groups.iter().enumerate() {
            let key = format!("groups[{number}]");
            if std::mem::discriminant(&group.address) != kind {
                let problem = "all groups are told apart by their address, or all by their port";
                return SettingsError::refuse(key, problem);
            }
            if group.address == GroupAddress::Any && self.groups.len() > 1 {
                return SettingsError::refuse(key, "needs an address or a port: there are several groups");
            }
            let (rank, address, port) = match group.address {
                GroupAddress::Any => (0, None, 0),
                GroupAddress::Source(address) => (1, Some(address), 0),
                GroupAddress::Port(port) => (2, None, port),
            };
            seen.push((rank, address, port, number));
        }
        seen.sort_unstable();
        for pair in seen.windows(2) {
            if let [first, second] = pair
                && (first.0, first.1, first.2) == (second.0, second.1, second.2)
            {
                let problem = format!("has the same address as groups[{}]", first.3);
                return SettingsError::refuse(format!("groups[{}]", second.3), problem);
            }
        }
        Ok(())
    }

    fn check_modules(&self) -> Result<(), SettingsError> {
        if self.module_count() > MOST_MODULES {
            let problem = format!("{} modules are too many: at most {MOST_MODULES}", self.module_count());
            return SettingsError::refuse("groups", problem);
        }
        for (number, group) in self.groups.iter().enumerate() {
            let refuse =
                |problem: &str| SettingsError::refuse(format!("groups[{number}]"), problem.to_owned());
            let mut systems = [false; SYSTEMS];
            if group.modules.is_empty() {
                return refuse("has no modules");
            }
            for module in &group.modules {
                match module.system {
                    None if group.modules.len() > 1 => {
                        return refuse("a module without a system number must be the only one of its group");
                    }
                    None => {}
                    Some(system) => match systems.get_mut(usize::from(system)) {
                        None => return refuse("system numbers lie in 0..=31"),
                        Some(true) => return refuse("two of its modules have the same system number"),
                        Some(seen) => *seen = true,
                    },
                }
                let fits = |first: u32, second: u32, side: u32| {
                    u64::from(first) + u64::from(second) + u64::from(MODULE_SIDE) <= u64::from(side)
                };
                if !fits(group.x, module.x, self.geometry.nx())
                    || !fits(group.y, module.y, self.geometry.ny())
                {
                    return refuse("one of its modules lies outside of the geometry");
                }
            }
        }
        Ok(())
    }

    /// No two modules may have a pixel in common.
    fn check_overlaps(&self) -> Result<(), SettingsError> {
        let mut pixels = Vec::with_capacity(self.module_count() * 64);
        for (number, group) in self.groups.iter().enumerate() {
            for module in &group.modules {
                let table = pixel_table(&self.geometry, group.x + module.x, group.y + module.y);
                pixels.extend(table.into_iter().filter(|&pixel| pixel > 0).map(|pixel| (pixel, number)));
            }
        }
        pixels.sort_unstable();
        for pair in pixels.windows(2) {
            if let [(pixel, first), (other, second)] = pair
                && pixel == other
            {
                let problem = format!("one of its modules lies over one of groups[{first}]");
                return SettingsError::refuse(format!("groups[{second}]"), problem);
            }
        }
        Ok(())
    }

    fn check_mask(&self) -> Result<(), SettingsError> {
        for (number, entry) in self.mask.iter().enumerate() {
            let known = self.groups.get(entry.group).is_some_and(|group| entry.module < group.modules.len());
            if !known || usize::from(entry.asic) >= ASICS || usize::from(entry.channel) >= CHANNELS {
                let problem = "there is no such channel: ASICs lie in 0..=3, channels in 0..=15";
                return SettingsError::refuse(format!("mask[{number}]"), problem);
            }
        }
        Ok(())
    }
}

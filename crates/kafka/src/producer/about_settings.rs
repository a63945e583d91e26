//! What can be said of histograms of beam monitors and of raw packets.

use evforge_core::quantity::ByteSize;
use evforge_core::settings::{RefusedValue, SettingsError};
use evforge_outputs::packet_tap::SampleRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schemas of histograms of beam monitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MonitorSchemas {
    /// They are not sent.
    None,
    /// da00: what was counted since the message before.
    #[default]
    Da00,
    /// hs01: what was counted since the start of the run.
    Hs01,
    /// Both.
    Both,
}

impl MonitorSchemas {
    pub(super) fn has_da00(self) -> bool {
        matches!(self, Self::Da00 | Self::Both)
    }

    pub(super) fn has_hs01(self) -> bool {
        matches!(self, Self::Hs01 | Self::Both)
    }
}

/// Raw packets: of `every` packets of a stream the first `consecutive` ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "RawPacketsTable")]
#[schemars(with = "RawPacketsTable")]
pub struct RawPackets {
    pub(super) rule: SampleRule,
    /// Packets that wait take this much at most.
    pub(super) memory: ByteSize,
    /// All packets are sent, and no events are formed.
    pub(super) calibration: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawPacketsTable {
    /// Of this many packets of a stream …
    #[serde(default = "one")]
    every: u64,
    /// … this many are sent, the first ones.
    #[serde(default = "one")]
    consecutive: u64,
    /// Packets that wait take this much at most.
    #[serde(default = "default_memory")]
    memory: ByteSize,
    /// All packets are sent, and no events are formed.
    #[serde(default)]
    calibration: bool,
}

fn one() -> u64 {
    1
}

fn default_memory() -> ByteSize {
    ByteSize { bytes: 16_000_000 }
}

impl TryFrom<RawPacketsTable> for RawPackets {
    type Error = RefusedValue;

    fn try_from(table: RawPacketsTable) -> Result<Self, RefusedValue> {
        let RawPacketsTable { every, consecutive, memory, calibration } = table;
        match SampleRule::new(every, consecutive) {
            Ok(rule) if !calibration || rule.is_all() => Ok(Self { rule, memory, calibration }),
            Ok(_) => Ok(SettingsError::refuse(
                "calibration",
                "sends all packets: leave out `every` and `consecutive`",
            )?),
            Err(problem) => Ok(SettingsError::refuse("every", problem)?),
        }
    }
}

//! The electronics of a Gd-GEM as configured: the format of its packets, and its clocks.

use crate::settings::Picoseconds;
use evforge_core::quantity::InPicoseconds;
use schemars::JsonSchema;
use serde::Deserialize;

/// Chips that a FEC has.
pub(super) const CHIPS: usize = 16;

/// Format of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize, Deserialize, JsonSchema)]
pub enum ReadoutFormat {
    /// SRS with VMM2.
    #[serde(rename = "vmm2")]
    Vmm2,
    /// SRS with VMM3 in the layout of 2018.
    #[serde(rename = "vmm3-2018")]
    Vmm3Of2018,
    /// SRS with VMM3a.
    #[serde(rename = "vmm3a")]
    Vmm3a,
    /// SRS with VMM3a in triggered mode.
    #[serde(rename = "vmm3a-triggered")]
    Vmm3aTriggered,
}

impl ReadoutFormat {
    /// True for the two modes of VMM3a.
    pub fn is_vmm3a(self) -> bool {
        matches!(self, Self::Vmm3a | Self::Vmm3aTriggered)
    }
}

/// How a readout's fields make its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum TimeConvention {
    /// The EFU of 2018 (section 4.4): trigger time + unsigned offset × 4095 crossings + crossing + TDC.
    #[serde(rename = "trigger-period-2018")]
    TriggerPeriod2018,
    /// The current one (section 4.3): marker + signed offset × 4096 crossings + crossing + 1.5 crossings − TDC.
    #[serde(rename = "signed-offset")]
    SignedOffset,
}

/// The clocks of the electronics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeSettings {
    /// How the fields of a readout make its time; see below.
    pub convention: TimeConvention,
    /// Period of the bunch-crossing clock. VMM3a at 44.4 MHz: 22.5 ns. 2018: 50 ns.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    pub bunch_crossing: Picoseconds,
    /// Time that the 255 steps of the TDC span.
    #[serde(default = "TimeSettings::tac_range", with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    pub tac_range: Picoseconds,
    /// Tick of a time marker (VMM3, VMM3a). VMM3a: 22.5 ns.
    #[serde(default = "TimeSettings::marker_tick", with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    pub marker_tick: Picoseconds,
    /// Tick of the trigger stamp (VMM2).
    #[serde(default = "TimeSettings::trigger_tick", with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    pub trigger_tick: Picoseconds,
}

impl TimeSettings {
    fn tac_range() -> Picoseconds {
        60_000
    }

    fn marker_tick() -> Picoseconds {
        25_000
    }

    fn trigger_tick() -> Picoseconds {
        3_125
    }
}

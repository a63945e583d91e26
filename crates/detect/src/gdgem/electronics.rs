//! The electronics of a Gd-GEM as configured: the format of its packets, and its clocks.

use crate::settings::Picoseconds;
use evforge_core::quantity::picoseconds;
use serde::Deserialize;

/// Chips that a FEC has.
pub(super) const CHIPS: usize = 16;

/// Format of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ReadoutFormat {
    /// VMM2 (section 4.1).
    #[serde(rename = "vmm2")]
    Vmm2,
    /// VMM3 in the layout of 2018 (section 4.2).
    #[serde(rename = "vmm3-2018")]
    Vmm3Of2018,
    /// VMM3a (section 4.3).
    #[serde(rename = "vmm3a")]
    Vmm3a,
    /// VMM3a in triggered mode (section 4.3, "TRG").
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TimeConvention {
    /// The EFU of 2018 (section 4.4): trigger time + unsigned offset × 4095 crossings + crossing + TDC.
    #[serde(rename = "trigger-period-2018")]
    TriggerPeriod2018,
    /// The current one (section 4.3): marker + signed offset × 4096 crossings + crossing + 1.5 crossings − TDC.
    #[serde(rename = "signed-offset")]
    SignedOffset,
}

/// The clocks of the electronics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeSettings {
    /// How the fields are combined.
    pub convention: TimeConvention,
    /// Period of the bunch-crossing clock: 50 ns (2018), 22.5 ns (VMM3a).
    #[serde(deserialize_with = "picoseconds")]
    pub bunch_crossing: Picoseconds,
    /// Time that the 255 steps of the TDC span: 60 ns.
    #[serde(default = "TimeSettings::tac_range", deserialize_with = "picoseconds")]
    pub tac_range: Picoseconds,
    /// Tick of a VMM3 or VMM3a time marker: 25 ns (2018), 22.5 ns.
    #[serde(default = "TimeSettings::marker_tick", deserialize_with = "picoseconds")]
    pub marker_tick: Picoseconds,
    /// Tick of the VMM2 trigger stamp: 3.125 ns.
    #[serde(default = "TimeSettings::trigger_tick", deserialize_with = "picoseconds")]
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

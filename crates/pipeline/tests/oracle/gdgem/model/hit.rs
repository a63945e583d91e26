//! Hits before and after the ordering by time.

use super::settings::{Plane, Ticks};

/// A readout with its place in the detector and its time (EFU formats of 2018, sections 4.4 and 4.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Number of the FEC whose clock measured the time.
    pub(crate) source: u16,
    /// Number of the packet that carried the readout, counted over the whole input.
    pub(crate) packet: usize,
    /// How often the clock of the source has restarted before this hit (rule `source_clocks`; 0 without it).
    pub(crate) epoch: u64,
    /// The plane of the strip.
    pub(crate) plane: Plane,
    /// The strip, counted over the plane.
    pub(crate) strip: u32,
    /// Charge in ADC counts.
    pub(crate) adc: u16,
    /// Time of the trigger that the hit belongs to, in ticks.
    pub(crate) trigger_time: Ticks,
    /// Time of the hit since that trigger, in ticks.
    pub(crate) chip_time: Ticks,
}

impl Hit {
    /// Absolute time in ticks.
    pub(crate) fn time(&self) -> Ticks {
        self.trigger_time + self.chip_time
    }

    /// This hit as clusters see it, with the given time in ticks.
    pub(crate) fn at(&self, time: Ticks) -> PlaneHit {
        PlaneHit { epoch: self.epoch, time, strip: self.strip, adc: self.adc }
    }
}

/// What clusters know of a hit; its plane is that of the list it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlaneHit {
    /// Epoch of the source's clock.
    pub(crate) epoch: u64,
    /// Time in ticks: absolute, except inside the trigger buffers.
    pub(crate) time: Ticks,
    /// The strip, counted over the plane.
    pub(crate) strip: u32,
    /// Charge in ADC counts.
    pub(crate) adc: u16,
}

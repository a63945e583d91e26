//! What an operator configures: format, arithmetic, mapping, clustering, matching, filters and geometry.
//!
//! EFU formats of 2018, sections 4.1 to 4.6.

use std::collections::BTreeMap;

/// A time or a time difference in ticks; [`Arithmetic::ticks_per_ns`] ticks are one nanosecond.
///
/// 128 bits hold any time that the extended clocks can produce, so the model never has to think about
/// overflow.
pub(crate) type Ticks = i128;

/// One of the two strip planes of the detector (section 4.5).
///
/// The reference knows further plane numbers, which never reach an event; none of the captures uses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plane {
    /// Plane 0: the strips measure x.
    X,
    /// Plane 1: the strips measure y.
    Y,
}

/// One value for each plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerPlane<T> {
    /// The value of the x plane.
    pub(crate) x: T,
    /// The value of the y plane.
    pub(crate) y: T,
}

impl<T> PerPlane<T> {
    /// The value of `plane`, to be read.
    pub(crate) fn get(&self, plane: Plane) -> &T {
        match plane {
            Plane::X => &self.x,
            Plane::Y => &self.y,
        }
    }

    /// The value of `plane`, to be changed.
    pub(crate) fn of(&mut self, plane: Plane) -> &mut T {
        match plane {
            Plane::X => &mut self.x,
            Plane::Y => &mut self.y,
        }
    }
}

/// The layout of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// VMM2: one chip and one trigger time per packet, 8-byte hits (section 4.1).
    Vmm2,
    /// VMM3 and VMM3a: one FEC per packet, 6-byte hits and time markers (sections 4.2 and 4.3).
    Vmm3,
}

/// How the fields of a VMM3 packet are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convention {
    /// As the EFU of 2018: FEC number = low byte of the data id + 1; unsigned trigger offset (section 4.2).
    Efu2018,
    /// As the front end means it: FEC number in bits 7..4 of the data id; signed trigger offset; markers of
    /// VMM 16 and above belong to the triggered mode and are ignored (section 4.3).
    Vmm3aPhysical,
}

/// The periods of the clocks, all in ticks (section 4.4; section 4.3 for the VMM3a).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arithmetic {
    /// Ticks in one nanosecond.
    pub(crate) ticks_per_ns: Ticks,
    /// Unit of the VMM2 trigger time stamp; the reference scales VMM3 trigger times (in ns) with it as well.
    pub(crate) trigger_resolution: Ticks,
    /// Unit of a VMM3 time marker.
    pub(crate) marker_period: Ticks,
    /// Unit of the trigger offset of a VMM3 hit.
    pub(crate) offset_period: Ticks,
    /// Unit of the bunch crossing counter of a hit.
    pub(crate) bunch_crossing: Ticks,
    /// What one count of the time-to-digital converter adds to the chip time; negative if it subtracts.
    pub(crate) tdc_step: Ticks,
    /// Constant part of the chip time.
    pub(crate) chip_time_constant: Ticks,
    /// Longest distance of two subsequent triggers (reference only, section 4.6).
    pub(crate) trigger_period: Ticks,
    /// Hits with a chip time below this go to the "new" trigger buffer (reference only, section 4.6).
    pub(crate) chip_time_window: Ticks,
}

/// Where the channels of one chip are in the detector (section 4.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChipMapping {
    /// Number of the FEC that the chip is connected to.
    pub(crate) fec: u16,
    /// Number of the VMM on that FEC.
    pub(crate) vmm: u8,
    /// The plane that its channels read.
    pub(crate) plane: Plane,
    /// Strip of its channel 0.
    pub(crate) strip_offset: u32,
}

/// Parameters of hit selection and clustering in one plane (section 4.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clusterer {
    /// A hit below this charge (ADC counts) is dropped unless it is flagged as over threshold.
    pub(crate) hit_adc_threshold: u16,
    /// Longest time between neighbouring hits of a cluster, in ticks.
    pub(crate) maximum_time_gap: Ticks,
    /// Largest number of missing strips between neighbouring hits of a cluster.
    pub(crate) maximum_strip_gap: u32,
    /// Smallest number of hits of a cluster.
    pub(crate) minimum_cluster_size: usize,
}

/// Calibration of one channel in millionths: of ADC counts, of a nanosecond, and of one (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calibration {
    /// Taken from the amplitude.
    pub(crate) adc_offset: i128,
    /// Then multiplied with it.
    pub(crate) adc_slope: i128,
    /// Taken from the fine time.
    pub(crate) time_offset: i128,
    /// Then multiplied with it.
    pub(crate) time_slope: i128,
}

/// All settings of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The layout of the packets.
    pub(crate) format: Format,
    /// Upper three bytes of the data id that packets must carry, in place (low byte 0).
    pub(crate) data_id: u32,
    /// How the fields are to be read.
    pub(crate) convention: Convention,
    /// The periods of the clocks.
    pub(crate) arithmetic: Arithmetic,
    /// The chips that belong to the detector; readouts of others are unmapped.
    pub(crate) mapping: Vec<ChipMapping>,
    /// Calibrated channels by FEC, VMM and channel.
    pub(crate) calibration: BTreeMap<(u16, u8, u8), Calibration>,
    /// Hit selection and clustering.
    pub(crate) clusterers: PerPlane<Clusterer>,
    /// Largest difference of the end times of clusters in one event, in ticks (section 4.6).
    pub(crate) matcher_maximum_delta_time: Ticks,
    /// True for a centre weighted with the charge, false for the plain mean of the strips (section 4.6).
    pub(crate) weighted_centre: bool,
    /// Number of distinct hit times, counted from the last, that the upper uncertainty spans (section 4.6).
    pub(crate) maximum_time_bins: usize,
    /// If set, both planes must have a lower uncertainty (strips) below this (section 4.6).
    pub(crate) lower_uncertainty_limit: Option<u32>,
    /// If set, both planes must have an upper uncertainty (strips) below this (ours; not in the reference).
    pub(crate) upper_uncertainty_limit: Option<u32>,
    /// If set, both planes must have at least this many hits (section 4.6).
    pub(crate) minimum_hits: Option<usize>,
    /// Number of pixels in x (section 6).
    pub(crate) geometry_x: u64,
    /// Number of pixels in y (section 6).
    pub(crate) geometry_y: u64,
    /// How far a hit may be behind the front of its clock line, in ticks (rule `source_clocks`).
    pub(crate) line_window: Ticks,
    /// How far a hit may be ahead of the front without a confirmation, in ticks (same rule).
    pub(crate) line_leap: Ticks,
    /// How far behind the front a confirmed hit means that the clock has restarted, in ticks (same rule).
    pub(crate) line_restart: Ticks,
}

impl Settings {
    /// Plane and strip offset of a chip, if the detector has it.
    pub(crate) fn chip(&self, fec: u16, vmm: u8) -> Option<&ChipMapping> {
        self.mapping.iter().find(|chip| chip.fec == fec && chip.vmm == vmm)
    }
}

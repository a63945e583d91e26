//! Settings that all detectors of the ESS readout share.

use super::ticks;
use crate::calibration::{ChannelCalibration, Line};
use crate::settings::{Picoseconds, SettingsError, SortingSettings};
use crate::threshold_steps::{ThresholdClass, ThresholdSetting};
use evforge_core::settings::RefusedValue;
use evforge_wire::ess::{HeaderRules, OUTPUT_QUEUES, RecordRules};
use schemars::JsonSchema;
use serde::Deserialize;

/// Rings that a fibre number can name.
pub const RINGS: u8 = 12;
/// FENs that a ring can have.
pub const FENS: u8 = 24;
/// Hybrids that a FEN can have, two VMMs each.
pub const HYBRIDS: u8 = 8;
/// Channels of a hybrid.
pub const HYBRID_CHANNELS: usize = 128;

/// Header, pulses and order: the table `[ess]`. The default is no detector's, and is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EssSettings {
    /// What a header must be, and which rules are relaxed.
    pub header: HeaderRules,
    /// What a record must be.
    pub records: RecordRules,
    /// An output queue that is accepted although there is none of this number, where that rule is relaxed.
    pub odd_output_queue: Option<u8>,
    /// Output queues that are known to send: time waits for them from the beginning. Others count from their first
    /// packet on.
    pub output_queues: Vec<u8>,
    /// An event further after its pulse than this has no time of flight.
    pub max_time_of_flight: Picoseconds,
    /// Period of the source, to tell irregular pulses; 0 if it has none. Without it, it is found from the pulses.
    pub pulse_period: Option<Picoseconds>,
    /// Time order.
    pub sorting: SortingSettings,
}

/// Longest time of flight that fits the files: 31 bits of nanoseconds.
const LONGEST_TIME_OF_FLIGHT: Picoseconds = i32::MAX as u64 * 1000;

/// Clocks that times can be counted by, in ticks per second.
const CLOCKS: std::ops::RangeInclusive<u32> = 1_000_000..=1_000_000_000;

impl EssSettings {
    /// Checks the settings; keys begin with `ess.`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        let queues = 0..OUTPUT_QUEUES as u8;
        if let Some(queue) = self.output_queues.iter().find(|queue| !queues.contains(queue)) {
            let problem = format!("{queue} is not in 0..={}", OUTPUT_QUEUES - 1);
            return SettingsError::refuse("ess.output_queues", problem);
        }
        if self.max_time_of_flight == 0 || self.max_time_of_flight > LONGEST_TIME_OF_FLIGHT {
            let problem = "must lie above 0 and at most at 2147483647ns, which is what files can hold";
            return SettingsError::refuse("ess.max_time_of_flight", problem);
        }
        if self.header.max_pulse_distance == 0 {
            return SettingsError::refuse("ess.max_pulse_distance", "must lie above 0");
        }
        let clock = self.header.clock;
        if !CLOCKS.contains(&clock.ticks_per_second) {
            let problem = "must lie between 1MHz and 1GHz: it counts the ticks of all times";
            return SettingsError::refuse("ess.clock", problem);
        }
        if clock.largest_tick < clock.ticks_per_second / 2 || clock.largest_tick > 2 * clock.ticks_per_second
        {
            let problem = format!(
                "{} is not near the {} ticks that a second has (ess.clock)",
                clock.largest_tick, clock.ticks_per_second
            );
            return SettingsError::refuse("ess.max_fraction", problem);
        }
        if self.header.monitor_type == Some(self.header.detector_type) {
            let problem = format!(
                "0x{:02X} is the type of the detector, too: packets are told apart by their type",
                self.header.detector_type
            );
            return SettingsError::refuse("ess_beam_monitors.type", problem);
        }
        if ticks::in_duration(self.pulse_period.unwrap_or(0)) > ticks::in_duration(LONGEST_TIME_OF_FLIGHT) {
            return SettingsError::refuse("ess.pulse_period", "must be at most 2147483647ns");
        }
        let in_ess = |error: SettingsError| SettingsError { key: format!("ess.{}", error.key), ..error };
        self.sorting.check_decimated().map_err(in_ess)
    }

    /// Two with beam monitors alongside the detector, else one.
    pub fn kinds_of_packets(&self) -> usize {
        1 + usize::from(self.header.monitor_type.is_some())
    }
}

/// What a channel is to be on the detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceRequest {
    /// What the former knows as a plane: of strips, or a module with its planes; see
    /// [`HitFormer`](super::HitFormer).
    pub target: u16,
    /// 0 or 1: the plane in the module.
    pub plane: u8,
    /// Wire, grid or strip.
    pub coordinate: u16,
    /// Least amplitude.
    pub threshold: u16,
    /// Which of the thresholds of [`VmmSettings::thresholds`] that is.
    pub threshold_class: ThresholdClass,
}

/// A hybrid: two VMMs with 64 channels each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HybridSettings {
    /// The ring, below [`RINGS`]: half the fibre number.
    pub ring: u8,
    /// The FEN, below [`FENS`].
    pub fen: u8,
    /// The hybrid on its FEN, below [`HYBRIDS`].
    pub hybrid: u8,
    /// What its channels are: first the 64 of the even VMM, then those of the odd one. None where nothing is
    /// wired. There are [`HYBRID_CHANNELS`].
    pub channels: Vec<Option<PlaceRequest>>,
    /// Calibrations of the channels in the same order, or none at all.
    pub calibration: Vec<ChannelCalibration>,
}

/// Straight lines for the 64 channels of a VMM.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "CalibrationTable")]
#[schemars(with = "CalibrationTable")]
pub struct CalibratedVmm {
    /// The ring.
    pub ring: u8,
    /// The FEN.
    pub fen: u8,
    /// The VMM on its FEN: twice the hybrid, one more for its odd VMM.
    pub vmm: u8,
    /// A line for each channel.
    pub lines: Vec<ChannelCalibration>,
}

/// `[[….calibration]]` as it is written: *(value − offset) × slope* of each channel. A list that is left out changes
/// nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CalibrationTable {
    /// The ring.
    #[schemars(range(max = RINGS - 1))]
    ring: u8,
    /// The FEN.
    #[schemars(range(max = FENS - 1))]
    fen: u8,
    /// The VMM on its FEN: twice the hybrid, and one more for its odd VMM.
    #[schemars(range(max = 2 * HYBRIDS - 1))]
    vmm: u8,
    /// Taken off the amplitude: a number for each channel.
    #[serde(default)]
    #[schemars(length(max = CHANNELS))]
    adc_offset: Vec<f64>,
    /// What is left of the amplitude is multiplied with it.
    #[serde(default)]
    #[schemars(length(max = CHANNELS))]
    adc_slope: Vec<f64>,
    /// Taken off the fine time, in nanoseconds.
    #[serde(default)]
    #[schemars(length(max = CHANNELS))]
    tdc_offset: Vec<f64>,
    /// What is left of the fine time is multiplied with it.
    #[serde(default)]
    #[schemars(length(max = CHANNELS))]
    tdc_slope: Vec<f64>,
}

/// Channels of a VMM.
const CHANNELS: usize = HYBRID_CHANNELS / 2;

impl TryFrom<CalibrationTable> for CalibratedVmm {
    type Error = RefusedValue;

    fn try_from(table: CalibrationTable) -> Result<Self, RefusedValue> {
        for (name, list) in [
            ("adc_offset", &table.adc_offset),
            ("adc_slope", &table.adc_slope),
            ("tdc_offset", &table.tdc_offset),
            ("tdc_slope", &table.tdc_slope),
        ] {
            if !matches!(list.len(), 0 | CHANNELS) {
                let problem =
                    format!("has {} numbers, expected {CHANNELS}, one for each channel", list.len());
                return Ok(SettingsError::refuse(name, problem)?);
            }
        }
        let line = |offsets: &[f64], slopes: &[f64], channel: usize| {
            let (offset, slope) = (offsets.get(channel), slopes.get(channel));
            Line::new(offset.copied().unwrap_or(0.0), slope.copied().unwrap_or(1.0))
                .map_err(|error| RefusedValue::new(format!("channel {channel}: {error}")))
        };
        let lines = (0..CHANNELS).map(|channel| {
            Ok(ChannelCalibration {
                amplitude: line(&table.adc_offset, &table.adc_slope, channel)?,
                time: line(&table.tdc_offset, &table.tdc_slope, channel)?,
            })
        });
        let lines = lines.collect::<Result<_, RefusedValue>>()?;
        Ok(Self { ring: table.ring, fen: table.fen, vmm: table.vmm, lines })
    }
}

impl CalibratedVmm {
    /// Gives the hybrids their calibrations; channels of other VMMs stay as they are. Keys are `calibration[n].vmm`.
    ///
    /// # Errors
    /// If a VMM belongs to no hybrid.
    pub fn apply(calibrations: &[Self], hybrids: &mut [HybridSettings]) -> Result<(), SettingsError> {
        for (index, entry) in calibrations.iter().enumerate() {
            let place = (entry.ring, entry.fen, entry.vmm / 2);
            let has_place = |other: &&mut HybridSettings| (other.ring, other.fen, other.hybrid) == place;
            let Some(hybrid) = hybrids.iter_mut().find(has_place) else {
                let problem = format!(
                    "VMM {} of ring {}, FEN {} belongs to no configured hybrid",
                    entry.vmm, entry.ring, entry.fen
                );
                return SettingsError::refuse(format!("calibration[{index}].vmm"), problem);
            };
            hybrid.calibration.resize(HYBRID_CHANNELS, ChannelCalibration::IDENTITY);
            let first = usize::from(entry.vmm % 2) * HYBRID_CHANNELS / 2;
            for (line, own) in hybrid.calibration.iter_mut().skip(first).zip(&entry.lines) {
                *line = *own;
            }
        }
        Ok(())
    }
}

/// Channels to leave out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaskedVmmChannels {
    /// The ring.
    #[schemars(range(max = RINGS - 1))]
    pub ring: u8,
    /// The FEN.
    #[schemars(range(max = FENS - 1))]
    pub fen: u8,
    /// The VMM on its FEN: twice the hybrid, and one more for its odd VMM.
    #[schemars(range(max = 2 * HYBRIDS - 1))]
    pub vmm: u8,
    /// The channels.
    #[schemars(inner(range(max = CHANNELS - 1)))]
    pub channels: Vec<u8>,
    /// Why.
    pub reason: String,
}

/// The VMMs of a detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmmSettings {
    /// The hybrids.
    pub hybrids: Vec<HybridSettings>,
    /// Channels that are left out.
    pub mask: Vec<MaskedVmmChannels>,
    /// Whether the fine time of the VMM corrects the time stamp.
    pub fine_time: bool,
    /// Whether a readout that crossed the chip's own threshold counts whatever its amplitude.
    pub over_threshold_counts: bool,
    /// Names of the two planes, for monitor data.
    pub planes: [&'static str; 2],
    /// The thresholds that channels have, each of which can be changed while a run goes on.
    pub thresholds: Vec<ThresholdSetting>,
}

impl VmmSettings {
    /// Checks the settings; keys are `hybrid[n].key` and `mask[n].key`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.hybrids.is_empty() {
            return SettingsError::refuse("hybrid", "no hybrid is configured: add [[….hybrid]] entries");
        }
        for (index, entry) in self.hybrids.iter().enumerate() {
            let key = |key: &str| format!("hybrid[{index}].{key}");
            for (name, value, limit) in
                [("ring", entry.ring, RINGS), ("fen", entry.fen, FENS), ("hybrid", entry.hybrid, HYBRIDS)]
            {
                if value >= limit {
                    return SettingsError::refuse(key(name), format!("{value} is not in 0..={}", limit - 1));
                }
            }
            let same = |other: &HybridSettings| {
                (other.ring, other.fen, other.hybrid) == (entry.ring, entry.fen, entry.hybrid)
            };
            if self.hybrids[..index].iter().any(same) {
                let problem = format!(
                    "hybrid {} of ring {}, FEN {} is configured twice",
                    entry.hybrid, entry.ring, entry.fen
                );
                return SettingsError::refuse(key("hybrid"), problem);
            }
            let calibrated = entry.calibration.len();
            if entry.channels.len() != HYBRID_CHANNELS || !matches!(calibrated, 0 | HYBRID_CHANNELS) {
                return SettingsError::refuse(
                    key("channels"),
                    format!("a hybrid has {HYBRID_CHANNELS} channels"),
                );
            }
        }
        for (index, entry) in self.mask.iter().enumerate() {
            let known = |hybrid: &HybridSettings| {
                (hybrid.ring, hybrid.fen, hybrid.hybrid) == (entry.ring, entry.fen, entry.vmm / 2)
            };
            if !self.hybrids.iter().any(known) {
                let problem = format!(
                    "VMM {} of ring {}, FEN {} belongs to no configured hybrid",
                    entry.vmm, entry.ring, entry.fen
                );
                return SettingsError::refuse(format!("mask[{index}].vmm"), problem);
            }
            if let Some(channel) = entry.channels.iter().find(|&&channel| channel > 63) {
                let problem = format!("{channel} is not in 0..=63");
                return SettingsError::refuse(format!("mask[{index}].channels"), problem);
            }
        }
        Ok(())
    }
}

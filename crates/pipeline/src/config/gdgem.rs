//! The `[gdgem]` section of a configuration file.

use super::sorting::Sorting;
use super::tracks::{Clustering, Geometry, Matching, Partition, PlaneName, Position};
use super::{side_file, vmm_files};
use evforge_core::quantity::Duration;
use evforge_detect::gdgem::settings::{
    ChannelThreshold, ChipMapping, ChipStrips, ClusteringSettings, GdGemSettings, MaskedChannels,
    MatchingSettings, PositionSettings, ReadoutFormat, TimeConvention, TimeSettings,
};
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::SettingsError;
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, Deserialize)]
enum Format {
    #[serde(rename = "vmm2")]
    Vmm2,
    #[serde(rename = "vmm3-2018")]
    Vmm3Of2018,
    #[serde(rename = "vmm3a")]
    Vmm3a,
    #[serde(rename = "vmm3a-triggered")]
    Vmm3aTriggered,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Convention {
    #[serde(rename = "trigger-period-2018")]
    TriggerPeriod2018,
    SignedOffset,
}

/// What holds for the keys of `clustering` that are left out.
const CLUSTERING: ClusteringSettings =
    ClusteringSettings { adc_threshold: 0, max_time_gap: 200_000, max_strip_gap: 2, min_hits: 3 };
/// And of `matching`.
const MATCHING: MatchingSettings =
    MatchingSettings { by: MatchBy::End, max_difference: 200_000, max_amplitude_permille: None };
/// And of `position`.
const POSITION: PositionSettings = PositionSettings {
    weighted: true,
    time_bins: 3,
    lower_uncertainty_limit: None,
    upper_uncertainty_limit: None,
    minimum_hits: None,
    spans: None,
};

const fn nanoseconds(picoseconds: u64) -> Duration {
    Duration { picoseconds }
}

/// `[gdgem.time]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Time {
    convention: Convention,
    bunch_crossing: Duration,
    #[serde(default = "Time::tac_range")]
    tac_range: Duration,
    #[serde(default = "Time::marker_tick")]
    marker_tick: Duration,
    #[serde(default = "Time::trigger_tick")]
    trigger_tick: Duration,
}

impl Time {
    fn tac_range() -> Duration {
        nanoseconds(60_000)
    }
    fn marker_tick() -> Duration {
        nanoseconds(25_000)
    }
    fn trigger_tick() -> Duration {
        nanoseconds(3_125)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mapping {
    fec: u16,
    vmm: u8,
    #[serde(default)]
    panel: u16,
    plane: PlaneName,
    strip_offset: u16,
}

/// `[[gdgem.mask]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mask {
    fec: u16,
    vmm: u8,
    channels: Vec<u8>,
    reason: String,
}

impl Mask {
    fn settings(&self) -> MaskedChannels {
        MaskedChannels {
            fec: self.fec,
            chip: self.vmm,
            channels: self.channels.clone(),
            reason: self.reason.clone(),
        }
    }
}

/// `[[gdgem.channel_threshold]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Threshold {
    fec: u16,
    vmm: u8,
    channels: Vec<u8>,
    adc: u16,
}

impl Threshold {
    fn settings(&self) -> ChannelThreshold {
        ChannelThreshold { fec: self.fec, chip: self.vmm, channels: self.channels.clone(), adc: self.adc }
    }
}

/// The whole section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GdGemSection {
    readout: Format,
    time: Time,
    #[serde(default)]
    sorting: Sorting,
    #[serde(default)]
    clustering: Clustering,
    #[serde(default)]
    matching: Matching,
    #[serde(default)]
    position: Position,
    geometry: Geometry,
    #[serde(default)]
    mapping: Vec<Mapping>,
    mapping_file: Option<PathBuf>,
    calibration: Option<PathBuf>,
    #[serde(default)]
    mask: Vec<Mask>,
    #[serde(default)]
    channel_threshold: Vec<Threshold>,
    partition: Option<Partition>,
}

impl GdGemSection {
    /// The detector's settings, with what the files in `folder` say that are named here. What is wrong with
    /// single values is found by the detector itself, and said with the file that it stands in.
    pub(super) fn settings(&self, folder: &Path) -> Result<GdGemSettings, SettingsError> {
        let settings = GdGemSettings {
            format: match self.readout {
                Format::Vmm2 => ReadoutFormat::Vmm2,
                Format::Vmm3Of2018 => ReadoutFormat::Vmm3Of2018,
                Format::Vmm3a => ReadoutFormat::Vmm3a,
                Format::Vmm3aTriggered => ReadoutFormat::Vmm3aTriggered,
            },
            time: TimeSettings {
                convention: match self.time.convention {
                    Convention::TriggerPeriod2018 => TimeConvention::TriggerPeriod2018,
                    Convention::SignedOffset => TimeConvention::SignedOffset,
                },
                bunch_crossing: self.time.bunch_crossing.picoseconds,
                tac_range: self.time.tac_range.picoseconds,
                marker_tick: self.time.marker_tick.picoseconds,
                trigger_tick: self.time.trigger_tick.picoseconds,
            },
            sorting: self.sorting.settings(),
            clustering: self.clustering.settings(&CLUSTERING),
            matching: self.matching.settings(&MATCHING),
            position: self.position.settings(&POSITION),
            mapping: self.mapping(folder)?,
            calibration: match &self.calibration {
                Some(file) => side_file::read(folder, "calibration", file, vmm_files::calibration)?,
                None => Vec::new(),
            },
            mask: self.mask.iter().map(Mask::settings).collect(),
            channel_thresholds: self.channel_threshold.iter().map(Threshold::settings).collect(),
            geometry: self.geometry.settings()?,
            partition: self.partition.map(Partition::settings),
        };
        settings.check().map_err(|error| self.in_file(error))?;
        Ok(settings)
    }

    fn mapping(&self, folder: &Path) -> Result<Vec<ChipMapping>, SettingsError> {
        match &self.mapping_file {
            Some(_) if !self.mapping.is_empty() => {
                SettingsError::refuse("mapping_file", "there are [[gdgem.mapping]] entries as well: keep one")
            }
            Some(file) => side_file::read(folder, "mapping_file", file, vmm_files::wiring),
            None => Ok(self.mapping.iter().map(chip_mapping).collect()),
        }
    }

    /// The error of a setting that stands in a file named here says so.
    fn in_file(&self, error: SettingsError) -> SettingsError {
        let files = [
            ("mapping", "mapping_file", &self.mapping_file),
            ("calibration", "calibration", &self.calibration),
        ];
        for (entry, key, file) in files {
            if let Some(file) = file
                && error.key.starts_with(entry)
                && error.key != key
            {
                let problem = format!("{}: {}: {}", file.display(), error.key, error.problem);
                return SettingsError { key: key.into(), problem };
            }
        }
        error
    }
}

fn chip_mapping(entry: &Mapping) -> ChipMapping {
    ChipMapping {
        fec: entry.fec,
        chip: entry.vmm,
        panel: entry.panel,
        plane: entry.plane.plane(),
        strips: ChipStrips::From(entry.strip_offset),
    }
}

//! The `[gdgem]` section of a configuration file.

use super::quantity::Duration;
use super::sorting::Sorting;
use super::{side_file, vmm_files};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::gdgem::settings::{
    ChannelThreshold, ChipMapping, ChipStrips, ClusteringSettings, GdGemSettings, MaskedChannels,
    MatchingSettings, PartitionSettings, Plane, PositionSettings, ReadoutFormat, TimeConvention,
    TimeSettings,
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

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PlaneName {
    X,
    Y,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weighting {
    Charge,
    Plain,
}

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

/// `[gdgem.clustering.x]` and `[gdgem.clustering.y]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Clustering {
    adc_threshold: u16,
    max_time_gap: Duration,
    max_strip_gap: u16,
    min_hits: u32,
}

impl Default for Clustering {
    fn default() -> Self {
        Self { adc_threshold: 0, max_time_gap: nanoseconds(200_000), max_strip_gap: 2, min_hits: 3 }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Planes {
    x: Clustering,
    y: Clustering,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Match {
    End,
    Start,
    Centre,
    Overlap,
    Gap,
}

/// `[gdgem.matching]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Matching {
    by: Match,
    #[serde(alias = "max_end_difference")]
    max_difference: Duration,
    max_amplitude_ratio: Option<f64>,
}

impl Default for Matching {
    fn default() -> Self {
        Self { by: Match::End, max_difference: nanoseconds(200_000), max_amplitude_ratio: None }
    }
}

impl Matching {
    fn settings(&self) -> MatchingSettings {
        // Thousandths are as fine as anybody can tell amplitudes; a cast of a float saturates.
        let permille = |ratio: f64| (ratio * 1000.0).round() as u64;
        MatchingSettings {
            by: match self.by {
                Match::End => MatchBy::End,
                Match::Start => MatchBy::Start,
                Match::Centre => MatchBy::Centre,
                Match::Overlap => MatchBy::Overlap,
                Match::Gap => MatchBy::Gap,
            },
            max_difference: self.max_difference.picoseconds,
            max_amplitude_permille: self.max_amplitude_ratio.map(permille),
        }
    }
}

/// `[gdgem.position]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Position {
    weighting: Weighting,
    time_bins: usize,
    lower_uncertainty_limit: Option<u16>,
    upper_uncertainty_limit: Option<u16>,
    minimum_hits: Option<u32>,
}

impl Default for Position {
    fn default() -> Self {
        Self {
            weighting: Weighting::Charge,
            time_bins: 3,
            lower_uncertainty_limit: None,
            upper_uncertainty_limit: None,
            minimum_hits: None,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Geometry {
    nx: u32,
    ny: u32,
    #[serde(default = "Geometry::one_panel")]
    panels: u32,
}

impl Geometry {
    fn one_panel() -> u32 {
        1
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
    clustering: Planes,
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

/// `gdgem.partition`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Partition {
    regions: usize,
    #[serde(default = "Partition::overlap")]
    overlap: u16,
    #[serde(default = "Partition::threads")]
    threads: usize,
}

impl Partition {
    fn overlap() -> u16 {
        16
    }
    fn threads() -> usize {
        1
    }
}

impl GdGemSection {
    /// The detector's settings, with what the files in `folder` say that are named here. What is wrong with
    /// single values is found by the detector itself, and said with the file that it stands in.
    pub(super) fn settings(&self, folder: &Path) -> Result<GdGemSettings, SettingsError> {
        let clustering = |plane: &Clustering| ClusteringSettings {
            adc_threshold: plane.adc_threshold,
            max_time_gap: plane.max_time_gap.picoseconds,
            max_strip_gap: plane.max_strip_gap,
            min_hits: plane.min_hits,
        };
        let geometry = LogicalGeometry::new(self.geometry.nx, self.geometry.ny, 1, self.geometry.panels)
            .map_err(|error| SettingsError { key: "geometry".into(), problem: error.to_string() })?;
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
            clustering: [clustering(&self.clustering.x), clustering(&self.clustering.y)],
            matching: self.matching.settings(),
            position: PositionSettings {
                weighted: matches!(self.position.weighting, Weighting::Charge),
                time_bins: self.position.time_bins,
                lower_uncertainty_limit: self.position.lower_uncertainty_limit,
                upper_uncertainty_limit: self.position.upper_uncertainty_limit,
                minimum_hits: self.position.minimum_hits,
                spans: None,
            },
            mapping: self.mapping(folder)?,
            calibration: match &self.calibration {
                Some(file) => side_file::read(folder, "calibration", file, vmm_files::calibration)?,
                None => Vec::new(),
            },
            mask: self.mask.iter().map(Mask::settings).collect(),
            channel_thresholds: self.channel_threshold.iter().map(Threshold::settings).collect(),
            geometry,
            partition: self.partition.map(|Partition { regions, overlap, threads }| PartitionSettings {
                regions,
                overlap,
                threads,
            }),
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
        plane: match entry.plane {
            PlaneName::X => Plane::X,
            PlaneName::Y => Plane::Y,
        },
        strips: ChipStrips::From(entry.strip_offset),
    }
}

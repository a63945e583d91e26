//! Everything about a Gd-GEM that can be configured, and its checks.

pub use super::chip_mapping::{ChipMapping, ChipPlane, ChipStrips, Plane, UNWIRED};
pub use super::electronics::{ReadoutFormat, TimeConvention, TimeSettings};
use super::hit_time::HitTime;
pub use super::third_plane_settings::ThirdPlaneSettings;
pub use super::track_settings::{
    ClusteringSettings, LARGEST_PANEL_COUNT, LARGEST_REGION_COUNT, LARGEST_THREAD_COUNT, MatchingSettings,
    PartitionSettings, PositionSettings, SpanSettings, TimeGapOf, TrackSettings, UsualDifferences,
};
use crate::calibration::ChannelCalibration;
use crate::hit::STRIP_LIMIT;
use crate::plane_matching::MatchBy;
use crate::settings::table::defaults;
use crate::settings::{PanelGeometry, SettingsError, SortingSettings, continuous, panel_geometry};
use evforge_core::geometry::LogicalGeometry;
use evforge_wire::srs_vmm::{CHANNELS, LARGEST_ADC};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// Calibration of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipCalibration {
    /// The FEC.
    pub fec: u16,
    /// The chip, 0..=15.
    pub chip: u8,
    /// Its channels, 64 of them.
    pub channels: Vec<ChannelCalibration>,
}

/// Channels of a chip to leave out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaskedChannels {
    /// Number of the front-end card (FEC).
    #[schemars(range(min = 1, max = 256))]
    pub fec: u16,
    /// Number of the chip on its card.
    #[serde(rename = "vmm")]
    #[schemars(range(max = 15))]
    pub chip: u8,
    /// A list of channels.
    #[schemars(inner(range(max = 63)))]
    pub channels: Vec<u8>,
    /// Why.
    pub reason: String,
}

/// Channels of a chip with a threshold of their own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelThreshold {
    /// Number of the front-end card (FEC).
    #[schemars(range(min = 1, max = 256))]
    pub fec: u16,
    /// Number of the chip on its card.
    #[serde(rename = "vmm")]
    #[schemars(range(max = 15))]
    pub chip: u8,
    /// A list of channels.
    #[schemars(inner(range(max = 63)))]
    pub channels: Vec<u8>,
    /// Least amplitude of these channels, instead of their plane's `adc_threshold`. If a channel is listed twice, the later entry holds.
    #[schemars(range(max = 1023))]
    pub adc: u16,
}

defaults! {
    clustering: [ClusteringSettings; 2] =
        [ClusteringSettings { adc_threshold: 0, max_time_gap: 200_000, time_gap_of: TimeGapOf::Plane, max_strip_gap: 2, min_hits: 3 }; 2];
    matching: MatchingSettings =
        MatchingSettings::joining(MatchBy::End, 200_000);
    position: PositionSettings = PositionSettings {
        weighted: true,
        time_bins: 3,
        lower_uncertainty_limit: None,
        upper_uncertainty_limit: None,
        minimum_hits: None,
        spans: None,
    };
}

/// All settings: the section `[gdgem]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GdGemSettings {
    /// Format of the packets: SRS with VMM2; with VMM3 in the layout of 2018; with VMM3a; with VMM3a in triggered mode.
    #[serde(rename = "readout")]
    pub format: ReadoutFormat,
    /// The clocks of the electronics.
    pub time: TimeSettings,
    /// Time order and memory.
    #[serde(default = "continuous::default", with = "continuous")]
    pub sorting: SortingSettings,
    /// Clusters of x and of y.
    #[serde(default = "clustering::default", with = "clustering")]
    pub clustering: [ClusteringSettings; 2],
    /// When clusters of both planes make an event.
    #[serde(default = "matching::default", with = "matching")]
    pub matching: MatchingSettings,
    /// Where the neutron was, and which events are kept.
    #[serde(default = "position::default", with = "position")]
    pub position: PositionSettings,
    /// `{ nx = …, ny = …, panels = 1 }`, with a product below 2^32 and at most 16 panels. Pixels of the detector: columns and rows of each
    /// panel. Panels have strips of their own, and hits of different panels never meet. Pixel ids are `panel*nx*ny + y*nx + x + 1`. Events
    /// outside are discarded (`outside_geometry`).
    #[serde(deserialize_with = "panel_geometry")]
    #[schemars(with = "PanelGeometry")]
    pub geometry: LogicalGeometry,
    /// The wiring (digital geometry): an entry per chip, at least one, or `mapping_file`.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    pub mapping: Vec<ChipMapping>,
    /// Panels with strips of one plane only: each of their clusters is an event; see
    /// [below](#panels-of-one-plane-of-three-planes-of-pads). A geometry of vmm-sdat says by itself which detectors have one plane.
    #[serde(default)]
    pub one_plane: Vec<u16>,
    /// Where a neutron is on a third plane of strips, if there is one.
    #[serde(default, deserialize_with = "ThirdPlaneSettings::read")]
    pub third_plane: Option<ThirdPlaneSettings>,
    /// The wiring as JSON, in place of `[[gdgem.mapping]]`: a configuration of the EFU of 2018 (its list `srs_mappings`) or a geometry of
    /// vmm-sdat (its list `vmm_geometry`, whose detectors become panels in the order of their numbers). See [files in JSON](#files-in-json).
    #[serde(default)]
    #[schemars(extend("x-unit" = "file"))]
    pub mapping_file: Option<PathBuf>,
    /// Calibration of chips; channels of others stay as they are.
    #[serde(skip)]
    pub calibration: Vec<ChipCalibration>,
    /// Calibration of single channels as JSON in the form of vmm-sdat (its list `vmm_calibration`); see below.
    #[serde(default, rename = "calibration")]
    #[schemars(extend("x-unit" = "file"))]
    pub calibration_file: Option<PathBuf>,
    /// Channels to leave out. Their readouts are counted (`masked`), channel by channel in the report. The monitor still shows them.
    #[serde(default)]
    pub mask: Vec<MaskedChannels>,
    /// Channels with a threshold of their own.
    #[serde(default, rename = "channel_threshold")]
    pub channel_thresholds: Vec<ChannelThreshold>,
    /// Regions that each panel is clustered in; without it panels are not cut.
    pub partition: Option<PartitionSettings>,
}

/// Most entries of the digital geometry: chips of 256 FECs.
pub const MOST_CHIPS: usize = 256 * 16;

impl GdGemSettings {
    /// Checks every setting, alone and with the others. Settings that pass make a detector; checking them takes
    /// no memory, however much of it they ask for.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.check_each()?;
        let time = HitTime::new(&self.time, self.format)?;
        self.tracks().check_group_span(|duration| time.ticks(duration))
    }

    /// The settings of tracks: what becomes of hits.
    pub fn tracks(&self) -> TrackSettings {
        TrackSettings {
            sectors: 1,
            sorting: self.sorting,
            clustering: self.clustering,
            matching: self.matching,
            position: self.position,
            geometry: self.geometry,
            partition: self.partition,
            panels: self.panel_kinds(),
            third_plane: self.third_plane,
        }
    }

    fn check_each(&self) -> Result<(), SettingsError> {
        self.check_time()?;
        self.sorting.check_decimated()?;
        self.tracks().check()?;
        self.check_mapping()?;
        self.check_panels()?;
        self.check_channels()?;
        self.check_calibration()
    }

    /// Masks and thresholds are for channels of chips that are mapped.
    fn check_channels(&self) -> Result<(), SettingsError> {
        let masks = self.mask.iter().map(|entry| (entry.fec, entry.chip, &entry.channels));
        let masks = masks.enumerate().map(|(index, entry)| (format!("mask[{index}]"), entry));
        let thresholds = self.channel_thresholds.iter().map(|entry| (entry.fec, entry.chip, &entry.channels));
        let thresholds =
            thresholds.enumerate().map(|(index, entry)| (format!("channel_threshold[{index}]"), entry));
        for (key, (fec, chip, channels)) in masks.chain(thresholds) {
            if !self.mapping.iter().any(|mapped| (mapped.fec, mapped.chip) == (fec, chip)) {
                return SettingsError::refuse(
                    format!("{key}.vmm"),
                    format!("chip {chip} of FEC {fec} is in no mapping"),
                );
            }
            if let Some(channel) = channels.iter().find(|&&channel| usize::from(channel) >= CHANNELS) {
                return SettingsError::refuse(
                    format!("{key}.channels"),
                    format!("{channel} is not in 0..=63"),
                );
            }
        }
        match self.channel_thresholds.iter().position(|entry| entry.adc > LARGEST_ADC) {
            Some(index) => SettingsError::refuse(
                format!("channel_threshold[{index}].adc"),
                format!("is above the largest amplitude {LARGEST_ADC}"),
            ),
            None => Ok(()),
        }
    }

    fn check_calibration(&self) -> Result<(), SettingsError> {
        if self.calibration.is_empty() {
            return Ok(());
        }
        if self.time.convention != TimeConvention::SignedOffset {
            return SettingsError::refuse(
                "calibration",
                "is defined for time.convention = \"signed-offset\" only: remove it",
            );
        }
        for (index, chip) in self.calibration.iter().enumerate() {
            let refuse = |problem| SettingsError::refuse(format!("calibration[{index}]"), problem);
            if chip.chip > 15 {
                return refuse(format!("chip {} is not in 0..=15", chip.chip));
            }
            if chip.channels.len() != CHANNELS {
                return refuse(format!("{} channels, expected {CHANNELS}", chip.channels.len()));
            }
            let earlier = &self.calibration[..index];
            if earlier.iter().any(|other| (other.fec, other.chip) == (chip.fec, chip.chip)) {
                return refuse(format!("chip {} of FEC {} is calibrated twice", chip.chip, chip.fec));
            }
        }
        let time = HitTime::new(&self.time, self.format)?;
        for chip in &self.calibration {
            for channel in &chip.channels {
                time.calibrated(channel.time)?;
            }
        }
        Ok(())
    }

    fn check_time(&self) -> Result<(), SettingsError> {
        let time = &self.time;
        for (key, value) in [
            ("bunch_crossing", time.bunch_crossing),
            ("tac_range", time.tac_range),
            ("marker_tick", time.marker_tick),
            ("trigger_tick", time.trigger_tick),
        ] {
            if value == 0 || value > 1_000_000_000 {
                return SettingsError::refuse(format!("time.{key}"), "must lie above 0 and at most at 1ms");
            }
        }
        Ok(())
    }

    /// Why none of the strips or pads of a chip has a pixel; none if one has. Those of a third plane are no columns or rows.
    fn beyond_geometry(&self, entry: &ChipMapping) -> Option<String> {
        let (nx, ny) = (self.geometry.nx(), self.geometry.ny());
        let lies_inside = |channel| {
            let [column, row] = match (entry.plane, entry.strip(channel)) {
                (ChipPlane::X, Some(strip)) => [strip, 0],
                (ChipPlane::Y, Some(strip)) => [0, strip],
                _ => entry.pad(channel).unwrap_or_default(),
            };
            u32::from(column) < nx && u32::from(row) < ny
        };
        let mut wired = (0..CHANNELS as u8).filter(|&channel| entry.is_wired(channel)).peekable();
        let lies_outside = wired.peek().is_some() && !wired.any(lies_inside);
        (lies_outside && self.third_plane.is_none()).then(|| {
            format!(
                "nothing that is wired to the chip lies inside {nx} x {ny} pixels (geometry.nx, geometry.ny)"
            )
        })
    }

    fn check_mapping(&self) -> Result<(), SettingsError> {
        if self.mapping.is_empty() {
            return SettingsError::refuse(
                "mapping",
                "no chip is mapped to the detector: add [[mapping]] entries",
            );
        }
        if self.mapping.len() > MOST_CHIPS {
            return SettingsError::refuse("mapping", format!("more than {MOST_CHIPS} entries"));
        }
        let largest_fec = match self.format {
            ReadoutFormat::Vmm2 => 1,
            ReadoutFormat::Vmm3Of2018 => 256,
            ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => 15,
        };
        for (index, entry) in self.mapping.iter().enumerate() {
            let key = |key| format!("mapping[{index}].{key}");
            if !(1..=largest_fec).contains(&entry.fec) {
                let problem = format!("FEC {} is not in 1..={largest_fec} of this format", entry.fec);
                return SettingsError::refuse(key("fec"), problem);
            }
            if entry.chip > 15 {
                return SettingsError::refuse(key("vmm"), format!("chip {} is not in 0..=15", entry.chip));
            }
            if u32::from(entry.panel) >= self.geometry.panels() {
                let problem =
                    format!("panel {} of a detector of {} panels", entry.panel, self.geometry.panels());
                return SettingsError::refuse(key("panel"), problem);
            }
            match &entry.strips {
                ChipStrips::From(first) if usize::from(*first) + CHANNELS > usize::from(STRIP_LIMIT) => {
                    let problem = format!("at most {}", usize::from(STRIP_LIMIT) - CHANNELS);
                    return SettingsError::refuse(key("strip_offset"), problem);
                }
                ChipStrips::Listed(strips) => {
                    let beyond = |&&strip: &&u16| strip != UNWIRED && strip >= STRIP_LIMIT;
                    if let Some(strip) = strips.iter().find(beyond) {
                        let problem = format!("strip {strip} is not below {STRIP_LIMIT}");
                        return SettingsError::refuse(key("strips"), problem);
                    }
                }
                ChipStrips::From(_) | ChipStrips::Pads { .. } => {}
            }
            let earlier = &self.mapping[..index];
            if earlier.iter().any(|other| (other.fec, other.chip) == (entry.fec, entry.chip)) {
                let problem = format!("chip {} of FEC {} is mapped twice", entry.chip, entry.fec);
                return SettingsError::refuse(key("vmm"), problem);
            }
            if let Some(problem) = self.beyond_geometry(entry) {
                return SettingsError::refuse(key("strip_offset"), problem);
            }
        }
        Ok(())
    }
}

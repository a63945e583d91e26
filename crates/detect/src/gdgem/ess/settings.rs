//! Settings of a Gd-GEM in the ESS readout.

use super::strips::StripHybrid;
use crate::ess::settings::HYBRID_CHANNELS;
use crate::ess::{
    CalibratedVmm, EssSettings, HybridSettings, MaskedVmmChannels, PlaceRequest, VmmSettings, ticks,
};
use crate::gdgem::settings::Plane;
use crate::gdgem::track_settings::{
    ClusteringSettings, MatchingSettings, PositionSettings, SpanSettings, TimeGapOf, TrackSettings,
};
use crate::hit::{ADC_LIMIT, STRIP_LIMIT};
use crate::plane_matching::MatchBy;
use crate::settings::table::defaults;
use crate::settings::{PanelGeometry, SettingsError, panel_geometry};
use crate::threshold_steps::{ThresholdClass, ThresholdSetting};
use evforge_core::geometry::LogicalGeometry;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::PathBuf;

defaults! {
    clustering: [ClusteringSettings; 2] =
        [ClusteringSettings { adc_threshold: 50, max_time_gap: 500_000, time_gap_of: TimeGapOf::Plane, max_strip_gap: 2, min_hits: 1 }; 2];
    matching: MatchingSettings =
        MatchingSettings::joining(MatchBy::Gap, 500_000);
    position: PositionSettings = PositionSettings {
        weighted: false,
        time_bins: 3,
        lower_uncertainty_limit: None,
        upper_uncertainty_limit: None,
        minimum_hits: None,
        spans: Some(SpanSettings { max_strips: [10; 2], min_strips: [1; 2], max_time: 500_000 }),
    };
}

/// All settings: the section `[ess_gdgem]`. Keys that are left out are as in the reference (ESS readout formats,
/// section 3, "NMX").
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EssGdGemSettings {
    /// Header, pulses and order: the table `[ess]`.
    #[serde(skip)]
    pub ess: EssSettings,
    /// The wiring (digital geometry): `{ ring = 0, fen = 0, hybrid = 0, panel = 0, plane = "x", offset = 0 }`, 128 strips of a plane that
    /// follow one another.
    #[serde(default, rename = "hybrid")]
    pub hybrids: Vec<StripHybrid>,
    /// The wiring as JSON, in place of `hybrid`: the list `Config` of an NMX of the event formation unit (EFU), or `vmm_geometry` of
    /// vmm-essdat; see [files in JSON](#files-in-json).
    #[serde(default)]
    #[schemars(extend("x-unit" = "file"))]
    pub mapping_file: Option<PathBuf>,
    /// Channels to leave out.
    #[serde(default)]
    pub mask: Vec<MaskedVmmChannels>,
    /// Calibration of VMMs, as those of `[ess_multiblade]`; the fine time is corrected only where it is used. Channels of others stay as they
    /// are.
    #[serde(default)]
    pub calibration: Vec<CalibratedVmm>,
    /// Calibrations as JSON, in place of `[[ess_gdgem.calibration]]`: `Calibrations` of the EFU, which go by identities of hybrids, or
    /// `vmm_calibration` of vmm-essdat; see [files in JSON](#files-in-json). Times in it have an effect with `fine_time = true` only.
    #[serde(default)]
    #[schemars(extend("x-unit" = "file"))]
    pub calibration_file: Option<PathBuf>,
    /// Whether the fine time of the VMM corrects the time stamp. The reference does not use it here.
    #[serde(default)]
    pub fine_time: bool,
    /// Clusters of x and of y.
    #[serde(default = "clustering::default", with = "clustering")]
    pub clustering: [ClusteringSettings; 2],
    /// When clusters of both planes make an event: by their ends, overlaps or gaps.
    #[serde(default = "matching::default", with = "matching")]
    pub matching: MatchingSettings,
    /// Positions.
    #[serde(default = "position::default", with = "position")]
    pub position: PositionSettings,
    /// Parts of a detector of one panel that never share a neutron, as those of NMX: each is clustered by itself, with `sector = 0` … in the
    /// entries of `hybrid`, but strips are numbered over all of them and all have the pixels of the one panel.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 16))]
    pub sectors: u16,
    /// `{ nx = 1280, ny = 1280, panels = 4 }`, at most 16 panels. Pixels of a panel follow those of the panel before: panel × nx × ny + y × nx
    /// + x + 1. (The reference gives all panels the same ids.)
    #[serde(deserialize_with = "panel_geometry")]
    #[schemars(with = "PanelGeometry")]
    pub geometry: LogicalGeometry,
}

fn one() -> u16 {
    1
}

impl EssGdGemSettings {
    /// Checks every setting, alone and with the others.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.ess.check()?;
        let tracks = self.tracks();
        tracks.check()?;
        tracks.check_group_span(ticks::in_duration)?;
        if matches!(self.matching.by, MatchBy::Start | MatchBy::Centre) {
            let problem = "must be end, overlap or gap, so that events come in the order of their times";
            return SettingsError::refuse("matching.by", problem);
        }
        self.check_hybrids()?;
        self.vmm()?.check()
    }

    /// Checks the hybrids; keys are `hybrid[n].key`.
    pub(super) fn check_hybrids(&self) -> Result<(), SettingsError> {
        let mut owners: HashMap<(u16, u16, usize, u16), usize> =
            HashMap::with_capacity(self.hybrids.len() * HYBRID_CHANNELS);
        let mut channels: HashMap<(u8, u8, u8, u8), usize> =
            HashMap::with_capacity(self.hybrids.len() * HYBRID_CHANNELS);
        for (index, entry) in self.hybrids.iter().enumerate() {
            let refuse =
                |key: &str, problem: String| SettingsError::refuse(format!("hybrid[{index}].{key}"), problem);
            if u32::from(entry.panel) >= self.geometry.panels() {
                let problem =
                    format!("panel {} of a detector of {} panels", entry.panel, self.geometry.panels());
                return refuse("panel", problem);
            }
            if entry.sector >= self.sectors {
                let problem = format!("sector {} of a detector of {} (sectors)", entry.sector, self.sectors);
                return refuse("sector", problem);
            }
            let side = match entry.plane {
                Plane::X => self.geometry.nx(),
                Plane::Y => self.geometry.ny(),
            };
            let side = side.min(u32::from(STRIP_LIMIT));
            if let Some(strip) = entry.strips().map(u32::from).filter(|&strip| strip >= side).max() {
                return refuse("offset", format!("strips up to {strip} of a plane of {side}"));
            }
            if entry.adc_threshold.is_some_and(|threshold| threshold >= ADC_LIMIT) {
                return refuse("adc_threshold", format!("is above the largest amplitude {}", ADC_LIMIT - 1));
            }
            for strip in entry.strips() {
                let owner = (entry.panel, entry.sector, entry.plane.index(), strip);
                if let Some(&other) = owners.get(&owner).filter(|&&other| other != index) {
                    let StripHybrid { ring, fen, hybrid, .. } = &self.hybrids[other];
                    let problem =
                        format!("has strips that hybrid {hybrid} of ring {ring}, FEN {fen} has already");
                    return refuse("offset", problem);
                }
                owners.insert(owner, index);
            }
            for channel in entry.wired() {
                if channels.insert((entry.ring, entry.fen, entry.hybrid, channel), index).is_some() {
                    let StripHybrid { ring, fen, hybrid, .. } = entry;
                    let problem = format!("hybrid {hybrid} of ring {ring}, FEN {fen} is configured twice");
                    return refuse("hybrid", problem);
                }
            }
        }
        Ok(())
    }

    /// The settings of tracks: what becomes of hits.
    pub fn tracks(&self) -> TrackSettings {
        TrackSettings {
            sectors: self.sectors,
            sorting: self.ess.sorting,
            clustering: self.clustering,
            matching: self.matching,
            position: self.position,
            geometry: self.geometry,
            partition: None,
            panels: Default::default(),
            third_plane: None,
        }
    }

    /// The channels. Two entries can share a hybrid, each with one of its VMMs.
    ///
    /// # Errors
    /// If a calibration belongs to no hybrid.
    pub fn vmm(&self) -> Result<VmmSettings, SettingsError> {
        let mut hybrids: Vec<HybridSettings> = Vec::with_capacity(self.hybrids.len());
        let planes = ["clustering.x.adc_threshold", "clustering.y.adc_threshold"].into_iter();
        let planes = planes.zip(&self.clustering);
        let mut thresholds: Vec<_> = planes
            .map(|(key, plane)| ThresholdSetting::new(key, plane.adc_threshold, ADC_LIMIT - 1))
            .collect();
        for (index, entry) in self.hybrids.iter().enumerate() {
            let plane = entry.plane.index();
            let mut threshold_class = plane as ThresholdClass;
            if let Some(own) = entry.adc_threshold {
                threshold_class = thresholds.len() as ThresholdClass;
                let key = format!("hybrid[{index}].adc_threshold");
                thresholds.push(ThresholdSetting::new(key, own, ADC_LIMIT - 1));
            }
            let threshold = entry.adc_threshold.unwrap_or(self.clustering[plane].adc_threshold);
            let place = |coordinate: u16| PlaceRequest {
                // One of them is 0: a detector has panels or sectors.
                target: 2 * (entry.panel + entry.sector) + plane as u16,
                plane: plane as u8,
                coordinate,
                threshold,
                threshold_class,
            };
            let channels = entry.channels().map(|strip| strip.map(place));
            let address = (entry.ring, entry.fen, entry.hybrid);
            match hybrids.iter_mut().find(|other| (other.ring, other.fen, other.hybrid) == address) {
                Some(same) => {
                    for (own, channel) in same.channels.iter_mut().zip(channels) {
                        *own = own.or(channel);
                    }
                }
                None => hybrids.push(HybridSettings {
                    ring: entry.ring,
                    fen: entry.fen,
                    hybrid: entry.hybrid,
                    channels: channels.collect(),
                    calibration: Vec::new(),
                }),
            }
        }
        CalibratedVmm::apply(&self.calibration, &mut hybrids)?;
        Ok(VmmSettings {
            hybrids,
            mask: self.mask.clone(),
            fine_time: self.fine_time,
            over_threshold_counts: false,
            planes: ["x", "y"],
            thresholds,
        })
    }
}

//! The `[ess_gdgem]` section of a configuration file: a Gd-GEM in today's ESS readout.

use super::ess_vmm::{VmmCalibration, VmmMask};
use super::tracks::{Clustering, Geometry, Matching, PlaneName, Position};
use evforge_detect::ess::EssSettings;
use evforge_detect::gdgem::ess::{EssGdGemSettings, StripHybrid};
use evforge_detect::gdgem::settings::{ClusteringSettings, MatchingSettings, PositionSettings, SpanSettings};
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

/// `ess_gdgem.hybrid`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hybrid {
    ring: u8,
    fen: u8,
    hybrid: u8,
    #[serde(default)]
    panel: u16,
    plane: PlaneName,
    offset: u16,
    #[serde(default)]
    reversed: bool,
    adc_threshold: Option<u16>,
}

impl Hybrid {
    fn settings(&self) -> StripHybrid {
        let Self { ring, fen, hybrid, panel, plane, offset, reversed, adc_threshold } = *self;
        StripHybrid { ring, fen, hybrid, panel, plane: plane.plane(), offset, reversed, adc_threshold }
    }
}

/// The whole section. Keys that are left out are as in the reference (ESS readout formats, section 3, "NMX").
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EssGdGemSection {
    geometry: Geometry,
    #[serde(default)]
    hybrid: Vec<Hybrid>,
    #[serde(default)]
    mask: Vec<VmmMask>,
    #[serde(default)]
    calibration: Vec<VmmCalibration>,
    #[serde(default)]
    fine_time: bool,
    #[serde(default)]
    clustering: Clustering,
    #[serde(default)]
    matching: Matching,
    #[serde(default)]
    position: Position,
}

/// What holds for the keys of `clustering` that are left out.
const CLUSTERING: ClusteringSettings =
    ClusteringSettings { adc_threshold: 50, max_time_gap: 500_000, max_strip_gap: 2, min_hits: 1 };
/// And of `matching`.
const MATCHING: MatchingSettings =
    MatchingSettings { by: MatchBy::Gap, max_difference: 500_000, max_amplitude_permille: None };
/// And of `position`.
const POSITION: PositionSettings = PositionSettings {
    weighted: false,
    time_bins: 3,
    lower_uncertainty_limit: None,
    upper_uncertainty_limit: None,
    minimum_hits: None,
    spans: Some(SpanSettings { max_strips: [10; 2], min_strips: [1; 2], max_time: 500_000 }),
};

impl EssGdGemSection {
    /// The settings, not yet checked.
    pub(super) fn settings(&self, ess: EssSettings) -> Result<EssGdGemSettings, SettingsError> {
        Ok(EssGdGemSettings {
            ess,
            hybrids: self.hybrid.iter().map(Hybrid::settings).collect(),
            mask: self.mask.iter().map(VmmMask::settings).collect(),
            calibration: VmmCalibration::all(&self.calibration)?,
            fine_time: self.fine_time,
            clustering: self.clustering.settings(&CLUSTERING),
            matching: self.matching.settings(&MATCHING),
            position: self.position.settings(&POSITION),
            geometry: self.geometry.settings()?,
        })
    }
}

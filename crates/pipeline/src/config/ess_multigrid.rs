//! The `[ess_multigrid]` section of a configuration file.

use super::ess_vmm::{VmmCalibration, VmmMask};
use super::multigrid::StrategyName;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::Duration;
use evforge_detect::ess::EssSettings;
use evforge_detect::multigrid::EssMultiGridSettings;
use evforge_detect::multigrid::vessels::{LAYERS, VesselSettings, VesselWiring};
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WiringName {
    Trex,
    Let,
}

/// An entry of `vessels`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vessel {
    rings: Vec<u8>,
    fens: Vec<u8>,
    #[serde(default)]
    rotated: bool,
    #[serde(default)]
    short: bool,
    #[serde(default)]
    x_offset: u16,
    #[serde(default)]
    y_offset: u16,
    min_adc: Option<u16>,
}

/// The whole section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EssMultiGridSection {
    wiring: WiringName,
    #[serde(default = "EssMultiGridSection::columns")]
    columns: u32,
    #[serde(default = "EssMultiGridSection::rows")]
    rows: u32,
    #[serde(default = "EssMultiGridSection::strategy")]
    strategy: StrategyName,
    #[serde(default = "EssMultiGridSection::gap")]
    gap: Duration,
    #[serde(default = "EssMultiGridSection::max_grid_span")]
    max_grid_span: u16,
    #[serde(default = "EssMultiGridSection::min_adc")]
    min_adc: u16,
    vessels: Vec<Vessel>,
    #[serde(default)]
    mask: Vec<VmmMask>,
    #[serde(default)]
    calibration: Vec<VmmCalibration>,
}

impl EssMultiGridSection {
    fn columns() -> u32 {
        384
    }
    fn rows() -> u32 {
        140
    }
    fn strategy() -> StrategyName {
        StrategyName::Centroid
    }
    fn gap() -> Duration {
        Duration { picoseconds: 500_000 }
    }
    fn max_grid_span() -> u16 {
        3
    }
    fn min_adc() -> u16 {
        50
    }

    /// The detector's settings, with those that all detectors of today's readout share.
    pub(super) fn settings(&self, ess: EssSettings) -> Result<EssMultiGridSettings, SettingsError> {
        let geometry = LogicalGeometry::new(self.columns, self.rows, LAYERS, 1)
            .map_err(|error| SettingsError { key: "columns".into(), problem: error.to_string() })?;
        Ok(EssMultiGridSettings {
            ess,
            geometry,
            wiring: match self.wiring {
                WiringName::Trex => VesselWiring::Trex,
                WiringName::Let => VesselWiring::Let,
            },
            vessels: self.vessels.iter().map(|vessel| self.vessel(vessel)).collect(),
            strategy: self.strategy.settings(),
            gap: self.gap.picoseconds,
            max_grid_span: self.max_grid_span,
            mask: self.mask.iter().map(VmmMask::settings).collect(),
            calibration: VmmCalibration::all(&self.calibration)?,
        })
    }

    fn vessel(&self, vessel: &Vessel) -> VesselSettings {
        let Vessel { rings, fens, rotated, short, x_offset, y_offset, min_adc } = vessel;
        VesselSettings {
            rings: rings.clone(),
            fens: fens.clone(),
            rotated: *rotated,
            short: *short,
            x_offset: *x_offset,
            y_offset: *y_offset,
            min_adc: min_adc.unwrap_or(self.min_adc),
        }
    }
}

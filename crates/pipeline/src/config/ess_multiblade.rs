//! The `[ess_multiblade]` section of a configuration file.

use super::ess_vmm::{VmmCalibration, VmmMask};
use super::multiblade::{Geometry, thousandths};
use evforge_core::quantity::Duration;
use evforge_detect::ess::{EssSettings, ticks};
use evforge_detect::multiblade::EssMultiBladeSettings;
use evforge_detect::multiblade::ess::{CassetteHybrid, CassetteLayout};
use evforge_detect::multiblade::settings::{WindowRule, WindowSettings};
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LayoutName {
    Freia,
    Estia,
    Amor,
}

/// An entry of `cassettes`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cassette {
    cassette: u16,
    ring: u8,
    fen: u8,
    hybrid: u8,
    wire_threshold: Option<u16>,
    strip_threshold: Option<u16>,
}

/// `[ess_multiblade.window]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Window {
    max_time_gap: Duration,
    max_wires: u32,
    max_strips: u32,
    max_gap_wires: u32,
    max_gap_strips: u32,
    max_amplitude_ratio: Option<f64>,
    separate: bool,
}

/// Longest `max_time_gap` in picoseconds.
const LONGEST_GAP: u64 = 1_000_000_000;

impl Default for Window {
    fn default() -> Self {
        Self {
            max_time_gap: Duration { picoseconds: 500_000 },
            max_wires: 64,
            max_strips: 64,
            max_gap_wires: 0,
            max_gap_strips: 0,
            max_amplitude_ratio: None,
            separate: false,
        }
    }
}

impl Window {
    fn settings(&self) -> Result<WindowSettings, SettingsError> {
        if self.max_time_gap.picoseconds > LONGEST_GAP {
            return SettingsError::refuse("window.max_time_gap", "must be at most 1ms");
        }
        // A hit that comes exactly so much later still belongs to the window.
        let gap = ticks::in_duration(self.max_time_gap.picoseconds) + 1;
        Ok(WindowSettings {
            rule: WindowRule::Gap,
            ticks: u32::try_from(gap).unwrap_or(u32::MAX),
            max_wires: self.max_wires,
            max_strips: self.max_strips,
            max_gap_wires: self.max_gap_wires,
            max_gap_strips: self.max_gap_strips,
            max_amplitude_ratio: thousandths(self.max_amplitude_ratio)?,
            separate: self.separate,
        })
    }
}

/// The whole section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EssMultiBladeSection {
    layout: LayoutName,
    geometry: Geometry,
    #[serde(default)]
    wire_threshold: u16,
    #[serde(default)]
    strip_threshold: u16,
    #[serde(default)]
    window: Window,
    cassettes: Vec<Cassette>,
    #[serde(default)]
    mask: Vec<VmmMask>,
    #[serde(default)]
    calibration: Vec<VmmCalibration>,
}

impl EssMultiBladeSection {
    /// The detector's settings, with those that all detectors of today's readout share.
    pub(super) fn settings(&self, ess: EssSettings) -> Result<EssMultiBladeSettings, SettingsError> {
        let cassette = |entry: &Cassette| CassetteHybrid {
            cassette: entry.cassette,
            ring: entry.ring,
            fen: entry.fen,
            hybrid: entry.hybrid,
            wire_threshold: entry.wire_threshold.unwrap_or(self.wire_threshold),
            strip_threshold: entry.strip_threshold.unwrap_or(self.strip_threshold),
        };
        Ok(EssMultiBladeSettings {
            ess,
            layout: match self.layout {
                LayoutName::Freia => CassetteLayout::Freia,
                LayoutName::Estia => CassetteLayout::Estia,
                LayoutName::Amor => CassetteLayout::Amor,
            },
            cassettes: self.cassettes.iter().map(cassette).collect(),
            window: self.window.settings()?,
            mask: self.mask.iter().map(VmmMask::settings).collect(),
            calibration: VmmCalibration::all(&self.calibration)?,
            geometry: self.geometry.flat()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use std::path::Path;

    fn problem(overrides: &[&str]) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/freia.toml");
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        Config::read(&path, &overrides).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn what_cannot_be_is_refused_where_it_stands() {
        for (overrides, expected) in [
            (vec![], ""),
            (vec!["cassettes[1].cassette=0"], "cassettes[1].cassette: cassette 0 is configured twice"),
            (vec!["cassettes[31].cassette=32"], "outside 64 x 1024 pixels"),
            (
                vec!["cassettes[1].hybrid=0"],
                "cassettes[1].hybrid: hybrid 0 of ring 0, FEN 0 is configured twice",
            ),
            (vec!["cassettes[2].fen=24"], "cassettes[2].fen: 24 is not in 0..=23"),
            (vec!["cassettes=[]"], "no cassette is configured"),
            (vec!["layout=\"estia\""], "outside 64 x 1024 pixels"),
            (vec!["window.max_time_gap=\"2ms\""], "window.max_time_gap: must be at most 1ms"),
            (vec!["window.separate=true"], "window.separate: needs window.max_amplitude_ratio"),
            (vec!["calibration=[{ ring = 11, fen = 0, vmm = 0 }]"], "calibration[0].vmm: VMM 0 of ring 11"),
            (vec!["mask=[{ ring = 0, fen = 9, vmm = 0, channels = [], reason = \"\" }]"], "mask[0].vmm"),
        ] {
            let keys: Vec<_> = overrides.iter().map(|key| format!("ess_multiblade.{key}")).collect();
            let found = problem(&keys.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(
                found.contains(expected) && found.is_empty() == expected.is_empty(),
                "{overrides:?}: {found}"
            );
        }
        assert!(problem(&["ess.sorting.max_group_hits=20000"]).contains("ess.sorting.max_group_hits"));
    }
}

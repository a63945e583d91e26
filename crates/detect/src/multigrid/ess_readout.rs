//! A Multi-Grid with the ESS readout: TREX, LET (ESS readout formats, section 3).

use super::columns::{ColumnRules, Columns, PLANES};
use super::paired_columns::ColumnNeutrons;
use super::reconstruction::{CenterMass, Centroid, Maximum, Prioritized, Reconstruction};
use super::settings::Strategy;
use super::vessels::{LARGEST_ADC, LAYERS, MOST_ROWS, VesselSettings, VesselWiring};
use crate::beam_monitors::BeamMonitorSettings;
use crate::ess::files::calibration::{WiredHybrids, calibration};
use crate::ess::files::efu::HybridAddress;
use crate::ess::settings::{FENS, RINGS};
use crate::ess::{
    CalibratedVmm, EssSettings, HybridSettings, MaskedVmmChannels, ModuleDetector, ModuleFormer, VmmSettings,
    ticks,
};
use crate::module_windows::{ModuleShare, ModuleWindows};
use crate::neutron_groups::PairedRules;
use crate::paired_windows::PairedWindows;
use crate::settings::pairing::PairingSettings;
use crate::settings::{Picoseconds, SettingsError};
use crate::threshold_steps::{ThresholdClass, ThresholdSetting};
use crate::vmm_files::FileContent;
use crate::workers::Workers;
use evforge_core::detector::Detector;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::InPicoseconds;
use evforge_core::settings::RefusedValue;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Longest gap of a window.
const LONGEST_GAP: Picoseconds = 1_000_000_000;

/// A Multi-Grid with the ESS readout: the section `[ess_multigrid]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "Section")]
#[schemars(with = "Section")]
pub struct EssMultiGridSettings {
    /// Header, pulses and order: the table `[ess]`.
    pub ess: EssSettings,
    /// Columns and rows of pixels, and layers, of which there are [`LAYERS`].
    pub geometry: LogicalGeometry,
    /// How front ends are wired.
    pub wiring: VesselWiring,
    /// The vessels.
    pub vessels: Vec<VesselSettings>,
    /// How positions are found.
    pub strategy: Strategy,
    /// A hit that comes later than this after the latest one of its column begins a new window.
    pub gap: Picoseconds,
    /// Most grids from the first to the last of a neutron.
    pub max_grid_span: u16,
    /// How several neutrons in a window are told apart.
    pub pairing: PairingSettings,
    /// Channels that are left out.
    pub mask: Vec<MaskedVmmChannels>,
    /// Calibrations; channels of other VMMs stay as they are.
    pub calibration: Vec<CalibratedVmm>,
    /// The file that they come from, if they do.
    pub calibration_file: Option<PathBuf>,
}

/// The section as it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Section {
    /// How the channels of a front end (FEN) are wired. `"trex"`: wires on hybrid 0, grids on hybrids 1 and 2; FENs with an odd number read the
    /// second half of the wires. `"let"`: grids on hybrid 0, wires on hybrid 1 with the channels of each pair swapped; rings with an even
    /// number read the second half.
    wiring: VesselWiring,
    /// Pixels across. There are 16 layers.
    #[serde(default = "columns")]
    #[schemars(range(min = 1))]
    columns: u32,
    /// Pixels up.
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = 4096))]
    rows: u32,
    /// How wires and grids make a position. `"centroid"` is the wire and the grid nearest to the mean, weighted with the amplitudes, of their
    /// numbers; wires are numbered along the beam, then across. It is what the ESS event formation unit does, and the strategy of the shipped
    /// configurations. `"center-mass"` takes the mean of columns and layers apart, and differs where wires of two columns have a signal.
    #[serde(default = "centroid")]
    strategy: Strategy,
    /// Hits of a FEN belong to one neutron as long as the next comes no later than this after the latest one.
    #[serde(default = "gap", with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 1 ms"))]
    gap: Picoseconds,
    /// Most grids from the first to the last of a neutron.
    #[serde(default = "max_grid_span")]
    #[schemars(range(min = 1))]
    max_grid_span: u16,
    /// Tells several neutrons in one window apart: see [pairing](#pairing-several-neutrons-in-one-window). Its second plane is that of the
    /// grids.
    #[serde(default)]
    pairing: PairingSettings,
    /// Least amplitude of a hit.
    #[serde(default = "min_adc")]
    #[schemars(range(max = 1023), extend("x-unit" = "ADC counts"))]
    min_adc: u16,
    /// `{ rings = [0], fens = [0, 1], x_offset = 0 }`: all those FENs of all those rings read one vessel, 12 columns wide.
    vessels: Vec<VesselEntry>,
    /// Channels to leave out.
    #[serde(default)]
    mask: Vec<MaskedVmmChannels>,
    /// Calibrations of channels: an amplitude becomes (amplitude − offset) × slope.
    #[serde(default)]
    calibration: Vec<CalibratedVmm>,
    /// The same as JSON: `vmm_calibration` of vmm-essdat, by ring, FEN and VMM; see [files in JSON](#files-in-json). Times in it have no effect.
    #[schemars(extend("x-unit" = "file"))]
    calibration_file: Option<PathBuf>,
}

/// An entry of `vessels`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VesselEntry {
    /// The rings.
    #[schemars(length(min = 1), inner(range(max = RINGS - 1)))]
    rings: Vec<u8>,
    /// The FENs of each of these rings.
    #[schemars(length(min = 1), inner(range(max = FENS - 1)))]
    fens: Vec<u8>,
    /// Upside down: columns and grids run the other way.
    #[serde(default)]
    rotated: bool,
    /// 51 grids instead of 140; needed with `"let"`.
    #[serde(default)]
    short: bool,
    /// First column of pixels.
    #[serde(default)]
    x_offset: u16,
    /// Row of grid 0.
    #[serde(default)]
    y_offset: u16,
    /// Least amplitude of a hit in this vessel.
    #[schemars(range(max = 1023), extend("x-unit" = "ADC counts"))]
    min_adc: Option<u16>,
}

fn columns() -> u32 {
    384
}

fn rows() -> u32 {
    140
}

fn centroid() -> Strategy {
    Strategy::Centroid
}

fn gap() -> Picoseconds {
    500_000
}

fn max_grid_span() -> u16 {
    3
}

fn min_adc() -> u16 {
    50
}

impl TryFrom<Section> for EssMultiGridSettings {
    type Error = RefusedValue;

    fn try_from(section: Section) -> Result<Self, RefusedValue> {
        let vessel = |entry: VesselEntry| VesselSettings {
            rings: entry.rings,
            fens: entry.fens,
            rotated: entry.rotated,
            short: entry.short,
            x_offset: entry.x_offset,
            y_offset: entry.y_offset,
            min_adc: entry.min_adc.unwrap_or(section.min_adc),
        };
        Ok(Self {
            ess: EssSettings::default(),
            geometry: LogicalGeometry::new(section.columns, section.rows, LAYERS, 1)
                .map_err(|error| SettingsError { key: "columns".into(), problem: error.to_string() })?,
            wiring: section.wiring,
            vessels: section.vessels.into_iter().map(vessel).collect(),
            strategy: section.strategy,
            gap: section.gap,
            max_grid_span: section.max_grid_span,
            pairing: section.pairing,
            mask: section.mask,
            calibration: section.calibration,
            calibration_file: section.calibration_file,
        })
    }
}

impl EssMultiGridSettings {
    /// Checks everything; keys are those of the detector's section, or begin with `ess.`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.ess.check()?;
        if self.geometry.nz() != LAYERS || self.geometry.panels() != 1 || self.geometry.ny() > MOST_ROWS {
            let problem = format!("the detector has {LAYERS} layers and at most {MOST_ROWS} rows");
            return SettingsError::refuse("size", problem);
        }
        if self.gap == 0 || self.gap > LONGEST_GAP {
            return SettingsError::refuse("gap", "must lie above 0 and at most at 1ms");
        }
        if self.max_grid_span == 0 {
            return SettingsError::refuse("max_grid_span", "must be at least 1");
        }
        self.pairing.check()?;
        if self.vessels.is_empty() {
            return SettingsError::refuse("vessels", "no vessel is configured");
        }
        let mut known = Vec::new();
        for (index, vessel) in self.vessels.iter().enumerate() {
            let key = |key: &str| format!("vessels[{index}].{key}");
            let in_vessel = |error: SettingsError| SettingsError { key: key(&error.key), ..error };
            vessel.check(self.wiring, &self.geometry).map_err(in_vessel)?;
            for front_end in vessel.front_ends() {
                if known.contains(&front_end) {
                    let (ring, fen) = front_end;
                    let problem = format!("FEN {fen} of ring {ring} is configured twice");
                    return SettingsError::refuse(key("fens"), problem);
                }
                known.push(front_end);
            }
        }
        self.vmm()?.check()
    }

    /// The front ends: each reads a column, a module of its own.
    fn columns(&self) -> impl Iterator<Item = (&VesselSettings, u8, u8)> {
        self.vessels.iter().flat_map(|vessel| vessel.front_ends().map(move |(ring, fen)| (vessel, ring, fen)))
    }

    /// The first column of pixels of the vessel that each column is in.
    pub fn x_offsets(&self) -> Vec<u32> {
        self.columns().map(|(vessel, ..)| u32::from(vessel.x_offset)).collect()
    }

    /// One threshold if all vessels have the same, else one for each vessel.
    fn thresholds(&self) -> Vec<ThresholdSetting> {
        let of = |vessel: &VesselSettings| vessel.min_adc;
        let first = self.vessels.first().map_or(0, of);
        if self.vessels.iter().all(|vessel| of(vessel) == first) {
            return vec![ThresholdSetting::new("min_adc", first, LARGEST_ADC)];
        }
        let each = self.vessels.iter().enumerate();
        each.map(|(index, vessel)| {
            ThresholdSetting::new(format!("vessels[{index}].min_adc"), of(vessel), LARGEST_ADC)
        })
        .collect()
    }

    /// The hybrids with what their channels are. The target of a channel is the number of its column.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn vmm(&self) -> Result<VmmSettings, SettingsError> {
        let thresholds = self.thresholds();
        // One for all vessels, or one for each.
        let class = |vessel: usize| if thresholds.len() == 1 { 0 } else { vessel as ThresholdClass };
        let vessels = self.vessels.iter().enumerate();
        let columns = vessels.flat_map(|(number, vessel)| {
            vessel.front_ends().map(move |front_end| (number, vessel, front_end))
        });
        let mut hybrids: Vec<HybridSettings> = columns
            .enumerate()
            .flat_map(|(column, (number, vessel, front_end))| {
                vessel.hybrids(self.wiring, front_end, column as u16, class(number))
            })
            .collect();
        CalibratedVmm::apply(&self.calibration, &mut hybrids)?;
        Ok(VmmSettings {
            hybrids,
            mask: self.mask.clone(),
            fine_time: false,
            over_threshold_counts: false,
            planes: PLANES,
            thresholds,
        })
    }

    /// Takes the calibration from a file: `vmm_calibration` of vmm-essdat. Gives notes.
    ///
    /// # Errors
    /// What in the file is wrong, where, and what is expected; if it goes by identities of hybrids, which vessels do not
    /// say.
    pub fn take_calibration(&mut self, text: &str) -> Result<FileContent<()>, String> {
        let hybrid = |entry: &HybridSettings| {
            let HybridSettings { ring, fen, hybrid, .. } = *entry;
            (HybridAddress { ring, fen, hybrid }, None)
        };
        let vmm = self.vmm().map_err(|error| error.to_string())?;
        let hybrids = vmm.hybrids.iter().map(hybrid).collect();
        let wired = WiredHybrids {
            detector: "TREX",
            times_unused: Some("a Multi-Grid does not use fine times"),
            hybrids,
        };
        let FileContent { content, notes } = calibration(text, &wired)?;
        self.calibration = content;
        Ok(FileContent { content: (), notes })
    }

    /// The detector, with these beam monitors alongside, formed by these threads.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn detector(
        &self,
        monitors: Option<&BeamMonitorSettings>,
        workers: Option<Arc<dyn Workers>>,
    ) -> Result<Box<dyn Detector>, SettingsError> {
        match self.strategy {
            Strategy::Maximum => self.detector_of::<Maximum>(monitors, workers),
            Strategy::CenterMass => self.detector_of::<CenterMass>(monitors, workers),
            Strategy::Prioritized => self.detector_of::<Prioritized>(monitors, workers),
            Strategy::Centroid => self.detector_of::<Centroid>(monitors, workers),
        }
    }

    fn detector_of<R: Reconstruction + Send + 'static>(
        &self,
        monitors: Option<&BeamMonitorSettings>,
        workers: Option<Arc<dyn Workers>>,
    ) -> Result<Box<dyn Detector>, SettingsError> {
        self.check()?;
        let detector = ModuleDetector {
            ess: &self.ess,
            vmm: self.vmm()?,
            geometry: self.geometry,
            modules: self.x_offsets().len(),
            monitors,
            workers,
        };
        if self.pairing.joins() {
            return detector.build(|share| self.joined_windows::<R>(share), |former| former);
        }
        // Windows are cut by the number of their hits: it must not matter in which order equal times arrive.
        detector.build(|share| self.paired_windows::<R>(share), ModuleFormer::with_payload_order)
    }

    /// Windows that are one neutron each.
    fn joined_windows<R: Reconstruction>(&self, share: ModuleShare) -> Columns<R> {
        let sorting = &self.ess.sorting;
        let x_offsets = self.x_offsets();
        let rules = ColumnRules {
            gap: ticks::in_duration(self.gap),
            max_grid_span: self.max_grid_span,
            max_hits: u32::try_from(sorting.max_group_hits).unwrap_or(u32::MAX),
        };
        Columns::<R>::new(rules, x_offsets, self.geometry, self.event_capacity(share))
    }

    /// Windows that may have several neutrons.
    fn paired_windows<R: Reconstruction>(&self, share: ModuleShare) -> PairedWindows<ColumnNeutrons<R>> {
        let x_offsets = self.x_offsets();
        let (columns, events) = (x_offsets.len(), self.event_capacity(share));
        let rules = PairedRules::new(&self.pairing, ticks::in_duration(self.gap), [1; 2]);
        let neutrons = ColumnNeutrons::<R>::new(self.max_grid_span, x_offsets, self.geometry, events);
        PairedWindows::new(columns, rules, neutrons)
    }

    fn event_capacity(&self, share: ModuleShare) -> usize {
        ModuleWindows::event_capacity(share.count(), self.ess.sorting.max_held_hits)
    }
}

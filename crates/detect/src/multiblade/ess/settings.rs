//! Settings of a Multi-Blade with the ESS readout, and the detector made of them.

use super::layout::{CassetteLayout, CassetteWiring, STRIPS, WIRES, WireVmm};
use crate::beam_monitors::BeamMonitorSettings;
use crate::ess::files::HybridId;
use crate::ess::settings::{FENS, HYBRID_CHANNELS, HYBRIDS, RINGS};
use crate::ess::ticks;
use crate::ess::{
    CalibratedVmm, EssSettings, HybridSettings, MaskedVmmChannels, ModuleDetector, ModuleFormer,
    PlaceRequest, VmmSettings,
};
use crate::module_windows::{ModuleShare, ModuleWindows};
use crate::multiblade::cassettes::Cassettes;
use crate::multiblade::neutrons::BladeNeutrons;
use crate::multiblade::pixels::CassettePixels;
use crate::multiblade::position::PositionRules;
use crate::multiblade::settings::{LARGEST_RATIO, Plane, Rounding, Thousandths, WindowRule, WindowSettings};
use crate::multiblade::window::WindowRules;
use crate::neutron_groups::PairedRules;
use crate::paired_windows::PairedWindows;
use crate::settings::pairing::PairingSettings;
use crate::settings::table::{AsItIs, Time, defaults, table};
use crate::settings::{FlatGeometry, Picoseconds, SettingsError, flat_geometry};
use crate::threshold_steps::{ThresholdClass, ThresholdSetting};
use crate::workers::Workers;
use evforge_core::detector::Detector;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::settings::RefusedValue;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// The hybrid that reads a cassette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CassetteHybrid {
    /// The cassette, from 0: says where on the detector it is.
    pub cassette: u16,
    /// The ring, 0..=11: half the fibre number.
    pub ring: u8,
    /// The FEN, 0..=23.
    pub fen: u8,
    /// The hybrid on its FEN, 0..=7: half the VMM number.
    pub hybrid: u8,
    /// Which VMM reads wires, and in which direction channels count.
    pub wiring: CassetteWiring,
    /// Least amplitude of its wires, after calibration.
    pub wire_threshold: u16,
    /// Least amplitude of its strips, after calibration.
    pub strip_threshold: u16,
    /// Its identity, by which a calibration file knows it.
    pub hybrid_id: Option<HybridId>,
}

/// What holds for cassettes that say nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CassetteDefaults {
    /// Which VMM reads wires, and in which direction channels count.
    pub wiring: CassetteWiring,
    /// Least amplitude of wires.
    pub wire_threshold: u16,
    /// Least amplitude of strips.
    pub strip_threshold: u16,
}

/// All settings of a Multi-Blade with the ESS readout: the section `[ess_multiblade]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "Section")]
#[schemars(with = "Section")]
pub struct EssMultiBladeSettings {
    /// Header, pulses and order: the table `[ess]`. `max_held_hits` is per cassette, `max_group_hits` per window.
    pub ess: EssSettings,
    /// How cassettes are wired and placed.
    pub layout: CassetteLayout,
    /// What holds for cassettes that say nothing else.
    pub defaults: CassetteDefaults,
    /// The cassettes.
    pub cassettes: Vec<CassetteHybrid>,
    /// The file that they come from, if they do; see [`files`](super::files).
    pub mapping_file: Option<PathBuf>,
    /// What belongs together; times in units of [`crate::ess::ticks`].
    pub window: WindowSettings,
    /// How several neutrons in a window are told apart.
    pub pairing: PairingSettings,
    /// Channels that are left out.
    pub mask: Vec<MaskedVmmChannels>,
    /// Calibrations; channels of other VMMs stay as they are.
    pub calibration: Vec<CalibratedVmm>,
    /// The file that they come from, if they do.
    pub calibration_file: Option<PathBuf>,
    /// The pixels.
    pub geometry: LogicalGeometry,
}

/// The section as it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Section {
    /// How cassettes of 32 wires and 64 strips are wired and placed; see below. The Multi-Blade of the test beamline has the layout of AMOR.
    layout: CassetteLayout,
    /// `{ nx = 64, ny = 1024 }`: columns and rows, fewer than 2^23 pixels; every cassette must lie within.
    #[serde(deserialize_with = "flat_geometry")]
    #[schemars(with = "FlatGeometry")]
    geometry: LogicalGeometry,
    /// Which VMM of a hybrid reads the wires; the other one reads the strips. In an entry of `cassettes`: for this cassette only.
    /// Recordings of the detectors have wires on the odd one.
    #[serde(default)]
    wires: WireVmm,
    /// Whether wires count along their channels in the direction opposite to that of the table below; also in an entry of `cassettes`.
    #[serde(default)]
    wires_reversed: bool,
    /// The same of strips.
    #[serde(default)]
    strips_reversed: bool,
    /// Least amplitude, after calibration, of a hit on a wire that has not crossed the threshold of the chip itself.
    #[serde(default)]
    wire_threshold: u16,
    /// The same on a strip.
    #[serde(default)]
    strip_threshold: u16,
    /// What belongs to one neutron.
    #[serde(default = "window::default", with = "window")]
    window: WindowTable,
    /// Tells several neutrons in one window apart: see [pairing](#pairing-several-neutrons-in-one-window). Its second plane is that of the
    /// strips.
    #[serde(default)]
    pairing: PairingSettings,
    /// `{ cassette = 0, ring = 0, fen = 0, hybrid = 0 }`: the hybrid that reads a cassette.
    #[serde(default)]
    cassettes: Vec<CassetteEntry>,
    /// The cassettes as JSON, in place of `cassettes`: the list `Config` of a file of the EFU whose `Detector` is `Freia`; see [files in
    /// JSON](#files-in-json).
    #[schemars(extend("x-unit" = "file"))]
    mapping_file: Option<PathBuf>,
    /// Channels to leave out.
    #[serde(default)]
    mask: Vec<MaskedVmmChannels>,
    /// Calibrations of channels: an amplitude becomes (amplitude − offset) × slope, and the fine time, which is added to the time, (34.08 ns −
    /// TDC × 60 ns / 255 − offset) × slope.
    #[serde(default)]
    calibration: Vec<CalibratedVmm>,
    /// Calibrations as JSON, in place of `calibration`; see [files in JSON](#files-in-json).
    #[schemars(extend("x-unit" = "file"))]
    calibration_file: Option<PathBuf>,
}

/// An entry of `cassettes`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CassetteEntry {
    /// The cassette, from 0.
    cassette: u16,
    /// The ring: half the fibre number.
    #[schemars(range(max = RINGS - 1))]
    ring: u8,
    /// The FEN on its ring.
    #[schemars(range(max = FENS - 1))]
    fen: u8,
    /// The hybrid on its FEN: half the VMM number.
    #[schemars(range(max = HYBRIDS - 1))]
    hybrid: u8,
    /// Which VMM reads the wires of this cassette.
    wires: Option<WireVmm>,
    /// Whether its wires count the other way.
    wires_reversed: Option<bool>,
    /// Whether its strips count the other way.
    strips_reversed: Option<bool>,
    /// Least amplitude on its wires.
    wire_threshold: Option<u16>,
    /// Least amplitude on its strips.
    strip_threshold: Option<u16>,
    /// The identity of the hybrid, by which a calibration file knows it.
    hybrid_id: Option<HybridId>,
}

/// `window`: as in the section of the prototype, but its length is `max_time_gap`, a time.
#[derive(Clone)]
struct WindowTable {
    max_time_gap: Picoseconds,
    rest: WindowSettings,
}

table! { WindowTable {
    /// Hits of a cassette belong together as long as the next one comes no later than this after the latest one, whichever plane it is on.
    "max_time_gap" => (.max_time_gap) Time { "x-range": "at most 1 ms" },
    /// Wires of a neutron at most.
    "max_wires" => (.rest.max_wires) AsItIs { "minimum": 1 },
    /// Strips of a neutron at most.
    "max_strips" => (.rest.max_strips) AsItIs { "minimum": 1 },
    /// Wires that may be missing in all between those of a neutron; 0: they are neighbours one by one.
    "max_gap_wires" => (.rest.max_gap_wires) AsItIs,
    /// Strips that may be missing in all between those of a neutron; 0: they are neighbours one by one.
    "max_gap_strips" => (.rest.max_gap_strips) AsItIs,
    /// How many times as large as the other one the sum of a plane's amplitudes may be. In thousandths.
    "max_amplitude_ratio" => (.rest.max_amplitude_ratio) Thousandths { "minimum": 1, "maximum": LARGEST_RATIO },
    /// Two groups of wires and two of strips in a window are two neutrons, as in `[multiblade.window]`.
    "separate" => (.rest.separate) AsItIs,
} }

defaults! {
    window: WindowTable = WindowTable {
        max_time_gap: 500_000,
        rest: WindowSettings { rule: WindowRule::Gap, ..WindowSettings::default() },
    };
}

/// Longest `max_time_gap`.
const LONGEST_GAP: Picoseconds = 1_000_000_000;

impl TryFrom<Section> for EssMultiBladeSettings {
    type Error = RefusedValue;

    fn try_from(section: Section) -> Result<Self, RefusedValue> {
        let WindowTable { max_time_gap, rest } = section.window;
        if max_time_gap > LONGEST_GAP {
            return Ok(SettingsError::refuse("window.max_time_gap", "must be at most 1ms")?);
        }
        // A hit that comes exactly so much later still belongs to the window.
        let ticks = u32::try_from(ticks::in_duration(max_time_gap) + 1).unwrap_or(u32::MAX);
        let defaults = CassetteDefaults {
            wiring: CassetteWiring {
                wires: section.wires,
                wires_reversed: section.wires_reversed,
                strips_reversed: section.strips_reversed,
            },
            wire_threshold: section.wire_threshold,
            strip_threshold: section.strip_threshold,
        };
        let cassette = |entry: CassetteEntry| CassetteHybrid {
            cassette: entry.cassette,
            ring: entry.ring,
            fen: entry.fen,
            hybrid: entry.hybrid,
            wiring: CassetteWiring {
                wires: entry.wires.unwrap_or(defaults.wiring.wires),
                wires_reversed: entry.wires_reversed.unwrap_or(defaults.wiring.wires_reversed),
                strips_reversed: entry.strips_reversed.unwrap_or(defaults.wiring.strips_reversed),
            },
            wire_threshold: entry.wire_threshold.unwrap_or(defaults.wire_threshold),
            strip_threshold: entry.strip_threshold.unwrap_or(defaults.strip_threshold),
            hybrid_id: entry.hybrid_id,
        };
        Ok(Self {
            ess: EssSettings::default(),
            layout: section.layout,
            defaults,
            cassettes: section.cassettes.into_iter().map(cassette).collect(),
            mapping_file: section.mapping_file,
            window: WindowSettings { ticks, ..rest },
            pairing: section.pairing,
            mask: section.mask,
            calibration: section.calibration,
            calibration_file: section.calibration_file,
            geometry: section.geometry,
        })
    }
}

impl EssMultiBladeSettings {
    /// Checks the settings, alone and with one another; keys are those of the detector's section, or begin with
    /// `ess.`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        let in_sorting = |error: SettingsError| match error.key.starts_with("sorting.") {
            true => SettingsError { key: format!("ess.{}", error.key), ..error },
            false => error,
        };
        self.ess.check()?;
        self.window.check(self.ess.sorting.max_group_hits).map_err(in_sorting)?;
        self.pairing.check()?;
        if self.window.separate && !self.pairing.joins() {
            let problem = "neutrons are told apart by pairing.ambiguous already: remove one of the two";
            return SettingsError::refuse("window.separate", problem);
        }
        if self.cassettes.is_empty() {
            let problem = "no cassette is configured: add entries, or mapping_file";
            return SettingsError::refuse("cassettes", problem);
        }
        if self.geometry.pixel_count() >= crate::hit::PAYLOAD_LIMIT {
            return SettingsError::refuse("geometry", "must have fewer than 2^23 pixels");
        }
        self.check_cassettes()?;
        let of_cassette = |error: SettingsError| SettingsError {
            key: error.key.replacen("hybrid[", "cassettes[", 1),
            ..error
        };
        self.vmm()?.check().map_err(of_cassette)
    }

    /// Checks where the cassettes are; keys are `cassettes[n].cassette`.
    pub(super) fn check_cassettes(&self) -> Result<(), SettingsError> {
        let (wires, strips) = (u32::from(WIRES), u32::from(STRIPS));
        let size = if self.layout.wires_are_columns() { (wires, strips) } else { (strips, wires) };
        for (index, entry) in self.cassettes.iter().enumerate() {
            let refuse =
                |problem: String| SettingsError::refuse(format!("cassettes[{index}].cassette"), problem);
            let (column, row) = self.layout.origin(entry.cassette);
            if column + size.0 > self.geometry.nx() || row + size.1 > self.geometry.ny() {
                return refuse(format!(
                    "cassette {} lies at columns {column}.. and rows {row}.., outside {} x {} pixels",
                    entry.cassette,
                    self.geometry.nx(),
                    self.geometry.ny()
                ));
            }
            if self.cassettes[..index].iter().any(|other| other.cassette == entry.cassette) {
                return refuse(format!("cassette {} is configured twice", entry.cassette));
            }
        }
        Ok(())
    }

    /// The hybrids, with what their channels are. The target of a channel is the place of its cassette in the list.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn vmm(&self) -> Result<VmmSettings, SettingsError> {
        let CassetteDefaults { wire_threshold, strip_threshold, .. } = self.defaults;
        let mut thresholds = vec![
            ThresholdSetting::new("wire_threshold", wire_threshold, u16::MAX),
            ThresholdSetting::new("strip_threshold", strip_threshold, u16::MAX),
        ];
        let numbered = self.cassettes.iter().zip(0..=u16::MAX);
        let mut hybrids: Vec<HybridSettings> = numbered
            .map(|(entry, target)| {
                let mut class = |plane: Plane, name: &str, own: u16| {
                    if own == thresholds[plane.index()].value {
                        return plane.index() as ThresholdClass;
                    }
                    let key = format!("cassettes[{target}].{name}");
                    thresholds.push(ThresholdSetting::new(key, own, u16::MAX));
                    (thresholds.len() - 1) as ThresholdClass
                };
                let wires = class(Plane::Wires, "wire_threshold", entry.wire_threshold);
                let strips = class(Plane::Strips, "strip_threshold", entry.strip_threshold);
                self.hybrid(entry, target, [wires, strips])
            })
            .collect();
        CalibratedVmm::apply(&self.calibration, &mut hybrids)?;
        Ok(VmmSettings {
            hybrids,
            mask: self.mask.clone(),
            fine_time: true,
            over_threshold_counts: true,
            planes: ["wires", "strips"],
            thresholds,
        })
    }

    /// Where the cassettes are, in the order of the list.
    pub fn pixels(&self) -> CassettePixels {
        let origins = self.cassettes.iter().map(|entry| self.layout.origin(entry.cassette)).collect();
        CassettePixels::new(origins, self.layout.wires_are_columns(), self.geometry)
    }

    fn hybrid(&self, entry: &CassetteHybrid, target: u16, classes: [ThresholdClass; 2]) -> HybridSettings {
        let vmm_channels = HYBRID_CHANNELS as u16 / 2;
        let request = |channel: u16| {
            let plane = entry.wiring.plane(channel >= vmm_channels);
            let threshold = match plane {
                Plane::Wires => entry.wire_threshold,
                Plane::Strips => entry.strip_threshold,
            };
            let coordinate = self.layout.coordinate(entry.wiring, plane, channel % vmm_channels)?;
            let threshold_class = classes[plane.index()];
            Some(PlaceRequest { target, plane: plane.index() as u8, coordinate, threshold, threshold_class })
        };
        HybridSettings {
            ring: entry.ring,
            fen: entry.fen,
            hybrid: entry.hybrid,
            channels: (0..2 * vmm_channels).map(request).collect(),
            calibration: Vec::new(),
        }
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
        self.check()?;
        let detector = ModuleDetector {
            ess: &self.ess,
            vmm: self.vmm()?,
            geometry: self.geometry,
            modules: self.cassettes.len(),
            monitors,
            workers,
        };
        if self.pairing.joins() {
            return detector.build(|share| self.joined_windows(share), |former| former);
        }
        // Windows are cut by the number of their hits: it must not matter in which order equal times arrive.
        detector.build(|share| self.paired_windows(share), ModuleFormer::with_payload_order)
    }

    /// Windows that are one neutron each, or two if the window says so.
    fn joined_windows(&self, share: ModuleShare) -> Cassettes {
        let rules = WindowRules::new(&self.window, self.ess.sorting.max_group_hits, u64::MAX);
        Cassettes::new(rules, self.position(), self.event_capacity(share))
    }

    /// Windows that may have several neutrons.
    fn paired_windows(&self, share: ModuleShare) -> PairedWindows<BladeNeutrons> {
        let Self { window, pairing, .. } = self;
        // A hit that comes exactly so much later still belongs to the window.
        let gap = u64::from(window.ticks) - 1;
        let reach = [window.max_gap_wires, window.max_gap_strips]
            .map(|missing| u16::try_from(missing).unwrap_or(u16::MAX).saturating_add(1));
        let neutrons = BladeNeutrons::new(self.position(), self.event_capacity(share));
        let rules = PairedRules::new(pairing, gap, reach);
        PairedWindows::new(self.cassettes.len(), rules, neutrons)
    }

    fn position(&self) -> PositionRules {
        PositionRules::new(&self.window, false, Rounding::Nearest, self.pixels())
    }

    fn event_capacity(&self, share: ModuleShare) -> usize {
        ModuleWindows::event_capacity(share.count(), self.ess.sorting.max_held_hits)
    }
}

//! Settings of helium-3 tubes.

use super::calibration::GroupCalibration;
use super::wiring::WiringEntry;
use crate::ess::EssSettings;
use crate::ess::settings::{FENS, RINGS};
use crate::hit::PAYLOAD_LIMIT;
use crate::settings::{FlatGeometry, Picoseconds, SettingsError, flat_geometry};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::SomeInPicoseconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Tubes of a group at most.
pub(super) const MOST_TUBES: usize = 16;

/// Which charges a readout has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Charges {
    /// A and B, of the two ends of a chain of tubes, from 0 to 65535: A / (A + B) says which tube it was and where along it.
    #[default]
    Two,
    /// A, B, C and D, signed, of the corners of a bundle of straws: (A + B) / sum is the place along the straw, and (B + D) / sum says which
    /// straw it was.
    Four,
}

/// The axis of the geometry along which a tube lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Columns.
    #[default]
    X,
    /// Rows.
    Y,
}

/// How a position becomes a pixel along its tube.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// The nearest one; pixels at the ends are half as long.
    #[default]
    Nearest,
    /// The one below; the last pixel has the far end alone.
    Down,
}

/// What happens to a position in none of the intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// The readout is discarded.
    #[default]
    Drop,
    /// It counts as the nearest end of an interval.
    Nearest,
}

/// What of a calibration is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationPart {
    /// Which tube a position is of, and its ends.
    Intervals,
    /// The correction along the tube.
    Polynomials,
}

/// A tube of a group, where no calibration says otherwise.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TubeSettings {
    /// The interval in which the readouts of the group are of this tube, both ends included. Written from the larger number to the smaller
    /// one, the tube is read from its other end.
    #[schemars(inner(range(min = 0, max = 1)))]
    pub interval: [f64; 2],
    /// Columns from the first pixel of the group to that of the tube.
    #[serde(default)]
    pub x: u32,
    /// Rows from the first pixel of the group to that of the tube.
    #[serde(default)]
    pub y: u32,
    /// How a position becomes a pixel.
    #[serde(default)]
    pub rounding: Rounding,
}

/// Groups to leave out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaskedGroups {
    /// The ring.
    #[schemars(range(max = RINGS - 1))]
    pub ring: u8,
    /// The FEN.
    #[schemars(range(max = FENS - 1))]
    pub fen: u8,
    /// The groups of the FEN.
    pub channels: Vec<u8>,
    /// Why.
    pub reason: String,
}

/// All settings of helium-3 tubes: the section `[ess_helium3]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Helium3Settings {
    /// Header, pulses and order: the table `[ess]`.
    #[serde(skip)]
    pub ess: EssSettings,
    /// `{ nx = 900, ny = 15 }`: columns and rows, fewer than 2^23 pixels. With `mapping_file`, the file says it.
    #[serde(default = "no_pixels", deserialize_with = "flat_geometry")]
    #[schemars(with = "FlatGeometry")]
    pub geometry: LogicalGeometry,
    /// Which charges a readout has.
    #[serde(default)]
    pub charges: Charges,
    /// The axis along which tubes lie.
    #[serde(default)]
    pub along: Axis,
    /// Pixels along a tube, at least 2.
    #[serde(default = "two")]
    #[schemars(range(min = 2))]
    pub pixels: u16,
    /// The tubes that share a group: one, three of a triplet, seven straws.
    #[serde(default)]
    #[schemars(length(min = 1, max = MOST_TUBES))]
    pub tubes: Vec<TubeSettings>,
    /// Which group of which FEN is where.
    #[serde(default)]
    pub wiring: Vec<WiringEntry>,
    /// The wiring as JSON, in place of `wiring`: the file of a LOKI, BIFROST, MIRACLES, CSPEC or TBL3HE of the EFU, which also says `geometry`,
    /// `charges`, `along`, `pixels`, `tubes`, `calibrated_by` and the limits of charges.
    #[schemars(extend("x-unit" = "file"))]
    pub mapping_file: Option<PathBuf>,
    /// Least charge of each end, of readouts with two charges.
    #[serde(default)]
    pub least_charge: u16,
    /// Largest sum of all charges.
    #[schemars(extend("x-default" = "none"))]
    pub largest_sum: Option<u32>,
    /// Least sum of all charges.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub least_sum: u32,
    /// A charge of this size or above is that of an amplifier at its limit: the readout is discarded.
    #[schemars(extend("x-default" = "none"))]
    pub saturation: Option<u16>,
    /// Readouts with any of these bits in their flags are discarded.
    #[serde(default)]
    pub discarded_flags: u8,
    /// What happens to a position in none of the intervals.
    #[serde(default)]
    pub outside: Outside,
    /// A neutron in the same group sooner than this after the one before is discarded: their charges overlap.
    #[serde(default, with = "SomeInPicoseconds")]
    #[schemars(extend("x-default" = "none"))]
    pub dead_time: Option<Picoseconds>,
    /// What of the calibration is used.
    #[serde(default = "all_parts")]
    pub calibrated_by: Vec<CalibrationPart>,
    /// Calibrations of single groups; all others are as `tubes` says.
    #[serde(default)]
    pub calibration: Vec<GroupCalibration>,
    /// The calibration as JSON, in place of `calibration`: the file of the instrument, with an entry for each group.
    #[schemars(extend("x-unit" = "file"))]
    pub calibration_file: Option<PathBuf>,
    /// Groups to leave out.
    #[serde(default)]
    pub mask: Vec<MaskedGroups>,
}

// Numbers of intervals and polynomials are finite: they are checked, and JSON and TOML files with others are refused.
impl Eq for Helium3Settings {}

fn one() -> u32 {
    1
}

fn two() -> u16 {
    2
}

fn no_pixels() -> LogicalGeometry {
    // A pixel that nothing is in: refused unless a file says another geometry.
    LogicalGeometry::flat(1, 1).unwrap_or_else(|_| unreachable!("one pixel can be numbered"))
}

fn all_parts() -> Vec<CalibrationPart> {
    vec![CalibrationPart::Intervals, CalibrationPart::Polynomials]
}

impl Helium3Settings {
    /// Checks the settings, alone and with one another; keys are those of the section, or begin with `ess.`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.ess.check()?;
        if self.geometry.pixel_count() >= PAYLOAD_LIMIT {
            return SettingsError::refuse("geometry", "must have fewer than 2^23 pixels");
        }
        let (axis, length) = match self.along {
            Axis::X => ("columns", self.geometry.nx()),
            Axis::Y => ("rows", self.geometry.ny()),
        };
        if self.pixels < 2 {
            return SettingsError::refuse("pixels", format!("found {}, expected at least 2", self.pixels));
        }
        if length < 2 {
            let problem = format!(
                "has {length} {axis}: tubes lie along them. Give geometry = {{ nx, ny }}, or mapping_file"
            );
            return SettingsError::refuse("geometry", problem);
        }
        if self.charges == Charges::Four && self.least_charge > 0 {
            let problem =
                "is for readouts with two charges: of four, a single one may be below 0. Use least_sum";
            return SettingsError::refuse("least_charge", problem);
        }
        self.check_tubes()?;
        let wiring = self.expand()?;
        self.check_calibration(&wiring)?;
        for (index, entry) in self.mask.iter().enumerate() {
            let unknown =
                entry.channels.iter().find(|&&group| wiring.place(entry.ring, entry.fen, group).is_none());
            if let Some(group) = unknown {
                let problem =
                    format!("no tube is wired to group {group} of ring {}, FEN {}", entry.ring, entry.fen);
                return SettingsError::refuse(format!("mask[{index}].channels"), problem);
            }
        }
        Ok(())
    }

    fn check_tubes(&self) -> Result<(), SettingsError> {
        if !(1..=MOST_TUBES).contains(&self.tubes.len()) {
            let problem = format!("{} tubes in a group, expected 1 to {MOST_TUBES}", self.tubes.len());
            return SettingsError::refuse("tubes", problem);
        }
        for (index, tube) in self.tubes.iter().enumerate() {
            let [from, to] = tube.interval;
            let key = || format!("tubes[{index}].interval");
            if !(0.0..=1.0).contains(&from) || !(0.0..=1.0).contains(&to) || from == to {
                let problem = format!("found [{from}, {to}], expected two different numbers from 0 to 1");
                return SettingsError::refuse(key(), problem);
            }
            let overlaps = |other: &&TubeSettings| {
                let [low, high] = ascending(other.interval);
                let [own_low, own_high] = ascending(tube.interval);
                own_low < high && low < own_high
            };
            if let Some(other) = self.tubes[..index].iter().find(overlaps) {
                let problem = format!("[{from}, {to}] overlaps {:?} of another tube", other.interval);
                return SettingsError::refuse(key(), problem);
            }
        }
        Ok(())
    }
}

/// The ends of an interval, the smaller one first.
pub(super) fn ascending([from, to]: [f64; 2]) -> [f64; 2] {
    if from <= to { [from, to] } else { [to, from] }
}

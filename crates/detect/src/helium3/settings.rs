//! Settings of helium-3 tubes.

use crate::ess::EssSettings;
use crate::ess::settings::{FENS, RINGS};
use crate::settings::{FlatGeometry, Picoseconds, flat_geometry};
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

/// Groups that a FEN can number.
pub(super) const GROUPS: usize = 256;

/// How many of something follow one another, and by how much each is shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// How many there are.
    #[schemars(range(min = 1, max = GROUPS))]
    pub count: u16,
    /// Columns from one to the next.
    #[serde(default)]
    pub x: u32,
    /// Rows from one to the next.
    #[serde(default)]
    pub y: u32,
    /// Groups of the calibration from one to the next.
    #[schemars(extend("x-default" = "one after the other"))]
    pub calibration: Option<u32>,
}

/// Groups of the FENs of a ring: an entry of `wiring`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WiringEntry {
    /// The ring: half the fibre number.
    #[schemars(range(max = RINGS - 1))]
    pub ring: u8,
    /// The first FEN.
    #[serde(default)]
    #[schemars(range(max = FENS - 1))]
    pub fen: u8,
    /// The first group of each FEN.
    #[serde(default)]
    pub group: u8,
    /// Column of the first pixel of the first group.
    #[serde(default)]
    pub x: u32,
    /// Row of the first pixel of the first group.
    #[serde(default)]
    pub y: u32,
    /// Its place in the calibration.
    #[schemars(extend("x-default" = "behind the groups of the entry before"))]
    pub calibration: Option<u32>,
    /// The groups of a FEN: steps within steps, the shortest first. `[{ count = 3, x = 100 }, { count = 5, y = 3 }]`: five rows of three.
    #[serde(default)]
    pub groups: Vec<Steps>,
    /// The FENs; one where it is left out.
    pub fens: Option<Steps>,
}

/// The calibration of a group.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupCalibration {
    /// The group: its place in the calibration, which the wiring gives it.
    pub group: u32,
    /// The interval of each tube, as in `tubes`.
    #[schemars(length(min = 1, max = MOST_TUBES))]
    pub intervals: Vec<[f64; 2]>,
    /// The correction of each tube: a position p becomes p − (a + b p + c p² + d p³).
    #[schemars(length(min = 1, max = MOST_TUBES))]
    pub polynomials: Vec<[f64; 4]>,
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

/// The ends of an interval, the smaller one first.
pub(super) fn ascending([from, to]: [f64; 2]) -> [f64; 2] {
    if from <= to { [from, to] } else { [to, from] }
}

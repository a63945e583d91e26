//! Where the panels of a detector are in a picture.
//!
//! | panels | in the picture |
//! |---|---|
//! | `panel_columns` is said | in rows of that length, panel 0 at the lower left |
//! | all perpendicular to the beam and not turned, and none before another | as they stand, on the grid of the pitch |
//! | others | side by side, panel 0 at the left |
//!
//! A panel that is swung about the sample, or turned, is in a plane of its own: a flat picture of several such planes would be true
//! for none of them. Columns grow with x and rows with y, as within a panel.

use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_core::placement::Placement;
use std::sync::Arc;

/// More panels are not put where they stand: each is compared with each.
const MOST_STANDING: u32 = 1024;
/// Pictures of panels as they stand have at most this many times the pixels of the panels: the rest is what lies between.
const WIDEST: u64 = 4;
/// How far a pixel may be from its place on the grid, in steps of the pitch, by the turn of a panel.
const TOLERANCE: f64 = 0.1;

/// How panels are arranged in a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PanelLayout {
    /// In rows of equal length, panel 0 at the lower left.
    Rows {
        /// Panels in a row, at least 1.
        columns: u32,
    },
    /// As they stand.
    Standing {
        /// Column and row of the lower left pixel of each panel.
        corners: Arc<[[u32; 2]]>,
        /// Columns and rows that all of them take.
        size: [u32; 2],
    },
}

impl PanelLayout {
    /// Panels side by side.
    pub fn side_by_side(panels: u32) -> Self {
        Self::Rows { columns: panels.max(1) }
    }

    /// How the panels of a detector are arranged, seen from the front.
    pub(crate) fn of(geometry: &LogicalGeometry, placement: Option<&Placement>) -> Self {
        let standing = || placement.and_then(|placement| standing(geometry, placement));
        in_rows(geometry, placement).or_else(standing).unwrap_or(Self::side_by_side(geometry.panels()))
    }

    /// The same for pictures from above and from the side, in which panels that stand above one another cannot be told apart.
    pub(crate) fn from_a_side(geometry: &LogicalGeometry, placement: Option<&Placement>) -> Self {
        in_rows(geometry, placement).unwrap_or(Self::side_by_side(geometry.panels()))
    }

    /// Column and row of the lower left pixel of a panel, whose columns and rows are `size`.
    #[inline]
    pub fn corner(&self, panel: u32, size: [u32; 2]) -> [u32; 2] {
        match self {
            Self::Rows { columns } => [panel % columns * size[0], panel / columns * size[1]],
            Self::Standing { corners, .. } => corners.get(panel as usize).copied().unwrap_or_default(),
        }
    }

    /// Columns and rows of a picture of this many panels.
    pub fn size(&self, panels: u32, [width, height]: [u32; 2]) -> [u32; 2] {
        match self {
            Self::Rows { columns } => [width * columns, height * panels.div_ceil(*columns)],
            Self::Standing { size, .. } => *size,
        }
    }

    /// True for panels side by side.
    pub fn is_one_row(&self, panels: u32) -> bool {
        matches!(self, Self::Rows { columns } if *columns >= panels)
    }

    /// What a title says of several panels.
    pub(crate) fn words(&self, panels: u32) -> String {
        match self {
            _ if panels < 2 => String::new(),
            Self::Standing { .. } => ", panels as they stand".into(),
            Self::Rows { columns } if *columns >= panels => ", panels side by side".into(),
            Self::Rows { columns } => format!(", panels in rows of {columns}"),
        }
    }
}

fn in_rows(geometry: &LogicalGeometry, placement: Option<&Placement>) -> Option<PanelLayout> {
    let panels = geometry.panels();
    let columns = placement?.panel_columns.filter(|columns| (1..=panels).contains(columns))?;
    // Rows that are not full take room: places are numbers of 32 bits.
    let per_panel = u64::from(geometry.pixel_count() / panels);
    let cells = per_panel * u64::from(columns) * u64::from(panels.div_ceil(columns));
    (cells < u64::from(u32::MAX)).then_some(PanelLayout::Rows { columns })
}

/// None unless all panels are perpendicular to the beam, not turned, and beside one another.
fn standing(geometry: &LogicalGeometry, placement: &Placement) -> Option<PanelLayout> {
    let panels = geometry.panels();
    let pitch =
        placement.pitch.filter(|_| (2..=MOST_STANDING).contains(&panels) && placement.arc.is_none())?;
    let offsets = placement.offsets()?;
    let [nx, ny] = [geometry.nx(), geometry.ny()];
    let local = |x: u32, y: u32| {
        let at = Coordinates { x, y, z: 0, panel: 0 };
        Some([offsets[0].at(at)?, offsets[1].at(at)?, offsets[2].at(at)?])
    };
    let [corner, right, top] = [local(0, 0)?, local(nx - 1, 0)?, local(0, ny - 1)?];
    let mut lowest = Vec::with_capacity(panels as usize);
    for panel in 0..panels {
        let steps = placement.transformations(panel)?;
        let placed = |at: [f64; 3]| steps.iter().fold(at, |at, step| step.apply(at));
        let [from, across, up] = [placed(corner), placed(right), placed(top)];
        let steps = [pitch.x, pitch.y, pitch.z.min(pitch.x).min(pitch.y)];
        let is_as_within = |to: [f64; 3], local: [f64; 3]| {
            (0..3).all(|axis| {
                let turned = (to[axis] - from[axis]) - (local[axis] - corner[axis]);
                turned.abs() <= TOLERANCE * steps[axis]
            })
        };
        if !is_as_within(across, right) || !is_as_within(up, top) {
            return None;
        }
        lowest.push([from[0] / pitch.x, from[1] / pitch.y]);
    }
    let least = |axis: usize| lowest.iter().map(|at| at[axis]).fold(f64::INFINITY, f64::min);
    let least = [least(0), least(1)];
    let place = |at: &[f64; 2]| {
        let steps = [0, 1].map(|axis| libm::round(at[axis] - least[axis]));
        // Larger ones make the picture too wide in any case.
        steps.iter().all(|steps| (0.0..1e9).contains(steps)).then(|| steps.map(|steps| steps as u32))
    };
    let corners: Vec<[u32; 2]> = lowest.iter().map(place).collect::<Option<_>>()?;
    let overlaps = |a: &[u32; 2], b: &[u32; 2]| a[0].abs_diff(b[0]) < nx && a[1].abs_diff(b[1]) < ny;
    if corners.iter().enumerate().any(|(number, a)| corners[..number].iter().any(|b| overlaps(a, b))) {
        return None;
    }
    let most = |axis: usize| corners.iter().map(|at| at[axis]).max().unwrap_or(0);
    let size = [most(0).checked_add(nx)?, most(1).checked_add(ny)?];
    let pixels = u64::from(nx) * u64::from(ny) * u64::from(panels);
    let cells = u64::from(size[0]) * u64::from(size[1]);
    let fits = cells <= WIDEST * pixels && cells < u64::from(u32::MAX);
    fits.then(|| PanelLayout::Standing { corners: corners.into(), size })
}

#[cfg(test)]
mod tests;

//! What can be asked for at most.

use evforge_picture::PicturePlan;

/// Most looks of a browser at a time.
pub(crate) const MOST_LOOKS: usize = 8;
/// Most regions of a look: a pixel has a bit for each.
pub(crate) const MOST_REGIONS: usize = 16;
/// Most corners of a polygon.
pub(crate) const MOST_CORNERS: usize = 64;
/// Looks that are counted for scripts at a time; further ones wait.
pub(crate) const MOST_AT_WORK: usize = 2;
/// Cells that every map of an axis against time of flight may have.
const FEWEST_MAP_CELLS: usize = 1 << 20;
/// Most columns and rows of an image.
pub(crate) const MOST_POINTS: u32 = 4096;

/// Cells of a picture.
pub(crate) fn cells(plan: &PicturePlan) -> usize {
    plan.across.pixels as usize * plan.up.pixels as usize
}

/// Cells that a map may have, where there are pictures of these plans: as many as one of them, and a million in any case.
pub(crate) fn most_map_cells<'a>(plans: impl Iterator<Item = &'a PicturePlan>) -> usize {
    plans.map(cells).max().unwrap_or(0).max(FEWEST_MAP_CELLS)
}

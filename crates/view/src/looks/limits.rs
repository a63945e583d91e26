//! What can be asked for at most.

/// Most looks of a browser at a time.
pub(crate) const MOST_LOOKS: usize = 8;
/// Most regions of a look: a pixel has a bit for each.
pub(crate) const MOST_REGIONS: usize = 16;
/// Most corners of a polygon.
pub(crate) const MOST_CORNERS: usize = 64;
/// Most columns and rows of an image.
pub(crate) const MOST_POINTS: u32 = 4096;

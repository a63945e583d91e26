//! Pixel ids that a facility has given: in stretches anywhere in the numbers, not from 1 on.
//!
//! Events carry these ids, and so do files and messages. Pictures need pixels that follow one another: [`PixelIds`] says which
//! pixel of the [`LogicalGeometry`] an id is, and back. Detectors without it number their
//! pixels as the geometry does.

use crate::event::PixelId;
use crate::geometry::LogicalGeometry;
use std::sync::Arc;

/// Ids that follow one another, and the pixels of the geometry that they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct IdRange {
    /// The first id; 0 is as good as any.
    pub first_id: PixelId,
    /// How many there are, at least 1.
    pub count: u32,
    /// The pixel of the first id in the geometry, from 1.
    pub first_pixel: PixelId,
}

impl IdRange {
    /// The last id.
    pub fn last_id(&self) -> PixelId {
        self.first_id.saturating_add(self.count.saturating_sub(1))
    }
}

/// The ids of a detector's pixels.
#[derive(Clone, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct PixelIds {
    /// In order of their ids.
    ranges: Vec<IdRange>,
}

/// Two ranges that have ids in common, by their places in the list that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The one with the lower ids.
    pub one: usize,
    /// The other one.
    pub other: usize,
}

impl PixelIds {
    /// These ranges.
    ///
    /// # Errors
    /// The first two that have ids in common.
    pub fn new(ranges: &[IdRange]) -> Result<Self, Overlap> {
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        order.sort_by_key(|&place| ranges[place].first_id);
        for pair in order.windows(2) {
            if ranges[pair[0]].last_id() >= ranges[pair[1]].first_id {
                return Err(Overlap { one: pair[0], other: pair[1] });
            }
        }
        Ok(Self { ranges: order.into_iter().map(|place| ranges[place]).collect() })
    }

    /// The ranges in order of their ids.
    pub fn ranges(&self) -> &[IdRange] {
        &self.ranges
    }

    /// The pixel of the geometry that an id is; 0 (no pixel) if it is none.
    #[inline]
    pub fn pixel(&self, id: PixelId) -> PixelId {
        let after = self.ranges.partition_point(|range| range.first_id <= id);
        let Some(range) = after.checked_sub(1).and_then(|place| self.ranges.get(place)) else { return 0 };
        let index = id - range.first_id;
        if index < range.count { range.first_pixel + index } else { 0 }
    }

    /// The id of a pixel of the geometry; none if it has none.
    pub fn id(&self, pixel: PixelId) -> Option<PixelId> {
        let holds =
            |range: &&IdRange| pixel.checked_sub(range.first_pixel).is_some_and(|index| index < range.count);
        self.ranges.iter().find(holds).map(|range| range.first_id + (pixel - range.first_pixel))
    }
}

/// The pixels of a detector: the geometry, and the ids where the facility has given them.
#[derive(Clone, Debug)]
pub struct Pixels {
    /// Rows, columns, layers and panels.
    pub geometry: LogicalGeometry,
    /// The ids; none where they are those of the geometry.
    pub ids: Option<Arc<PixelIds>>,
}

impl Pixels {
    /// True if an id is one of the detector's.
    #[inline]
    pub fn has(&self, id: PixelId) -> bool {
        match &self.ids {
            Some(ids) => ids.pixel(id) != 0,
            None => self.geometry.is_valid(id),
        }
    }

    /// The id of a pixel of the geometry; 0 if it has none.
    pub fn id(&self, pixel: PixelId) -> PixelId {
        self.ids.as_ref().map_or(pixel, |ids| ids.id(pixel).unwrap_or(0))
    }
}

impl From<LogicalGeometry> for Pixels {
    /// Pixels whose ids are those of the geometry.
    fn from(geometry: LogicalGeometry) -> Self {
        Self { geometry, ids: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANGES: [IdRange; 3] = [
        IdRange { first_id: 1000, count: 256, first_pixel: 257 },
        IdRange { first_id: 0, count: 4, first_pixel: 1 },
        IdRange { first_id: u32::MAX, count: 1, first_pixel: 600 },
    ];

    #[test]
    fn ids_are_pixels_and_back() {
        let ids = PixelIds::new(&RANGES).unwrap();
        let pixels = [0, 3, 4, 999, 1000, 1255, 1256, u32::MAX].map(|id| ids.pixel(id));
        assert_eq!(pixels, [1, 4, 0, 0, 257, 512, 0, 600]);
        assert_eq!(
            [1, 5, 257, 600, 0].map(|pixel| ids.id(pixel)),
            [Some(0), None, Some(1000), Some(u32::MAX), None]
        );
        assert_eq!(PixelIds::default().pixel(1), 0);
    }

    #[test]
    fn ids_given_twice_are_found_by_their_places() {
        let twice = [RANGES[0], RANGES[1], IdRange { first_id: 1255, count: 9, first_pixel: 700 }];
        assert_eq!(PixelIds::new(&twice), Err(Overlap { one: 0, other: 2 }));
    }

    proptest! {
        #[test]
        fn any_id_is_a_pixel_of_one_range_or_none(id: u32) {
            let ids = PixelIds::new(&RANGES).unwrap();
            let pixel = ids.pixel(id);
            prop_assert_eq!(ids.id(pixel), (pixel != 0).then_some(id));
        }
    }
}

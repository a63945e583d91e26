//! The hits of one cassette that lie close in time, as sums.
//!
//! A window keeps no hits: a map of its wires and strips and a few sums are all that a position needs. Only where
//! two neutrons in one window are to be told apart are the hits kept alongside them.

use super::settings::{WindowRule, WindowSettings};

/// A hit in an open window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub(super) struct KeptHit {
    /// 0 for wires, 1 for strips.
    pub(super) plane: u8,
    /// Wire or strip.
    pub(super) coordinate: u8,
    /// Amplitude.
    pub(super) adc: u16,
}

/// Hits of one plane, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub(super) struct PlaneSums {
    /// One bit for each wire or strip that was hit.
    pub(super) map: u64,
    /// Hits.
    pub(super) count: u32,
    /// Largest amplitude and, below it, its coordinate from the top: the lowest one wins where amplitudes are
    /// equal.
    largest: u32,
    /// Sum of the amplitudes.
    pub(super) sum: u32,
    /// Sum of amplitude × coordinate.
    pub(super) weighted: u64,
}

impl PlaneSums {
    /// No hit. A constant, because `Default::default()` is put together on the stack and copied from there.
    pub(super) const NONE: Self = Self { map: 0, count: 0, largest: 0, sum: 0, weighted: 0 };

    /// A single hit: the same as adding it to none, without reading back what has just been written.
    #[inline(always)]
    pub(super) fn of(coordinate: u8, adc: u16) -> Self {
        Self {
            map: 1 << (coordinate & 63),
            count: 1,
            largest: u32::from(adc) << 8 | u32::from(!coordinate),
            sum: u32::from(adc),
            weighted: u64::from(u32::from(adc) * u32::from(coordinate)),
        }
    }

    /// Adds a hit. `coordinate` is below 64.
    #[inline(always)]
    pub(super) fn add(&mut self, coordinate: u8, adc: u16) {
        self.map |= 1 << (coordinate & 63);
        self.count += 1;
        self.largest = self.largest.max(u32::from(adc) << 8 | u32::from(!coordinate));
        self.sum += u32::from(adc);
        self.weighted += u64::from(u32::from(adc) * u32::from(coordinate));
    }

    /// Wire or strip with the largest amplitude.
    #[inline]
    pub(super) fn strongest(&self) -> u32 {
        u32::from(!(self.largest as u8))
    }

    /// True if all wires or strips that were hit are neighbours; true for none.
    #[inline(always)]
    pub(super) fn is_adjacent(&self) -> bool {
        // Adding its lowest bit to a single run of ones carries through to its end and leaves nothing of it.
        let lowest = self.map & self.map.wrapping_neg();
        self.map.wrapping_add(lowest) & self.map == 0
    }

    /// Wires or strips without a hit between the first and the last one that were hit.
    #[inline]
    pub(super) fn missing(&self) -> u32 {
        (u64::BITS - self.map.count_ones())
            .saturating_sub(self.map.leading_zeros() + self.map.trailing_zeros())
    }
}

/// When windows end, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub(super) struct WindowRules {
    length: u64,
    gap: bool,
    /// Bits of a time that count.
    time_mask: u64,
    max_hits: u32,
    /// Whether hits are kept alongside the sums.
    keeps_hits: bool,
}

impl WindowRules {
    /// From the settings; `time_mask` has the bits of a time that count.
    pub(super) fn new(settings: &WindowSettings, max_hits: usize, time_mask: u64) -> Self {
        Self {
            length: u64::from(settings.ticks),
            gap: settings.rule == WindowRule::Gap,
            time_mask,
            max_hits: u32::try_from(max_hits).unwrap_or(u32::MAX),
            keeps_hits: settings.separate,
        }
    }
}

/// The open window of a cassette. Its size is a power of two, so that finding it takes a shift.
#[derive(Clone, Debug, get_size2::GetSize)]
#[repr(align(128))]
pub(super) struct Window {
    /// Time of the first hit: the time of the event.
    pub(super) start: u64,
    /// The window's length counts from here: first or latest hit.
    anchor: u64,
    /// Wires and strips.
    pub(super) planes: [PlaneSums; 2],
    /// The hits, if they are kept.
    pub(super) kept: Vec<KeptHit>,
}

impl Window {
    /// A closed window.
    pub(super) fn new(rules: &WindowRules) -> Self {
        let kept = if rules.keeps_hits { rules.max_hits as usize } else { 0 };
        Self { start: 0, anchor: 0, planes: [PlaneSums::NONE; 2], kept: Vec::with_capacity(kept) }
    }

    /// Hits in the window; 0 if it is closed.
    #[inline(always)]
    pub(super) fn hits(&self) -> u32 {
        self.planes[0].count + self.planes[1].count
    }

    /// Whether a hit at `time` belongs to the window that is open. It does not if there is none.
    #[inline(always)]
    pub(super) fn takes(&self, time: u64, rules: &WindowRules) -> bool {
        (time.wrapping_sub(self.anchor) & rules.time_mask < rules.length) & (self.hits() != 0)
    }

    /// Whether the window is full: another hit would be too much.
    #[inline(always)]
    pub(super) fn is_full(&self, rules: &WindowRules) -> bool {
        self.hits() >= rules.max_hits
    }

    /// Whether no hit from `time` on belongs to the window any more; for times in order.
    pub(super) fn is_over(&self, time: u64, rules: &WindowRules) -> bool {
        time.saturating_sub(self.anchor) >= rules.length
    }

    /// Forgets the window and begins the next with a hit at `time`.
    #[inline(always)]
    pub(super) fn begin(&mut self, time: u64, plane: usize, coordinate: u8, adc: u16, rules: &WindowRules) {
        self.clear();
        self.start = time;
        self.anchor = time;
        if rules.keeps_hits {
            self.kept.push(KeptHit { plane: plane as u8, coordinate, adc });
        }
        self.planes[plane & 1] = PlaneSums::of(coordinate, adc);
    }

    /// Forgets the window.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.planes = [PlaneSums::NONE; 2];
        self.kept.clear();
    }

    /// Adds a hit that belongs to the window.
    #[inline(always)]
    pub(super) fn add(&mut self, time: u64, plane: usize, coordinate: u8, adc: u16, rules: &WindowRules) {
        if rules.gap {
            self.anchor = time;
        }
        if rules.keeps_hits {
            self.kept.push(KeptHit { plane: plane as u8, coordinate, adc });
        }
        self.planes[plane & 1].add(coordinate, adc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums(hits: &[(u8, u16)]) -> PlaneSums {
        let mut sums = PlaneSums::default();
        hits.iter().for_each(|&(coordinate, adc)| sums.add(coordinate, adc));
        sums
    }

    #[test]
    fn two_hits_of_one_channel_do_not_hide_a_hole() {
        assert!(sums(&[]).is_adjacent() && sums(&[(63, 1), (62, 1), (63, 9)]).is_adjacent());
        assert!(!sums(&[(5, 1), (5, 1), (7, 1)]).is_adjacent());
    }

    #[test]
    fn the_lowest_of_equally_strong_channels_counts() {
        assert_eq!(sums(&[(9, 50), (3, 80), (4, 80), (5, 79)]).strongest(), 3);
        assert_eq!(sums(&[(0, 0)]).strongest(), 0);
    }

    proptest! {
        #[test]
        fn neighbours_are_what_sorting_says(coordinates in proptest::collection::vec(0..64_u8, 1..12)) {
            let hits: Vec<_> = coordinates.iter().map(|&coordinate| (coordinate, 1)).collect();
            let mut sorted = coordinates;
            sorted.sort_unstable();
            prop_assert_eq!(sums(&hits).is_adjacent(), sorted.windows(2).all(|pair| pair[1] - pair[0] <= 1));
        }
    }
}

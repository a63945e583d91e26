//! Where the neutron of a window was, or why there is none.
//!
//! A window with one group of neighbouring wires and one of neighbouring strips is a neutron; so many wires and
//! strips between them may be missing as the settings allow. A window with two
//! groups on each plane is two neutrons, where that is asked for: the stronger group of wires belongs to the
//! stronger group of strips, because both planes see the same charge. That holds only if the amplitudes of both
//! pairs agree within the bound, and if the groups of a plane differ at all; everything else is ambiguous.

use super::counters::CassetteCounters;
use super::pixels::CassettePixels;
use super::settings::{Rounding, WindowSettings};
use super::window::{KeptHit, PlaneSums, Window};
use crate::event_order::TimedEvent;
use crate::module_windows::ClusterWatcher;
use evforge_core::event::PixelId;

/// How positions are found.
#[derive(Clone, Debug, get_size2::GetSize)]
pub(super) struct PositionRules {
    max_size: [u32; 2],
    max_gap: [u32; 2],
    max_amplitude_ratio: Option<u32>,
    separate: bool,
    maximum: bool,
    nearest: bool,
    pixels: CassettePixels,
}

/// The counter that the hits of something discarded go to.
type Discard = fn(&mut CassetteCounters) -> &mut u64;

impl PositionRules {
    /// `maximum`: the position is the channel of the largest amplitude instead of the centre of gravity.
    pub(super) fn new(
        window: &WindowSettings,
        maximum: bool,
        rounding: Rounding,
        pixels: CassettePixels,
    ) -> Self {
        Self {
            max_size: [window.max_wires, window.max_strips],
            max_gap: [window.max_gap_wires, window.max_gap_strips],
            max_amplitude_ratio: window.max_amplitude_ratio,
            separate: window.separate,
            maximum,
            nearest: rounding == Rounding::Nearest,
            pixels,
        }
    }

    /// Where the cassettes are.
    pub(super) fn pixels(&self) -> &CassettePixels {
        &self.pixels
    }

    /// Finds the neutrons of a closed window of `cassette` and appends them to `events`.
    #[inline]
    pub(super) fn resolve(
        &self,
        cassette: usize,
        window: &Window,
        counters: &mut CassetteCounters,
        watcher: &mut impl ClusterWatcher,
        events: &mut Vec<TimedEvent>,
    ) {
        let [wires, strips] = &window.planes;
        counters.windows += 1;
        // Which plane it is cannot be foreseen: counted without a branch for each.
        let only_wires = if strips.count == 0 { wires.count } else { 0 };
        let only_strips = if wires.count == 0 { strips.count } else { 0 };
        counters.only_wires += u64::from(only_wires);
        counters.only_strips += u64::from(only_strips);
        if only_wires | only_strips != 0 {
            let plane = usize::from(only_strips != 0);
            let sums = &window.planes[plane];
            watcher.cluster(plane, sums.count as usize);
            return watcher.lone_cluster(plane, sums.count as usize, u64::from(sums.sum));
        }
        if wires.is_adjacent() & strips.is_adjacent() {
            self.emit(cassette, window.start, [wires, strips], counters, watcher, events);
        } else {
            self.with_holes(cassette, window, counters, watcher, events);
        }
    }

    /// A neutron with these wires and strips.
    #[inline]
    pub(super) fn emit(
        &self,
        cassette: usize,
        time: u64,
        planes: [&PlaneSums; 2],
        counters: &mut CassetteCounters,
        watcher: &mut impl ClusterWatcher,
        events: &mut Vec<TimedEvent>,
    ) {
        let hits = u64::from(planes[0].count + planes[1].count);
        watcher.cluster(0, planes[0].count as usize);
        watcher.cluster(1, planes[1].count as usize);
        match self.pixel(cassette, planes) {
            Ok(pixel_id) => {
                watcher.pair(u64::from(planes[0].sum), u64::from(planes[1].sum));
                counters.hits_in_events += hits;
                counters.events += 1;
                events.push(TimedEvent { time, pixel_id });
            }
            Err(counter) => *counter(counters) += hits,
        }
    }

    #[inline]
    fn pixel(&self, cassette: usize, planes: [&PlaneSums; 2]) -> Result<PixelId, Discard> {
        if planes[0].sum == 0 || planes[1].sum == 0 {
            return Err(|counters| &mut counters.no_amplitude);
        }
        let size = |plane: usize| planes[plane].map.count_ones();
        if size(0) > self.max_size[0] || size(1) > self.max_size[1] {
            return Err(|counters| &mut counters.cluster_too_wide);
        }
        if !self.amplitudes_agree(planes[0].sum, planes[1].sum) {
            return Err(|counters| &mut counters.amplitude_mismatch);
        }
        match self.pixels.pixel(cassette, self.coordinate(planes[0]), self.coordinate(planes[1])) {
            0 => Err(|counters| &mut counters.outside_geometry),
            pixel_id => Ok(pixel_id),
        }
    }

    /// Wire or strip nearest to the position. The sum of the amplitudes is not 0.
    #[inline]
    fn coordinate(&self, sums: &PlaneSums) -> u32 {
        if self.maximum {
            return sums.strongest();
        }
        let sum = u64::from(sums.sum);
        let half = if self.nearest { sum } else { 0 };
        ((2 * sums.weighted + half) / (2 * sum)) as u32
    }

    #[inline]
    fn amplitudes_agree(&self, one: u32, other: u32) -> bool {
        self.max_amplitude_ratio.is_none_or(|ratio| {
            u64::from(one.max(other)) * 1000 <= u64::from(one.min(other)) * u64::from(ratio)
        })
    }

    /// A window whose hits are not all neighbours.
    #[cold]
    fn with_holes(
        &self,
        cassette: usize,
        window: &Window,
        counters: &mut CassetteCounters,
        watcher: &mut impl ClusterWatcher,
        events: &mut Vec<TimedEvent>,
    ) {
        let [wires, strips] = &window.planes;
        if wires.missing() <= self.max_gap[0] && strips.missing() <= self.max_gap[1] {
            return self.emit(cassette, window.start, [wires, strips], counters, watcher, events);
        }
        let [Some(wires), Some(strips)] = [0, 1].map(|plane| self.two_groups(window, plane)) else {
            counters.not_adjacent += u64::from(window.hits());
            return;
        };
        let distinct = wires[0].sum != wires[1].sum && strips[0].sum != strips[1].sum;
        let agree = |place: usize| self.amplitudes_agree(wires[place].sum, strips[place].sum);
        if !(distinct && agree(0) && agree(1)) {
            counters.ambiguous += u64::from(window.hits());
            return;
        }
        counters.separated += 1;
        for place in 0..2 {
            let planes = [&wires[place], &strips[place]];
            self.emit(cassette, window.start, planes, counters, watcher, events);
        }
    }

    /// The two groups of a plane, the stronger one first; none if they are not two. They are cut at the first hole
    /// that is larger than what may be missing within one.
    fn two_groups(&self, window: &Window, plane: usize) -> Option<[PlaneSums; 2]> {
        if !self.separate {
            return None;
        }
        let first = first_group(window.planes[plane].map, self.max_gap[plane]);
        let mut groups = [PlaneSums::default(); 2];
        let of_plane = |hit: &&KeptHit| usize::from(hit.plane) == plane;
        for hit in window.kept.iter().filter(of_plane) {
            let group = usize::from(first >> (hit.coordinate & 63) & 1 == 0);
            groups[group].add(hit.coordinate, hit.adc);
        }
        let is_group = |group: &PlaneSums| group.count != 0 && group.missing() <= self.max_gap[plane];
        if !groups.iter().all(is_group) {
            return None;
        }
        if groups[1].sum > groups[0].sum {
            groups.swap(0, 1);
        }
        Some(groups)
    }
}

/// Those bits of a map that lie below its first hole of more than `max_gap`.
fn first_group(map: u64, max_gap: u32) -> u64 {
    let mut group = map & map.wrapping_neg();
    loop {
        let reach = u64::BITS - group.leading_zeros() + max_gap;
        let within = if reach < u64::BITS { u64::MAX >> (u64::BITS - 1 - reach) } else { u64::MAX };
        let next = map & within;
        if next == group {
            return group;
        }
        group = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_group_ends_at_the_first_hole_that_is_too_large(map in 1_u64.., max_gap in 0..70_u32) {
            let mut expected = 0_u64;
            let mut last: Option<u32> = None;
            for place in (0..64).filter(|place| map >> place & 1 == 1) {
                if last.is_some_and(|last| place - last - 1 > max_gap) {
                    break;
                }
                expected |= 1 << place;
                last = Some(place);
            }
            prop_assert_eq!(first_group(map, max_gap), expected);
        }
    }
}

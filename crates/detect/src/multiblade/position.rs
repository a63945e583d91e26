//! Where the neutron of a window was, or why there is none.
//!
//! A window with one group of neighbouring wires and one of neighbouring strips is a neutron. A window with two
//! groups on each plane is two neutrons, where that is asked for: the stronger group of wires belongs to the
//! stronger group of strips, because both planes see the same charge. That holds only if the amplitudes of both
//! pairs agree within the bound, and if the groups of a plane differ at all; everything else is ambiguous.

use super::counters::MultiBladeCounters;
use super::settings::{MultiBladeSettings, Rounding};
use super::window::{KeptHit, PlaneSums, Window};
use crate::event_order::TimedEvent;
use crate::module_windows::ClusterWatcher;
use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;

/// How positions are found.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionRules {
    max_size: [u32; 2],
    max_amplitude_ratio: Option<u32>,
    separate: bool,
    maximum: bool,
    nearest: bool,
    wires: u32,
    geometry: LogicalGeometry,
}

/// The counter that the hits of something discarded go to.
type Discard = fn(&mut MultiBladeCounters) -> &mut u64;

impl PositionRules {
    pub(super) fn new(settings: &MultiBladeSettings) -> Self {
        Self {
            max_size: [settings.window.max_wires, settings.window.max_strips],
            max_amplitude_ratio: settings.window.max_amplitude_ratio,
            separate: settings.window.separate,
            maximum: settings.maximum,
            nearest: settings.rounding == Rounding::Nearest,
            wires: u32::from(settings.wires),
            geometry: settings.geometry,
        }
    }

    /// Finds the neutrons of a closed window of `cassette` and appends them to `events`.
    #[inline]
    pub(super) fn resolve(
        &self,
        cassette: usize,
        window: &Window,
        counters: &mut MultiBladeCounters,
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
            self.separate(cassette, window, counters, watcher, events);
        }
    }

    /// A neutron with these wires and strips.
    #[inline]
    fn emit(
        &self,
        cassette: usize,
        time: u64,
        planes: [&PlaneSums; 2],
        counters: &mut MultiBladeCounters,
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
        let row = cassette as u32 * self.wires + self.coordinate(planes[0]);
        match self.geometry.pixel_2d(self.coordinate(planes[1]), row) {
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

    /// A window whose hits are not one group on each plane.
    #[cold]
    fn separate(
        &self,
        cassette: usize,
        window: &Window,
        counters: &mut MultiBladeCounters,
        watcher: &mut impl ClusterWatcher,
        events: &mut Vec<TimedEvent>,
    ) {
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

    /// The two groups of neighbours of a plane, the stronger one first; none if they are not two.
    fn two_groups(&self, window: &Window, plane: usize) -> Option<[PlaneSums; 2]> {
        let map = window.planes[plane].map;
        let lowest = map & map.wrapping_neg();
        let first = map & !map.wrapping_add(lowest);
        let mut groups = [PlaneSums::default(); 2];
        let of_plane = |hit: &&KeptHit| usize::from(hit.plane) == plane;
        for hit in window.kept.iter().filter(of_plane) {
            let group = usize::from(first >> (hit.coordinate & 63) & 1 == 0);
            groups[group].add(hit.coordinate, hit.adc);
        }
        if !self.separate || groups[1].count == 0 || !groups[1].is_adjacent() {
            return None;
        }
        if groups[1].sum > groups[0].sum {
            groups.swap(0, 1);
        }
        Some(groups)
    }
}

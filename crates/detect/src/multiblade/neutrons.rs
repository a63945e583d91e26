//! The neutrons of windows in which several are told apart.

use super::cassettes::BladeHit;
use super::counters::CassetteCounters;
use super::position::PositionRules;
use super::window::PlaneSums;
use crate::event_order::TimedEvent;
use crate::module_windows::ClusterWatcher;
use crate::neutron_groups::WindowHit;
use crate::paired_windows::{Neutrons, Shape};
use evforge_core::counter::CounterSnapshot;

impl From<BladeHit> for WindowHit {
    #[inline(always)]
    fn from(hit: BladeHit) -> Self {
        Self { time: hit.time, coordinate: hit.coordinate.into(), amplitude: hit.adc, plane: hit.plane }
    }
}

impl From<WindowHit> for BladeHit {
    #[inline(always)]
    fn from(hit: WindowHit) -> Self {
        Self {
            time: hit.time,
            plane: hit.plane & 1,
            coordinate: hit.coordinate as u8 & 63,
            adc: hit.amplitude,
        }
    }
}

/// Where the neutrons of all cassettes were.
#[derive(Debug, get_size2::GetSize)]
pub struct BladeNeutrons {
    position: PositionRules,
    counters: CassetteCounters,
    formed: Vec<TimedEvent>,
}

impl BladeNeutrons {
    /// With room for `events` events.
    pub(super) fn new(position: PositionRules, events: usize) -> Self {
        Self { position, counters: CassetteCounters::default(), formed: Vec::with_capacity(events) }
    }
}

/// Hits of a cassette, added up.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub struct BladeSums {
    /// Time of the first hit: the time of the event.
    start: u64,
    planes: [PlaneSums; 2],
}

impl Neutrons for BladeNeutrons {
    type Hit = BladeHit;

    type Sums = BladeSums;

    #[inline(always)]
    fn begin(&self, sums: &mut BladeSums, hit: BladeHit) {
        sums.start = hit.time;
        sums.planes = [PlaneSums::NONE; 2];
        sums.planes[usize::from(hit.plane & 1)] = PlaneSums::of(hit.coordinate, hit.adc);
    }

    #[inline(always)]
    fn add(&self, sums: &mut BladeSums, hit: BladeHit) {
        sums.planes[usize::from(hit.plane & 1)].add(hit.coordinate, hit.adc);
    }

    #[inline(always)]
    fn shape(&self, sums: &BladeSums) -> Shape {
        let [wires, strips] = &sums.planes;
        if (wires.count == 0) | (strips.count == 0) {
            return Shape::OnePlane;
        }
        if wires.is_adjacent() & strips.is_adjacent() { Shape::Neutron } else { Shape::Several }
    }

    #[inline]
    fn count_window(&mut self) {
        self.counters.windows += 1;
    }

    #[inline]
    fn neutron(&mut self, cassette: usize, sums: &BladeSums, watcher: &mut impl ClusterWatcher) {
        let [wires, strips] = &sums.planes;
        let Self { position, counters, formed } = self;
        position.emit(cassette, sums.start, [wires, strips], counters, watcher, formed);
    }

    fn lone(&mut self, sums: &BladeSums, watcher: &mut impl ClusterWatcher) {
        let [wires, strips] = &sums.planes;
        let (plane, of_plane) = if strips.count == 0 { (0, wires) } else { (1, strips) };
        self.counters.only_wires += u64::from(wires.count);
        self.counters.only_strips += u64::from(strips.count);
        watcher.cluster(plane, of_plane.count as usize);
        watcher.lone_cluster(plane, of_plane.count as usize, u64::from(of_plane.sum));
    }

    #[inline]
    fn count_ambiguous(&mut self, pairs: u64, dropped_hits: u64) {
        self.counters.ambiguous_pairs += pairs;
        self.counters.ambiguous += dropped_hits;
    }

    fn events_formed(&self) -> u64 {
        self.counters.events
    }

    #[inline]
    fn formed(&mut self) -> &mut Vec<TimedEvent> {
        &mut self.formed
    }

    fn waiting(&self) -> usize {
        self.formed.len()
    }

    fn counters(&self, held: u64) -> CounterSnapshot {
        CounterSnapshot::of(&CassetteCounters { held, ..self.counters })
    }
}

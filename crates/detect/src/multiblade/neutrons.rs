//! The neutrons of windows in which several are told apart.

use super::cassettes::BladeHit;
use super::counters::CassetteCounters;
use super::position::PositionRules;
use super::window::PlaneSums;
use crate::event_order::TimedEvent;
use crate::module_windows::ClusterWatcher;
use crate::neutron_groups::WindowHit;
use crate::paired_windows::Neutrons;
use evforge_core::counter::CounterSnapshot;

impl From<BladeHit> for WindowHit {
    #[inline(always)]
    fn from(hit: BladeHit) -> Self {
        Self { time: hit.time, coordinate: hit.coordinate.into(), amplitude: hit.adc, plane: hit.plane }
    }
}

/// Where the neutrons of all cassettes were.
#[derive(Debug)]
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

    /// Memory in bytes.
    pub(super) fn memory_bound(&self) -> usize {
        self.position.pixels().memory_bound() + self.formed.capacity() * size_of::<TimedEvent>()
    }
}

/// The hits of both planes, added up.
#[inline]
fn sums(hits: &[WindowHit]) -> [PlaneSums; 2] {
    let mut planes = [PlaneSums::NONE; 2];
    for hit in hits {
        planes[usize::from(hit.plane & 1)].add(hit.coordinate as u8, hit.amplitude);
    }
    planes
}

impl Neutrons for BladeNeutrons {
    type Hit = BladeHit;

    #[inline]
    fn count_window(&mut self) {
        self.counters.windows += 1;
    }

    #[inline]
    fn neutron(&mut self, cassette: usize, hits: &[WindowHit], watcher: &mut impl ClusterWatcher) {
        let Some(first) = hits.first() else { return };
        let [wires, strips] = sums(hits);
        let Self { position, counters, formed } = self;
        position.emit(cassette, first.time, [&wires, &strips], counters, watcher, formed);
    }

    fn lone(&mut self, hits: &[WindowHit], watcher: &mut impl ClusterWatcher) {
        let [wires, strips] = sums(hits);
        let (plane, of_plane) = if strips.count == 0 { (0, &wires) } else { (1, &strips) };
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

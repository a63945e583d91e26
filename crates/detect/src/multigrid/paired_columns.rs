//! The neutrons of columns' windows in which several are told apart.

use super::channel::Channel;
use super::columns::{COORDINATE_BITS, ColumnHit, Found, Window, channels};
use super::counters::ColumnCounters;
use super::reconstruction::Reconstruction;
use crate::event_order::TimedEvent;
use crate::module_windows::ClusterWatcher;
use crate::neutron_groups::WindowHit;
use crate::paired_windows::Neutrons;
use evforge_core::counter::CounterSnapshot;
use evforge_core::geometry::LogicalGeometry;
use std::marker::PhantomData;

impl From<ColumnHit> for WindowHit {
    #[inline(always)]
    fn from(hit: ColumnHit) -> Self {
        Self {
            time: hit.time,
            coordinate: hit.coordinate(),
            amplitude: hit.amplitude,
            plane: hit.plane() as u8,
        }
    }
}

impl From<WindowHit> for ColumnHit {
    #[inline(always)]
    fn from(hit: WindowHit) -> Self {
        let channel = u16::from(hit.plane) << COORDINATE_BITS | hit.coordinate;
        Self { time: hit.time, channel, amplitude: hit.amplitude }
    }
}

/// Where the neutrons of all columns were.
#[derive(Debug)]
pub struct ColumnNeutrons<R> {
    found: Found,
    channels: Box<[Channel]>,
    reconstruction: PhantomData<fn() -> R>,
}

impl<R: Reconstruction> ColumnNeutrons<R> {
    /// For columns that stand at `x_offsets`, with room for `events` events. The caller has checked that all pixels are
    /// inside.
    pub fn new(max_grid_span: u16, x_offsets: Vec<u32>, geometry: LogicalGeometry, events: usize) -> Self {
        let channels = channels::<R>(&geometry);
        let found = Found::new(max_grid_span, x_offsets, geometry, events);
        Self { found, channels, reconstruction: PhantomData }
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound(columns: usize, events: usize) -> usize {
        Found::memory_bound(columns, events)
    }

    /// What the hits make together: a neutron, or a count of why there is none.
    #[inline]
    fn resolve(&mut self, column: usize, hits: &[WindowHit], watcher: &mut impl ClusterWatcher) {
        let mut hits = hits.iter().map(|hit| ColumnHit::from(*hit));
        let channel =
            |hit: ColumnHit| self.channels.get(usize::from(hit.channel)).copied().unwrap_or_default();
        let Some(first) = hits.next() else { return };
        let mut window = Window::<R>::default();
        window.begin(first, channel(first));
        for hit in hits {
            window.add(hit, channel(hit));
        }
        self.found.resolve(column, &window, watcher);
    }
}

impl<R: Reconstruction> Neutrons for ColumnNeutrons<R> {
    type Hit = ColumnHit;

    #[inline]
    fn count_window(&mut self) {
        self.found.counters.windows += 1;
    }

    #[inline]
    fn neutron(&mut self, column: usize, hits: &[WindowHit], watcher: &mut impl ClusterWatcher) {
        self.resolve(column, hits, watcher);
    }

    fn lone(&mut self, hits: &[WindowHit], watcher: &mut impl ClusterWatcher) {
        // One plane makes no neutron, whichever column it is in.
        self.resolve(0, hits, watcher);
    }

    #[inline]
    fn count_ambiguous(&mut self, pairs: u64, dropped_hits: u64) {
        self.found.counters.ambiguous_pairs += pairs;
        self.found.counters.ambiguous += dropped_hits;
    }

    fn events_formed(&self) -> u64 {
        self.found.formed_count
    }

    #[inline]
    fn formed(&mut self) -> &mut Vec<TimedEvent> {
        &mut self.found.formed
    }

    fn waiting(&self) -> usize {
        self.found.formed.len()
    }

    fn counters(&self, held: u64) -> CounterSnapshot {
        CounterSnapshot::of(&ColumnCounters { held, ..self.found.counters })
    }
}

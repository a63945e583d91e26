//! The neutrons of columns' windows in which several are told apart.

use super::channel::Channel;
use super::columns::{COORDINATE_BITS, ColumnHit, Found, Window, channels};
use super::counters::ColumnCounters;
use super::reconstruction::Reconstruction;
use crate::event_order::TimedEvent;
use crate::module_windows::ClusterWatcher;
use crate::neutron_groups::WindowHit;
use crate::paired_windows::{Neutrons, Shape};
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
#[derive(Debug, get_size2::GetSize)]
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

    #[inline(always)]
    fn channel(&self, hit: ColumnHit) -> Channel {
        self.channels.get(usize::from(hit.channel)).copied().unwrap_or_default()
    }
}

/// Hits of a column, added up.
#[derive(Clone, Debug, Default, get_size2::GetSize)]
pub struct ColumnSums<R> {
    window: Window<R>,
    /// A bit for each wire and grid that was hit, counted from `origins`.
    maps: [u64; 2],
    origins: [u16; 2],
    /// Some hits are beyond the maps.
    is_wide: bool,
}

impl<R> ColumnSums<R> {
    #[inline(always)]
    fn mark(&mut self, hit: ColumnHit) {
        let (plane, coordinate) = (hit.plane() & 1, hit.coordinate());
        // The first one is in the middle of the map.
        let middle = coordinate.wrapping_sub(32);
        self.origins[plane] = if self.maps[plane] == 0 { middle } else { self.origins[plane] };
        let bit = coordinate.wrapping_sub(self.origins[plane]);
        self.is_wide |= bit >= 64;
        self.maps[plane] |= 1 << (bit & 63);
    }
}

impl<R: Reconstruction> Neutrons for ColumnNeutrons<R> {
    type Hit = ColumnHit;

    type Sums = ColumnSums<R>;

    #[inline(always)]
    fn begin(&self, sums: &mut ColumnSums<R>, hit: ColumnHit) {
        sums.window.begin(hit, self.channel(hit));
        (sums.maps, sums.is_wide) = ([0; 2], false);
        sums.mark(hit);
    }

    #[inline(always)]
    fn add(&self, sums: &mut ColumnSums<R>, hit: ColumnHit) {
        sums.window.add(hit, self.channel(hit));
        sums.mark(hit);
    }

    #[inline(always)]
    fn shape(&self, sums: &ColumnSums<R>) -> Shape {
        let [wires, grids] = sums.maps;
        if (wires == 0) | (grids == 0) {
            return Shape::OnePlane;
        }
        // Adding its lowest bit to a single run of ones carries through to its end and leaves nothing of it.
        let is_run = |map: u64| map.wrapping_add(map & map.wrapping_neg()) & map == 0;
        if is_run(wires) & is_run(grids) & !sums.is_wide { Shape::Neutron } else { Shape::Several }
    }

    #[inline]
    fn count_window(&mut self) {
        self.found.counters.windows += 1;
    }

    #[inline]
    fn neutron(&mut self, column: usize, sums: &ColumnSums<R>, watcher: &mut impl ClusterWatcher) {
        self.found.resolve(column, &sums.window, watcher);
    }

    fn lone(&mut self, sums: &ColumnSums<R>, watcher: &mut impl ClusterWatcher) {
        // One plane makes no neutron, whichever column it is in.
        self.found.resolve(0, &sums.window, watcher);
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

//! Windows of columns: hits of wires and grids that lie close in time make an event.
//!
//! A *column* is what one front end reads: wires along the beam and the grids around them. Where the read-out has
//! no triggers (the ESS readout), a neutron is a window of hits of both planes: it goes on as long as the next
//! hit comes within the gap after the latest one. A window keeps no hits. It adds them up with a
//! [`Reconstruction`], the same as for the hits of a trigger.

use super::channel::Channel;
use super::counters::ColumnCounters;
use super::digital_geometry::Place;
use super::reconstruction::{Miss, Reconstruction};
use crate::ess;
use crate::event_order::TimedEvent;
use crate::hit::Timed;
use crate::module_windows::{ClusterWatcher, Windows};
use evforge_core::counter::CounterSnapshot;
use evforge_core::geometry::LogicalGeometry;

/// Bits of an amplitude in a hit.
const AMPLITUDE_BITS: u32 = 10;
const LARGEST_AMPLITUDE: u16 = (1 << AMPLITUDE_BITS) - 1;
/// Bits of a wire or grid in a hit.
pub(super) const COORDINATE_BITS: u32 = 12;
/// Wires of a column, and grids, are numbered below this.
pub const COORDINATE_LIMIT: u16 = 1 << COORDINATE_BITS;

/// The planes in the order of their numbers.
pub const PLANES: [&str; 2] = ["wires", "grids"];
/// The number of the plane of grids.
const GRIDS: u8 = 1;

/// A hit of a wire or a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct ColumnHit {
    pub(super) time: u64,
    /// Plane and, below it, wire or grid.
    pub(super) channel: u16,
    pub(super) amplitude: u16,
}

impl Timed for ColumnHit {
    #[inline(always)]
    fn time(&self) -> u64 {
        self.time
    }

    #[inline(always)]
    fn payload(&self) -> u32 {
        u32::from(self.channel) << AMPLITUDE_BITS | u32::from(self.amplitude)
    }

    #[inline(always)]
    fn of(time: u64, payload: u32) -> Self {
        Self {
            time,
            channel: (payload >> AMPLITUDE_BITS) as u16,
            amplitude: payload as u16 & LARGEST_AMPLITUDE,
        }
    }
}

impl ess::Placed for ColumnHit {
    #[inline(always)]
    fn placed(place: ess::Place, time: u64, amplitude: u16) -> Self {
        let plane = u16::from(place.plane & GRIDS) << COORDINATE_BITS;
        let coordinate = place.coordinate & (COORDINATE_LIMIT - 1);
        Self { time, channel: plane | coordinate, amplitude: amplitude & LARGEST_AMPLITUDE }
    }
}

impl ColumnHit {
    /// 0 for wires, 1 for grids.
    #[inline(always)]
    pub(super) fn plane(self) -> usize {
        usize::from(self.channel >> COORDINATE_BITS & u16::from(GRIDS))
    }

    #[inline(always)]
    pub(super) fn coordinate(self) -> u16 {
        self.channel & (COORDINATE_LIMIT - 1)
    }
}

/// When windows end and which are neutrons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct ColumnRules {
    /// A hit that comes later than this after the latest one begins a new window. In ticks.
    pub gap: u64,
    /// Most grids from the first to the last of a neutron.
    pub max_grid_span: u16,
    /// Hits that a window may have.
    pub max_hits: u32,
}

/// The open window of a column.
#[derive(Clone, Debug, Default, get_size2::GetSize)]
pub(super) struct Window<R> {
    /// Time of the first hit: the time of the event.
    start: u64,
    /// Time of the latest hit.
    latest: u64,
    /// Hits of wires and of grids.
    hits: [u32; 2],
    amplitudes: [u32; 2],
    first_grid: u16,
    last_grid: u16,
    position: R,
}

impl<R: Reconstruction> Window<R> {
    #[inline(always)]
    fn all_hits(&self) -> u32 {
        self.hits[0] + self.hits[1]
    }

    /// Whether a hit at `time`, which is not before the latest, belongs to it. None does if it is closed.
    #[inline(always)]
    fn takes(&self, time: u64, rules: &ColumnRules) -> bool {
        (time.wrapping_sub(self.latest) <= rules.gap) & (self.all_hits() != 0)
    }

    /// Forgets everything and begins with a hit.
    #[inline(always)]
    pub(super) fn begin(&mut self, hit: ColumnHit, channel: Channel) {
        self.start = hit.time;
        self.hits = [0; 2];
        self.amplitudes = [0; 2];
        (self.first_grid, self.last_grid) = (u16::MAX, 0);
        self.position = R::default();
        self.add(hit, channel);
    }

    #[inline(always)]
    pub(super) fn add(&mut self, hit: ColumnHit, channel: Channel) {
        self.latest = hit.time;
        let (plane, grid) = (hit.plane(), hit.coordinate());
        self.hits[plane] += 1;
        self.amplitudes[plane] += u32::from(hit.amplitude);
        self.first_grid = self.first_grid.min(if plane == 0 { u16::MAX } else { grid });
        self.last_grid = self.last_grid.max(if plane == 0 { 0 } else { grid });
        self.position.take(channel, hit.amplitude);
    }

    #[inline(always)]
    fn close(&mut self) {
        self.hits = [0; 2];
    }
}

/// All columns of a detector.
#[derive(Debug, get_size2::GetSize)]
pub struct Columns<R> {
    windows: Vec<Window<R>>,
    rules: ColumnRules,
    found: Found,
    channels: Box<[Channel]>,
}

/// The events of windows that were closed.
#[derive(Debug, get_size2::GetSize)]
pub(super) struct Found {
    geometry: LogicalGeometry,
    /// Where the first of the columns' own columns of pixels is: added to the pixels.
    x_offsets: Vec<u32>,
    max_grid_span: u16,
    pub(super) counters: ColumnCounters,
    pub(super) formed_count: u64,
    pub(super) formed: Vec<TimedEvent>,
}

/// What a reconstruction needs to know of each wire and grid, by [`ColumnHit::channel`]. All columns are alike, but for
/// where they stand. Wires are numbered so that each layer of the geometry comes once before the next column of pixels
/// begins.
pub(super) fn channels<R: Reconstruction>(geometry: &LogicalGeometry) -> Box<[Channel]> {
    let coordinates = 0..COORDINATE_LIMIT;
    let depth = u16::try_from(geometry.nz()).unwrap_or(u16::MAX);
    let wire = |wire: u16| Place { is_wire: true, across: wire / depth, layer: wire % depth };
    let grid = |grid: u16| Place { is_wire: false, across: grid, layer: 0 };
    let wires = coordinates.clone().map(|number| Channel::wire(R::content(&wire(number), geometry)));
    let grids = coordinates.map(|number| Channel::grid(R::content(&grid(number), geometry)));
    wires.chain(grids).collect()
}

impl<R: Reconstruction> Columns<R> {
    /// For columns that stand at `x_offsets`, with room for `events` events. The caller has checked that all pixels are
    /// inside.
    pub fn new(rules: ColumnRules, x_offsets: Vec<u32>, geometry: LogicalGeometry, events: usize) -> Self {
        Self {
            windows: x_offsets.iter().map(|_| Window::default()).collect(),
            rules,
            channels: channels::<R>(&geometry),
            found: Found::new(rules.max_grid_span, x_offsets, geometry, events),
        }
    }
}

impl Found {
    /// For columns that stand at `x_offsets`, with room for `events` events.
    pub(super) fn new(
        max_grid_span: u16,
        x_offsets: Vec<u32>,
        geometry: LogicalGeometry,
        events: usize,
    ) -> Self {
        Self {
            geometry,
            x_offsets,
            max_grid_span,
            counters: ColumnCounters::default(),
            formed_count: 0,
            formed: Vec::with_capacity(events),
        }
    }

    /// Finds the neutron of hits that belong together, or counts why there is none.
    #[inline]
    pub(super) fn resolve<R: Reconstruction>(
        &mut self,
        column: usize,
        window: &Window<R>,
        watcher: &mut impl ClusterWatcher,
    ) {
        let [wires, grids] = window.hits;
        let hits = u64::from(window.all_hits());
        let counters = &mut self.counters;
        if (wires == 0) | (grids == 0) {
            let plane = usize::from(wires == 0);
            *if wires == 0 { &mut counters.only_grids } else { &mut counters.only_wires } += hits;
            return watcher.lone_cluster(plane, hits as usize, u64::from(window.amplitudes[plane]));
        }
        watcher.cluster(0, wires as usize);
        watcher.cluster(1, grids as usize);
        if window.last_grid - window.first_grid >= self.max_grid_span {
            counters.grid_span_too_large += hits;
            return;
        }
        match window.position.pixel(&self.geometry) {
            Ok(pixel) => {
                let pixel_id = pixel + self.x_offsets.get(column).copied().unwrap_or(0);
                counters.hits_in_events += hits;
                self.formed_count += 1;
                self.formed.push(TimedEvent { time: window.start, pixel_id });
                watcher.pair(u64::from(window.amplitudes[0]), u64::from(window.amplitudes[1]));
            }
            Err(Miss::NoWire | Miss::NoGrid) => counters.no_amplitude += hits,
            Err(Miss::Outside) => counters.outside_geometry += hits,
        }
    }
}

impl<R: Reconstruction> Windows for Columns<R> {
    type Hit = ColumnHit;

    #[inline(always)]
    fn take(&mut self, column: usize, hit: ColumnHit, watcher: &mut impl ClusterWatcher) {
        let Self { windows, rules, found, channels } = self;
        let Some(window) = windows.get_mut(column) else { return };
        let channel = channels.get(usize::from(hit.channel)).copied().unwrap_or_default();
        if window.takes(hit.time, rules) {
            if window.all_hits() < rules.max_hits {
                return window.add(hit, channel);
            }
            found.counters.group_too_large += u64::from(window.all_hits());
        } else if window.all_hits() != 0 {
            found.counters.windows += 1;
            found.resolve(column, window, watcher);
        }
        window.begin(hit, channel);
    }

    fn modules(&self) -> usize {
        self.windows.len()
    }

    #[inline]
    fn hits_of(&self, column: usize) -> u32 {
        self.windows[column].all_hits()
    }

    fn start_of(&self, column: usize) -> u64 {
        self.windows[column].start
    }

    fn is_over(&self, column: usize, time: u64) -> bool {
        time.saturating_sub(self.windows[column].latest) > self.rules.gap
    }

    fn close(&mut self, column: usize, watcher: &mut impl ClusterWatcher) {
        let window = &mut self.windows[column];
        self.found.counters.windows += 1;
        self.found.resolve(column, window, watcher);
        window.close();
    }

    fn formed(&mut self) -> &mut Vec<TimedEvent> {
        &mut self.found.formed
    }
}

impl<R: Reconstruction + Send> ess::WindowAnalysis for Columns<R> {
    fn events_formed(&self) -> u64 {
        self.found.formed_count
    }

    fn events_waiting(&self) -> u64 {
        self.found.formed.len() as u64
    }

    fn counters(&self, waiting: u64) -> CounterSnapshot {
        let held = waiting + self.held();
        CounterSnapshot::of(&ColumnCounters { held, ..self.found.counters })
    }
}

//! Hits in order of time into the windows of modules, events in order of time and pixel out of them.
//!
//! A *module* is a part of a detector whose hits never meet those of another part: a cassette of a Multi-Blade, a
//! column of a Multi-Grid. The hits of each module wait in a [`TimeOrder`] until no source can send an earlier
//! one. Then they go into the module's window ([`Windows`]), which gives events when it closes. An event has the
//! time of the first hit of its window; it leaves once no window is open, and no hit can come, that is as early.

use crate::event_order::TimedEvent;
use crate::event_sort::EventSort;
use crate::hit::{TargetedHit, TimeKey, Timed};
use crate::source_clock::AcceptedHits;
use crate::time_order::TimeOrder;
use crate::watermark::{Closing, DataTime, SMALLEST_STEP};
use evforge_core::event::EventBatch;
use evforge_core::monitor::MonitorData;

/// Where clusters are shown.
pub trait ClusterWatcher {
    /// A group of neighbours of `plane`.
    fn cluster(&mut self, plane: usize, hits: usize);
    /// A window with hits of one plane only.
    fn lone_cluster(&mut self, plane: usize, hits: usize, amplitude: u64);
    /// Amplitudes of both planes of an event.
    fn pair(&mut self, first: u64, second: u64);
}

/// Nobody looks.
impl ClusterWatcher for () {
    #[inline(always)]
    fn cluster(&mut self, _: usize, _: usize) {}
    #[inline(always)]
    fn lone_cluster(&mut self, _: usize, _: usize, _: u64) {}
    #[inline(always)]
    fn pair(&mut self, _: u64, _: u64) {}
}

impl ClusterWatcher for MonitorData {
    fn cluster(&mut self, plane: usize, hits: usize) {
        MonitorData::cluster(self, plane, hits);
    }
    fn lone_cluster(&mut self, plane: usize, hits: usize, amplitude: u64) {
        MonitorData::lone_cluster(self, plane, hits, amplitude);
    }
    fn pair(&mut self, first: u64, second: u64) {
        MonitorData::pair(self, first, second);
    }
}

/// The windows of all modules, each with the hits that lie close in time.
pub trait Windows {
    /// What goes in.
    type Hit: Timed;

    /// Takes a hit of `module`; those of a module come in order of time. What it closes goes to
    /// [`Windows::formed`].
    fn take(&mut self, module: usize, hit: Self::Hit, watcher: &mut impl ClusterWatcher);

    /// Takes hits of `module` that are in order of time, as keys that count from `base`.
    #[inline]
    fn take_all(&mut self, module: usize, hits: &[TimeKey], base: u64, watcher: &mut impl ClusterWatcher) {
        for key in hits {
            self.take(module, key.unpack(base), watcher);
        }
    }

    /// How many modules there are.
    fn modules(&self) -> usize;

    /// Hits in the window of `module`: 0 if it is closed.
    fn hits_of(&self, module: usize) -> u32;

    /// Time of the first hit in the window of `module`, which is open.
    fn start_of(&self, module: usize) -> u64;

    /// Whether no hit from `time` on belongs to the window of `module`, which is open.
    fn is_over(&self, module: usize, time: u64) -> bool;

    /// Closes the window of `module`, which is open.
    fn close(&mut self, module: usize, watcher: &mut impl ClusterWatcher);

    /// The events of windows that were closed, to be taken away.
    fn formed(&mut self) -> &mut Vec<TimedEvent>;

    /// Closes the windows that no hit from `time` on belongs to. Returns the time of the first hit in a window that
    /// stays open.
    fn close_before(&mut self, time: u64, watcher: &mut impl ClusterWatcher) -> Option<u64> {
        let mut first_open: Option<u64> = None;
        for module in 0..self.modules() {
            if self.hits_of(module) == 0 {
                continue;
            }
            if self.is_over(module, time) {
                self.close(module, watcher);
            } else {
                let start = self.start_of(module);
                first_open = Some(first_open.map_or(start, |first| first.min(start)));
            }
        }
        first_open
    }

    /// Closes all windows.
    fn close_all(&mut self, watcher: &mut impl ClusterWatcher) {
        for module in 0..self.modules() {
            if self.hits_of(module) != 0 {
                self.close(module, watcher);
            }
        }
    }

    /// Hits in open windows.
    fn held(&self) -> u64 {
        (0..self.modules()).map(|module| u64::from(self.hits_of(module))).sum()
    }
}

/// The way of formed events out.
pub trait EventsOut {
    /// Takes events of an epoch, in order, from the first on; returns how many. Fewer than there are if it is full.
    fn append(&mut self, epoch: u32, formed: &[TimedEvent]) -> usize;

    /// Takes an event of an epoch. `rank` is its place among those of equal time, where that is not its pixel. False if it is
    /// full.
    #[inline]
    fn append_one(&mut self, epoch: u32, _rank: u32, event: TimedEvent) -> bool {
        self.append(epoch, &[event]) == 1
    }
}

/// Straight into a batch, with ticks converted.
#[derive(Debug)]
pub struct StraightOut<'a, N> {
    /// The batch.
    pub events: &'a mut EventBatch,
    /// Ticks to nanoseconds.
    pub nanoseconds: N,
}

impl<N: Fn(u64) -> u64> EventsOut for StraightOut<'_, N> {
    #[inline]
    fn append(&mut self, _: u32, formed: &[TimedEvent]) -> usize {
        append(formed, self.events, &self.nanoseconds)
    }
}

/// Appends as many of `formed` as there is room for and returns how many.
#[inline]
pub fn append(formed: &[TimedEvent], events: &mut EventBatch, nanoseconds: impl Fn(u64) -> u64) -> usize {
    let before = events.len();
    events.append(formed.len(), |times_ns, pixel_ids| {
        for ((event, time_ns), pixel_id) in formed.iter().zip(&mut *times_ns).zip(pixel_ids) {
            (*time_ns, *pixel_id) = (nanoseconds(event.time), event.pixel_id);
        }
        times_ns.len()
    });
    events.len() - before
}

/// How many of these events, which are in order, nothing can precede any more: those before `limit`.
fn ready_before(formed: &[TimedEvent], limit: u64) -> usize {
    formed.partition_point(|event| event.time < limit || limit == u64::MAX)
}

/// Hits of a module that make a step worth while, all modules being alike.
const STEP_OF_A_MODULE: usize = 256;
/// No more hits are collected than a cache holds.
const LARGEST_STEP: usize = 1 << 15;

/// Which of the modules of a detector there are here: all, or every *n*th from some on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct ModuleShare {
    /// The first of them.
    pub first: usize,
    /// From one to the next.
    pub step: usize,
    /// Modules of the detector.
    pub all: usize,
}

impl ModuleShare {
    /// All of this many.
    pub fn all(modules: usize) -> Self {
        Self { first: 0, step: 1, all: modules }
    }

    /// What each of several has.
    pub fn part(modules: usize, part: usize, parts: usize) -> Self {
        Self { first: part, step: parts.max(1), all: modules }
    }

    /// How many.
    pub fn count(self) -> usize {
        self.all.saturating_sub(self.first).div_ceil(self.step)
    }

    /// The module of the detector that is number `place` here.
    #[inline]
    fn module(self, place: usize) -> usize {
        self.first + place * self.step
    }
}

/// The waiting hits of all modules.
#[derive(Debug, get_size2::GetSize)]
struct Hits {
    share: ModuleShare,
    of_modules: Vec<TimeOrder>,
    /// Hits that have come in since the last closing, and those that it left.
    pending: usize,
    /// No module has less room than this.
    least_room: usize,
}

/// From judged hits to ordered events.
#[derive(Debug, get_size2::GetSize)]
pub struct ModuleWindows {
    hits: Hits,
    closing: Closing,
    event_sort: EventSort,
    /// Events that have their place in the order, and how many of them have left.
    released: Vec<TimedEvent>,
    gone: usize,
    /// No event that is still to be released is earlier than this.
    future_from: DataTime,
    /// Events that may wait for open windows.
    max_waiting_events: usize,
    /// Times that windows were closed early for want of room.
    forced: u64,
}

impl<T: Timed> AcceptedHits<T> for ModuleWindows {
    #[inline]
    fn accept(&mut self, module: usize, epoch: u32, hit: T) {
        if let Some(order) = self.hits.of_modules.get_mut(module) {
            order.push(epoch, hit);
            self.hits.pending += 1;
            // As if all hits went to the fullest module; computed again when that is no longer enough.
            self.hits.least_room = self.hits.least_room.saturating_sub(1);
        }
    }

    #[inline]
    fn accept_packet(&mut self, epoch: u32, hits: &[TargetedHit]) {
        let Hits { of_modules, pending, least_room, .. } = &mut self.hits;
        for &hit in hits {
            if let Some(order) = of_modules.get_mut(hit.target as usize) {
                order.push(epoch, hit);
            }
        }
        *pending += hits.len();
        *least_room = least_room.saturating_sub(hits.len());
    }
}

impl ModuleWindows {
    /// For this many modules, each of which may hold `max_held_hits` hits.
    pub fn new(modules: usize, max_held_hits: usize) -> Self {
        Self::of_share(ModuleShare::all(modules), max_held_hits)
    }

    /// For some of the modules, which are numbered through here.
    pub fn of_share(share: ModuleShare, max_held_hits: usize) -> Self {
        let modules = share.count();
        let waiting = || TimeOrder::new(max_held_hits, 0);
        let hits = Hits {
            share,
            of_modules: (0..modules).map(|_| waiting()).collect(),
            pending: 0,
            least_room: max_held_hits,
        };
        Self {
            hits,
            closing: Closing::in_steps_of((modules * STEP_OF_A_MODULE).clamp(SMALLEST_STEP, LARGEST_STEP)),
            event_sort: EventSort::default(),
            released: Vec::with_capacity(Self::event_capacity(modules, max_held_hits)),
            gone: 0,
            future_from: (0, 0),
            max_waiting_events: max_held_hits,
            forced: 0,
        }
    }

    /// Puts hits of equal time into the order of their payloads, for windows that are cut by the number of their hits.
    pub fn with_payload_order(mut self) -> Self {
        let in_order = |order: TimeOrder| order.with_payload_order();
        self.hits.of_modules = std::mem::take(&mut self.hits.of_modules).into_iter().map(in_order).collect();
        self
    }

    /// Events that can be here at once: those that wait, and those of all hits of a step. A window gives at most
    /// one event for two hits.
    pub fn event_capacity(modules: usize, max_held_hits: usize) -> usize {
        max_held_hits + modules * (max_held_hits / 2 + 2)
    }

    /// How many more hits fit on the fullest module, at least.
    #[inline]
    pub fn room(&self) -> usize {
        self.hits.least_room
    }

    /// As [`ModuleWindows::room`], computed again if less than `needed` is known of.
    #[inline]
    pub fn find_room(&mut self, needed: usize) -> usize {
        if self.hits.least_room < needed {
            self.find_least_room();
        }
        self.hits.least_room
    }

    fn find_least_room(&mut self) {
        let rooms = self.hits.of_modules.iter().map(TimeOrder::room);
        self.hits.least_room = rooms.min().unwrap_or(0);
    }

    /// True once enough hits wait to make closing worth while.
    #[inline]
    pub fn is_closing_worthwhile(&self) -> bool {
        self.closing.is_worthwhile(self.hits.pending)
    }

    /// Says that no source will send hits before `target` any more. Going back has no effect.
    pub fn advance(&mut self, target: DataTime) {
        self.closing.advance(target);
    }

    /// Everything before this is closed or about to be: hits before it are late.
    pub fn closed_before(&self) -> DataTime {
        self.closing.target()
    }

    /// The latest hit that waits.
    pub fn latest_pending(&self) -> Option<DataTime> {
        self.hits.of_modules.iter().filter_map(TimeOrder::latest_pending).max()
    }

    /// No event that is handed out from here on is earlier than this.
    pub fn future_from(&self) -> DataTime {
        self.future_from
    }

    /// Hands out the events of the time that is closed. False if `out` filled up before the end.
    pub fn drain<W: Windows>(
        &mut self,
        windows: &mut W,
        watcher: &mut impl ClusterWatcher,
        out: &mut impl EventsOut,
    ) -> bool {
        loop {
            self.gone += out.append(self.closing.epoch(), &self.released[self.gone..]);
            if self.gone < self.released.len() {
                return false;
            }
            self.released.clear();
            self.gone = 0;
            if self.closing.ends_epoch() {
                self.closing.begin_epoch();
            }
            if !self.closing.step(&mut self.hits.of_modules) {
                return true;
            }
            self.form(windows, watcher);
        }
    }

    /// Puts the hits that the step has closed into windows, and releases the events that nothing can precede.
    fn form<W: Windows>(&mut self, windows: &mut W, watcher: &mut impl ClusterWatcher) {
        self.hits.pending = 0;
        let share = self.hits.share;
        for (place, order) in self.hits.of_modules.iter_mut().enumerate() {
            let base = order.base();
            let closed = order.closed().len();
            let range = order.read_off(closed);
            windows.take_all(share.module(place), order.read(range), base, watcher);
            self.hits.pending += order.pending();
        }
        self.find_least_room();
        let mut limit = self.closing.closed();
        if self.closing.ends_epoch() {
            windows.close_all(watcher);
        } else if let Some(first_open) = windows.close_before(limit, watcher) {
            limit = limit.min(first_open);
        }
        self.event_sort.sort(windows.formed());
        let mut ready = ready_before(windows.formed(), limit);
        if windows.formed().len() - ready > self.max_waiting_events && limit < self.closing.closed() {
            self.forced += 1;
            windows.close_all(watcher);
            limit = self.closing.closed();
            self.event_sort.sort(windows.formed());
            ready = ready_before(windows.formed(), limit);
        }
        let formed = windows.formed();
        self.released.extend(formed.drain(..ready));
        self.future_from = (self.closing.epoch(), limit);
    }

    /// Hits that have come in since the last closing, and those that it left.
    pub fn pending(&self) -> usize {
        self.hits.pending
    }

    /// Hits that wait for their time.
    pub fn held(&self) -> u64 {
        self.hits.of_modules.iter().map(TimeOrder::held).sum()
    }

    /// Events that have their place in the order and wait to be handed out; others wait in [`Windows::formed`].
    pub fn held_events(&self) -> u64 {
        (self.released.len() - self.gone) as u64
    }

    /// How often windows were closed early for want of room.
    pub fn forced_closings(&self) -> u64 {
        self.forced
    }
}

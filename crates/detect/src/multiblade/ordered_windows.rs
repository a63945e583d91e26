//! Hits in order of time into windows, events in order of time and pixel out of them.
//!
//! The hits of each cassette wait in a [`TimeOrder`] until no source can send an earlier one. Then they go into
//! the windows. An event has the time of the first hit of its window; it leaves once no window is open, and no
//! hit can come, that is as early.

use super::cassettes::{BladeHit, Cassettes};
use super::position::ClusterWatcher;
use super::settings::MultiBladeSettings;
use crate::event_order::TimedEvent;
use crate::joint_time::{Closing, DataTime, JointTime};
use crate::source_clock::{AcceptedHits, SourceClock};
use crate::tick::TickLength;
use crate::time_order::TimeOrder;
use evforge_core::event::EventBatch;
use evforge_wire::caen::LARGEST_PACKET;

/// Readouts of the largest packet.
pub(super) const LARGEST_READOUT_COUNT: usize = LARGEST_PACKET / 8 + 1;

/// Hits of one cassette that a packet can bring with the quarantines of all its digitisers.
pub(super) fn room_for_a_packet(settings: &MultiBladeSettings) -> usize {
    (settings.digitizers_of_a_cassette() + 1) * LARGEST_READOUT_COUNT
}

/// Appends as many of `formed` as there is room for, and says how many.
#[inline]
pub(super) fn append(
    formed: &[TimedEvent],
    events: &mut EventBatch,
    nanoseconds: impl Fn(u64) -> u64,
) -> usize {
    let before = events.len();
    events.append(formed.len(), |times_ns, pixel_ids| {
        for ((event, time_ns), pixel_id) in formed.iter().zip(&mut *times_ns).zip(pixel_ids) {
            (*time_ns, *pixel_id) = (nanoseconds(event.time), event.pixel_id);
        }
        times_ns.len()
    });
    events.len() - before
}

/// The waiting hits of one cassette.
#[derive(Debug)]
struct Waiting(TimeOrder);

impl AsMut<TimeOrder> for Waiting {
    fn as_mut(&mut self) -> &mut TimeOrder {
        &mut self.0
    }
}

/// The waiting hits of all cassettes.
#[derive(Debug)]
struct Hits {
    of_cassettes: Vec<Waiting>,
    /// Hits that have come in since the last closing, and those that it left.
    pending: usize,
    /// The cassette that has the least room, roughly: no cassette has had more hits since the last closing.
    least_room: usize,
}

impl AcceptedHits<BladeHit> for Hits {
    #[inline]
    fn accept(&mut self, cassette: usize, epoch: u32, hit: BladeHit) {
        if let Some(Waiting(order)) = self.of_cassettes.get_mut(cassette) {
            order.push(epoch, hit);
            self.pending += 1;
            self.least_room = self.least_room.min(order.room());
        }
    }
}

/// From judged hits to ordered events.
#[derive(Debug)]
pub(super) struct OrderedWindows {
    clocks: Vec<SourceClock<BladeHit>>,
    hits: Hits,
    joint: JointTime,
    closing: Closing,
    room_for_a_packet: usize,
    /// Events that have their place in the order, and how many of them have left.
    released: Vec<TimedEvent>,
    gone: usize,
    /// Events that may wait for open windows.
    max_waiting_events: usize,
    forced: u64,
}

impl OrderedWindows {
    /// For settings that have been checked, with one source for each digitizer.
    pub(super) fn new(settings: &MultiBladeSettings, tick: TickLength) -> Self {
        let sorting = &settings.sorting;
        let ticks = |duration| tick.ticks_in(duration);
        let clock = || {
            SourceClock::new(
                ticks(sorting.window),
                ticks(sorting.leap),
                ticks(sorting.restart),
                LARGEST_READOUT_COUNT,
            )
        };
        let waiting = || Waiting(TimeOrder::new(sorting.max_held_hits, 0));
        let hits = Hits {
            of_cassettes: (0..settings.cassettes).map(|_| waiting()).collect(),
            pending: 0,
            least_room: sorting.max_held_hits,
        };
        Self {
            clocks: settings.digitizers().iter().map(|_| clock()).collect(),
            hits,
            joint: JointTime::new(ticks(sorting.source_lag)),
            closing: Closing::default(),
            room_for_a_packet: room_for_a_packet(settings),
            released: Vec::with_capacity(Self::event_capacity(settings)),
            gone: 0,
            max_waiting_events: sorting.max_held_hits,
            forced: 0,
        }
    }

    /// Events that can be here at once: those that wait, and those of all hits of a step.
    pub(super) fn event_capacity(settings: &MultiBladeSettings) -> usize {
        let held = settings.sorting.max_held_hits;
        held + usize::from(settings.cassettes) * (held / 2 + 2)
    }

    /// Upper bound of the memory in bytes.
    pub(super) fn memory_bound(settings: &MultiBladeSettings) -> usize {
        let clock =
            size_of::<SourceClock<BladeHit>>() + SourceClock::<BladeHit>::memory_bound(LARGEST_READOUT_COUNT);
        let cassette = size_of::<Waiting>() + TimeOrder::memory_bound(settings.sorting.max_held_hits, 0);
        settings.digitizers().len() * clock
            + usize::from(settings.cassettes) * cassette
            + Self::event_capacity(settings) * size_of::<TimedEvent>()
    }

    /// Makes sure that the hits of one more packet fit. False if closed hits have to be drained first.
    pub(super) fn make_room(&mut self) -> bool {
        if self.hits.least_room >= self.room_for_a_packet {
            return true;
        }
        self.find_least_room();
        if self.hits.least_room >= self.room_for_a_packet {
            return true;
        }
        self.force_closing();
        false
    }

    fn find_least_room(&mut self) {
        let rooms = self.hits.of_cassettes.iter().map(|Waiting(order)| order.room());
        self.hits.least_room = rooms.min().unwrap_or(0);
    }

    #[cold]
    fn force_closing(&mut self) {
        self.forced += 1;
        let latest = self.latest_pending();
        let target = self.joint.force(self.clocks.iter(), self.closing.target(), latest);
        self.closing.advance(target);
    }

    fn latest_pending(&self) -> Option<DataTime> {
        self.hits.of_cassettes.iter().filter_map(|Waiting(order)| order.latest_pending()).max()
    }

    /// Begins a packet of any source.
    pub(super) fn begin_packet(&mut self) {
        let watermark = self.joint.watermark();
        self.clocks.iter_mut().for_each(|clock| clock.begin_packet(watermark));
    }

    /// Takes a hit of a digitizer.
    #[inline(always)]
    pub(super) fn push(&mut self, source: usize, cassette: usize, hit: BladeHit) {
        if let Some(clock) = self.clocks.get_mut(source) {
            clock.judge(cassette, hit, &mut self.hits);
        }
    }

    /// Ends a packet: closes what no source can reach any more, if that is worth while.
    pub(super) fn end_packet(&mut self) {
        let watermark = self.joint.follow(self.clocks.iter());
        if self.closing.is_worthwhile(self.hits.pending) {
            self.closing.advance(watermark);
        }
    }

    /// Closes everything that the watermark allows.
    pub(super) fn publish_closed(&mut self) {
        self.closing.advance(self.joint.watermark());
    }

    /// End of the input: closes everything. Drain afterwards and call again, until there is nothing left. Returns
    /// true if quarantined hits wait for room.
    pub(super) fn close(&mut self) -> bool {
        self.find_least_room();
        let closed = self.joint.watermark().max(self.closing.target());
        for clock in self.clocks.iter_mut().filter(|clock| clock.held() > 0) {
            if self.hits.least_room < self.room_for_a_packet {
                break;
            }
            clock.begin_packet(closed);
            clock.close(&mut self.hits);
        }
        let end = self.latest_pending().map_or(0, |(epoch, _)| epoch);
        self.closing.advance((end.max(self.joint.watermark().0), u64::MAX));
        self.clocks.iter().any(|clock| clock.held() > 0)
    }

    /// Appends the events of the time that is closed. False if the batch filled up before the end.
    pub(super) fn drain(
        &mut self,
        cassettes: &mut Cassettes,
        watcher: &mut impl ClusterWatcher,
        events: &mut EventBatch,
        nanoseconds: impl Fn(u64) -> u64,
    ) -> bool {
        loop {
            self.gone += append(&self.released[self.gone..], events, &nanoseconds);
            if self.gone < self.released.len() {
                return false;
            }
            self.released.clear();
            self.gone = 0;
            if self.closing.ends_epoch() {
                self.closing.begin_epoch();
            }
            if !self.closing.step(&mut self.hits.of_cassettes) {
                return true;
            }
            self.form(cassettes, watcher);
        }
    }

    /// Puts the hits that the step has closed into windows, and releases the events that nothing can precede.
    fn form(&mut self, cassettes: &mut Cassettes, watcher: &mut impl ClusterWatcher) {
        self.hits.pending = 0;
        for (cassette, Waiting(order)) in self.hits.of_cassettes.iter_mut().enumerate() {
            let base = order.base();
            let closed = order.closed().len();
            let range = order.read_off(closed);
            for key in order.read(range) {
                cassettes.take(cassette, key.unpack(base), watcher);
            }
            self.hits.pending += order.pending();
        }
        self.find_least_room();
        let mut limit = self.closing.closed();
        if self.closing.ends_epoch() {
            cassettes.close_all(watcher);
        } else if let Some(first_open) = cassettes.close_before(limit, watcher) {
            limit = limit.min(first_open);
        }
        if cassettes.formed.len() > self.max_waiting_events && limit < self.closing.closed() {
            self.forced += 1;
            cassettes.close_all(watcher);
            limit = self.closing.closed();
        }
        let formed = &mut cassettes.formed;
        formed.sort_unstable_by_key(|event| (event.time, event.pixel_id));
        let ready = formed.partition_point(|event| event.time < limit || limit == u64::MAX);
        self.released.extend(formed.drain(..ready));
    }

    /// Hits that wait.
    pub(super) fn held(&self) -> u64 {
        let waiting: u64 = self.hits.of_cassettes.iter().map(|Waiting(order)| order.held()).sum();
        waiting + self.clocks.iter().map(SourceClock::held).sum::<u64>()
    }

    /// How often hits or windows were closed early for want of room.
    pub(super) fn forced_closings(&self) -> u64 {
        self.forced
    }

    /// The sources' clocks.
    pub(super) fn clocks(&self) -> &[SourceClock<BladeHit>] {
        &self.clocks
    }
}

//! Puts the events of several sources into the order (time, pixel).
//!
//! For detectors whose electronics, or whose triggers, give whole events: each source sends them nearly in
//! order. Every event is judged on its source's own clock ([`SourceClock`](crate::source_clock)), waits until no source can send an
//! earlier one, and leaves in order. What leaves depends on each source's packets alone.

use crate::hit::Timed;
use crate::source_clock::ClockCounts;
use crate::source_clocks::{ClockRules, SourceClocks};
use crate::time_order::TimeOrder;
use crate::watermark::{Closing, DataTime};
use evforge_core::event::{EventBatch, PixelId};
use std::cell::Cell;

/// An event with its time in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct TimedEvent {
    /// Ticks.
    pub time: u64,
    /// The pixel, below [`PAYLOAD_LIMIT`](crate::hit::PAYLOAD_LIMIT).
    pub pixel_id: PixelId,
}

impl Timed for TimedEvent {
    #[inline]
    fn time(&self) -> u64 {
        self.time
    }

    #[inline]
    fn payload(&self) -> u32 {
        self.pixel_id
    }

    #[inline]
    fn of(time: u64, payload: u32) -> Self {
        Self { time, pixel_id: payload }
    }
}

/// How events are put into order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRules {
    /// When a source is in time; the hits of a packet are its events.
    pub clocks: ClockRules,
    /// Events that may wait.
    pub max_held: usize,
}

impl OrderRules {
    /// Room that a packet and the release of a quarantine need.
    fn room_for_a_packet(&self) -> usize {
        2 * self.clocks.packet_hits
    }

    fn capacity(&self) -> usize {
        self.max_held.max(2 * self.room_for_a_packet())
    }
}

/// Events on their way out.
#[derive(Debug, get_size2::GetSize)]
pub struct EventOrder {
    line: SourceClocks<TimedEvent>,
    waiting: [TimeOrder; 1],
    closing: Closing,
    packet_events: usize,
    room_for_a_packet: usize,
}

impl EventOrder {
    /// For `sources` sources, numbered from 0.
    pub fn new(rules: &OrderRules, sources: usize) -> Self {
        Self {
            line: SourceClocks::new(sources, &rules.clocks),
            waiting: [TimeOrder::new(rules.capacity(), 0).with_payload_order()],
            closing: Closing::default(),
            packet_events: rules.clocks.packet_hits,
            room_for_a_packet: rules.room_for_a_packet(),
        }
    }

    /// Makes sure that the events of one more packet fit, by closing more than the watermark allows if it must
    /// be. False if closed events have to be drained first.
    #[inline]
    pub fn make_room(&mut self) -> bool {
        if self.waiting[0].room() >= self.room_for_a_packet {
            return true;
        }
        self.force_closing();
        false
    }

    #[cold]
    fn force_closing(&mut self) {
        let Self { line, waiting: [order], closing, packet_events, .. } = self;
        let latest = order.latest_pending();
        let target = line.force(closing.target(), latest, order, |order| order.room() >= *packet_events);
        closing.advance(target);
    }

    /// The newest time of any source; none before the first.
    pub fn newest(&self) -> Option<DataTime> {
        self.line.newest()
    }

    /// Begins a packet of `source`. Call [`EventOrder::make_room`] before.
    #[inline]
    pub fn begin_packet(&mut self, source: usize) {
        // A source that does not exist has no events either.
        let _clock = self.line.begin_packet(source);
    }

    /// Takes events of the packet that `source` has begun, in the order in which they came.
    #[inline]
    pub fn push_all(&mut self, source: usize, events: &[TimedEvent]) {
        if !self.push_whole(source, events.iter().copied())
            && let Some(clock) = self.line.clock(source)
        {
            clock.judge_all(0, events, &mut self.waiting[0]);
        }
    }

    /// Takes all events of the packet that `source` has begun at once. False, with nothing changed, if one of them has the
    /// pixel 0, which is none, or if they cannot be accepted as a whole ([`SourceClock::accepts_all`]): then they have to
    /// be taken one by one.
    ///
    /// [`SourceClock::accepts_all`]: crate::source_clock::SourceClock::accepts_all
    #[inline]
    pub fn push_whole(&mut self, source: usize, events: impl ExactSizeIterator<Item = TimedEvent>) -> bool {
        let Self { line, waiting: [order], .. } = self;
        let Some(clock) = line.clock(source) else { return false };
        let all_have_pixels = Cell::new(true);
        let events =
            events.inspect(|event| all_have_pixels.set(all_have_pixels.get() & (event.pixel_id != 0)));
        let hits = events.len();
        order.push_whole(clock.epoch(), events, |earliest, latest| {
            all_have_pixels.get() && clock.accepts_all(hits, earliest, latest)
        })
    }

    /// Ends a packet: closes what no source can reach any more, if that is worth while.
    #[inline]
    pub fn end_packet(&mut self) {
        let Self { line, waiting: [order], closing, packet_events, .. } = self;
        let watermark = line.follow(order, |order| order.room() >= *packet_events);
        if closing.is_worthwhile(order.pending()) {
            closing.advance(watermark);
        }
    }

    /// Closes everything that the watermark allows.
    pub fn publish_closed(&mut self) {
        self.closing.advance(self.line.watermark());
    }

    /// End of the input: closes everything. Call [`EventOrder::drain`] afterwards and this again, until there is
    /// nothing left. Returns true if quarantined events wait for room.
    pub fn close(&mut self) -> bool {
        let Self { line, waiting: [order], closing, room_for_a_packet, .. } = self;
        let held_back = line.release(order, closing.target(), |order| order.room() >= *room_for_a_packet);
        let end = order.latest_pending().map_or(0, |(epoch, _)| epoch);
        closing.advance((end.max(line.watermark().0), u64::MAX));
        held_back
    }

    /// Appends the events of the time that is closed; `nanoseconds` converts ticks. False if the batch filled
    /// up before the end.
    #[inline]
    pub fn drain(&mut self, events: &mut EventBatch, nanoseconds: impl Fn(u64) -> u64) -> bool {
        if self.waiting[0].closed().is_empty() && !self.closing.is_due() {
            return true;
        }
        loop {
            let [order] = &mut self.waiting;
            let room = events.capacity() - events.len();
            let base = order.base();
            let ready = order.closed().len().min(room);
            let range = order.read_off(ready);
            let keys = order.read(range);
            // There is room for as many as have been read off.
            events.append(keys.len(), |times_ns, pixel_ids| {
                for ((key, time_ns), pixel_id) in keys.iter().zip(&mut *times_ns).zip(pixel_ids) {
                    let event: TimedEvent = key.unpack(base);
                    (*time_ns, *pixel_id) = (nanoseconds(event.time), event.pixel_id);
                }
                times_ns.len()
            });
            if !order.closed().is_empty() {
                return false;
            }
            if self.closing.ends_epoch() {
                self.closing.begin_epoch();
            }
            if !self.closing.step(&mut self.waiting) {
                return true;
            }
        }
    }

    /// Events held anywhere in here.
    pub fn held(&self) -> u64 {
        self.waiting[0].held() + self.line.held()
    }

    /// How often events were closed early for want of room.
    pub fn forced_closings(&self) -> u64 {
        self.line.forced_closings()
    }

    /// What the clocks of all sources have counted.
    pub fn clock_counts(&self) -> ClockCounts {
        self.line.clock_counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: OrderRules = OrderRules {
        clocks: ClockRules {
            window: 50,
            forward_jump: 1000,
            restart: 100_000,
            source_lag: 500,
            packet_hits: 8,
        },
        max_held: 64,
    };

    /// Feeds packets (source, times) and returns what leaves, in order.
    fn order(packets: &[(usize, Vec<u64>)], batch: usize) -> (Vec<(u64, u32)>, u64) {
        let mut order = EventOrder::new(&RULES, 2);
        let mut events = EventBatch::new(batch);
        let mut out = Vec::new();
        let mut drain = |order: &mut EventOrder| loop {
            let done = order.drain(&mut events, |ticks| ticks);
            out.extend(events.iter().map(|event| (event.time_ns, event.pixel_id)));
            events.clear();
            if done {
                return;
            }
        };
        for (source, times) in packets {
            while !order.make_room() {
                drain(&mut order);
            }
            order.begin_packet(*source);
            let event = |&time| TimedEvent { time, pixel_id: (time % 7) as u32 + 1 };
            order.push_all(*source, &times.iter().map(event).collect::<Vec<_>>());
            order.end_packet();
            order.publish_closed();
            drain(&mut order);
        }
        while order.close() {
            drain(&mut order);
        }
        drain(&mut order);
        assert_eq!(order.held(), 0);
        let counts = order.clock_counts();
        (out, counts.late + counts.refuted)
    }

    #[test]
    fn events_leave_in_order_of_time_and_a_silent_source_is_not_waited_for_for_ever() {
        let packets = [(0, vec![30, 10, 20]), (1, vec![25, 15]), (0, vec![900, 870])];
        let (events, lost) = order(&packets, 3);
        let times: Vec<u64> = events.iter().map(|&(time, _)| time).collect();
        assert_eq!((times, lost), (vec![10, 15, 20, 25, 30, 870, 900], 0));
    }

    #[test]
    fn events_of_equal_time_leave_in_order_of_their_pixels() {
        let mut order = EventOrder::new(&RULES, 1);
        order.begin_packet(0);
        order.push_all(0, &[3, 1, 2].map(|pixel_id| TimedEvent { time: 5, pixel_id }));
        order.end_packet();
        assert!(!order.close());
        let mut events = EventBatch::new(9);
        assert!(order.drain(&mut events, |ticks| ticks));
        assert_eq!(events.pixel_ids(), [1, 2, 3]);
    }

    proptest! {
        #[test]
        fn sorted_whatever_the_batch_and_nothing_vanishes(
            steps in proptest::collection::vec((0..2_usize, proptest::collection::vec(0..40_u64, 1..8)), 1..60),
        ) {
            let packets: Vec<(usize, Vec<u64>)> = steps
                .iter()
                .enumerate()
                .map(|(index, (source, offsets))| {
                    (*source, offsets.iter().map(|offset| 100 + index as u64 * 5 + offset).collect())
                })
                .collect();
            let sent: usize = packets.iter().map(|(_, times)| times.len()).sum();
            let (events, lost) = order(&packets, 5);
            prop_assert!(events.is_sorted());
            prop_assert_eq!(events.len() as u64 + lost, sent as u64);
            prop_assert_eq!(order(&packets, 1000), (events, lost));
        }
    }
}

//! Files every event under its pulse.
//!
//! Pulses wait, in order, until the time of the events has come to them. An event belongs to the latest pulse at or
//! before its time. Pulses leave with the events, in order of time, those without events too.

use super::counters::FilingCounters;
use super::ticks;
use crate::event_order::TimedEvent;
use crate::module_windows::{EventsOut, append};
use crate::watermark::DataTime;
use evforge_core::event::{Event, EventBatch};
use std::collections::VecDeque;

/// Pulses that can wait: five minutes of them at 14 Hz.
const MOST_WAITING: usize = 4096;

/// Pulses that wait when closing becomes worth while, whatever the hits.
const WORTHWHILE: usize = 256;

/// Room that the pulses of a packet and of a quarantine need.
const ROOM_FOR_A_PACKET: usize = 16;

/// What happened to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filing {
    /// Nothing yet: the batch is full.
    Full,
    /// It has left, so long after its pulse.
    Filed {
        /// Nanoseconds.
        time_of_flight_ns: u64,
    },
    /// It is discarded, and counted: it has no pulse, or is too long after it.
    NoPulse,
}

/// The pulses, and what has happened to the events.
#[derive(Debug)]
pub struct PulseLine {
    /// Pulses whose time has not come, in order.
    waiting: VecDeque<DataTime>,
    /// The pulse that events go to.
    current: Option<DataTime>,
    max_time_of_flight: u64,
    counters: FilingCounters,
    refused: u64,
}

impl PulseLine {
    /// No pulse yet. `max_time_of_flight` in units of [`ticks`].
    pub fn new(max_time_of_flight: u64) -> Self {
        Self {
            waiting: VecDeque::with_capacity(MOST_WAITING),
            current: None,
            max_time_of_flight,
            counters: FilingCounters::default(),
            refused: 0,
        }
    }

    /// Memory in bytes.
    pub fn memory_bound() -> usize {
        MOST_WAITING * size_of::<DataTime>()
    }

    /// Takes a pulse. Several queues tell the same pulses; each counts once.
    pub fn add(&mut self, epoch: u32, time: u64) {
        let pulse = (epoch, time);
        if self.current.is_some_and(|current| pulse <= current) {
            return;
        }
        if let Err(place) = self.waiting.binary_search(&pulse) {
            if self.waiting.len() < MOST_WAITING {
                self.waiting.insert(place, pulse);
            } else {
                self.refused += 1;
            }
        }
    }

    /// True if the pulses of one more packet fit.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.waiting.len() + ROOM_FOR_A_PACKET <= MOST_WAITING
    }

    /// True if enough pulses wait to make closing worthwhile.
    #[inline]
    pub fn is_closing_worthwhile(&self) -> bool {
        self.waiting.len() >= WORTHWHILE
    }

    /// The latest pulse that waits.
    pub fn latest_pending(&self) -> Option<DataTime> {
        self.waiting.back().copied()
    }

    /// Begins the pulses before `until`, which have no further events. False if the batch is full.
    pub fn pass(&mut self, until: DataTime, events: &mut EventBatch) -> bool {
        while let Some(&pulse) = self.waiting.front() {
            if pulse >= until {
                break;
            }
            if !self.begin(pulse, events) {
                return false;
            }
        }
        true
    }

    /// Files one event of an epoch; events come in order of time. False, and the event is still to be filed, if the
    /// batch is full.
    #[inline]
    pub fn file(&mut self, epoch: u32, event: TimedEvent, events: &mut EventBatch) -> bool {
        self.file_event(epoch, event, events) != Filing::Full
    }

    /// As [`PulseLine::file`], with what happened to the event.
    #[inline]
    pub fn file_event(&mut self, epoch: u32, event: TimedEvent, events: &mut EventBatch) -> Filing {
        if events.is_full() || !self.come_to((epoch, event.time), events) {
            return Filing::Full;
        }
        match self.current.filter(|(of_epoch, _)| *of_epoch == epoch) {
            None => {
                self.counters.before_first_pulse += 1;
                Filing::NoPulse
            }
            Some((_, start)) if event.time - start > self.max_time_of_flight => {
                self.counters.time_of_flight_too_long += 1;
                Filing::NoPulse
            }
            Some((_, start)) => {
                let time_ns = ticks::nanoseconds(event.time);
                // There is room: that was looked at first.
                let _has_room = events.push(Event { time_ns, pixel_id: event.pixel_id });
                self.counters.events_filed += 1;
                Filing::Filed { time_of_flight_ns: time_ns - ticks::nanoseconds(start) }
            }
        }
    }

    /// Pulses handed out so far.
    pub fn pulses_filed(&self) -> u64 {
        self.counters.pulses_filed
    }

    /// A way out into `events`.
    pub fn out<'a>(&'a mut self, events: &'a mut EventBatch) -> FiledOut<'a> {
        FiledOut { line: self, events }
    }

    /// The counts of events so far; who forms them has counted `formed` and holds `held`.
    pub fn counters(&self, formed: u64, held: u64) -> FilingCounters {
        FilingCounters { events_formed: formed, held_events: held, ..self.counters }
    }

    /// Pulses that found no room.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Begins the pulses up to `at`, and names the current one in a batch that does not know it yet.
    #[inline]
    fn come_to(&mut self, at: DataTime, events: &mut EventBatch) -> bool {
        while let Some(&pulse) = self.waiting.front() {
            if pulse > at {
                break;
            }
            if !self.begin(pulse, events) {
                return false;
            }
        }
        self.name_current(events)
    }

    /// A batch that begins in the middle of a pulse names it.
    #[inline]
    fn name_current(&mut self, events: &mut EventBatch) -> bool {
        match self.current {
            Some((_, time)) if events.pulses().is_empty() => events.begin_pulse(ticks::nanoseconds(time)),
            _ => true,
        }
    }

    fn begin(&mut self, pulse: DataTime, events: &mut EventBatch) -> bool {
        let begun = events.begin_pulse(ticks::nanoseconds(pulse.1));
        if begun {
            self.waiting.pop_front();
            self.current = Some(pulse);
            self.counters.pulses_filed += 1;
        }
        begun
    }
}

/// Files whole runs of events.
#[derive(Debug)]
pub struct FiledOut<'a> {
    line: &'a mut PulseLine,
    events: &'a mut EventBatch,
}

impl EventsOut for FiledOut<'_> {
    fn append(&mut self, epoch: u32, formed: &[TimedEvent]) -> usize {
        let Self { line, events } = self;
        let mut taken = 0;
        while let Some(first) = formed.get(taken) {
            if !line.come_to((epoch, first.time), events) {
                return taken;
            }
            // All events up to the next pulse belong together.
            let next = line.waiting.front().filter(|(of_epoch, _)| *of_epoch == epoch);
            let next = next.map_or(u64::MAX, |(_, time)| *time);
            let rest = &formed[taken..];
            let together = &rest[..rest.partition_point(|event| event.time < next || next == u64::MAX)];
            let Some((_, start)) = line.current.filter(|(of_epoch, _)| *of_epoch == epoch) else {
                line.counters.before_first_pulse += together.len() as u64;
                taken += together.len();
                continue;
            };
            let latest = start.saturating_add(line.max_time_of_flight);
            let in_time = &together[..together.partition_point(|event| event.time <= latest)];
            let appended = append(in_time, events, ticks::nanoseconds);
            line.counters.events_filed += appended as u64;
            taken += appended;
            if appended < in_time.len() {
                return taken;
            }
            let too_long = together.len() - in_time.len();
            line.counters.time_of_flight_too_long += too_long as u64;
            taken += too_long;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(time: u64) -> TimedEvent {
        TimedEvent { time, pixel_id: 1 }
    }

    /// All that comes out of batches for `capacity` events: pulses with their events.
    fn filed(
        pulses: &[DataTime],
        formed: &[TimedEvent],
        capacity: usize,
        one_by_one: bool,
    ) -> (Vec<(u64, Vec<u64>)>, FilingCounters) {
        let mut line = PulseLine::new(1000);
        pulses.iter().for_each(|&(epoch, time)| line.add(epoch, time));
        let mut events = EventBatch::new(capacity);
        let mut out: Vec<(u64, Vec<u64>)> = Vec::new();
        let mut deliver = |events: &mut EventBatch| {
            for (pulse, range) in events.by_pulse() {
                let pulse = pulse.expect("every event has a pulse");
                if out.last().is_none_or(|(last, _)| *last != pulse) {
                    out.push((pulse, Vec::new()));
                }
                if let Some((_, of_pulse)) = out.last_mut() {
                    of_pulse.extend(&events.times_ns()[range]);
                }
            }
            events.clear();
        };
        let mut rest = formed;
        while !rest.is_empty() {
            let taken = if one_by_one {
                usize::from(line.file(0, rest[0], &mut events))
            } else {
                line.out(&mut events).append(0, rest)
            };
            rest = &rest[taken..];
            if !rest.is_empty() && (taken == 0 || !one_by_one) {
                deliver(&mut events);
            }
        }
        while !line.pass((1, 0), &mut events) {
            deliver(&mut events);
        }
        deliver(&mut events);
        (out, line.counters(formed.len() as u64, 0))
    }

    #[test]
    fn events_go_to_the_latest_pulse_at_or_before_them() {
        let formed = [5, 99, 100, 250, 299, 300, 1400].map(event);
        let pulses = [(0, 300), (0, 100), (0, 200), (0, 100), (0, 2000)];
        let (out, counters) = filed(&pulses, &formed, 8, true);
        let ns = ticks::nanoseconds;
        let expected = vec![
            (ns(100), vec![ns(100)]),
            (ns(200), vec![ns(250), ns(299)]),
            (ns(300), vec![ns(300)]),
            (ns(2000), vec![]),
        ];
        assert_eq!(out, expected);
        assert_eq!((counters.before_first_pulse, counters.time_of_flight_too_long), (2, 1));
        assert_eq!((counters.events_filed, counters.pulses_filed), (4, 4));
    }

    #[test]
    fn pulses_of_another_epoch_are_those_of_another_clock() {
        let mut line = PulseLine::new(1000);
        let mut events = EventBatch::new(8);
        line.add(0, 100);
        line.add(1, 50);
        assert!(line.file(0, event(120), &mut events));
        assert!(line.file(1, event(40), &mut events), "the pulse at 100 is of the epoch before");
        assert!(line.file(1, event(60), &mut events));
        let ns = ticks::nanoseconds;
        assert_eq!(events.by_pulse().collect::<Vec<_>>(), [(Some(ns(100)), 0..1), (Some(ns(50)), 1..2)]);
        assert_eq!(line.counters(3, 0).before_first_pulse, 1);
    }

    #[test]
    fn pulses_that_find_no_room_are_counted() {
        let mut line = PulseLine::new(1000);
        for time in 0..=MOST_WAITING as u64 {
            line.add(0, 1 + time);
        }
        assert_eq!((line.refused(), line.has_room()), (1, false));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_events_are_cut_into_batches(
            pulses in proptest::collection::vec(0..8_000_u64, 0..20),
            mut times in proptest::collection::vec(0..10_000_u64, 0..100),
            capacity in 1..40_usize, one_by_one: bool,
        ) {
            times.sort_unstable();
            let formed: Vec<_> = times.iter().map(|&time| event(time)).collect();
            let pulses: Vec<_> = pulses.into_iter().map(|time| (0, time)).collect();
            let (whole, counters) = filed(&pulses, &formed, 1000, true);
            let (cut, cut_counters) = filed(&pulses, &formed, capacity, one_by_one);
            prop_assert_eq!(&cut, &whole);
            prop_assert_eq!(cut_counters, counters);
            // The plain definition.
            let mut expected = 0;
            for time in times {
                let pulse = pulses.iter().map(|pulse| pulse.1).filter(|&pulse| pulse <= time).max();
                expected += u64::from(pulse.is_some_and(|pulse| time - pulse <= 1000));
            }
            prop_assert_eq!(counters.events_filed, expected);
        }
    }
}

//! Files every event under its pulse.
//!
//! Pulses wait, in order, until the time of the events has come to them. An event belongs to the latest pulse at or
//! before its time. Pulses leave with the events, in order of time, those without events too. Single neutrons of beam
//! monitors that send alongside the detector wait here, too, and leave as events between those of the detector.
//!
//! An event without a pulse, because none is known or the latest is too long ago, leaves with its time and without a
//! pulse.

use super::counters::{FilingCounters, NeutronCounters};
use super::neutrons::{MonitorHistograms, Neutrons};
use super::ticks;
use crate::event_order::TimedEvent;
use crate::module_windows::{EventsOut, append};
use crate::watermark::DataTime;
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::event::{Event, EventBatch};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// The unit of the times of a line.
pub trait TimeUnit: std::fmt::Debug {
    /// Whole nanoseconds of this many units, as events leave with them.
    fn nanoseconds(units: u64) -> u64;
}

/// The unit of the ESS readout: [`ticks`].
#[derive(Debug, get_size2::GetSize)]
pub enum EssUnit {}

impl TimeUnit for EssUnit {
    #[inline]
    fn nanoseconds(units: u64) -> u64 {
        ticks::nanoseconds(units)
    }
}

/// Pulses that can wait: five minutes of them at 14 Hz.
const MOST_WAITING: usize = 4096;

/// Pulses that wait when closing becomes worth while, whatever the hits.
const WORTHWHILE: usize = 256;

/// Room that the pulses of a packet and of a quarantine need.
const ROOM_FOR_A_PACKET: usize = 16;

/// Pulses that are remembered once they have begun: those that other queues report again are not late.
const REMEMBERED: usize = 256;

/// What happened to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filing {
    /// Nothing yet: the batch is full.
    Full,
    /// It has left.
    Filed {
        /// Nanoseconds since its pulse, if it has one.
        time_of_flight_ns: Option<u64>,
    },
}

/// How pulses compare with the period that the source has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct PeriodCounts {
    /// Pulses at the time of another one, or less than half a period after it: they have not begun.
    pub doubled: u64,
    /// Whole periods in which a pulse should have been and was not.
    pub missing: u64,
}

/// The pulses, and what has happened to the events. Its times are in the unit `U`.
#[derive(Debug, get_size2::GetSize)]
pub struct PulseLine<U = EssUnit> {
    /// Pulses whose time has not come, in order.
    waiting: VecDeque<DataTime>,
    /// The pulse that events go to.
    current: Option<DataTime>,
    /// The pulses begun last.
    begun: VecDeque<DataTime>,
    /// The first pulse of all.
    first: Option<DataTime>,
    /// True while the batch is at events without a pulse; without meaning in a batch that has no pulses.
    is_without: bool,
    neutrons: Neutrons,
    max_time_of_flight: u64,
    /// The period of the source, where pulses that do not fit it are to be found.
    period: Option<u64>,
    of_period: PeriodCounts,
    counters: FilingCounters,
    refused: u64,
    late: u64,
    unit: PhantomData<U>,
}

impl PulseLine {
    /// No pulse yet. `max_time_of_flight` in units of [`ticks`].
    pub fn new(max_time_of_flight: u64) -> Self {
        Self::with_unit(max_time_of_flight)
    }
}

impl<U: TimeUnit> PulseLine<U> {
    /// As [`PulseLine::new`], with times in the unit `U`.
    pub fn with_unit(max_time_of_flight: u64) -> Self {
        Self {
            waiting: VecDeque::with_capacity(MOST_WAITING),
            current: None,
            begun: VecDeque::with_capacity(REMEMBERED),
            first: None,
            is_without: false,
            neutrons: Neutrons::default(),
            max_time_of_flight,
            period: None,
            of_period: PeriodCounts::default(),
            counters: FilingCounters::default(),
            refused: 0,
            late: 0,
            unit: PhantomData,
        }
    }

    /// The same for a source with this period, of at least 1: a pulse less than half of it after another one does not
    /// begin, and those that are missing are counted.
    #[must_use]
    pub fn of_period(mut self, period: u64) -> Self {
        self.period = Some(period.max(1));
        self
    }

    /// How the pulses compare with the period of the source; all 0 if none was given.
    pub fn period_counts(&self) -> PeriodCounts {
        self.of_period
    }

    /// Expects single neutrons of these monitors, too, whose pixels follow `pixel_offset` others.
    pub fn add_monitors(&mut self, histograms: MonitorHistograms, pixel_offset: u32) {
        self.neutrons = Neutrons::new(histograms, pixel_offset);
    }

    /// Takes a single neutron of a monitor, with its pixel among those of the monitors, from 1.
    pub fn add_neutron(&mut self, epoch: u32, time: u64, pixel: u32) {
        self.neutrons.push((epoch, time), pixel);
    }

    /// Takes note of a pulse that was reported after its time had been closed. One that has begun already was only
    /// reported again, by another queue; one before the first of all changes nothing.
    pub fn add_late(&mut self, epoch: u32, time: u64) {
        let pulse = (epoch, time);
        let is_known = self.begun.contains(&pulse) || self.waiting.binary_search(&pulse).is_ok();
        let is_first = self.first.is_none_or(|first| pulse < first);
        self.late += u64::from(!is_known && !is_first);
    }

    /// Takes a pulse. Several queues tell the same pulses; each counts once.
    pub fn add(&mut self, epoch: u32, time: u64) {
        let pulse = (epoch, time);
        if self.current.is_some_and(|current| pulse <= current) {
            return;
        }
        match self.waiting.binary_search(&pulse) {
            Ok(_) => self.of_period.doubled += u64::from(self.period.is_some()),
            Err(place) if self.waiting.len() < MOST_WAITING => self.waiting.insert(place, pulse),
            Err(_) => self.refused += 1,
        }
    }

    /// Pulses for which there is room.
    #[inline]
    pub fn room(&self) -> usize {
        MOST_WAITING.saturating_sub(self.waiting.len())
    }

    /// True if the pulses of one more packet fit, and `hits` neutrons.
    #[inline]
    pub fn has_room(&self, hits: usize) -> bool {
        self.waiting.len() + ROOM_FOR_A_PACKET <= MOST_WAITING && self.neutrons.has_room_for(hits)
    }

    /// True if enough pulses or neutrons wait to make closing worthwhile.
    #[inline]
    pub fn is_closing_worthwhile(&self) -> bool {
        self.waiting.len() >= WORTHWHILE || self.neutrons.is_closing_worthwhile()
    }

    /// The latest pulse or neutron that waits.
    pub fn latest_pending(&self) -> Option<DataTime> {
        self.waiting.back().copied().max(self.neutrons.latest_pending())
    }

    /// Begins the pulses before `until`, and hands out the neutrons before it: nothing else comes before. False if the
    /// batch is full.
    pub fn pass(&mut self, until: DataTime, events: &mut EventBatch) -> bool {
        loop {
            let pulse = self.waiting.front().copied().filter(|&pulse| pulse < until);
            let neutron = self.neutrons.first().filter(|&(at, _)| at < until);
            let passed = match (pulse, neutron) {
                (Some(pulse), Some((at, _))) if pulse <= at => self.begin(pulse, events),
                (Some(pulse), None) => self.begin(pulse, events),
                (_, Some((at, pixel_id))) => self.hand_out_neutron(at, pixel_id, events),
                (None, None) => return true,
            };
            if !passed {
                return false;
            }
        }
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
        self.file_here(epoch, event, events)
    }

    /// Files an event under the pulse that its time has come to.
    #[inline]
    fn file_here(&mut self, epoch: u32, event: TimedEvent, events: &mut EventBatch) -> Filing {
        let start = self.pulse_of(epoch, event.time);
        if !self.name_pulse(start, events) {
            return Filing::Full;
        }
        let time_ns = U::nanoseconds(event.time);
        if !events.push(Event { time_ns, pixel_id: event.pixel_id }) {
            return Filing::Full;
        }
        if start.is_none() {
            self.count_without_pulse(epoch, 1);
        }
        self.counters.events_filed += 1;
        Filing::Filed { time_of_flight_ns: start.map(|start| time_ns - U::nanoseconds(start)) }
    }

    /// The start of the pulse that an event at this time belongs to; none if none is known or it is too long ago.
    #[inline]
    fn pulse_of(&self, epoch: u32, time: u64) -> Option<u64> {
        let (_, start) = self.current.filter(|(of_epoch, _)| *of_epoch == epoch)?;
        (time - start <= self.max_time_of_flight).then_some(start)
    }

    #[cold]
    fn count_without_pulse(&mut self, epoch: u32, events: u64) {
        let is_known = self.current.is_some_and(|(of_epoch, _)| of_epoch == epoch);
        *if is_known {
            &mut self.counters.time_of_flight_too_long
        } else {
            &mut self.counters.before_first_pulse
        } += events;
    }

    /// Hands out the neutron that is first. False if the batch is full.
    #[cold]
    fn hand_out_neutron(&mut self, (epoch, time): DataTime, pixel_id: u32, events: &mut EventBatch) -> bool {
        match self.file_here(epoch, TimedEvent { time, pixel_id }, events) {
            Filing::Full => false,
            Filing::Filed { time_of_flight_ns } => {
                self.neutrons.hand_out(time_of_flight_ns);
                true
            }
        }
    }

    /// Pulses handed out so far.
    pub fn pulses_filed(&self) -> u64 {
        self.counters.pulses_filed
    }

    /// A way out into `events`.
    pub fn out<'a>(&'a mut self, events: &'a mut EventBatch) -> FiledOut<'a, U> {
        FiledOut { line: self, events }
    }

    /// The counts of events so far; who forms them has counted `formed` and holds `held`.
    pub fn counters(&self, formed: u64, held: u64) -> FilingCounters {
        let of_monitors = self.neutrons.counters().hits_in_events;
        FilingCounters { events_formed: formed + of_monitors, held_events: held, ..self.counters }
    }

    /// What has happened to the single neutrons of monitors, and their histograms.
    pub fn neutrons(&self) -> (NeutronCounters, &[BeamMonitorData]) {
        (self.neutrons.counters(), self.neutrons.histograms.monitors())
    }

    /// Pulses that found no room.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Pulses that no queue had reported in time.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Begins the pulses up to `at`, and hands out the neutrons before it. False if the batch is full.
    #[inline]
    fn come_to(&mut self, at: DataTime, events: &mut EventBatch) -> bool {
        let is_there = self.waiting.front().is_none_or(|&pulse| pulse > at)
            && self.neutrons.first().is_none_or(|(neutron, _)| neutron >= at);
        is_there || self.come_slowly_to(at, events)
    }

    #[cold]
    fn come_slowly_to(&mut self, at: DataTime, events: &mut EventBatch) -> bool {
        if !self.pass(at, events) {
            return false;
        }
        match self.waiting.front() {
            Some(&pulse) if pulse == at => self.begin(pulse, events),
            _ => true,
        }
    }

    /// Makes the batch be at the current pulse, or at events without one.
    #[inline]
    fn name_pulse(&mut self, start: Option<u64>, events: &mut EventBatch) -> bool {
        let has_pulses = !events.pulses().is_empty();
        let is_named = match start {
            Some(_) => has_pulses && !self.is_without,
            None => !has_pulses || self.is_without,
        };
        is_named || self.name_another(start, events)
    }

    #[cold]
    fn name_another(&mut self, start: Option<u64>, events: &mut EventBatch) -> bool {
        let named = match start {
            Some(time) => events.begin_pulse(U::nanoseconds(time)),
            None => events.end_pulse(),
        };
        if named {
            self.is_without = start.is_none();
        }
        named
    }

    fn begin(&mut self, pulse: DataTime, events: &mut EventBatch) -> bool {
        let distance = match self.current {
            Some((epoch, start)) if epoch == pulse.0 => self.period.zip(pulse.1.checked_sub(start)),
            _ => None,
        };
        if let Some((period, distance)) = distance
            && distance < period.div_ceil(2)
        {
            self.waiting.pop_front();
            self.of_period.doubled += 1;
            return true;
        }
        let begun = events.begin_pulse(U::nanoseconds(pulse.1));
        if begun {
            if let Some((period, distance)) = distance {
                let periods = distance.saturating_add(period / 2) / period;
                self.of_period.missing += periods.saturating_sub(1);
            }
            self.waiting.pop_front();
            self.current = Some(pulse);
            self.first = self.first.or(Some(pulse));
            self.is_without = false;
            if self.begun.len() == REMEMBERED {
                self.begun.pop_front();
            }
            self.begun.push_back(pulse);
            self.neutrons.histograms.begin_pulses(1);
            self.counters.pulses_filed += 1;
        }
        begun
    }
}

/// Files whole runs of events.
#[derive(Debug)]
pub struct FiledOut<'a, U = EssUnit> {
    line: &'a mut PulseLine<U>,
    events: &'a mut EventBatch,
}

impl<U: TimeUnit> EventsOut for FiledOut<'_, U> {
    fn append(&mut self, epoch: u32, formed: &[TimedEvent]) -> usize {
        let Self { line, events } = self;
        let mut taken = 0;
        while let Some(first) = formed.get(taken) {
            if !line.come_to((epoch, first.time), events) {
                return taken;
            }
            // All events up to the next pulse, or the next neutron of a monitor, belong together.
            let next = line.waiting.front().filter(|(of_epoch, _)| *of_epoch == epoch).map(|(_, time)| *time);
            let neutron = line.neutrons.first().filter(|((of_epoch, _), _)| *of_epoch == epoch);
            let neutron = neutron.map(|((_, time), _)| time);
            let belongs = |event: &TimedEvent| {
                next.is_none_or(|next| event.time < next)
                    && neutron.is_none_or(|neutron| event.time <= neutron)
            };
            let rest = &formed[taken..];
            let together = &rest[..rest.partition_point(belongs)];
            let latest = match line.current.filter(|(of_epoch, _)| *of_epoch == epoch) {
                Some((_, start)) => Some(start.saturating_add(line.max_time_of_flight)),
                None => None,
            };
            let has_pulse = |event: &TimedEvent| latest.is_some_and(|latest| event.time <= latest);
            let with_pulse = together.partition_point(has_pulse);
            // Either those that have the pulse, or all of the rest, which have none.
            let (part, start) = match with_pulse {
                0 => (together, None),
                _ => (&together[..with_pulse], line.current.map(|(_, time)| time)),
            };
            if !line.name_pulse(start, events) {
                return taken;
            }
            let appended = append(part, events, U::nanoseconds);
            if start.is_none() && appended > 0 {
                line.count_without_pulse(epoch, appended as u64);
            }
            line.counters.events_filed += appended as u64;
            taken += appended;
            if appended < part.len() {
                return taken;
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
    use proptest::prelude::*;

    fn event(time: u64) -> TimedEvent {
        TimedEvent { time, pixel_id: 1 }
    }

    /// Pulses, or none, with the times of their events.
    type OfPulses = Vec<(Option<u64>, Vec<u64>)>;

    /// All that comes out of batches for `capacity` events: pulses with their events.
    fn filed(
        pulses: &[DataTime],
        formed: &[TimedEvent],
        capacity: usize,
        one_by_one: bool,
    ) -> (OfPulses, FilingCounters) {
        let mut line = PulseLine::new(1000);
        pulses.iter().for_each(|&(epoch, time)| line.add(epoch, time));
        let mut events = EventBatch::new(capacity);
        let mut out = OfPulses::new();
        let mut deliver = |events: &mut EventBatch| {
            for (pulse, range) in events.by_pulse() {
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
            (None, vec![ns(5), ns(99)]),
            (Some(ns(100)), vec![ns(100)]),
            (Some(ns(200)), vec![ns(250), ns(299)]),
            (Some(ns(300)), vec![ns(300)]),
            (None, vec![ns(1400)]),
            (Some(ns(2000)), vec![]),
        ];
        assert_eq!(out, expected);
        assert_eq!((counters.before_first_pulse, counters.time_of_flight_too_long), (2, 1));
        assert_eq!((counters.events_filed, counters.pulses_filed), (7, 4));
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
        let of_pulses = [(Some(ns(100)), 0..1), (None, 1..2), (Some(ns(50)), 2..3)];
        assert_eq!(events.by_pulse().collect::<Vec<_>>(), of_pulses);
        assert_eq!(line.counters(3, 0).before_first_pulse, 1);
    }

    #[test]
    fn a_pulse_that_another_queue_reports_again_is_not_late() {
        let mut line = PulseLine::new(1000);
        let mut events = EventBatch::new(8);
        line.add(0, 100);
        line.add(0, 200);
        assert!(line.file(0, event(150), &mut events));
        // The one that has begun, the one that waits, and one before the first.
        for known in [100, 200, 50] {
            line.add_late(0, known);
        }
        assert_eq!(line.late(), 0);
        line.add_late(0, 120);
        assert_eq!(line.late(), 1);
    }

    #[test]
    fn neutrons_of_monitors_come_out_between_the_events_and_fill_their_histograms() {
        let histogram = TimeOfFlightBins::new(0, 1000, 10).unwrap();
        let plan = BeamMonitorPlan {
            name: "monitor".into(),
            kind: BeamMonitorKind::Event0D,
            first_pixel: 9,
            nx: 1,
            ny: 1,
            histogram,
            alongside: false,
        };
        for capacity in [2, 3, 20] {
            let mut line = PulseLine::new(1000);
            line.add_monitors(MonitorHistograms::new([plan.clone()]), 8);
            line.add(0, 100);
            line.add(0, 300);
            for time in [250, 310, 50, 900] {
                line.add_neutron(0, time, 1);
            }
            let mut events = EventBatch::new(capacity);
            let mut out = Vec::new();
            let mut deliver = |events: &mut EventBatch| {
                out.extend(events.iter().map(|event| (event.time_ns, event.pixel_id)));
                events.clear();
            };
            let formed = [event(100), event(310), event(311)];
            let mut rest = &formed[..];
            while !rest.is_empty() {
                rest = &rest[line.out(&mut events).append(0, rest)..];
                deliver(&mut events);
            }
            while !line.pass((0, u64::MAX), &mut events) {
                deliver(&mut events);
            }
            deliver(&mut events);
            let expected = [(50, 9), (100, 1), (250, 9), (310, 1), (310, 9), (311, 1), (900, 9)];
            assert_eq!(out, expected.map(|(time, pixel)| (ticks::nanoseconds(time), pixel)), "{capacity}");
            let (counters, monitors) = line.neutrons();
            assert_eq!((counters.hits_in_events, counters.held), (4, 0));
            assert_eq!((monitors[0].total(), monitors[0].above(), monitors[0].pulses()), (4, 1, 2));
        }
    }

    #[test]
    fn pulses_that_find_no_room_are_counted() {
        let mut line = PulseLine::new(1000);
        for time in 0..=MOST_WAITING as u64 {
            line.add(0, 1 + time);
        }
        assert_eq!((line.refused(), line.has_room(0)), (1, false));
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
            let mut without = 0;
            for &time in &times {
                let pulse = pulses.iter().map(|pulse| pulse.1).filter(|&pulse| pulse <= time).max();
                without += u64::from(pulse.is_none_or(|pulse| time - pulse > 1000));
            }
            prop_assert_eq!(counters.events_filed, times.len() as u64);
            prop_assert_eq!(counters.before_first_pulse + counters.time_of_flight_too_long, without);
            let of_none = whole.iter().filter(|(pulse, _)| pulse.is_none()).map(|(_, times)| times.len() as u64);
            prop_assert_eq!(of_none.sum::<u64>(), without);
        }
    }
}

//! Events into messages: which events go into one message, and when it is closed.
//!
//! One message is open per source. It is closed when the next pulse begins and it has as many as it may have, when it has as many
//! events as it may have, when nothing has come for a while, and at the end. What is in a message depends on the
//! events alone, never on the batches that they come in; only the time after which a message is closed is the clock's.

use super::counters::KafkaCounters;
use super::sources::Sources;
use evforge_core::frame::Frame;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulsed::{Pulse, PulseOrigin, PulsedBatch};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// What a message may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageLimits {
    /// Events, at least 1.
    pub(crate) events: usize,
    /// Pulses, at least 1.
    pub(crate) pulses: usize,
    /// Time from its first event until it is closed though nothing more has come.
    pub(crate) time: Duration,
}

/// What happens to events that a veto marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vetoed {
    /// They are sent as all others, and nothing says that they were marked.
    Unmarked,
    /// They are sent, and their marks in a message before theirs.
    Marked,
    /// They are not sent.
    LeftOut,
}

/// Which pulses are announced before their events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// None.
    Never,
    /// Those of which the readout says more than their time.
    Frames,
    /// All.
    Always,
}

/// How events are put into messages.
#[derive(Clone, Debug)]
pub(crate) struct PackingRules {
    pub(crate) sources: Sources,
    pub(crate) limits: MessageLimits,
    pub(crate) geometry: LogicalGeometry,
    pub(crate) vetoed: Vetoed,
    /// Whether pulses without events are sent.
    pub(crate) empty_pulses: bool,
    /// Which pulses are announced. The events of one that is have messages of their own, behind that.
    pub(crate) announced: Announced,
}

/// Events of one source, in the columns of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventColumns {
    /// Start of each pulse, in nanoseconds since 1970.
    pub(crate) reference_times: Vec<i64>,
    /// Index of the first event of each pulse.
    pub(crate) reference_indices: Vec<i32>,
    /// Nanoseconds since the pulse.
    pub(crate) times_of_flight: Vec<i32>,
    pub(crate) pixels: Vec<u32>,
    /// Marks of vetoes; empty if they are not asked for.
    pub(crate) marks: Vec<u8>,
    /// Arrival of the packets of the earliest batch, in nanoseconds since 1970.
    pub(crate) arrival_ns: Option<u64>,
    /// Number of the first pulse, from 0, if it is a frame.
    pub(crate) frame: Option<u64>,
}

impl EventColumns {
    fn with_capacity(events: usize) -> Self {
        Self {
            times_of_flight: Vec::with_capacity(events),
            pixels: Vec::with_capacity(events),
            ..Self::default()
        }
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        self.pixels.len()
    }

    fn clear(&mut self) {
        self.reference_times.clear();
        self.reference_indices.clear();
        self.times_of_flight.clear();
        self.pixels.clear();
        self.marks.clear();
        self.arrival_ns = None;
        self.frame = None;
    }
}

/// Why a message was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    ByPulse,
    ByEvents,
    ByTime,
    AtEnd,
}

/// Is given what is to be sent, in the order in which it is to be sent.
pub(crate) trait Packed {
    /// A pulse has begun for a source: its events follow. A frame, with its number from 0, of which something else is known now is
    /// announced again.
    fn pulse(
        &mut self,
        source: usize,
        unix_ns: i64,
        frame: Option<(u64, &Frame)>,
        counters: &mut KafkaCounters,
    );
    /// A message with events.
    fn events(&mut self, source: usize, events: &EventColumns, counters: &mut KafkaCounters);
}

#[derive(Debug)]
struct Open {
    columns: EventColumns,
    /// The current pulse is in the columns.
    has_pulse: bool,
    /// Events of the current pulse that are in this message or earlier ones.
    pulse_events: u64,
    since: Duration,
}

/// Puts events into messages; see the [module](self).
#[derive(Debug)]
pub(crate) struct Packer {
    rules: PackingRules,
    open: Vec<Open>,
    /// The current pulse, and its start if that can be expressed.
    pulse: Option<Pulse>,
    /// What the readout says of it; none if it tells no frames, or the events belong to no pulse.
    frame: Option<Frame>,
    /// Frames begun.
    frames: u64,
    batch: Option<Arc<PulsedBatch>>,
    /// The next pulse of the batch.
    next_pulse: usize,
    /// The time of the last call.
    now: Duration,
}

impl Packer {
    pub(crate) fn new(rules: PackingRules) -> Self {
        let capacity = rules.limits.events.min(1 << 17);
        let open = |_: &String| Open {
            columns: EventColumns::with_capacity(capacity),
            has_pulse: false,
            pulse_events: 0,
            since: Duration::ZERO,
        };
        let open = rules.sources.names().iter().map(open).collect();
        Self {
            rules,
            open,
            pulse: None,
            frame: None,
            frames: 0,
            batch: None,
            next_pulse: 0,
            now: Duration::ZERO,
        }
    }

    /// Memory that it holds: an open message per source.
    pub(crate) fn memory_bound(rules: &PackingRules) -> usize {
        let event = size_of::<i32>() + size_of::<u32>() + size_of::<u8>();
        let pulse = size_of::<i64>() + size_of::<i32>();
        // Columns grow by doubling.
        2 * rules.sources.names().len() * (rules.limits.events * event + rules.limits.pulses * pulse)
    }

    /// True while events of a batch are still to be put into messages.
    pub(crate) fn has_batch(&self) -> bool {
        self.batch.is_some()
    }

    /// Takes a batch, which [`Packer::step`] puts into messages. There must be none.
    pub(crate) fn take(&mut self, batch: &Arc<PulsedBatch>) {
        self.batch = Some(Arc::clone(batch));
        self.next_pulse = 0;
    }

    /// Events of the batch that are not in a message yet.
    pub(crate) fn events_left(&self) -> u64 {
        let Some(batch) = &self.batch else { return 0 };
        let first = batch.pulses().get(self.next_pulse).map_or(batch.len(), |pulse| pulse.first_event);
        (batch.len() - first) as u64
    }

    /// Events in messages that are still open.
    pub(crate) fn events_open(&self) -> u64 {
        self.open.iter().map(|open| open.columns.len() as u64).sum()
    }

    /// Puts the events of the next pulse of the batch into messages. Does nothing without a batch.
    pub(crate) fn step(&mut self, now: Duration, to: &mut impl Packed, counters: &mut KafkaCounters) {
        let Some(batch) = self.batch.clone() else { return };
        self.now = now;
        let Some(&pulse) = batch.pulses().get(self.next_pulse) else {
            self.batch = None;
            return;
        };
        let is_told = pulse.origin == PulseOrigin::Readout;
        let frame = batch.frame(self.next_pulse).copied().filter(|_| is_told);
        self.next_pulse += 1;
        let end = batch.pulses().get(self.next_pulse).map_or(batch.len(), |next| next.first_event);
        if self.next_pulse == batch.pulses().len() {
            self.batch = None;
        }
        if !self.pulse.is_some_and(|current| current.is_same(&pulse)) {
            self.begin_pulse(pulse, frame, to, counters);
        } else if frame.is_some() && frame != self.frame {
            self.frame = frame;
            self.announce(to, counters);
        }
        let events = pulse.first_event..end;
        match pulse.unix_ns.and_then(|time| i64::try_from(time).ok()) {
            None => counters.events_outside_epoch += events.len() as u64,
            Some(start) => self.add(&batch, events, start, to, counters),
        }
    }

    /// Closes the messages that have been open for too long. Not while a batch is being dealt with.
    pub(crate) fn close_old(&mut self, now: Duration, to: &mut impl Packed, counters: &mut KafkaCounters) {
        if self.batch.is_some() {
            return;
        }
        for source in 0..self.open.len() {
            let open = &self.open[source];
            if open.has_content() && now.saturating_sub(open.since) >= self.rules.limits.time {
                self.close(source, Closed::ByTime, to, counters);
            }
        }
    }

    /// Closes all messages: the input has ended.
    pub(crate) fn close_all(&mut self, to: &mut impl Packed, counters: &mut KafkaCounters) {
        self.end_pulse(to, counters);
        (self.pulse, self.frame) = (None, None);
        for source in 0..self.open.len() {
            if self.open[source].has_content() {
                self.close(source, Closed::AtEnd, to, counters);
            }
        }
    }

    /// The current pulse is over: sources that had no event say so, if they are to.
    fn end_pulse(&mut self, to: &mut impl Packed, counters: &mut KafkaCounters) {
        let Some(start) = self.pulse.and_then(|pulse| pulse.unix_ns) else { return };
        if !self.rules.empty_pulses {
            return;
        }
        let frame = self.frame_number();
        for source in 0..self.open.len() {
            let open = &mut self.open[source];
            if open.pulse_events == 0 && !open.has_pulse {
                open.begin_pulse(start as i64, frame, self.now);
                counters.empty_pulses_sent += 1;
                self.close_if_full_of_pulses(source, to, counters);
            }
        }
    }

    fn begin_pulse(
        &mut self,
        pulse: Pulse,
        frame: Option<Frame>,
        to: &mut impl Packed,
        counters: &mut KafkaCounters,
    ) {
        self.end_pulse(to, counters);
        for source in 0..self.open.len() {
            self.close_if_full_of_pulses(source, to, counters);
            let open = &mut self.open[source];
            (open.has_pulse, open.pulse_events) = (false, 0);
        }
        (self.pulse, self.frame) = (Some(pulse), frame);
        self.frames += u64::from(frame.is_some());
        self.announce(to, counters);
    }

    /// Says what is known of the pulse that has begun, if that is to be said: the messages of earlier ones come before that.
    fn announce(&mut self, to: &mut impl Packed, counters: &mut KafkaCounters) {
        let Some(pulse) = self.pulse else { return };
        let is_announced = match self.rules.announced {
            Announced::Never => false,
            Announced::Frames => self.frame.is_some(),
            Announced::Always => true,
        };
        if !is_announced {
            return;
        }
        let Some(start) = pulse.unix_ns.and_then(|time| i64::try_from(time).ok()) else {
            counters.frames_outside_epoch += u64::from(self.frame.is_some());
            return;
        };
        for source in 0..self.open.len() {
            if self.open[source].has_content() {
                self.close(source, Closed::ByPulse, to, counters);
            }
            let frame = self.frame_number().zip(self.frame.as_ref());
            to.pulse(source, start, frame, counters);
        }
    }

    /// The number of the current pulse, if it is a frame.
    fn frame_number(&self) -> Option<u64> {
        self.frame.and(self.frames.checked_sub(1))
    }

    fn close_if_full_of_pulses(&mut self, source: usize, to: &mut impl Packed, counters: &mut KafkaCounters) {
        if self.open[source].columns.reference_times.len() >= self.rules.limits.pulses {
            self.close(source, Closed::ByPulse, to, counters);
        }
    }

    fn add(
        &mut self,
        batch: &PulsedBatch,
        events: Range<usize>,
        start: i64,
        to: &mut impl Packed,
        counters: &mut KafkaCounters,
    ) {
        let offsets = &batch.offsets_ns()[events.clone()];
        let leaves_out = self.rules.vetoed == Vetoed::LeftOut && !batch.marks().is_empty();
        let takes_all =
            self.rules.sources.is_one() && !leaves_out && offsets.iter().all(|&offset| offset >= 0);
        if takes_all {
            self.add_columns(0, batch, events, start, to, counters);
            return;
        }
        // Events that go the same way one after the other are copied together.
        let mut run: Option<(usize, Range<usize>)> = None;
        for index in events {
            let way = self.way(batch, index, leaves_out, counters);
            match (&mut run, way) {
                (Some((source, range)), Some(way)) if *source == way => range.end = index + 1,
                _ => {
                    if let Some((source, range)) = run.take() {
                        self.add_columns(source, batch, range, start, to, counters);
                    }
                    run = way.map(|source| (source, index..index + 1));
                }
            }
        }
        if let Some((source, range)) = run {
            self.add_columns(source, batch, range, start, to, counters);
        }
    }

    /// The source that an event is sent under; none if it is not sent, which is counted.
    fn way(
        &self,
        batch: &PulsedBatch,
        index: usize,
        leaves_out: bool,
        counters: &mut KafkaCounters,
    ) -> Option<usize> {
        if batch.offsets_ns()[index] < 0 {
            counters.events_outside_pulse += 1;
            return None;
        }
        if leaves_out && batch.marks()[index] != 0 {
            counters.events_vetoed += 1;
            return None;
        }
        let source = self.rules.sources.of(batch.pixel_ids()[index]);
        counters.events_outside_sources += u64::from(source.is_none());
        source
    }

    /// Adds events of one source, and closes messages as they become full.
    fn add_columns(
        &mut self,
        source: usize,
        batch: &PulsedBatch,
        events: Range<usize>,
        start: i64,
        to: &mut impl Packed,
        counters: &mut KafkaCounters,
    ) {
        let (geometry, frame) = (self.rules.geometry, self.frame_number());
        let pixels = &batch.pixel_ids()[events.clone()];
        let without = pixels.iter().filter(|&&pixel| !geometry.is_valid(pixel)).count();
        counters.events_without_pixel += without as u64;
        let mut from = events.start;
        while from < events.end {
            let open = &mut self.open[source];
            if !open.has_pulse {
                open.begin_pulse(start, frame, self.now);
            }
            let columns = &mut open.columns;
            columns.arrival_ns = columns.arrival_ns.or(batch.arrival_ns());
            let room = self.rules.limits.events - columns.len();
            let to_add = from..events.end.min(from + room);
            columns.pixels.extend_from_slice(&batch.pixel_ids()[to_add.clone()]);
            columns.times_of_flight.extend_from_slice(&batch.offsets_ns()[to_add.clone()]);
            if self.rules.vetoed == Vetoed::Marked
                && let Some(marks) = batch.marks().get(to_add.clone())
            {
                columns.marks.extend_from_slice(marks);
            }
            open.pulse_events += to_add.len() as u64;
            from = to_add.end;
            if columns.len() >= self.rules.limits.events {
                self.close(source, Closed::ByEvents, to, counters);
            }
        }
    }

    fn close(&mut self, source: usize, why: Closed, to: &mut impl Packed, counters: &mut KafkaCounters) {
        match why {
            Closed::ByPulse => counters.closed_by_pulse += 1,
            Closed::ByEvents => counters.closed_by_events += 1,
            Closed::ByTime => counters.closed_by_time += 1,
            Closed::AtEnd => counters.closed_at_end += 1,
        }
        let open = &mut self.open[source];
        to.events(source, &open.columns, counters);
        open.columns.clear();
        // If the pulse goes on, the next message names it again.
        open.has_pulse = false;
    }
}

impl Open {
    fn has_content(&self) -> bool {
        !self.columns.reference_times.is_empty()
    }

    fn begin_pulse(&mut self, start: i64, frame: Option<u64>, now: Duration) {
        if !self.has_content() {
            self.since = now;
            self.columns.frame = frame;
        }
        self.columns.reference_times.push(start);
        // At most as many as a message may have, far below 2^31.
        self.columns.reference_indices.push(self.columns.len() as i32);
        self.has_pulse = true;
    }
}

#[cfg(test)]
mod tests;

//! The stage between forming and the outputs: gives every event its pulse, its time since the pulse, its marks, and the
//! run its calendar.
//!
//! Where the readout reports the pulses, each of them is handed on, with or without events. Nothing is filled in.
//!
//! Elsewhere the pulses are those of a train with a constant period. Events come in the order of their time as long as the
//! clock runs on; then every pulse is handed on, with or without events. Three things can disturb that, and each is bounded
//! and counted:
//! * the clock jumps ahead by more than the longest gap: the gap is not filled with empty pulses;
//! * the clock jumps back (a readout was reset, or events come in the order of arrival): the earlier pulse is begun again,
//!   and empty pulses are only filled in for pulses that have not had their turn yet;
//! * an event lies before the first pulse of the train, or has none although the readout reports pulses: it gets a
//!   reference time of its own, and no time of flight.
//!
//! What is handed on depends on the events and pulses alone, not on how they were cut into batches.

use super::batch::{Pulse, PulseOrigin, PulsedBatch, TimeOffset};
use super::calendar::{Calendar, CalendarKeeper, CalendarRule};
use super::counters::PulseCounters;
use super::veto::{Veto, VetoMarks};
use crate::event::EventBatch;
use crate::frame::Frame;
use crate::pulse::PulseTrain;
use std::ops::Range;
use std::time::Duration;

/// Pulses that a batch has at most: a batch with more is cut in two.
const MOST_PULSES: usize = 4096;

/// Empty pulses that are filled in at a time at most, whatever the longest gap: the train may be a fast one.
const MOST_FILLED: u64 = 1 << 16;

/// What the stage has to know.
#[derive(Clone, Debug)]
pub struct PulseStageSettings {
    /// The pulses of events for which the readout reports none. A period of at most 2.147 s.
    pub train: PulseTrain,
    /// Whether the readout reports pulses: then an event without one has none, whatever the train says.
    pub is_told: bool,
    /// Longest stretch of data time without events that is filled with empty pulses of the train. A clock that goes back
    /// by more has started over.
    pub longest_gap: Duration,
    /// Rules that mark events.
    pub vetoes: Vec<Veto>,
    /// How the calendar is found.
    pub calendar: CalendarRule,
}

impl PulseStageSettings {
    /// Gaps of up to ten seconds are filled, and there are no vetoes.
    pub fn new(train: PulseTrain, calendar: CalendarRule) -> Self {
        Self { train, is_told: false, longest_gap: Duration::from_secs(10), vetoes: Vec::new(), calendar }
    }
}

/// Turns batches of a detector into batches for outputs.
#[derive(Debug)]
pub struct PulseStage {
    assignment: Assignment,
    calendar: CalendarKeeper,
    scratch: Scratch,
}

impl PulseStage {
    /// A stage at the beginning of a run.
    pub fn new(settings: PulseStageSettings) -> Self {
        let PulseStageSettings { train, is_told, longest_gap, vetoes, calendar } = settings;
        Self {
            assignment: Assignment {
                train: (!is_told).then_some(train),
                longest_gap_ns: u64::try_from(longest_gap.as_nanos()).unwrap_or(u64::MAX),
                vetoes: VetoMarks::new(vetoes),
                open: None,
                latest: None,
                told: None,
                counters: PulseCounters::default(),
            },
            calendar: CalendarKeeper::new(calendar),
            scratch: Scratch::default(),
        }
    }

    /// Takes note of the arrival of packets, in nanoseconds since 1970: of the first and the last of those that are about
    /// to be formed.
    pub fn packets_arrived(&mut self, first_ns: u64, last_ns: u64) {
        self.calendar.packets_arrived(first_ns, last_ns);
    }

    /// Hands on the events and pulses of a batch, as one batch unless it has very many pulses. `arrival_ns` is when the
    /// packets of its earliest event came in, if that is measured.
    pub fn hand_on(
        &mut self,
        events: &EventBatch,
        arrival_ns: Option<u64>,
        deliver: &mut dyn FnMut(PulsedBatch),
    ) {
        if events.is_blank() {
            return;
        }
        let first_ns = events.pulses().first().and_then(|pulse| pulse.time_ns);
        let calendar = self.calendar.decide(first_ns.or(events.times_ns().first().copied()));
        self.scratch.clear();
        let mut out =
            Out { events, arrival_ns, calendar, scratch: &mut self.scratch, from: 0, frame: None, deliver };
        let stage = &mut self.assignment;
        for (told, frame, range) in events.by_frame() {
            out.frame = frame;
            match told {
                Some(time_ns) => {
                    stage.begin_told(time_ns, range.start, &mut out);
                    stage.place_in_told(time_ns, range, &mut out);
                }
                None => {
                    stage.end_told();
                    stage.place_in_train(range, &mut out);
                }
            }
        }
        out.deliver(events.len());
        stage.counters.events_handed_on += events.len() as u64;
    }

    /// The events have ended.
    pub fn close(&mut self) {
        self.assignment.end_told();
    }

    /// The calendar of the run; decided now if there has been no event and no pulse yet.
    pub fn calendar(&mut self) -> Calendar {
        self.calendar.decide(None)
    }

    /// What has been counted so far.
    pub fn counters(&self) -> PulseCounters {
        self.assignment.counters
    }

    /// The vetoes with the number of events that each has marked.
    pub fn vetoes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.assignment.vetoes.counts()
    }
}

/// Which pulse events belong to.
#[derive(Debug)]
struct Assignment {
    /// None where the readout reports the pulses.
    train: Option<PulseTrain>,
    longest_gap_ns: u64,
    vetoes: VetoMarks,
    /// The pulse of the train, or the reference time before it, that is open.
    open: Option<OpenPulse>,
    /// The latest pulse of the train since the clock last started over.
    latest: Option<LatestPulse>,
    /// The pulse that the readout reported last, until events without a pulse come.
    told: Option<ToldPulse>,
    counters: PulseCounters,
}

/// Detector times `pulse.time_ns..end_ns`.
#[derive(Clone, Copy, Debug)]
struct OpenPulse {
    pulse: Pulse,
    end_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct LatestPulse {
    number: u64,
    start_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct ToldPulse {
    pulse: Pulse,
    has_events: bool,
}

impl Assignment {
    /// Begins the pulse that the readout reports, or goes on with it if it is the open one.
    fn begin_told(&mut self, time_ns: u64, first_event: usize, out: &mut Out<'_>) {
        if let Some(ToldPulse { pulse, .. }) = self.told {
            if pulse.time_ns == time_ns {
                out.go_on(pulse, first_event);
                return;
            }
            if let Some(back) = pulse.time_ns.checked_sub(time_ns) {
                self.counters.pulse_steps_back += 1;
                self.counters.pulse_clock_restarts += u64::from(back > self.longest_gap_ns);
            }
        }
        self.end_told();
        (self.open, self.latest) = (None, None);
        let pulse = self.begin(time_ns, PulseOrigin::Readout, first_event, out);
        self.counters.pulses_told += 1;
        self.told = Some(ToldPulse { pulse, has_events: false });
    }

    /// Ends the pulse that the readout reported last, if there is one: what follows belongs to no told pulse.
    fn end_told(&mut self) {
        if let Some(told) = self.told.take() {
            self.counters.pulses_without_events += u64::from(!told.has_events);
        }
    }

    /// Events of the told pulse at `pulse_ns`.
    fn place_in_told(&mut self, pulse_ns: u64, range: Range<usize>, out: &mut Out<'_>) {
        if range.is_empty() {
            return;
        }
        if let Some(told) = &mut self.told {
            told.has_events = true;
        }
        let times = out.times(range);
        for &time_ns in times {
            let offset = TimeOffset::of(time_ns, pulse_ns);
            if offset < 0 {
                let counters = &mut self.counters;
                match offset {
                    TimeOffset::BEFORE => counters.events_before_their_pulse += 1,
                    _ => counters.events_too_long_after_pulse += 1,
                }
            }
            out.scratch.offsets_ns.push(offset);
        }
        if !self.vetoes.is_empty() {
            let marks = times.iter().map(|&time| self.vetoes.mark(time, time.checked_sub(pulse_ns)));
            out.scratch.marks.extend(marks);
        }
    }

    /// Events without a pulse of the readout.
    fn place_in_train(&mut self, range: Range<usize>, out: &mut Out<'_>) {
        let mut next = range.start;
        while next < range.end {
            let times = out.times(next..range.end);
            // One look-up for all events of a pulse.
            let fits = |open: &OpenPulse| {
                let inside = |time: &&u64| (open.pulse.time_ns..open.end_ns).contains(*time);
                times.iter().take_while(inside).count()
            };
            match self.open.map(|open| (open, fits(&open))) {
                Some((open, events @ 1..)) => {
                    out.go_on(open.pulse, next);
                    // The end of a pulse is less than 31 bits of nanoseconds away.
                    let offset = |time: &u64| (time - open.pulse.time_ns) as i32;
                    out.scratch.offsets_ns.extend(times[..events].iter().map(offset));
                    if !self.vetoes.is_empty() {
                        let has_pulse = open.pulse.origin != PulseOrigin::None;
                        let flight = |time: u64| has_pulse.then_some(time - open.pulse.time_ns);
                        let marks = times[..events].iter().map(|&time| self.vetoes.mark(time, flight(time)));
                        out.scratch.marks.extend(marks);
                    }
                    next += events;
                }
                _ => {
                    let time_ns = times[0];
                    let pulse = self.open_train(time_ns, next, out);
                    // Placed here and not with the next look-up: a time at the very end of 64 bits lies in no range.
                    out.scratch.offsets_ns.push(TimeOffset::of(time_ns, pulse.time_ns));
                    if !self.vetoes.is_empty() {
                        let has_pulse = pulse.origin != PulseOrigin::None;
                        let flight = has_pulse.then_some(time_ns - pulse.time_ns);
                        out.scratch.marks.push(self.vetoes.mark(time_ns, flight));
                    }
                    next += 1;
                }
            }
        }
    }

    /// Opens the pulse of the train that `time_ns` belongs to, with the empty ones before it.
    #[cold]
    fn open_train(&mut self, time_ns: u64, first_event: usize, out: &mut Out<'_>) -> Pulse {
        let found = self.train.and_then(|train| train.locate(time_ns));
        if !out.has_date(found.map_or(time_ns, |found| found.start_ns)) {
            // One wild time, which no file can express, must not move the train.
            let origin = if found.is_some() { PulseOrigin::Train } else { PulseOrigin::None };
            return self.begin(found.map_or(time_ns, |found| found.start_ns), origin, first_event, out);
        }
        let is_back = self.open.is_some_and(|open| time_ns < open.pulse.time_ns);
        let Some(found) = found else {
            self.counters.references_before_first_pulse += 1;
            let pulse = self.begin(time_ns, PulseOrigin::None, first_event, out);
            // Up to the first pulse, or for as long as an offset can say.
            let first = self.start_ns(0).unwrap_or(u64::MAX);
            let end_ns = first.min(time_ns.saturating_add(i32::MAX as u64));
            self.open = Some(OpenPulse { pulse, end_ns });
            return pulse;
        };
        self.counters.pulse_steps_back += u64::from(is_back);
        let this = LatestPulse { number: found.pulse, start_ns: found.start_ns };
        match self.latest {
            Some(latest) if this.start_ns >= latest.start_ns => {
                self.fill(latest, this, first_event, out);
                self.latest = Some(this);
            }
            Some(latest) if latest.start_ns - this.start_ns <= self.longest_gap_ns => {}
            Some(_) => {
                self.counters.pulse_clock_restarts += 1;
                self.latest = Some(this);
            }
            None => self.latest = Some(this),
        }
        let pulse = self.begin(found.start_ns, PulseOrigin::Train, first_event, out);
        let end_ns = self.start_ns(found.pulse.saturating_add(1)).unwrap_or(u64::MAX);
        self.open = Some(OpenPulse { pulse, end_ns });
        pulse
    }

    /// Start of a pulse of the train.
    fn start_ns(&self, pulse: u64) -> Option<u64> {
        self.train.and_then(|train| train.start_ns(pulse))
    }

    /// Hands on the empty pulses between two, unless that stretch is longer than the longest gap.
    fn fill(&mut self, latest: LatestPulse, next: LatestPulse, first_event: usize, out: &mut Out<'_>) {
        let between = (next.number - latest.number).saturating_sub(1);
        if between == 0 {
            return;
        }
        if next.start_ns - latest.start_ns > self.longest_gap_ns || between > MOST_FILLED {
            self.counters.gaps_not_filled += 1;
            self.counters.empty_pulses_left_out += between;
            return;
        }
        for number in latest.number + 1..next.number {
            // Both ends of the stretch can be expressed, so everything between can.
            if let Some(start_ns) = self.start_ns(number) {
                self.counters.pulses_without_events += 1;
                self.begin(start_ns, PulseOrigin::Train, first_event, out);
            }
        }
    }

    fn begin(&mut self, time_ns: u64, origin: PulseOrigin, first_event: usize, out: &mut Out<'_>) -> Pulse {
        let unix_ns = out.calendar.unix_ns(time_ns).filter(|_| out.has_date(time_ns));
        self.counters.pulses_handed_on += 1;
        self.counters.pulses_without_date += u64::from(unix_ns.is_none());
        let pulse = Pulse { time_ns, unix_ns, origin, first_event };
        out.begin(pulse);
        pulse
    }
}

/// What is known of the batch that is being made; kept from one to the next for its memory.
#[derive(Debug, Default)]
struct Scratch {
    /// Of all events of the detector's batch that have been placed so far.
    offsets_ns: Vec<i32>,
    marks: Vec<u8>,
    /// Since the last cut.
    pulses: Vec<Pulse>,
    /// What the readout says of each of them; empty if it tells no frames.
    frames: Vec<Frame>,
    pulses_begun: u64,
}

impl Scratch {
    fn clear(&mut self) {
        self.offsets_ns.clear();
        self.marks.clear();
        self.pulses.clear();
        self.frames.clear();
        self.pulses_begun = 0;
    }
}

/// A batch of the detector on its way out.
struct Out<'a> {
    events: &'a EventBatch,
    arrival_ns: Option<u64>,
    calendar: Calendar,
    scratch: &'a mut Scratch,
    /// The first event that has not been delivered.
    from: usize,
    /// What the readout says of the pulse whose turn it is; none if it tells no frames.
    frame: Option<Frame>,
    deliver: &'a mut dyn FnMut(PulsedBatch),
}

impl<'a> Out<'a> {
    fn times(&self, range: Range<usize>) -> &'a [u64] {
        &self.events.times_ns()[range]
    }

    /// Begins a pulse.
    fn begin(&mut self, pulse: Pulse) {
        if self.scratch.pulses.len() == MOST_PULSES {
            self.deliver(pulse.first_event);
        }
        self.name(pulse);
        self.scratch.pulses_begun += 1;
    }

    /// Names a pulse that goes on, unless it is the last one that this batch has, and nothing else is said of it now.
    fn go_on(&mut self, pulse: Pulse, first_event: usize) {
        let is_named = self.scratch.pulses.last().is_some_and(|last| last.is_same(&pulse));
        if !is_named || self.scratch.frames.last() != self.frame.as_ref() {
            self.name(Pulse { first_event, ..pulse });
        }
    }

    fn name(&mut self, pulse: Pulse) {
        self.scratch.pulses.push(pulse);
        self.scratch.frames.extend(self.frame);
    }

    /// True if a pulse at this time, and any event that can belong to it, can be expressed since 1970.
    fn has_date(&self, time_ns: u64) -> bool {
        let latest_event = time_ns.checked_add(i32::MAX as u64);
        self.calendar.unix_ns(time_ns).is_some()
            && latest_event.is_some_and(|time| self.calendar.unix_ns(time).is_some())
    }

    /// Delivers the events before `end`, with their pulses.
    fn deliver(&mut self, end: usize) {
        let range = self.from..end;
        self.from = end;
        let shift = |pulse: &Pulse| Pulse { first_event: pulse.first_event - range.start, ..*pulse };
        let batch = PulsedBatch {
            times_ns: self.events.times_ns()[range.clone()].to_vec(),
            pixel_ids: self.events.pixel_ids()[range.clone()].to_vec(),
            offsets_ns: self.scratch.offsets_ns[range.clone()].to_vec(),
            marks: self.scratch.marks.get(range.clone()).unwrap_or_default().to_vec(),
            pulses: self.scratch.pulses.iter().map(shift).collect(),
            frames: self.scratch.frames.clone(),
            calendar: self.calendar,
            pulses_begun: std::mem::take(&mut self.scratch.pulses_begun),
            arrival_ns: self.arrival_ns,
        };
        self.scratch.pulses.clear();
        self.scratch.frames.clear();
        (self.deliver)(batch);
    }
}

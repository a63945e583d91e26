//! The readings of a run.

use crate::metric::Metric;
use crate::reading::{Reading, Value};
use crate::run_declared as declared;
use evforge_core::counter::CounterSnapshot;
use evforge_core::frame::{FrameLedger, FrameState};
use evforge_core::ledger::SourceLedger;
use evforge_core::losses::LossLocation;
use evforge_core::run_state::{LedgerTotals, OutputState, RunState, discards};
use std::time::Duration;

/// Most sources, vetoes, monitors and outputs of each that have readings of their own.
const MOST_OF_A_KIND: usize = 512;

/// The stage that the counters of the detector, and of the assignment of pulses, are under.
pub(crate) const DETECTOR: &str = "detector";

/// The group of the counters of outputs.
pub(crate) const OUTPUT: &str = "output";

/// States of the feed.
const FEEDS: [&str; 5] = ["waiting", "live", "stalled", "rejecting", "ended"];

/// All readings of a run: what it tells of itself, and every counter of its stages, its detector and its outputs.
pub fn run_metrics(state: &RunState) -> Vec<Reading> {
    let mut run = Readings::default();
    run.totals(state);
    run.losses(state);
    run.stages(state);
    let (sources, left) = bounded(&state.ledger.sources);
    sources.iter().for_each(|source| run.source(source));
    let (monitors, more) = bounded(&state.ledger.beam_monitors);
    for monitor in monitors {
        let name = monitor.plan().name.as_str();
        run.real(&declared::MONITOR_TOTAL, &[name], monitor.value(monitor.total()));
        run.whole(&declared::MONITOR_PULSES, &[name], monitor.pulses());
    }
    state.ledger.frames.iter().for_each(|frames| run.frames(frames));
    let (vetoes, vetoes_left) = bounded(&state.vetoes);
    vetoes.iter().for_each(|(veto, events)| run.whole(&declared::VETOED, &[veto], *events));
    let (outputs, outputs_left) = bounded(&state.outputs);
    outputs.iter().for_each(|output| run.output(output));
    run.whole(&declared::LEFT_OUT, &[], (left + more + vetoes_left + outputs_left) as u64);
    run.0
}

/// As many as there is room for, and how many are left.
fn bounded<T>(all: &[T]) -> (&[T], usize) {
    let most = all.len().min(MOST_OF_A_KIND);
    (&all[..most], all.len() - most)
}

#[derive(Default)]
struct Readings(Vec<Reading>);

impl Readings {
    fn whole(&mut self, metric: &Metric, labels: &[&str], value: u64) {
        self.0.push(Reading::of(metric, labels, Value::Whole(value)));
    }

    fn real(&mut self, metric: &Metric, labels: &[&str], value: f64) {
        self.0.push(Reading::of(metric, labels, Value::Real(value)));
    }

    fn time(&mut self, metric: &Metric, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.push(Reading::of(metric, &[], Value::Millionths(micros)));
    }

    fn totals(&mut self, state: &RunState) {
        self.time(&declared::ELAPSED, state.elapsed);
        let feed = state.feed.name();
        FEEDS.iter().for_each(|name| self.whole(&declared::FEED, &[name], u64::from(*name == feed)));
        let ages =
            [(&declared::PACKET_AGO, state.feed.packet_ago), (&declared::EVENT_AGO, state.feed.event_ago)];
        ages.iter()
            .filter_map(|(metric, ago)| Some((metric, (*ago)?)))
            .for_each(|(metric, ago)| self.time(metric, ago));
        state.alarm_counts().for_each(|(kind, raised)| self.whole(&declared::ALARMS, &[kind.name()], raised));
        self.whole(&declared::HINTS, &[], state.hints.len() as u64);
        self.whole(&declared::UNACCOUNTED, &[], state.ledger.unaccounted());
        self.whole(&declared::DETECTOR_FAILED, &[], u64::from(state.detector_failure.is_some()));
        let totals = LedgerTotals::of(&state.ledger);
        self.whole(&declared::PACKETS, &[], totals.packets);
        totals.readouts.into_iter().for_each(|count| self.whole(&declared::READOUTS, &[], count));
        totals.hits.into_iter().for_each(|count| self.whole(&declared::HITS, &[], count));
        self.whole(&declared::EVENTS, &[], totals.events);
        self.whole(&declared::HELD, &[], totals.held);
        for discard in discards(&state.ledger.counters) {
            self.whole(&declared::DISCARDED, &[discard.of, discard.reason], discard.count);
        }
    }

    fn losses(&mut self, state: &RunState) {
        for location in LossLocation::ALL {
            self.whole(&declared::LOST, &[location.name()], state.losses.at(location));
        }
        self.whole(&declared::LOST, &["unlocated"], state.losses.unlocated);
        use evforge_core::ledger::Loss::{AtLeast, Exactly, Unknown};
        match state.loss() {
            Exactly(lost) | AtLeast(lost) => self.whole(&declared::LOST_KNOWN, &[], lost),
            Unknown => {}
        }
        let bound = state.ledger.packets().loss_upper_bound();
        bound.into_iter().for_each(|bound| self.real(&declared::LOSS_BOUND, &[], bound));
    }

    fn stages(&mut self, state: &RunState) {
        let stages = state.stages.iter().map(|(stage, counters)| (*stage, counters));
        for (stage, counters) in stages.chain([(DETECTOR, &state.ledger.counters)]) {
            self.counters(stage, counters, None);
        }
    }

    /// Counters of a stage, or of an output. Several of the same name are one, with the sum.
    fn counters(&mut self, stage: &'static str, counters: &CounterSnapshot, output: Option<&str>) {
        let first = self.0.len();
        for (info, value) in counters.iter() {
            let reading = Reading::of_counter(stage, info, value);
            let reading = output.map_or(reading.clone(), |output| reading.with("output", output));
            let known = self.0[first..].iter_mut().find(|known| known.name == reading.name);
            match known {
                Some(known) => known.value = sum(known.value, reading.value),
                None => self.0.push(reading),
            }
        }
    }

    fn source(&mut self, source: &SourceLedger) {
        let (name, packets) = (source.name.as_str(), &source.packets);
        if let Some(sent) = packets.sent {
            self.whole(&declared::SOURCE_SENT, &[name], sent);
            self.whole(&declared::SOURCE_LOST, &[name], packets.lost);
        }
        self.whole(&declared::SOURCE_RECEIVED, &[name], packets.received);
        self.whole(&declared::SOURCE_REORDERED, &[name], packets.reordered);
        self.whole(&declared::SOURCE_DUPLICATED, &[name], packets.duplicated);
        self.whole(&declared::SOURCE_UNCONFIRMED, &[name], packets.unconfirmed);
        self.whole(&declared::SOURCE_RESTARTS, &[name], packets.restarts);
    }

    /// There are at most 256 periods and 32 vetoes.
    fn frames(&mut self, frames: &FrameLedger) {
        let all = &frames.all;
        self.whole(&declared::FRAMES_RAW, &[], all.raw);
        self.whole(&declared::FRAMES_GOOD, &[], all.good);
        for state in FrameState::ALL {
            self.whole(&declared::FRAMES_IN_STATE, &[state.name()], frames.in_state(state));
        }
        frames.live_fraction().into_iter().for_each(|live| self.real(&declared::FRAMES_LIVE, &[], live));
        self.real(&declared::FRAMES_CHARGE_RAW, &[], all.raw_charge.uah);
        self.real(&declared::FRAMES_CHARGE_GOOD, &[], all.good_charge.uah);
        self.whole(&declared::FRAMES_EVENTS_GOOD, &[], all.good_events);
        for veto in &frames.vetoes {
            self.whole(&declared::FRAMES_WITH_VETO, &[&veto.bit.to_string(), &veto.name], veto.frames);
        }
        for (number, totals) in frames.periods.iter().enumerate() {
            let period = (number + 1).to_string();
            self.whole(&declared::FRAMES_OF_PERIOD, &[&period], totals.raw);
            self.whole(&declared::FRAMES_GOOD_OF_PERIOD, &[&period], totals.good);
        }
        let newest = frames.newest.and_then(|(_, frame)| frame.period);
        newest
            .into_iter()
            .for_each(|period| self.whole(&declared::FRAMES_PERIOD, &[], u64::from(period) + 1));
    }

    fn output(&mut self, output: &OutputState) {
        let id = output.id.as_str();
        self.whole(&declared::OUTPUT_WAITING, &[id], u64::from(output.waiting.is_some()));
        self.whole(&declared::OUTPUT_FAILED, &[id], u64::from(output.failure.is_some()));
        self.whole(&declared::OUTPUT_WHOLE, &[id], u64::from(output.is_whole()));
        self.counters(OUTPUT, &output.all_counters(), Some(id));
    }
}

fn sum(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Whole(one), Value::Whole(other)) => Value::Whole(one.saturating_add(other)),
        (Value::Millionths(one), Value::Millionths(other)) => Value::Millionths(one.max(other)),
        (one, _) => one,
    }
}

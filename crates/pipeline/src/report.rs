//! What a run reports at its end: as JSON for programs and as text for people.
//!
//! The JSON has at least the fields of the design's section 6; `sent` is absent where the format has no
//! sequence, and losses that were already in a capture have the place `input`.

use crate::figures::counters_json;
pub use crate::figures::{grouped, scaled};
use crate::frames;
use crate::latency::LatencySummary;
use crate::record_report::{recording_json, recording_lines};
use crate::report_lines::{
    alarm_lines, beam_monitor_text, change_lines, output_lines, packets_text, raw_packets_text, source_lines,
    unnumbered_text,
};
use crate::series::LedgerSeries;
use crate::skipped_frames;
use crate::time_source;
use crate::verdict::{InputEnd, Verdict, verdict_of};
use evforge_core::alarm::{AlarmHistory, AlarmRecord};
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::change::Change;
use evforge_core::counter::{CounterSnapshot, Law, Unit};
use evforge_core::feed::{Feed, FeedState};
use evforge_core::ledger::{Loss, MaskedChannel, PacketLedger, SourceLedger};
use evforge_core::pulsed::CalendarOrigin;
use evforge_core::run_identity::RunIdentity;
use evforge_core::run_state::{
    InputFault, InputFaultKind, LedgerTotals, OutputState, REPORT_SCHEMA, RunState, discards,
};
use evforge_core::sequence::Restart;
use evforge_net::clock::ClockReport;
use evforge_net::losses;
use evforge_net::record::Recording;
use evforge_outputs::OutputOutcome;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The input was used up.
    Complete,
    /// A person or the system asked for it.
    Stopped,
    /// The input could not be read to its end.
    InputFailed(String),
}

impl Ending {
    /// What comes in after this: nothing, and why.
    pub(crate) fn feed(&self, before: &Feed) -> Feed {
        let state = match self {
            Self::Complete => FeedState::Ended("input used up".to_owned()),
            Self::Stopped => FeedState::Ended("stopped on request".to_owned()),
            Self::InputFailed(error) => FeedState::Failed(error.clone()),
        };
        Feed { state, ..before.clone() }
    }
}

/// Everything that is known at the end of a run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Name of the stream: that of the instrument.
    pub stream: String,
    /// What the run is called, and whose it is.
    pub identity: RunIdentity,
    /// What the input was, for people.
    pub input: String,
    /// How it ended.
    pub ending: Ending,
    /// Ledger, losses, hints, alarms and outputs at the end: what the page and every output got, too.
    pub state: RunState,
    /// What was recorded alongside, if packets were.
    pub recording: Option<Recording>,
    /// From the arrival of packets to their events, if that was measured.
    pub latency: Option<LatencySummary>,
    /// Packets and events over time, of a live run.
    pub series: LedgerSeries,
    /// The alarms of a live run from its start, with their times.
    pub alarms: AlarmHistory,
    /// From the arrival of packets to each output, in their order; none where that was not measured.
    pub output_latencies: Vec<Option<LatencySummary>>,
    /// The clock of the stamps, of a live run.
    pub clock: Option<ClockReport>,
}

impl RunReport {
    /// The report with what happened to the outputs at last.
    pub(crate) fn with_outcomes(
        mut self,
        outcomes: Vec<OutputOutcome>,
        samples: Option<OutputState>,
    ) -> Self {
        let latencies = outcomes.iter().map(|outcome| LatencySummary::of(&outcome.delays));
        self.output_latencies = latencies.chain(samples.iter().map(|_| None)).collect();
        self.state.outputs = outcomes.into_iter().map(|outcome| outcome.state).chain(samples).collect();
        self
    }

    /// What the run was worth for whoever wanted events.
    pub fn verdict(&self) -> Verdict {
        verdict_of(&self.state, self.input_end(), self.recording.as_ref(), |_| true)
    }

    /// What the run was worth for whoever wanted to look at the readouts, whether events came of them or not.
    pub fn verdict_on_readouts(&self) -> Verdict {
        let matters = |fault: &InputFault| fault.kind != InputFaultKind::NoEvent;
        verdict_of(&self.state, self.input_end(), self.recording.as_ref(), matters)
    }

    fn input_end(&self) -> InputEnd {
        // Live runs know the clock of their stamps.
        match (&self.ending, &self.clock) {
            (Ending::InputFailed(_), Some(_)) => InputEnd::ReceivingFailed,
            (Ending::InputFailed(_), None) => InputEnd::FileFailed,
            (Ending::Complete | Ending::Stopped, _) => InputEnd::Good,
        }
    }

    /// True if everything was done, and the input was whole and of use.
    pub fn is_success(&self) -> bool {
        self.verdict() == Verdict::Good
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let state = &self.state;
        let ledger = &state.ledger;
        let packets = ledger.packets();
        let totals = LedgerTotals::of(ledger);
        // Null where the detector does not count such a thing.
        let value = |name: &str| ledger.counters.value(name);
        let mut stream = json!({
            "name": self.stream,
            "sources": ledger.sources.iter().map(|s| source_json(s, state.losses.unlocated)).collect::<Vec<_>>(),
            "packets": self.all_packets_json(&packets),
            "readouts": totals.readouts,
            "markers": value("markers"),
            "hits": totals.hits,
            "events": totals.events,
            "held": totals.held,
            "discarded": self.discarded_json(|law| law != Law::Packets.name()),
            "unaccounted": ledger.unaccounted(),
            "counters": counters_json(&ledger.counters),
            "masked": ledger.masked.iter().map(masked_json).collect::<Vec<_>>(),
            "beam_monitors": ledger.beam_monitors.iter().map(beam_monitor_json).collect::<Vec<_>>(),
        });
        let changes = ledger.changes.changes();
        if !changes.is_empty() {
            stream["changes"] = changes.iter().map(change_json).collect();
        }
        let vetoes = state.vetoes.iter().map(|(name, events)| json!({"name": name, "events": events}));
        stream["vetoes"] = vetoes.collect();
        if let Some(health) = time_source::to_json(ledger) {
            stream["time_source"] = health;
        }
        if let Some(told) = &ledger.frames {
            stream["frames"] = frames::to_json(told);
        }
        stream["packets"]["handed_over"] = json!(totals.packets);
        stream["packets"]["without_number"] = json!(value("packets_without_number"));
        stream["packets"]["discarded"] = self.discarded_json(|law| law == Law::Packets.name());
        if let Some(failure) = &state.detector_failure {
            stream["failure"] = json!(failure);
        }
        if let Some(bound) = packets.loss_upper_bound() {
            stream["loss_upper_bound"] = json!(bound);
        }
        let (ending, error) = match &self.ending {
            Ending::Complete => ("complete", None),
            Ending::Stopped => ("stopped", None),
            Ending::InputFailed(error) => ("input failed", Some(error)),
        };
        let mut report = json!({
            "evforge": env!("CARGO_PKG_VERSION"),
            "schema": REPORT_SCHEMA,
            "verdict": self.verdict().name(),
            "state": state.feed.name(),
            "input": self.input,
            "ending": ending,
            "error": error,
            "elapsed_s": state.elapsed.as_secs_f64(),
            "streams": [stream],
            "outputs": self.outputs().map(|(output, latency)| output_json(output, latency)).collect::<Vec<_>>(),
            "sinks": self.outputs().map(|(output, latency)| sink_json(output, latency)).collect::<Vec<_>>(),
        });
        if !self.identity.is_empty() {
            report["run"] = json!(self.identity);
        }
        report["streams"][0]["hints"] = json!(state.hints);
        report["streams"][0]["alarms"] =
            state.alarms().into_iter().map(|alarm| Value::from(alarm.text)).collect();
        report["alarms"] = self.alarms.records().iter().map(alarm_json).collect();
        if let Some(reason) = &state.stopped_by {
            report["stopped_by"] = json!(reason);
        }
        if let Some(calendar) = &state.calendar {
            report["calendar"] = json!({ "anchor_ns": calendar.anchor_ns, "origin": calendar.origin.text() });
        }
        if let Some(latency) = self.latency {
            report["streams"][0]["latency"] = latency.to_json();
        }
        if !self.series.is_empty() {
            report["streams"][0]["series"] = self.series.to_json();
        }
        if let Some(clock) = &self.clock {
            report["clock"] = json!({
                "source": clock.source,
                "reading_s": clock.reading.as_secs_f64(),
                "cores_agree_to_s": clock.cores_agree_to.map(|bound| bound.as_secs_f64()),
            });
        }
        if let Some(recording) = &self.recording {
            report["recording"] = recording_json(recording);
        }
        for (stage, counters) in &state.stages {
            report[stage] = counters_json(counters);
        }
        report
    }

    /// The outputs with their latencies.
    fn outputs(&self) -> impl Iterator<Item = (&OutputState, Option<LatencySummary>)> {
        let latencies = self.output_latencies.iter().copied().chain(std::iter::repeat(None));
        self.state.outputs.iter().zip(latencies)
    }

    /// What was discarded, by reason, of the laws that are `wanted`.
    fn discarded_json(&self, wanted: impl Fn(&str) -> bool) -> Value {
        let discards = discards(&self.state.ledger.counters).into_iter().filter(|discard| wanted(discard.of));
        Value::Object(discards.map(|discard| (discard.reason.to_owned(), json!(discard.count))).collect())
    }

    /// The packets of all sources, with the loss breakdown.
    fn all_packets_json(&self, packets: &PacketLedger) -> Value {
        let mut json = json!(packets);
        let after = self.state.losses.after_the_last;
        if after > 0 {
            // A sequence cannot see what was lost after its last number; the socket's counter can.
            json["lost"] = json!(self.state.loss().exactly());
            if let Loss::AtLeast(lost) = self.state.loss() {
                json["lost_at_least"] = json!(lost);
            }
            json["sent"] = json!(packets.sent.map(|sent| sent + after));
        }
        losses::add_to_json(&self.state.losses, &mut json);
        json
    }

    /// The report as text of some twenty lines.
    pub fn to_text(&self) -> String {
        let state = &self.state;
        let ledger = &state.ledger;
        let totals = LedgerTotals::of(ledger);
        let seconds = state.elapsed.as_secs_f64().max(1e-9);
        let mut text = String::new();
        let mut line = |name: &str, content: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<13} {content}");
        };
        line("run", format!("{} from {}", self.stream, self.input));
        match &state.feed.state {
            FeedState::Failed(error) => line("ended", format!("INPUT FAILED: {error}")),
            FeedState::Ended(how) => line("ended", format!("{how} after {seconds:.3} s")),
            _ => line("state", state.feed.sentence()),
        }
        if let Some(reason) = &state.stopped_by {
            line("ALARM", reason.clone());
        }
        if let Some(failure) = &state.detector_failure {
            line("DETECTOR", format!("FAILED: {failure}"));
        }
        let packets = ledger.packets();
        line("packets", packets_text(&packets) + &unnumbered_text(ledger));
        // With a single location it can be said of each source.
        let place = match &state.losses.locations[..] {
            [loss] if state.losses.unlocated == 0 => format!("; location: {}", loss.location.name()),
            _ => String::new(),
        };
        for (name, content) in source_lines(&ledger.sources, &place) {
            line(&format!("  {name}"), content);
        }
        for skipped in skipped_frames::lines(&state.stages) {
            line("  not read", skipped);
        }
        for loss in state.losses.lines() {
            line(&format!("  {}", loss.title), format!("{} {}", grouped(loss.packets), loss.location));
        }
        for alarm in state.input_alarms() {
            line("ALARM", alarm.text);
        }
        for (title, content) in alarm_lines(&self.alarms) {
            line(title, content);
        }
        for hint in &state.hints {
            line("  hint", hint.clone());
        }
        if let Some(bound) = packets.loss_upper_bound() {
            let lost = if packets.lost == 0 { "nothing lost; " } else { "" };
            line("loss", format!("{lost}the true share lost is below {bound:.1e} (95 %)"));
        }
        let rate = |count: u64| format!("{} ({}/s)", grouped(count), scaled(count as f64 / seconds));
        let rate_if_known = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), rate);
        line("readouts", rate_if_known(totals.readouts));
        line("hits", rate_if_known(totals.hits));
        line("events", rate(totals.events));
        for (name, events) in &state.vetoes {
            line("  marked", format!("{} events: {name}", grouped(*events)));
        }
        for discard in discards(&ledger.counters).iter().filter(|discard| discard.count > 0) {
            let unit = if discard.unit == Unit::Packets { "packets" } else { discard.unit.name() };
            let reason = discard.reason.replace('_', " ");
            line("  discarded", format!("{} {unit}: {reason}", grouped(discard.count)));
        }
        for content in change_lines(ledger.changes.changes()) {
            line("  changed", content);
        }
        for monitor in &ledger.beam_monitors {
            line("  monitor", beam_monitor_text(monitor));
        }
        for masked in &ledger.masked {
            let content =
                format!("{} readouts: {} ({})", grouped(masked.readouts), masked.channel, masked.reason);
            line("  masked", content);
        }
        for (title, content) in ledger.frames.iter().flat_map(frames::lines) {
            line(title, content);
        }
        for (title, content) in time_source::lines(ledger) {
            line(title, content);
        }
        if let Some(calendar) = state.calendar.filter(|calendar| calendar.origin == CalendarOrigin::Detector)
        {
            line("date", calendar.origin.text().to_owned());
        }
        if let Some(latency) = self.latency {
            line("latency", format!("arrival to event: {latency}"));
            for (output, latency) in self.outputs() {
                if let Some(latency) = latency {
                    line("  to output", format!("{}: {latency}", output.name));
                }
            }
        }
        if let Some(clock) = &self.clock {
            line("clock", clock.to_string());
        }
        line("held", grouped(totals.held));
        line("unaccounted", grouped(ledger.unaccounted()));
        for (name, content) in self.recording.iter().flat_map(recording_lines) {
            line(name, content);
        }
        if let Some(content) = raw_packets_text(state) {
            line("raw packets", content);
        }
        for output in &state.outputs {
            for (name, content) in output_lines(output) {
                line(name, content);
            }
        }
        text
    }
}

fn masked_json(masked: &MaskedChannel) -> Value {
    json!({"channel": masked.channel, "reason": masked.reason, "readouts": masked.readouts})
}

/// A change in the words of `[[change]]`.
fn change_json(change: &Change) -> Value {
    let Change { at, key, value } = change;
    json!({"at_ns": at.time_ns, "restarts": at.restarts, "key": **key, "value": value})
}

/// The sums of a beam monitor, without its histogram.
fn beam_monitor_json(monitor: &BeamMonitorData) -> Value {
    json!({
        "name": monitor.plan().name,
        "kind": monitor.plan().kind.name(),
        "unit": monitor.plan().kind.unit(),
        "total": monitor.sum(monitor.total()),
        "below": monitor.sum(monitor.below()),
        "above": monitor.sum(monitor.above()),
        "readouts": monitor.readouts(),
        "pulses": monitor.pulses(),
    })
}

/// An output: what happened to the events, and what it counts itself.
fn output_json(output: &OutputState, latency: Option<LatencySummary>) -> Value {
    json!({
        "id": output.id,
        "name": output.name,
        "events": counters_json(&CounterSnapshot::of(&output.counters)),
        "counters": counters_json(&output.own),
        "unaccounted": CounterSnapshot::of(&output.counters).unaccounted(),
        "interruption": output.interruption,
        "failure": output.failure,
        "note": output.note,
        "latency": latency.map(LatencySummary::to_json),
    })
}

/// The same by the keys of version 0.1, which go with the next one.
fn sink_json(output: &OutputState, latency: Option<LatencySummary>) -> Value {
    json!({
        "name": output.name,
        "taken": output.counters.accepted,
        "dropped": output.counters.dropped,
        "missed": output.counters.missed,
        "pulses_lost": output.counters.pulses_lost,
        "failure": output.failure,
        "note": output.note,
        "latency": latency.map(LatencySummary::to_json),
    })
}

fn source_json(source: &SourceLedger, unlocated: u64) -> Value {
    let gaps: Vec<Value> =
        source.gaps.iter().map(|gap| json!({ "first": gap.first, "count": gap.count })).collect();
    let restarts: Vec<Value> = source.restarts.iter().map(restart_json).collect();
    let mut packets = json!(source.packets);
    packets["unlocated"] = json!(unlocated.min(source.packets.lost));
    let live = &source.live_time;
    let worst = live.worst().map(|(begins, fraction)| {
        json!({ "begins_ns": begins, "duration_ns": live.width_ns(), "live_fraction": fraction })
    });
    json!({
        "name": source.name,
        "packets": packets,
        "live_fraction": live.live_fraction(),
        "worst_live_fraction": worst,
        "gaps": gaps,
        "gaps_not_listed": source.gaps_forgotten,
        "restarts": restarts,
    })
}

fn alarm_json(record: &AlarmRecord) -> Value {
    let AlarmRecord { alarm, began_unix_ns, lasted, .. } = record;
    json!({
        "alarm": alarm.kind.name(),
        "rank": alarm.kind.rank().name(),
        "about": alarm.about,
        "text": alarm.text,
        "began_ns": began_unix_ns,
        "lasted_s": lasted.map(|lasted| lasted.as_secs_f64()),
    })
}

fn restart_json(restart: &Restart) -> Value {
    json!({ "at_ns": restart.at_ns, "last": restart.last, "first": restart.first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};

    #[test]
    fn beam_monitors_are_reported_with_what_lies_outside_their_histogram() {
        let plan = BeamMonitorPlan {
            name: "monitor_1".into(),
            kind: BeamMonitorKind::Integrating,
            first_pixel: 0,
            nx: 0,
            ny: 0,
            histogram: TimeOfFlightBins::new(0, 100, 10).unwrap(),
            alongside: false,
        };
        let mut monitor = BeamMonitorData::new(plan);
        monitor.begin_pulse();
        monitor.add(5, 1_200);
        assert_eq!(beam_monitor_text(&monitor), "monitor_1: 1 200 ADC units in 1 pulses");
        monitor.add(100, 34);
        let outside = "monitor_1: 1 234 ADC units in 1 pulses, 34 of them outside the histogram";
        assert_eq!(beam_monitor_text(&monitor), outside);
        let json = beam_monitor_json(&monitor);
        assert_eq!(
            (&json["kind"], &json["total"], &json["above"]),
            (&json!("integrating"), &json!(1234), &json!(34))
        );
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!((grouped(0), grouped(1234567)), ("0".into(), "1 234 567".into()));
        assert_eq!((scaled(12_345_678.0), scaled(999.0)), ("12.3 M".into(), "999".into()));
    }
}

//! What a run reports at its end: as JSON for programs and as text for people.
//!
//! The JSON has at least the fields of the design's section 6; `sent` is absent where the format has no
//! sequence, and losses that were already in a capture have the place `input`.

use crate::fan_out::SinkOutcome;
use crate::latency::LatencySummary;
use crate::loss_places::LossPlaces;
use crate::record_report::{recording_json, recording_lines};
use crate::time_source;
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::counter::{CounterSnapshot, Law, Role, Unit};
use evforge_core::ledger::{DetectorLedger, MaskedChannel, PacketLedger, SourceLedger};
use evforge_net::clock::ClockReport;
use evforge_net::record::Recording;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

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

/// Everything that is known at the end of a run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Name of the stream: that of the instrument.
    pub stream: String,
    /// What the input was, for people.
    pub input: String,
    /// How long the run took.
    pub elapsed: Duration,
    /// How it ended.
    pub ending: Ending,
    /// Why the detector has formed no events from some packet on, if it failed.
    pub detector_failure: Option<String>,
    /// Sources, sequences and counters.
    pub ledger: DetectorLedger,
    /// Where packets were lost.
    pub losses: LossPlaces,
    /// What the pattern of losses suggests, in whole sentences.
    pub hints: Vec<String>,
    /// What was wrong with receiving, in whole sentences: the run is then no success.
    pub alarms: Vec<String>,
    /// Further counters: of the capture or of the receiver, each with the name of its stage.
    pub counters: Vec<(&'static str, CounterSnapshot)>,
    /// The vetoes with the number of events that each has marked.
    pub vetoes: Vec<(String, u64)>,
    /// What became of the events handed to each sink.
    pub sinks: Vec<SinkOutcome>,
    /// What was recorded beside, if packets were.
    pub recording: Option<Recording>,
    /// From the arrival of packets to their events, if that was measured.
    pub latency: Option<LatencySummary>,
    /// The clock of the stamps, of a live run.
    pub clock: Option<ClockReport>,
}

impl RunReport {
    /// True if nothing went wrong: the input was whole or the run was stopped on purpose, the detector has formed
    /// events to the end, and all sinks have everything.
    pub fn is_success(&self) -> bool {
        self.is_input_whole()
            && self.detector_failure.is_none()
            && self.alarms.is_empty()
            && self.sinks.iter().all(|sink| sink.failure.is_none())
            && self.recording.as_ref().is_none_or(Recording::is_whole)
    }

    /// True if the input was whole, or the run was stopped on purpose.
    pub fn is_input_whole(&self) -> bool {
        !matches!(self.ending, Ending::InputFailed(_))
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let ledger = &self.ledger;
        let packets = ledger.packets();
        let value = |name: &str| ledger.counters.value(name).unwrap_or(0);
        let mut stream = json!({
            "name": self.stream,
            "sources": ledger.sources.iter().map(|s| source_json(s, self.losses.unlocated)).collect::<Vec<_>>(),
            "packets": self.all_packets_json(&packets),
            "readouts": value("readouts"),
            "markers": value("markers"),
            "hits": value("hits"),
            "events": ledger.events(),
            "held": ledger.held(),
            "discarded": discarded_json(&ledger.counters, |law| law != Law::Packets),
            "unaccounted": ledger.unaccounted(),
            "counters": counters_json(&ledger.counters),
            "masked": ledger.masked.iter().map(masked_json).collect::<Vec<_>>(),
            "beam_monitors": ledger.beam_monitors.iter().map(beam_monitor_json).collect::<Vec<_>>(),
        });
        let vetoes = self.vetoes.iter().map(|(name, events)| json!({"name": name, "events": events}));
        stream["vetoes"] = vetoes.collect();
        if let Some(health) = time_source::to_json(ledger) {
            stream["time_source"] = health;
        }
        stream["packets"]["handed_over"] = json!(value("packets_received"));
        stream["packets"]["without_number"] = json!(value("packets_without_number"));
        stream["packets"]["discarded"] = discarded_json(&ledger.counters, |law| law == Law::Packets);
        if let Some(failure) = &self.detector_failure {
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
            "input": self.input,
            "ending": ending,
            "error": error,
            "elapsed_s": self.elapsed.as_secs_f64(),
            "streams": [stream],
            "sinks": self.sinks.iter().map(sink_json).collect::<Vec<_>>(),
        });
        report["streams"][0]["hints"] = json!(self.hints);
        report["streams"][0]["alarms"] = json!(self.alarms);
        if let Some(latency) = self.latency {
            report["streams"][0]["latency"] = latency.to_json();
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
        for (stage, counters) in &self.counters {
            report[stage] = counters_json(counters);
        }
        report
    }

    /// The packets of all sources, with the places of the losses.
    fn all_packets_json(&self, packets: &PacketLedger) -> Value {
        let mut json = packets_json(packets);
        let after = self.losses.after_the_last;
        if after > 0 {
            // A sequence cannot see what was lost after its last number; the socket's counter can.
            json["lost"] = json!(packets.lost + after);
            if let Some(sent) = packets.sent {
                json["sent"] = json!(sent + after);
            }
        }
        self.losses.add_to_json(&mut json);
        json
    }

    /// The report as text of some twenty lines.
    pub fn to_text(&self) -> String {
        let ledger = &self.ledger;
        let value = |name: &str| ledger.counters.value(name).unwrap_or(0);
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let mut text = String::new();
        let mut line = |name: &str, content: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<13} {content}");
        };
        line("run", format!("{} from {}", self.stream, self.input));
        match &self.ending {
            Ending::Complete => line("ended", format!("input used up after {seconds:.3} s")),
            Ending::Stopped => line("ended", format!("stopped on request after {seconds:.3} s")),
            Ending::InputFailed(error) => line("ended", format!("INPUT FAILED: {error}")),
        }
        if let Some(failure) = &self.detector_failure {
            line("DETECTOR", format!("FAILED: {failure}"));
        }
        let packets = ledger.packets();
        line("packets", packets_text(&packets));
        // With a single place it can be said of each source.
        let place = match &self.losses.places[..] {
            [loss] if self.losses.unlocated == 0 => format!("; place: {}", loss.place.name()),
            _ => String::new(),
        };
        for source in &ledger.sources {
            line(&format!("  {}", source.name), source_text(source, &place));
        }
        for loss in self.losses.lines() {
            line(&format!("  {}", loss.title), format!("{} {}", grouped(loss.packets), loss.place));
        }
        for alarm in &self.alarms {
            line("ALARM", alarm.clone());
        }
        for hint in &self.hints {
            line("  hint", hint.clone());
        }
        if let Some(bound) = packets.loss_upper_bound() {
            let lost = if packets.lost == 0 { "nothing lost; " } else { "" };
            line("loss", format!("{lost}the true share lost is below {bound:.1e} (95 %)"));
        }
        let rate = |count: u64| format!("{} ({}/s)", grouped(count), scaled(count as f64 / seconds));
        line("readouts", rate(value("readouts")));
        line("hits", rate(value("hits")));
        line("events", rate(ledger.events()));
        for (name, events) in &self.vetoes {
            line("  marked", format!("{} events: {name}", grouped(*events)));
        }
        for (info, count) in ledger.counters.iter() {
            if let Role::Discarded(_) = info.role
                && count > 0
            {
                let unit = if info.unit == Unit::Packets { "packets" } else { info.unit.name() };
                line("  discarded", format!("{} {unit}: {}", grouped(count), info.name.replace('_', " ")));
            }
        }
        for monitor in &ledger.beam_monitors {
            line("  monitor", beam_monitor_text(monitor));
        }
        for masked in &ledger.masked {
            let content =
                format!("{} readouts: {} ({})", grouped(masked.readouts), masked.channel, masked.reason);
            line("  masked", content);
        }
        for (title, content) in time_source::lines(ledger) {
            line(title, content);
        }
        if let Some(latency) = self.latency {
            line("latency", format!("arrival to event: {latency}"));
            for sink in &self.sinks {
                if let Some(latency) = sink.latency {
                    line("  to sink", format!("{}: {latency}", sink.name));
                }
            }
        }
        if let Some(clock) = &self.clock {
            line("clock", clock.to_string());
        }
        line("held", grouped(ledger.held()));
        line("unaccounted", grouped(ledger.unaccounted()));
        for (name, content) in self.recording.iter().flat_map(recording_lines) {
            line(name, content);
        }
        for sink in &self.sinks {
            if sink.dropped > 0 {
                line("ALARM", format!("{}: {} dropped, it is too slow", sink.name, grouped(sink.dropped)));
            }
            if sink.pulses_lost > 0 {
                let pulses = grouped(sink.pulses_lost);
                line("ALARM", format!("{}: up to {pulses} pulses have not reached it", sink.name));
            }
            if let Some(failure) = &sink.failure {
                line("FAILED SINK", format!("{}: {failure} ({} missed)", sink.name, grouped(sink.missed)));
                if let Some(note) = &sink.note {
                    line("  left", note.clone());
                }
            }
        }
        text
    }
}

/// Addresses as people read them.
pub(crate) fn listed(addresses: &[SocketAddr]) -> String {
    let names: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    names.join(", ")
}

fn packets_json(packets: &PacketLedger) -> Value {
    let mut json = json!({
        "received": packets.received,
        "lost": packets.lost,
        "reordered": packets.reordered,
        "duplicated": packets.duplicated,
        "unconfirmed": packets.unconfirmed,
        "restarts": packets.restarts,
    });
    if let Some(sent) = packets.sent {
        json["sent"] = json!(sent);
    }
    json
}

fn masked_json(masked: &MaskedChannel) -> Value {
    json!({"channel": masked.channel, "reason": masked.reason, "readouts": masked.readouts})
}

/// The sums of a beam monitor, without its histogram.
fn beam_monitor_json(monitor: &BeamMonitorData) -> Value {
    json!({
        "name": monitor.plan().name,
        "kind": monitor.plan().kind.name(),
        "unit": monitor.plan().kind.unit(),
        "total": monitor.total(),
        "below": monitor.below(),
        "above": monitor.above(),
        "readouts": monitor.readouts(),
        "pulses": monitor.pulses(),
    })
}

fn beam_monitor_text(monitor: &BeamMonitorData) -> String {
    let plan = monitor.plan();
    let (total, pulses) = (grouped(monitor.total()), grouped(monitor.pulses()));
    let mut text = format!("{}: {total} {} in {pulses} pulses", plan.name, plan.kind.unit());
    let outside = monitor.below().saturating_add(monitor.above());
    if outside > 0 {
        let _ = write!(text, ", {} of them outside the histogram", grouped(outside));
    }
    text
}

fn sink_json(sink: &SinkOutcome) -> Value {
    json!({
        "name": sink.name,
        "taken": sink.taken,
        "dropped": sink.dropped,
        "missed": sink.missed,
        "pulses_lost": sink.pulses_lost,
        "failure": sink.failure,
        "note": sink.note,
        "latency": sink.latency.map(LatencySummary::to_json),
    })
}

fn source_json(source: &SourceLedger, unlocated: u64) -> Value {
    let gaps: Vec<Value> =
        source.gaps.iter().map(|gap| json!({ "first": gap.first, "count": gap.count })).collect();
    let mut packets = packets_json(&source.packets);
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
    })
}

fn discarded_json(counters: &CounterSnapshot, wanted: impl Fn(Law) -> bool) -> Value {
    let reasons: Map<String, Value> = counters
        .iter()
        .filter(|(info, _)| matches!(info.role, Role::Discarded(law) if wanted(law)))
        .map(|(info, value)| (info.name.to_owned(), json!(value)))
        .collect();
    Value::Object(reasons)
}

/// Counters as JSON, by name.
pub(crate) fn counters_json(counters: &CounterSnapshot) -> Value {
    Value::Object(counters.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect())
}

fn packets_text(packets: &PacketLedger) -> String {
    let sent = packets.sent.map_or("sent not known".to_owned(), |sent| format!("sent {}", grouped(sent)));
    let lost = packets.sent.map_or("not known".to_owned(), |_| grouped(packets.lost));
    let mut text = format!("{sent}, received {}, lost {lost}", grouped(packets.received));
    for (name, count) in [
        ("reordered", packets.reordered),
        ("duplicated", packets.duplicated),
        ("with an unconfirmed number", packets.unconfirmed),
        ("restarts of the numbering", packets.restarts),
    ] {
        if count > 0 {
            let _ = write!(text, ", {name} {}", grouped(count));
        }
    }
    text
}

fn source_text(source: &SourceLedger, place: &str) -> String {
    let mut text = packets_text(&source.packets);
    if source.gaps.is_empty() {
        return text;
    }
    let gaps: Vec<String> = source
        .gaps
        .iter()
        .take(8)
        .map(|gap| match gap.count {
            1 => gap.first.to_string(),
            count => format!("{} to {}", gap.first, gap.first.wrapping_add(count - 1)),
        })
        .collect();
    let _ = write!(text, " (missing: {}", gaps.join(", "));
    let more = source.gaps.len().saturating_sub(8) as u64 + source.gaps_forgotten;
    if more > 0 {
        let _ = write!(text, " and {more} more gaps");
    }
    let _ = write!(text, "{place})");
    if let (Some(live), Some((_, worst))) = (source.live_time.live_fraction(), source.live_time.worst()) {
        let seconds = source.live_time.width_ns() / 1_000_000_000;
        let when = if seconds == 1 { "second".to_owned() } else { format!("{seconds} s") };
        let _ = write!(text, ", live {:.3} % (in the worst {when} {:.1} %)", live * 100.0, worst * 100.0);
    }
    text
}

/// A count in groups of three digits.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A number with three digits and a prefix: 12.3 M.
pub fn scaled(value: f64) -> String {
    let (value, prefix) = match value {
        value if value >= 1e9 => (value / 1e9, " G"),
        value if value >= 1e6 => (value / 1e6, " M"),
        value if value >= 1e3 => (value / 1e3, " k"),
        value => (value, ""),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{prefix}")
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

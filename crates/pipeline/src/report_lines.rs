//! The lines that a report has for people: packets, sources, beam monitors, outputs.

use crate::figures::grouped;
use evforge_core::alarm::{AlarmHistory, AlarmRecord};
use evforge_core::beam_monitor::{BeamMonitorData, MonitorSum};
use evforge_core::change::Change;
use evforge_core::counter::Unit;
use evforge_core::feed::in_words;
use evforge_core::ledger::{DetectorLedger, PacketLedger, SourceLedger};
use evforge_core::run_state::{OutputState, RunState, count_in_words};
use evforge_outputs::packet_tap::PACKET_TAP;
use std::fmt::Write as _;

/// Sources that a report names although none has lost anything.
const NAMED_SOURCES: usize = 8;

/// Changes of parameters that a report names: the last ones.
const NAMED_CHANGES: usize = 8;

/// Alarms that a report names: the first ones.
const NAMED_ALARMS: usize = 16;

/// A line for each alarm of a live run, with its time since the start.
pub(crate) fn alarm_lines(alarms: &AlarmHistory) -> Vec<(&'static str, String)> {
    let records = alarms.records();
    let line = |AlarmRecord { alarm, began, lasted, .. }: &AlarmRecord| {
        let lasted =
            lasted.map_or_else(|| "until the end".to_owned(), |lasted| format!("for {}", in_words(lasted)));
        ("  alarm", format!("at {:.0} s, {lasted}: {}", began.as_secs_f64(), alarm.short))
    };
    let more = records.len().saturating_sub(NAMED_ALARMS) as u64 + alarms.not_kept();
    let more = (more > 0).then(|| ("  alarm", format!("{} more", grouped(more))));
    records.iter().take(NAMED_ALARMS).map(line).chain(more).collect()
}

/// A line for each of the last changes.
pub(crate) fn change_lines(changes: &[Change]) -> Vec<String> {
    let hidden = changes.len().saturating_sub(NAMED_CHANGES);
    let before = (hidden > 0).then(|| format!("{} changes, and then", grouped(hidden as u64)));
    let last =
        changes.iter().skip(hidden).map(|Change { at, key, value }| format!("{key} = {value} from {at} on"));
    before.into_iter().chain(last).collect()
}

/// A line for each source; many of which none has lost anything are one line.
pub(crate) fn source_lines(sources: &[SourceLedger], place: &str) -> Vec<(String, String)> {
    let is_quiet = |source: &&SourceLedger| {
        let packets = &source.packets;
        packets.lost + packets.restarts + packets.unconfirmed == 0
    };
    let quiet: Vec<&SourceLedger> = sources.iter().filter(is_quiet).collect();
    let line = |source: &SourceLedger| (source.name.clone(), source_text(source, place));
    if quiet.len() <= NAMED_SOURCES {
        return sources.iter().map(line).collect();
    }
    let mut lines: Vec<_> = sources.iter().filter(|source| !is_quiet(source)).map(line).collect();
    let mut together = PacketLedger { sent: Some(0), ..PacketLedger::default() };
    quiet.iter().for_each(|source| together.add(&source.packets));
    let names = quiet.first().zip(quiet.last());
    let names = names.map_or_else(String::new, |(first, last)| format!(" ({} to {})", first.name, last.name));
    lines.push((format!("{} sources", quiet.len()), packets_text(&together) + &names));
    lines
}

/// What became of raw packets that outputs have asked for; none if no output has.
pub(crate) fn raw_packets_text(state: &RunState) -> Option<String> {
    let value = |name| state.stage_value(PACKET_TAP, name);
    let mut text = format!("{} chosen for outputs", grouped(value("offered")?));
    for (name, words) in [
        ("dropped", "dropped because an output was behind or had ended"),
        ("not_formed", "packets of which no events were formed: calibration mode"),
    ] {
        if let Some(count) = value(name).filter(|&count| count > 0) {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {} {words}", grouped(count));
        }
    }
    Some(text)
}

pub(crate) fn packets_text(packets: &PacketLedger) -> String {
    let (sent, lost) = (count_in_words(packets.sent), packets.loss());
    let mut text = format!("sent {sent}, received {}, lost {lost}", grouped(packets.received));
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

/// Why the loss of all sources together is not known, if it is that of some.
pub(crate) fn unnumbered_text(ledger: &DetectorLedger) -> String {
    match (ledger.unnumbered_sources(), ledger.sources.len()) {
        (0, _) => String::new(),
        (unnumbered, all) if unnumbered == all => ": packets have no numbers".to_owned(),
        (unnumbered, all) => format!(": {unnumbered} of {all} sources do not number their packets"),
    }
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

pub(crate) fn beam_monitor_text(monitor: &BeamMonitorData) -> String {
    let plan = monitor.plan();
    let sum = |parts: u64| match monitor.sum(parts) {
        MonitorSum::Whole(whole) => grouped(whole),
        MonitorSum::Fraction(value) => format!("{value:.3}"),
    };
    let (total, pulses) = (sum(monitor.total()), grouped(monitor.pulses()));
    let mut text = format!("{}: {total} {} in {pulses} pulses", plan.name, plan.kind.unit());
    let outside = monitor.below().saturating_add(monitor.above());
    if outside > 0 {
        let _ = write!(text, ", {} of them outside the histogram", sum(outside));
    }
    text
}

/// What people have to know of an output at the end.
pub(crate) fn output_lines(output: &OutputState) -> Vec<(&'static str, String)> {
    let counters = &output.counters;
    let committed = grouped(counters.committed);
    let mut lines = vec![("output", format!("{}: {committed} events are where they belong", output.name))];
    let counted: Vec<String> = (output.own.iter().filter(|(_, count)| *count > 0))
        .map(|(info, count)| {
            // Counts need no unit behind their name; durations do.
            let unit = if info.unit == Unit::Microseconds { " µs" } else { "" };
            format!("{} {}{unit}", info.name.replace('_', " "), grouped(count))
        })
        .collect();
    if !counted.is_empty() {
        lines.push(("  counters", counted.join(", ")));
    }
    if counters.dropped > 0 {
        let why = output.interruption.as_deref().unwrap_or("it is too slow");
        lines.push(("ALARM", format!("{}: {} dropped, {why}", output.name, grouped(counters.dropped))));
    } else if let Some(interruption) = &output.interruption {
        let retries = grouped(counters.retries);
        let text = format!("{}: had to wait ({retries} retries): {interruption}", output.name);
        lines.push(("  waited", text));
    }
    if counters.failed > 0 {
        let failed = grouped(counters.failed);
        lines.push(("ALARM", format!("{}: {failed} events were refused by the other side", output.name)));
    }
    if counters.pulses_lost > 0 {
        let pulses = grouped(counters.pulses_lost);
        lines.push(("ALARM", format!("{}: up to {pulses} pulses have not reached it", output.name)));
    }
    lines.extend(output.late_events().map(|late| ("ALARM", late)));
    if let Some(failure) = &output.failure {
        let missed = grouped(counters.missed);
        lines.push(("FAILED OUTPUT", format!("{}: {failure} ({missed} missed)", output.name)));
        lines.extend(output.note.iter().map(|note| ("  left", note.clone())));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_their_unit_and_refused_events_an_alarm() {
        use evforge_core::counter::CounterSnapshot;
        evforge_core::counters! {
            /// An output that counts a message and how long it took.
            struct Toy: "toy" {
                messages_sent: Information, Times, "Sent.";
                acknowledged_after: Information, Microseconds, "Until it was acknowledged.";
            }
        }
        let own = CounterSnapshot::of(&Toy { messages_sent: 1, acknowledged_after: 2500 });
        let mut output = OutputState { name: "toy".into(), own, ..OutputState::default() };
        output.counters.failed = 3;
        let lines = output_lines(&output);
        assert_eq!(lines[1], ("  counters", "messages sent 1, acknowledged after 2 500 µs".to_owned()));
        assert_eq!(lines[2], ("ALARM", "toy: 3 events were refused by the other side".to_owned()));
    }

    /// As a SoNDe has them: 400 modules, of which one has lost packets.
    #[test]
    fn many_sources_that_lost_nothing_are_one_line() {
        let mut sources: Vec<SourceLedger> = (0..400)
            .map(|number| SourceLedger {
                name: format!("group {number}"),
                packets: PacketLedger { sent: Some(3), received: 3, ..PacketLedger::default() },
                ..SourceLedger::default()
            })
            .collect();
        sources[7].packets = PacketLedger { sent: Some(3), received: 2, lost: 1, ..PacketLedger::default() };
        let lines = source_lines(&sources, "");
        let said: Vec<String> = lines.iter().map(|(name, content)| format!("{name}: {content}")).collect();
        assert_eq!(
            said,
            [
                "group 7: sent 3, received 2, lost 1",
                "399 sources: sent 1 197, received 1 197, lost 0 (group 0 to group 399)"
            ]
        );
        assert_eq!(source_lines(&sources[..3], "").len(), 3);
    }
}

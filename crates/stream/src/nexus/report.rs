//! The report at the end of a file, as JSON.

use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::change::Change;
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::ledger::DetectorLedger;
use evforge_core::pulsed::Calendar;
use serde_json::{Map, Value, json};

use super::counters::NexusCounters;

/// Changes of parameters that the report of a file lists: the last ones.
const LISTED_CHANGES: usize = 256;

/// The report: what happened to the events in this file, and the last state of the ledger.
///
/// With so many sources that it exceeds `room` bytes, the gaps of the sources are left out, then the
/// sources; the report says so.
pub(crate) fn compose(
    counters: &NexusCounters,
    calendar: Calendar,
    ledger: &DetectorLedger,
    room: usize,
) -> String {
    let mut report = Map::new();
    report.insert("file".into(), values(&CounterSnapshot::of(counters)));
    report.insert("stage".into(), json!(NexusCounters::STAGE));
    report.insert("clock".into(), json!({"anchor_ns": calendar.anchor_ns, "clock": calendar.origin.text()}));
    report.insert("packets".into(), json!(ledger.packets()));
    report.insert("counters".into(), values(&ledger.counters));
    report.insert("unaccounted".into(), json!(ledger.unaccounted()));
    report.insert("loss_upper_bound".into(), json!(ledger.packets().loss_upper_bound()));

    let masked = ledger.masked.iter().map(
        |masked| json!({"channel": masked.channel, "reason": masked.reason, "readouts": masked.readouts}),
    );
    report.insert("masked".into(), masked.collect());
    let changes = ledger.changes.changes();
    if !changes.is_empty() {
        let last = &changes[changes.len().saturating_sub(LISTED_CHANGES)..];
        let entry = |change: &Change| {
            let Change { at, key, value } = change;
            json!({"at_ns": at.time_ns, "restarts": at.restarts, "key": **key, "value": value})
        };
        let listed: Vec<Value> = last.iter().map(entry).collect();
        report.insert("changes".into(), json!(listed));
        report.insert("changes_before_those".into(), json!(changes.len() - last.len()));
    }
    if !ledger.beam_monitors.is_empty() {
        report.insert("beam_monitors".into(), ledger.beam_monitors.iter().map(beam_monitor).collect());
    }

    for gaps in [true, false] {
        let sources: Vec<Value> = ledger
            .sources
            .iter()
            .map(|source| {
                let mut entry = json!({"name": source.name, "packets": source.packets});
                if gaps {
                    let list: Vec<[u64; 2]> = source.gaps.iter().map(|gap| [gap.first, gap.count]).collect();
                    entry["gaps"] = json!(list);
                    entry["gaps_forgotten"] = json!(source.gaps_forgotten);
                    let restarts = source.restarts.iter();
                    let restarts: Vec<[u64; 3]> =
                        restarts.map(|restart| [restart.at_ns, restart.last, restart.first]).collect();
                    entry["restarts"] = json!(restarts);
                }
                entry
            })
            .collect();
        report.insert("sources".into(), Value::Array(sources));
        let text = Value::Object(report.clone()).to_string();
        if text.len() <= room {
            return text;
        }
        report.insert("shortened".into(), json!("the gaps of the sources did not fit"));
    }
    report.insert("sources".into(), json!(ledger.sources.len()));
    report.insert("shortened".into(), json!("the sources did not fit"));
    Value::Object(report).to_string()
}

/// The sums of a beam monitor; its histogram is in its group.
fn beam_monitor(monitor: &BeamMonitorData) -> Value {
    json!({
        "name": monitor.plan().name,
        "kind": monitor.plan().kind.name(),
        "total": monitor.sum(monitor.total()),
        "below": monitor.sum(monitor.below()),
        "above": monitor.sum(monitor.above()),
        "readouts": monitor.readouts(),
        "pulses": monitor.pulses(),
    })
}

fn values(counters: &CounterSnapshot) -> Value {
    Value::Object(counters.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::ledger::SourceLedger;
    use evforge_core::sequence::Gap;

    #[test]
    fn what_does_not_fit_is_left_out_step_by_step_and_named() {
        let source = SourceLedger {
            name: "FEC 1".into(),
            gaps: vec![Gap { first: 5, count: 2, noticed_ns: 0 }; 50],
            ..SourceLedger::default()
        };
        let ledger = DetectorLedger { sources: vec![source; 20], ..Default::default() };
        let compose = |room| {
            let text = compose(&NexusCounters::default(), Calendar::default(), &ledger, room);
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let full = compose(1 << 20);
        assert_eq!(full["sources"][19]["gaps"][0], json!([5, 2]));
        assert!(full.get("shortened").is_none());
        let shorter = compose(5_000);
        assert!(shorter["sources"][0].get("gaps").is_none() && shorter["shortened"].is_string());
        assert_eq!(compose(100)["sources"], json!(20));
    }
}

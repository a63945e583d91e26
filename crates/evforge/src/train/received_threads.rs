//! What each receiving thread has received, as JSON.

use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_train::assembly::{TrainReport, TrainSource};
use evforge_train::node::{FirstTrain, ReaderProfile, ReaderStep, SourceCounts, SourceReport, ThreadReport};
use serde_json::{Map, Value, json};

pub(super) fn thread(thread: &ThreadReport) -> Value {
    json!({
        "addresses": thread.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "received_by": thread.way,
        "assembly": counters(&thread.assembly),
        "profile": thread.profile.as_ref().map(profile),
        "processor_s": thread.processor.as_secs_f64(),
        "irregular": thread.irregular.iter().map(irregular).collect::<Vec<_>>(),
        "sources": thread.sources.iter().map(source).collect::<Vec<_>>(),
        "further_sources": source_counts(&thread.further_sources),
        "notes": thread.state.notes,
    })
}

fn profile(profile: &ReaderProfile) -> Value {
    let steps: Map<String, Value> = ReaderStep::ALL
        .into_iter()
        .map(|step| (step.name().to_owned(), json!(profile.time(step).as_secs_f64())))
        .collect();
    json!({"seconds": steps, "batches": profile.batches, "empty": profile.empty, "largest_batch": profile.largest})
}

fn source_name(source: TrainSource) -> String {
    match source {
        TrainSource::Module(module) => format!("module {module}"),
        TrainSource::Sender(address) => address.to_string(),
    }
}

fn source(report: &SourceReport) -> Value {
    let first = |train: &FirstTrain| {
        let missing: Vec<_> = train.missing.iter().map(|range| [range.start, range.end]).collect();
        json!({"frame": train.frame, "packets": train.packets, "span": train.span, "missing": missing, "known": train.known})
    };
    json!({
        "source": source_name(report.source),
        "counts": source_counts(&report.counts),
        "first_trains": report.first_trains.iter().map(first).collect::<Vec<_>>(),
    })
}

fn source_counts(counts: &SourceCounts) -> Value {
    json!({
        "trains_good": counts.trains_good,
        "trains_rejected": counts.trains_rejected,
        "trains_incomplete": counts.trains_incomplete,
        "packets_in_trains": counts.packets_in_trains,
        "packets_repeated": counts.packets_repeated,
        "packets_late": counts.packets_late,
        "packets_rejected": counts.packets_rejected,
    })
}

fn irregular(report: &TrainReport) -> Value {
    json!({
        "source": source_name(report.source),
        "frame": report.frame,
        "train": report.number,
        "outcome": format!("{:?}", report.outcome),
        "packets": report.packets,
        "missing": report.missing,
        "is_size_known": report.is_size_known,
        "has_first": report.has_first,
        "has_last": report.has_last,
        "images": report.images,
        "images_touched": report.images_touched,
    })
}

/// Counters by their names.
pub(super) fn counters<C: CounterSet>(counted: &C) -> Map<String, Value> {
    CounterSnapshot::of(counted).iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect()
}

//! How what was sent is told, and what status that is.

use crate::exit_status::ExitStatus;
use crate::output::Ending;
use evforge_kafka::tools::Delivery;
use evforge_messages::RefusedCounters;
use evforge_pipeline::report::{grouped, scaled};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What was sent to a topic, and what happened to it, line by line.
pub(super) fn sent(delivery: &Delivery, topic: &str) -> String {
    let mut text = format!(
        "sent {} messages ({}B) to {topic}: {} acknowledged\n",
        grouped(delivery.sent),
        scaled(delivery.bytes as f64),
        grouped(delivery.acknowledged)
    );
    // Writing to a string cannot fail.
    for (why, count) in &delivery.failed {
        let _ = writeln!(text, "FAILED        {} messages: {why}", grouped(*count));
    }
    if delivery.pending > 0 {
        let _ = writeln!(
            text,
            "PENDING       {} messages were not acknowledged in time: they may have arrived",
            grouped(delivery.pending)
        );
    }
    text
}

/// The same for programs.
pub(super) fn json_of(delivery: &Delivery) -> Value {
    json!({
        "messages": delivery.sent,
        "bytes": delivery.bytes,
        "acknowledged": delivery.acknowledged,
        "pending": delivery.pending,
        "failed": delivery.failed.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
    })
}

/// Messages that were refused, by reason.
pub(super) fn refused(counters: &RefusedCounters) -> String {
    let reasons = evforge_messages::RefusedReason::ALL.iter();
    let counted = reasons.map(|reason| (reason.name(), counters.of(*reason))).filter(|(_, count)| *count > 0);
    counted.map(|(name, count)| format!("{name} {}", grouped(count))).collect::<Vec<_>>().join(", ")
}

/// The same for programs.
pub(crate) fn refused_json(counters: &RefusedCounters) -> Value {
    let reasons = evforge_messages::RefusedReason::ALL.iter();
    reasons
        .map(|reason| (reason.name().to_owned(), json!(counters.of(*reason))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Prints what was sent, and tells how it ended.
pub(super) fn end(mut ending: Ending, delivery: &Delivery, topic: &str, is_quiet: bool) -> ExitStatus {
    if !is_quiet {
        ending.print(&sent(delivery, topic));
    } else if !delivery.is_complete() {
        eprint!("{}", sent(delivery, topic));
    }
    ExitStatus::of(delivery.is_complete() && ending.is_good())
}

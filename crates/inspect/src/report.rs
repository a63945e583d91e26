//! What a stream has to tell: lines for people, with their titles.

use evforge_core::quantity::grouped;
use evforge_core::sequence::SequenceTracker;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A line with its title; lines that go on have none.
pub type Line = (String, String);

/// A line.
pub fn line(title: impl Into<String>, text: impl Into<String>) -> Line {
    (title.into(), text.into())
}

/// What the numbers of a source say, in words.
pub fn sequence_in_words(tracker: &SequenceTracker) -> String {
    let counts = tracker.counts();
    let parts: Vec<String> = [
        (counts.lost, "lost"),
        (counts.reordered, "reordered"),
        (counts.duplicated, "duplicated"),
        (counts.unconfirmed, "with numbers far from all others"),
        (counts.restarts, "restarts of the numbering"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", grouped(count)))
    .collect();
    if parts.is_empty() { "none lost".to_owned() } else { parts.join(", ") }
}

/// The same for programs.
pub fn sequence_json(tracker: &SequenceTracker) -> Value {
    let counts = tracker.counts();
    json!({
        "sent": counts.sent,
        "received": counts.received,
        "lost": counts.lost,
        "reordered": counts.reordered,
        "duplicated": counts.duplicated,
        "unconfirmed": counts.unconfirmed,
        "restarts": counts.restarts,
    })
}

/// Counts by name, for people: "3 of an impossible fraction, 1 of an impossible channel".
pub fn named_counts(counts: &BTreeMap<&'static str, u64>) -> String {
    let parts = counts.iter().map(|(name, count)| format!("{} {name}", grouped(*count)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Numbers in words: "0, 1, 10".
pub fn listed<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

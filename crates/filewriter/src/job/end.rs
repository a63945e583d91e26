//! What is said of a job at its end.

use super::progress::Progress;
use crate::file::{GapRow, SOURCE_COUNTS, SourceRow};
use evforge_core::counter::{CounterSet as _, CounterSnapshot, Law};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How far a partition was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionEnd {
    /// Its topic.
    pub topic: String,
    /// Its number.
    pub number: i32,
    /// The first message that was not read.
    pub next: i64,
}

/// The end of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobEnd {
    /// The job.
    pub id: String,
    /// How it ended, with what was counted.
    pub progress: Progress,
    /// Each stream.
    pub sources: Vec<SourceRow>,
    /// Each gap.
    pub gaps: Vec<GapRow>,
    /// Partitions.
    pub partitions: Vec<PartitionEnd>,
    /// Messages that could not be read: counter, how often, the first in words.
    pub refused: Vec<(String, u64, String)>,
    /// What modules did not write, a sentence each.
    pub not_written: Vec<String>,
    /// How long messages were read, since this process took the job up, seconds: without the making of the file and its end.
    pub reading_s: f64,
}

impl JobEnd {
    /// True if nothing is known to be missing: all sources came, no number is missing, nothing was refused or removed.
    pub fn is_whole(&self) -> bool {
        let counters = &self.progress.counters;
        self.gaps.is_empty()
            && self.progress.never_came.is_empty()
            && counters.messages_refused == 0
            && counters.messages_removed == 0
            && self.progress.losses == 0
            && counters.messages_not_written == 0
    }

    /// The report, as JSON.
    pub fn to_json(&self) -> Value {
        let Progress {
            phase, file, file_bytes, counters, never_came, complaints, changes, set_aside, ..
        } = &self.progress;
        let source = |row: &SourceRow| {
            let mut all = Map::new();
            for (key, text) in
                [("source", &row.source), ("topic", &row.topic), ("module", &row.module), ("path", &row.path)]
            {
                all.insert(key.into(), json!(text));
            }
            for ((key, _), count) in SOURCE_COUNTS.iter().zip(row.counts) {
                all.insert((*key).into(), json!(count));
            }
            for (key, value) in ["first_time", "last_time", "first_message_id", "last_message_id"]
                .into_iter()
                .zip(row.times.into_iter().chain(row.ids))
            {
                all.insert(key.into(), if value < 0 { Value::Null } else { json!(value) });
            }
            Value::Object(all)
        };
        let gap = |row: &GapRow| {
            let name = usize::try_from(row.source).ok().and_then(|place| self.sources.get(place));
            let known = |value: i64| if value < 0 { Value::Null } else { json!(value) };
            json!({
                "source": name.map(|row| row.source.as_str()),
                "from_time": row.times[0], "to_time": row.times[1],
                "after_message_id": known(row.ids[0]), "before_message_id": known(row.ids[1]),
                "messages_missing": known(row.messages), "pulses_missed": known(row.pulses),
            })
        };
        let snapshot = CounterSnapshot::of(counters);
        let counted: Map<String, Value> =
            snapshot.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect();
        json!({
            "schema": 1,
            "job": self.id,
            "state": phase.name(),
            "failure": match phase { super::Phase::Failed(why) => Some(why), _ => None },
            "file": file,
            "file_bytes": file_bytes,
            "is_whole": self.is_whole(),
            "counters": counted,
            "unaccounted": i64::try_from(counters.imbalance(Law::Messages)).unwrap_or(i64::MAX),
            "sources": self.sources.iter().map(source).collect::<Vec<_>>(),
            "gaps": self.gaps.iter().map(gap).collect::<Vec<_>>(),
            "never_came": never_came.iter().map(|(topic, source)| json!({"topic": topic, "source": source})).collect::<Vec<_>>(),
            "refused": self.refused.iter().map(|(reason, times, first)| json!({"reason": reason, "messages": times, "first": first})).collect::<Vec<_>>(),
            "not_written": self.not_written,
            "reading_s": self.reading_s,
            "partitions": self.partitions.iter().map(|partition| json!({"topic": partition.topic, "partition": partition.number, "next_message": partition.next})).collect::<Vec<_>>(),
            "brokers": complaints,
            "topics": changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "set_aside": set_aside.iter().map(|(path, why)| json!({"file": path, "why": why})).collect::<Vec<_>>(),
        })
    }
}

//! A message as one line: text for people, JSON for programs.

use crate::topic::Record;
use evforge_core::printable::printable;
use evforge_messages::{Message, Refused, Schema};
use serde_json::{Value, json};
use std::fmt;

/// Characters of a message on its line: a name alone can have as many as a message.
const MOST: usize = 2000;

/// Which messages are shown.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of these schemas; all if there are none.
    pub schemas: Vec<Schema>,
    /// Of these sources; all if there are none.
    pub sources: Vec<String>,
}

impl Filter {
    /// Whether a message is shown. One that is refused has neither schema nor source, and is shown where nothing is filtered.
    pub fn takes(&self, message: Result<&Message<'_>, &Refused>) -> bool {
        let Ok(message) = message else { return self.schemas.is_empty() && self.sources.is_empty() };
        let of_source = |source: &String| message.source_name() == Some(source.as_str());
        (self.schemas.is_empty() || self.schemas.contains(&message.schema()))
            && (self.sources.is_empty() || self.sources.iter().any(of_source))
    }
}

/// A time of Kafka, in milliseconds since 1970, as text.
pub fn kafka_time(ms: Option<i64>) -> String {
    let time = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "-".to_owned(), |time| format!("{time:.3}"))
}

/// A time in messages, in nanoseconds since 1970, as text.
pub fn data_time(ns: Option<i64>) -> Option<String> {
    let time = ns.and_then(|ns| jiff::Timestamp::from_nanosecond(ns.into()).ok());
    time.map(|time| format!("{time:.3}"))
}

/// A message with where it is: `2026-11-23T00:30:00.123Z 0@4115 ev44 freia #12 …`.
#[derive(Debug)]
pub struct Line<'a> {
    /// The message as it is in the topic.
    pub record: &'a Record,
    /// What it says.
    pub message: Result<&'a Message<'a>, &'a Refused>,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { partition, offset, time_ms, .. } = self.record;
        write!(f, "{} {partition}@{offset} ", kafka_time(*time_ms))?;
        match self.message {
            // Names in messages are anybody's: no line ends within one, and no terminal is told anything.
            Ok(message) => f.write_str(&printable(&message.to_string(), MOST)),
            Err(refused) => {
                write!(
                    f,
                    "refused ({} bytes): {}",
                    self.record.payload.len(),
                    printable(&refused.to_string(), MOST)
                )
            }
        }
    }
}

impl Line<'_> {
    /// The same with every field.
    pub fn json(&self) -> Value {
        let Record { partition, offset, time_ms, key, headers, payload } = self.record;
        let mut line = json!({
            "partition": partition,
            "offset": offset,
            "kafka_time_ms": time_ms,
            "key": key.as_deref().map(|key| key.escape_ascii().to_string()),
            "bytes": payload.len(),
        });
        if !headers.is_empty() {
            let shown = headers.iter().map(|(name, value)| {
                let value = value.as_deref().map(|value| value.escape_ascii().to_string());
                json!({ "name": name, "value": value })
            });
            line["headers"] = shown.collect();
        }
        match self.message {
            Ok(message) => line["message"] = message.to_json(),
            Err(refused) => {
                line["refused"] = json!({ "reason": refused.reason().name(), "why": refused.to_string() });
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_messages::{Encoder, F144};

    #[test]
    fn a_line_is_one_line_whatever_is_in_the_message() {
        let mut encoder = Encoder::new();
        let bytes = F144 { source_name: "a\nb\u{1b}[2J", timestamp: 1_000_000_000, value: 2.5.into() }
            .encode(&mut encoder)
            .to_vec();
        let record = Record {
            partition: 1,
            offset: 7,
            time_ms: Some(1_500),
            key: None,
            headers: Vec::new(),
            payload: bytes,
        };
        let message = record.decode().unwrap();
        let line = Line { record: &record, message: Ok(&message) }.to_string();
        assert!(line.starts_with("1970-01-01T00:00:01.500Z 1@7 f144 a"), "{line}");
        assert!(!line.contains(['\n', '\u{1b}']), "{line}");
        let long = "x".repeat(100_000);
        let bytes =
            F144 { source_name: &long, timestamp: 1, value: 2.5.into() }.encode(&mut encoder).to_vec();
        let of_long_name = Record { payload: bytes, ..record.clone() };
        let message = of_long_name.decode().unwrap();
        let line = Line { record: &of_long_name, message: Ok(&message) }.to_string();
        assert!(line.len() < 2100, "{} bytes", line.len());
        let message = record.decode().unwrap();
        let garbage = Record { payload: b"garbage".to_vec(), time_ms: None, ..record.clone() };
        let refused = garbage.decode().unwrap_err();
        let line = Line { record: &garbage, message: Err(&refused) };
        assert!(line.to_string().starts_with("- 1@7 refused (7 bytes): "), "{line}");
        assert_eq!(line.json()["refused"]["reason"], "messages_too_short");

        let only = |schema, source: &str| Filter { schemas: vec![schema], sources: vec![source.to_owned()] };
        assert!(only(Schema::F144, "a\nb\u{1b}[2J").takes(Ok(&message)));
        assert!(!only(Schema::Ev44, "a\nb\u{1b}[2J").takes(Ok(&message)));
        assert!(
            !only(Schema::F144, "a").takes(Ok(&message)) && !only(Schema::F144, "a").takes(Err(&refused))
        );
        assert!(Filter::default().takes(Err(&refused)));
    }
}

//! The JSON of a message.

use crate::record::Record;
use serde_json::{Map, Value};
use std::time::UNIX_EPOCH;

/// Characters of the short message.
const SHORT: usize = 250;

/// Names that the format, or evforge, has given a meaning: fields of these names get another.
const TAKEN: [&str; 10] = [
    "id",
    "group",
    "instrument",
    "process",
    "process_id",
    "thread",
    "thread_id",
    "file",
    "line",
    "shortened",
];

/// Who says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Name of the host.
    pub host: String,
    /// Name of the instrument; empty if there is none.
    pub instrument: String,
}

/// The message, with at most this many bytes of each text; less than all of them, and it says so.
pub fn to_json(record: &Record, identity: &Identity, most: Option<usize>) -> Vec<u8> {
    let cut = |text: &str| match most {
        Some(most) => text[..text.floor_char_boundary(most)].to_owned(),
        None => text.to_owned(),
    };
    let text = record.message.trim_end();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(nothing)");
    let end = first.char_indices().nth(SHORT).map(|(end, _)| end);
    let short = end.map_or_else(|| first.to_owned(), |end| format!("{} …", &first[..end]));
    let mut json = Map::new();
    let mut set = |key: &str, value: Value| json.insert(key.to_owned(), value);
    for (name, value) in &record.fields {
        let value = match value {
            Value::Number(number) => Value::Number(number.clone()),
            Value::String(text) => Value::String(cut(text)),
            // The format has numbers and texts only.
            other => Value::String(other.to_string()),
        };
        set(&field_name(name), value);
    }
    set("version", "1.1".into());
    set("host", identity.host.as_str().into());
    if short != text {
        set("full_message", cut(text).into());
    }
    set("short_message", short.into());
    let since = record.time.duration_since(UNIX_EPOCH).unwrap_or_default();
    set("timestamp", (since.as_micros() as f64 / 1e6).into());
    set("level", record.severity.number().into());
    set("_group", record.group.name().into());
    if !identity.instrument.is_empty() {
        set("_instrument", identity.instrument.as_str().into());
    }
    set("_process", "evforge".into());
    set("_process_id", std::process::id().into());
    set("_thread", record.thread.0.as_str().into());
    set("_thread_id", record.thread.1.into());
    if let Some((file, line)) = record.place {
        set("_file", file.into());
        set("_line", line.into());
    }
    if record.shortened || most.is_some() {
        set("_shortened", "true".into());
    }
    serde_json::to_vec(&json).unwrap_or_default()
}

/// The name of a further field: letters, digits, underscores, dots and hyphens, none that is taken.
fn field_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if TAKEN.contains(&name.as_str()) { format!("_field_{name}") } else { format!("_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use crate::record::Severity;

    fn message(record: &Record, most: Option<usize>) -> Value {
        let identity = Identity { host: "unit-1".into(), instrument: "loki".into() };
        serde_json::from_slice(&to_json(record, &identity, most)).expect("JSON")
    }

    #[test]
    fn a_message_has_the_fields_of_the_format_and_ours() {
        let mut record = Record::new(Severity::Warning, Group::Parse, "a packet was refused");
        record.place = Some(("src/form.rs", 12));
        record.fields = vec![("id", 3.into()), ("why", "short".into()), ("is last", Value::Bool(true))];
        let json = message(&record, None);
        for (key, value) in [
            ("version", Value::from("1.1")),
            ("host", "unit-1".into()),
            ("short_message", "a packet was refused".into()),
            ("level", 4.into()),
            ("_group", "parse".into()),
            ("_instrument", "loki".into()),
            ("_process", "evforge".into()),
            ("_process_id", std::process::id().into()),
            ("_file", "src/form.rs".into()),
            ("_line", 12.into()),
            ("_field_id", 3.into()),
            ("_why", "short".into()),
            ("_is_last", "true".into()),
        ] {
            assert_eq!(json[key], value, "{key}");
        }
        let seconds = json["timestamp"].as_f64().expect("a number");
        let since = record.time.duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        assert!((seconds - since).abs() < 1e-3 && seconds.fract() != 0.0, "{seconds}");
        assert!(json.get("full_message").is_none() && json.get("_id").is_none());
        let names = json.as_object().expect("an object").keys();
        let known = ["version", "host", "short_message", "timestamp", "level"];
        assert!(names.into_iter().all(|name| known.contains(&name.as_str()) || name.starts_with('_')));
    }

    #[test]
    fn what_is_longer_than_a_line_is_whole_in_the_full_message() {
        let text = format!("\n first\u{0}\n{}\n", "line\n".repeat(1000));
        let json = message(&Record::new(Severity::Error, Group::Run, text.clone()), None);
        assert_eq!(
            (&json["short_message"], &json["full_message"]),
            (&"first\0".into(), &text.trim_end().into())
        );
        let json = message(&Record::new(Severity::Error, Group::Run, "é".repeat(1000)), Some(101));
        assert_eq!(json["short_message"].as_str().expect("text").chars().count(), SHORT + 2);
        assert_eq!((&json["full_message"], &json["_shortened"]), (&"é".repeat(50).into(), &"true".into()));
        let json = message(&Record::new(Severity::Error, Group::Run, " \n"), None);
        assert_eq!(json["short_message"], "(nothing)");
    }
}

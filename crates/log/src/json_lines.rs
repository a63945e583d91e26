//! What programs read: an object of JSON in a line.

use crate::record::{Record, Severity};
use serde_json::{Map, Value, json};

/// The line, with its end.
///
/// | key | value |
/// |---|---|
/// | `time` | RFC 3339 in UTC, with microseconds |
/// | `level` | `error`, `warn`, `notice`, `info`, `debug` or `trace` |
/// | `group` | the group |
/// | `message` | the sentence |
/// | `fields` | names and values, if there are any |
/// | `thread`, `file`, `line` | who said it, and where in the source |
pub fn to_line(record: &Record) -> String {
    let level = if record.severity == Severity::Notice { "notice" } else { record.level.name() };
    let mut object = json!({
        "time": time(record),
        "level": level,
        "group": record.group.name(),
        "message": record.message.trim_end(),
        "thread": record.thread.0,
    });
    if let Some((file, line)) = record.place {
        object["file"] = file.into();
        object["line"] = line.into();
    }
    if !record.fields.is_empty() {
        let fields = record.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        object["fields"] = Value::Object(Map::from_iter(fields));
    }
    format!("{object}\n")
}

/// When it was said. A clock that is out of the range of dates is shown as the begin of 1970.
fn time(record: &Record) -> String {
    format!("{:.6}", jiff::Timestamp::try_from(record.time).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_line_is_one_object_whatever_is_in_it() {
        let hostile = "two\nlines \u{1b}[0m \u{2028} \"quoted\"";
        let mut record = Record::new(Severity::Notice, Group::Control, hostile);
        record.time = UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
        record.fields = vec![("peer", "127.0.0.1:9".into()), ("count", 3.into())];
        let line = to_line(&record);
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.trim_end().contains(char::is_control));
        let read: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["time"], "2023-11-14T22:13:20.123456Z");
        assert_eq!(
            (&read["level"], &read["group"], &read["message"]),
            (&json!("notice"), &json!("control"), &json!(hostile))
        );
        assert_eq!(read["fields"], json!({"peer": "127.0.0.1:9", "count": 3}));
    }
}

//! One thing that was said, bounded whatever it was.

use crate::group::{Group, Level};
use serde_json::Value;
use std::fmt::Write as _;
use std::time::SystemTime;
use tracing::Event;
use tracing::field::{Field, Visit};

/// Bytes of a message.
pub const MOST_TEXT: usize = 256 << 10;
/// Bytes of a field's value.
pub const MOST_VALUE: usize = 8 << 10;

/// How important it is: syslog's numbers, without those that nothing here has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something has failed.
    Error = 3,
    /// Something may cost data, or has.
    Warning = 4,
    /// Somebody has changed something.
    Notice = 5,
    /// Something has begun or ended.
    Informational = 6,
    /// Details.
    Debug = 7,
}

impl Severity {
    /// Its number in syslog.
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// One thing that was said.
#[derive(Clone, Debug)]
pub struct Record {
    /// When.
    pub time: SystemTime,
    /// How important it is.
    pub severity: Severity,
    /// The level with which it was said.
    pub level: Level,
    /// What it belongs to.
    pub group: Group,
    /// The text.
    pub message: String,
    /// Names and values, in the order in which they were given.
    pub fields: Vec<(&'static str, Value)>,
    /// What stands before the text where people read it; none: what is usual for the severity.
    pub lead: Option<String>,
    /// Not held back when it is repeated.
    pub always: bool,
    /// Not for people: they are told in another way.
    pub unshown: bool,
    /// Whether the message, or a value, was longer than it may be.
    pub shortened: bool,
    /// Where in the source it was said.
    pub place: Option<(&'static str, u32)>,
    /// The thread: its name and number.
    pub thread: (String, u32),
}

impl Record {
    /// Something of the program itself.
    pub fn new(severity: Severity, group: Group, message: impl Into<String>) -> Self {
        let level = match severity {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warn,
            Severity::Notice | Severity::Informational => Level::Info,
            Severity::Debug => Level::Debug,
        };
        let mut text = Limited::new(MOST_TEXT);
        // Never fails.
        let _ = text.write_str(&message.into());
        let (message, shortened) = text.end();
        Self {
            time: SystemTime::now(),
            severity,
            level,
            group,
            message,
            fields: Vec::new(),
            lead: None,
            always: false,
            unshown: false,
            shortened,
            place: None,
            thread: this_thread(),
        }
    }

    /// What an event says.
    pub fn of(event: &Event<'_>) -> Self {
        let metadata = event.metadata();
        let mut heard = Heard::default();
        event.record(&mut heard);
        let level = Level::of(metadata.level());
        let severity = match level {
            Level::Error => Severity::Error,
            Level::Warn => Severity::Warning,
            Level::Info if heard.notice => Severity::Notice,
            Level::Info => Severity::Informational,
            Level::Debug | Level::Trace => Severity::Debug,
        };
        Self {
            time: SystemTime::now(),
            severity,
            level,
            group: Group::of_target(metadata.target()),
            message: heard.message,
            fields: heard.fields,
            lead: heard.lead,
            always: heard.always,
            unshown: heard.unshown,
            shortened: heard.shortened,
            place: metadata.file().zip(metadata.line()),
            thread: this_thread(),
        }
    }

    /// Bytes that it takes, about.
    pub fn size(&self) -> usize {
        let values = self.fields.iter().map(|(name, value)| match value {
            Value::String(text) => name.len() + text.len() + 64,
            _ => name.len() + 64,
        });
        size_of::<Self>() + self.message.len() + values.sum::<usize>()
    }
}

fn this_thread() -> (String, u32) {
    #[cfg(target_os = "linux")]
    let number = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    // Only Linux numbers threads so that others can look them up.
    #[cfg(not(target_os = "linux"))]
    let number = 0;
    let name = std::thread::current().name().map_or_else(|| format!("thread {number}"), str::to_owned);
    (name, number)
}

/// Takes what an event has.
#[derive(Default)]
struct Heard {
    message: String,
    fields: Vec<(&'static str, Value)>,
    lead: Option<String>,
    notice: bool,
    always: bool,
    unshown: bool,
    shortened: bool,
}

impl Heard {
    fn text(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let is_message = field.name() == "message";
        let mut text = Limited::new(if is_message { MOST_TEXT } else { MOST_VALUE });
        // A value that cannot be shown is cut where it failed.
        let _ = write!(text, "{value:?}");
        let (text, shortened) = text.end();
        self.shortened |= shortened;
        match field.name() {
            "message" => self.message = text,
            "lead" => self.lead = Some(text),
            name => self.fields.push((name, Value::String(text))),
        }
    }
}

impl Visit for Heard {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.text(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, &format_args!("{value}"));
    }

    fn record_bytes(&mut self, field: &Field, value: &[u8]) {
        let most = &value[..value.len().min(MOST_VALUE)];
        self.shortened |= most.len() < value.len();
        self.text(field, &format_args!("{}", String::from_utf8_lossy(most)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "notice" => self.notice = value,
            "always" => self.always = value,
            "unshown" => self.unshown = value,
            name => self.fields.push((name, Value::Bool(value))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no infinity.
        let number = serde_json::Number::from_f64(value).map(Value::Number);
        self.fields.push((field.name(), number.unwrap_or_else(|| value.to_string().into())));
    }
}

/// Takes text up to a limit, and says how much there was.
struct Limited {
    text: String,
    most: usize,
    left_out: usize,
}

impl Limited {
    fn new(most: usize) -> Self {
        Self { text: String::new(), most, left_out: 0 }
    }

    fn end(mut self) -> (String, bool) {
        if self.left_out > 0 {
            // Writing to a string cannot fail.
            let _ = write!(self.text, " … ({} bytes more)", self.left_out);
        }
        (self.text, self.left_out > 0)
    }
}

impl std::fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = if self.left_out > 0 { 0 } else { self.most - self.text.len() };
        let taken = text.floor_char_boundary(room);
        self.text.push_str(&text[..taken]);
        self.left_out += text.len() - taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_says_how_much_there_was() {
        let record = Record::new(Severity::Error, Group::Run, "é".repeat(MOST_TEXT));
        assert!(record.shortened);
        let more = format!(" … ({MOST_TEXT} bytes more)");
        assert_eq!(record.message, "é".repeat(MOST_TEXT / 2) + &more);
        let odd = Record::new(Severity::Error, Group::Run, format!("a{}", "é".repeat(MOST_TEXT)));
        assert!(odd.message.ends_with("é … (262146 bytes more)"), "{}", &odd.message[MOST_TEXT - 8..]);
    }
}

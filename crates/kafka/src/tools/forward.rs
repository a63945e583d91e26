//! Values of logs from lines: `NAME VALUE [TIME]`, each an f144.

use super::{Outgoing, Sender};
use crate::client::ClientError;
use evforge_core::printable::printable;
use evforge_messages::f144::Value;
use evforge_messages::{Array, Encoder, F144, Scalar, TOO_LATE_NS};
use std::sync::atomic::AtomicBool;

/// Longest line. What is longer is no value.
pub const LONGEST_LINE: usize = 1 << 20;

/// Characters of a line that an error shows.
const SHOWN: usize = 40;

/// The type that values have in messages. One source has one type: whoever writes it into a file relies on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueType {
    /// `double`
    #[default]
    Double,
    /// `int64`
    Int64,
}

/// A line that was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    name: String,
    value: Values,
    /// Nanoseconds since 1970; none: now.
    time_ns: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    Double(Vec<f64>),
    Int64(Vec<i64>),
}

impl LogLine {
    /// Reads a line; none if it is empty or a comment (`#`).
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(line: &str, value_type: ValueType) -> Result<Option<Self>, String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else {
            return Err(format!("`{}` has no value: expected NAME VALUE [TIME]", printable(line, SHOWN)));
        };
        let time = words.next();
        if let Some(further) = words.next() {
            return Err(format!(
                "`{}` is too much behind NAME VALUE TIME: values of an array have commas between, without blanks",
                printable(further, SHOWN)
            ));
        }
        let value = match value_type {
            ValueType::Double => Values::Double(numbers(value, "a number")?),
            ValueType::Int64 => Values::Int64(numbers(value, "a whole number")?),
        };
        let time_ns = time.map(time_of).transpose()?;
        Ok(Some(Self { name: name.to_owned(), value, time_ns }))
    }

    /// The message.
    fn encode<'e>(&self, now_ns: i64, encoder: &'e mut Encoder) -> &'e [u8] {
        let value = match &self.value {
            Values::Double(values) => match values.as_slice() {
                [one] => Value::Scalar(Scalar::from(*one)),
                _ => Value::Array(Array::from(values)),
            },
            Values::Int64(values) => match values.as_slice() {
                [one] => Value::Scalar(Scalar::from(*one)),
                _ => Value::Array(Array::from(values)),
            },
        };
        F144 { source_name: &self.name, timestamp: self.time_ns.unwrap_or(now_ns), value }.encode(encoder)
    }
}

/// Sends the value of a line, with the time `now_ns` unless it has its own. False if `stop` was set.
///
/// # Errors
/// If it cannot be sent.
pub fn forward(
    line: &LogLine,
    now_ns: i64,
    sender: &mut Sender,
    encoder: &mut Encoder,
    stop: &AtomicBool,
) -> Result<bool, ClientError> {
    let payload = line.encode(now_ns, encoder);
    let key = Some(line.name.as_bytes());
    sender.send(&Outgoing { key, payload, ..Outgoing::default() }, stop)
}

fn numbers<T: std::str::FromStr>(text: &str, expected: &str) -> Result<Vec<T>, String> {
    let number = |text: &str| {
        text.parse::<T>().map_err(|_| {
            format!("`{}` is not {expected}: expected NAME VALUE [TIME]", printable(text, SHOWN))
        })
    };
    text.split(',').map(number).collect()
}

/// A time: ISO 8601 with its zone, or seconds since 1970.
pub fn time_of(text: &str) -> Result<i64, String> {
    let wrong = || {
        format!(
            "`{}` is no time: expected seconds since 1970, or a date such as 2026-11-23T08:00:00Z",
            printable(text, SHOWN)
        )
    };
    let ns = match text.parse::<jiff::Timestamp>() {
        Ok(time) => i64::try_from(time.as_nanosecond()).map_err(|_| wrong())?,
        Err(_) => seconds(text).ok_or_else(wrong)?,
    };
    if (0..TOO_LATE_NS).contains(&ns) { Ok(ns) } else { Err(wrong()) }
}

/// Decimal seconds in nanoseconds, exactly.
fn seconds(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) || part.len() > 9 {
        return None;
    }
    let part: i64 = format!("{part:0<9}").parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_messages::{Message, decode};

    fn message(line: &str, value_type: ValueType) -> String {
        let line = LogLine::parse(line, value_type).unwrap().unwrap();
        let mut encoder = Encoder::new();
        let bytes = line.encode(5_000_000_000, &mut encoder).to_vec();
        let Ok(Message::F144(message)) = decode(&bytes) else { panic!("no f144") };
        format!("{} {} {}", message.source_name, message.timestamp, message.value)
    }

    #[test]
    fn values_arrays_and_times_are_read() {
        assert_eq!(message("T:sample 4.2", ValueType::Double), "T:sample 5000000000 4.2");
        assert_eq!(message(" x -3 1.5", ValueType::Int64), "x 1500000000 -3");
        assert_eq!(message("x 1e3 1970-01-01T00:00:02Z", ValueType::Double), "x 2000000000 1000");
        assert!(message("x 1,2.5", ValueType::Double).starts_with("x 5000000000 float64[2]"));
        assert_eq!(message("x 1 1580460273.162000001", ValueType::Double), "x 1580460273162000001 1");
        assert_eq!(LogLine::parse("  # a comment", ValueType::Double), Ok(None));
        assert_eq!(LogLine::parse("\r\n", ValueType::Double), Ok(None));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_named() {
        for (line, words) in [
            ("x", "no value"),
            ("x warm", "`warm` is not a number"),
            ("x 1, 2", "is not a number"),
            ("x 1 yesterday", "`yesterday` is no time"),
            ("x 1 -5", "no time"),
            ("x 1 99999999999", "no time"),
            ("x 1 5 6", "commas between"),
        ] {
            let error = LogLine::parse(line, ValueType::Double).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
        assert!(LogLine::parse("x 1.5", ValueType::Int64).is_err());
    }
}

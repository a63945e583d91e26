//! Texts in commands and in what is said of them.

use evforge_core::printable::printable;
use serde_json::{Map, Value};
use uuid::{Uuid, Variant};

/// Letters of a foreign text that are repeated.
const SHOWN: usize = 100;

/// A foreign text as it is repeated.
pub(super) fn short(text: &str) -> String {
    printable(text, SHOWN)
}

/// A time in milliseconds since 1970 for people.
pub(super) fn time(ms: u64) -> String {
    let known = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    known.map_or_else(|| format!("{ms} ms"), |time| time.to_string())
}

/// True for a UUID of RFC 4122 that is not all zeros.
pub(super) fn is_uuid(text: &str) -> bool {
    // The shortest form has 32 digits, the longest `urn:uuid:` in front and hyphens.
    text.len() <= 45
        && Uuid::try_parse(text).is_ok_and(|id| !id.is_nil() && id.get_variant() == Variant::RFC4122)
}

/// True for what can be the name of a topic.
pub(super) fn is_topic(name: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    name.len() <= 249 && !["", ".", ".."].contains(&name) && name.chars().all(is_allowed)
}

/// The keys of a JSON object; none if it is something else.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// Two objects as one: where both have a key, the second one holds. What is no object is left out.
pub(super) fn merged(first: Option<&str>, second: &str) -> String {
    let mut all = first.and_then(object).unwrap_or_default();
    all.extend(object(second).unwrap_or_default());
    Value::Object(all).to_string()
}

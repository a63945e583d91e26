//! The settings file of the event formation unit: `{"KafkaParms": [{"key": "value"}, …]}`, each pair for librdkafka.

use super::ClientError;
use evforge_core::whole_file;
use serde_json::Value;
use std::path::Path;

/// The pairs in a file, in its order.
pub(super) fn read(path: &Path) -> Result<Vec<(String, String)>, ClientError> {
    let fail = |why: String| ClientError::settings(format!("kafka_config: {}: {why}", path.display()));
    let bytes = whole_file::bytes(path, whole_file::SETTINGS);
    let bytes = bytes.map_err(|error| fail(format!("it cannot be read: {error}")))?;
    parse(&bytes).map_err(fail)
}

fn parse(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    const EXPECTED: &str = "expected {\"KafkaParms\": [{\"key\": \"value\"}, …]}";
    // The error of the library has line and column, and none of the values.
    let whole: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON: {error}; {EXPECTED}"))?;
    let list = whole.get("KafkaParms").and_then(Value::as_array);
    let list = list.ok_or_else(|| format!("there is no list KafkaParms; {EXPECTED}"))?;
    let mut pairs = Vec::new();
    for (number, entry) in (1..).zip(list) {
        let object = entry.as_object().ok_or_else(|| format!("entry {number} is no pair; {EXPECTED}"))?;
        for (key, value) in object {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(is_on) => is_on.to_string(),
                _ => return Err(format!("entry {number}: the value of {key} is no text; {EXPECTED}")),
            };
            pairs.push((key.clone(), value));
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_form_is_read_and_others_are_refused() {
        let text = br#"{"KafkaParms": [{"message.max.bytes": "10000000"}, {"api.version.request": true}]}"#;
        let pairs = parse(text).unwrap();
        assert_eq!(pairs[0], ("message.max.bytes".to_owned(), "10000000".to_owned()));
        assert_eq!(pairs[1], ("api.version.request".to_owned(), "true".to_owned()));
        for (text, words) in [
            ("{", "no JSON"),
            ("[]", "KafkaParms"),
            (r#"{"KafkaParms": {"a": "b"}}"#, "no list"),
            (r#"{"KafkaParms": ["a"]}"#, "entry 1 is no pair"),
            (r#"{"KafkaParms": [{"sasl.password": ["hidden"]}]}"#, "sasl.password is no text"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(words) && !error.contains("hidden"), "{text}: {error}");
        }
    }
}

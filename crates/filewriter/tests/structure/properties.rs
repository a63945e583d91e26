//! Whatever comes: it is refused, or it can be made.

use std::fmt::Write as _;

use evforge_filewriter::structure::{StructureError, bytes_at_most, create, create_links, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::file::TIMES;
use super::new_file;

/// Words that mean something, and others.
fn word() -> impl Strategy<Value = String> {
    let words = [
        "children",
        "type",
        "name",
        "module",
        "config",
        "group",
        "dataset",
        "values",
        "value",
        "dtype",
        "attributes",
        "stream",
        "writer_module",
        "topic",
        "source",
        "ev44",
        "f144",
        "da00",
        "al00",
        "mdat",
        "link",
        "items",
        "start_time",
        "end_time",
        "int32",
        "uint8",
        "string",
        "double",
        "..",
        "",
        "/entry",
        "nexus_structure",
        "NX_class",
    ];
    prop_oneof![9 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,4}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|value| json!(value)),
        (0..4_u8).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((word(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// A structure with something of everything.
fn sample() -> Value {
    json!({"children": [{"type": "group", "name": "entry", "attributes": {"NX_class": "NXentry", "n": 5, "list": [1, 2]}, "children": [
        {"module": "dataset", "config": {"name": "title", "values": "a title", "dtype": "string"}, "attributes": [{"name": "a", "values": [[1, 2], [3, 4]], "dtype": "int8"}]},
        {"type": "dataset", "name": "old", "values": [[1, 2], [3, 4]], "dataset": {"type": "uint16"}},
        {"module": "dataset", "config": {"name": "texts", "values": ["a", "bc"], "dtype": "string"}},
        {"module": "mdat", "config": {"items": ["start_time", "end_time"]}},
        {"module": "link", "config": {"name": "link", "source": "title"}},
        {"type": "group", "name": "events", "children": [{"type": "stream", "stream": {"topic": "t", "source": "s", "writer_module": "ev44"}}]},
        {"type": "group", "name": "log", "children": [{"module": "f144", "config": {"topic": "t", "source": ["a", "b"], "dtype": "double", "enable_alarm_info": false}}]},
        {"type": "group", "name": "data", "children": [{"module": "da00", "config": {"topic": "t", "source": "s", "variables": [{"name": "x"}]}}]}
    ]}]})
}

/// Replaces, or takes away, the value at a place counted over the whole tree.
fn replace(value: &mut Value, at: &mut usize, by: &Option<Value>) {
    if *at == 0 {
        *at = usize::MAX;
        *value = by.clone().unwrap_or(Value::Null);
        return;
    }
    *at -= 1;
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| replace_next(value, at, by)),
        Value::Object(values) => values.values_mut().for_each(|value| replace_next(value, at, by)),
        _ => {}
    }
}

fn replace_next(value: &mut Value, at: &mut usize, by: &Option<Value>) {
    if *at != usize::MAX {
        replace(value, at, by);
    }
}

/// Reads it, and makes what is read. What goes wrong has a sentence.
fn exercise(json: &str) -> Result<bool, TestCaseError> {
    let structure = match parse(json) {
        Ok(structure) => structure,
        Err(error) => {
            let mut sentence = String::new();
            write!(sentence, "{error}").unwrap();
            prop_assert!(!sentence.chars().any(char::is_control), "{sentence:?}");
            prop_assert!(sentence.len() < 20_000, "{}", sentence.len());
            if let StructureError::Refused { path, found, expected } = error {
                prop_assert!(path.starts_with('/') && !found.is_empty() && !expected.is_empty(), "{path}");
            }
            return Ok(false);
        }
    };
    prop_assert!(bytes_at_most(&structure) > 0);
    let folder = tempfile::tempdir().unwrap();
    let file = new_file(&folder.path().join("a.nxs"));
    let created = create(&file, &structure, &TIMES);
    prop_assert!(created.is_ok(), "{created:?}: {json}");
    if let Err(error) = create_links(&file, &structure) {
        prop_assert!(error.to_string().contains("expected"), "{error}: {json}");
    }
    Ok(true)
}

proptest! {
    #[test]
    fn arbitrary_json_is_refused_or_made(value in json_value()) {
        exercise(&value.to_string())?;
    }

    #[test]
    fn arbitrary_children_are_refused_or_made(children in proptest::collection::vec(json_value(), 0..4)) {
        exercise(&json!({"children": children}).to_string())?;
    }

    #[test]
    fn arbitrary_values_and_attributes_are_refused_or_made(values in json_value(), attributes in json_value(), dtype in word()) {
        let config = json!({"name": "x", "values": values, "dtype": dtype});
        exercise(&json!({"children": [{"module": "dataset", "config": config, "attributes": attributes}]}).to_string())?;
    }

    #[test]
    fn changed_structures_are_refused_or_made(at in 0..140_usize, by in json_value()) {
        let mut value = sample();
        let mut place = at;
        replace(&mut value, &mut place, &Some(by));
        exercise(&value.to_string())?;
    }

    #[test]
    fn cut_structures_are_refused(cut in 0.0..1.0_f64) {
        let json = sample().to_string();
        prop_assert!(exercise(&json)?, "the sample itself");
        let end = (json.len() as f64 * cut) as usize;
        prop_assert!(!exercise(&json[..end])?);
    }

    #[test]
    fn changed_bytes_are_refused_or_made(at in any::<prop::sample::Index>(), byte in 32..127_u8) {
        let mut json = sample().to_string().into_bytes();
        let at = at.index(json.len());
        json[at] = byte;
        exercise(&String::from_utf8(json).unwrap())?;
    }
}

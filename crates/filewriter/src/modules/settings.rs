//! The keys of a module's configuration.

use std::cell::RefCell;

use evforge_core::suggestion::did_you_mean;
use serde_json::{Map, Value};

use super::dtype::{NAMES, of_name};
use super::module::ModuleError;
use crate::file::ValueType;
use crate::structure::StreamModule;

/// Most rows of a chunk, and most bytes that a row may have.
const MOST_CHUNK_ROWS: u64 = 1 << 26;
const MOST_ROW_BYTES: usize = 1 << 28;
/// Axes of a row at most: HDF5 has 32, and one is time.
const MOST_AXES: usize = 8;

/// Keys with their values. What nobody asks for is a note: the file writer of the ESS ignores it.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    module: &'static str,
    keys: &'a Map<String, Value>,
    asked: RefCell<Vec<&'static str>>,
}

type Read<T> = Result<T, ModuleError>;

impl<'a> Settings<'a> {
    pub(super) fn new(module: &'a StreamModule) -> Self {
        // Belongs to every stream, and has been read with it.
        let asked = RefCell::new(vec!["writer_module", "topic", "source", "schema"]);
        Self { module: module.kind.name(), keys: &module.settings, asked }
    }

    /// What is there under one of these keys: several are spellings of one. `null` is as good as nothing.
    pub(super) fn value(&self, keys: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        self.asked.borrow_mut().extend(keys);
        keys.iter().find_map(|key| Some((*key, self.keys.get(*key)?))).filter(|(_, value)| !value.is_null())
    }

    /// A whole number of a range.
    pub(super) fn whole(&self, key: &'static str, default: u64, range: (u64, u64)) -> Read<u64> {
        let Some((key, value)) = self.value(&[key]) else { return Ok(default) };
        let (least, most) = range;
        value
            .as_u64()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| wrong(key, value, &format!("a whole number from {least} to {most}")))
    }

    /// Rows of a chunk.
    pub(super) fn chunk_rows(&self, default: usize) -> Read<usize> {
        // The file writer of the ESS also takes a list with the length of each axis, and uses the first.
        if let Some((key, value)) = self.value(&["chunk_size"])
            && let Value::Array(lengths) = value
        {
            let first = lengths.first().and_then(Value::as_u64);
            let rows = first.filter(|rows| (1..=MOST_CHUNK_ROWS).contains(rows));
            let expected = || wrong(key, value, &format!("a whole number from 1 to {MOST_CHUNK_ROWS}"));
            return rows.and_then(|rows| usize::try_from(rows).ok()).ok_or_else(expected);
        }
        let rows = self.whole("chunk_size", default as u64, (1, MOST_CHUNK_ROWS))?;
        Ok(usize::try_from(rows).unwrap_or(default))
    }

    /// Rows from one cue to the next.
    pub(super) fn cue_interval(&self, default: u64) -> Read<u64> {
        self.whole("cue_interval", default, (1, u64::MAX))
    }

    /// Yes or no.
    pub(super) fn flag(&self, key: &'static str, default: bool) -> Read<bool> {
        let Some((key, value)) = self.value(&[key]) else { return Ok(default) };
        value.as_bool().ok_or_else(|| wrong(key, value, "true or false"))
    }

    /// A text under one of these keys.
    pub(super) fn text(&self, keys: &[&'static str]) -> Read<Option<&'a str>> {
        let Some((key, value)) = self.value(keys) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| wrong(key, value, "a text"))
    }

    /// One of several words.
    pub(super) fn choice(&self, key: &'static str, words: &[&'static str]) -> Read<usize> {
        let Some((key, value)) = self.value(&[key]) else { return Ok(0) };
        let found = value.as_str().and_then(|word| words.iter().position(|known| *known == word));
        found.ok_or_else(|| {
            let guess =
                value.as_str().map_or(String::new(), |word| did_you_mean(word, words.iter().copied()));
            wrong(key, value, &format!("one of {}{}", words.join(", "), guess.trim_end_matches('.')))
        })
    }

    /// The type of values, as `dtype` or `type`.
    pub(super) fn dtype(&self, default: ValueType) -> Read<ValueType> {
        match self.value(&["dtype", "type"]) {
            Some((key, value)) => dtype(key, value),
            None => Ok(default),
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &'static str) -> Read<Option<Vec<String>>> {
        let Some((key, value)) = self.value(&[key]) else { return Ok(None) };
        let texts = value.as_array().map(|list| list.iter().map(|text| text.as_str().map(str::to_owned)));
        texts.and_then(Iterator::collect).map(Some).ok_or_else(|| wrong(key, value, "a list of texts"))
    }

    /// The lengths of the axes of a row of values of a type.
    pub(super) fn shape(&self, key: &'static str, of: ValueType) -> Read<Option<Vec<usize>>> {
        let Some((key, value)) = self.value(&[key]) else { return Ok(None) };
        shape(key, value, of).map(Some)
    }

    /// What was not asked for.
    pub(super) fn notes(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        let left = self.keys.keys().filter(|key| !asked.contains(&key.as_str()));
        left.map(|key| {
            let guess = did_you_mean(key, asked.iter().copied());
            let guess = guess.strip_prefix(':').map_or(String::new(), |guess| format!(";{guess}"));
            format!("{key} is no key of the module {}, and is not used{guess}", self.module)
        })
        .collect()
    }
}

/// A type of values by its name.
pub(super) fn dtype(key: &str, value: &Value) -> Read<ValueType> {
    let known = value.as_str().and_then(of_name);
    known.ok_or_else(|| {
        let guess = value.as_str().map_or(String::new(), |name| did_you_mean(name, NAMES.iter().copied()));
        wrong(key, value, &format!("one of {}{}", NAMES.join(", "), guess.trim_end_matches('.')))
    })
}

/// The lengths of the axes of a row of values of a type: a list, or a number for one axis.
pub(super) fn shape(key: &str, value: &Value, of: ValueType) -> Read<Vec<usize>> {
    let expected = || {
        let text = format!(
            "a list of at most {MOST_AXES} lengths, each at least 1, with at most {MOST_ROW_BYTES} bytes in all"
        );
        wrong(key, value, &text)
    };
    let length = |value: &Value| value.as_u64().and_then(|length| usize::try_from(length).ok());
    let lengths: Option<Vec<usize>> = match value {
        Value::Array(list) => list.iter().map(length).collect(),
        single => length(single).map(|length| vec![length]),
    };
    let lengths = lengths.filter(|lengths| lengths.len() <= MOST_AXES).ok_or_else(expected)?;
    let bytes = lengths.iter().try_fold(of.size(), |bytes, length| bytes.checked_mul(*length));
    match bytes {
        Some(1..=MOST_ROW_BYTES) => Ok(lengths),
        _ => Err(expected()),
    }
}

/// A key, what was found there and what is expected.
pub(super) fn wrong(key: &str, found: &Value, expected: &str) -> ModuleError {
    const LONGEST: usize = 200;
    let mut found = found.to_string();
    if found.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| found.is_char_boundary(*end)).unwrap_or(0);
        found.truncate(end);
        found.push('…');
    }
    ModuleError::Settings(format!("{key}: found {found}, expected {expected}"))
}

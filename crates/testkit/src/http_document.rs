//! `docs/http-api.md` as a reader understands it: paths with their answers, and objects with their fields.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as File;

/// What the document says.
#[derive(Debug, Default)]
pub struct Documented {
    /// The paths, in its order.
    pub paths: Vec<Path>,
    /// The object that the body of a path (its method and name) is.
    pub bodies: BTreeMap<(String, String), String>,
    /// The objects by name.
    pub objects: BTreeMap<String, Vec<Field>>,
}

/// A path.
#[derive(Debug, Default)]
pub struct Path {
    /// GET or POST.
    pub method: String,
    /// As in its heading.
    pub name: String,
    /// What its example asks for, with parameters.
    pub example: String,
    /// The body that its example sends; empty if it sends none.
    pub body: String,
    /// Status and content type of its answers.
    pub answers: Vec<(u16, String)>,
    /// The object that its body is.
    pub wants: Option<String>,
    /// The object that the answer is, or is a list of.
    pub object: Option<String>,
}

/// A field of an object.
#[derive(Debug)]
pub struct Field {
    /// Its name; `…` for all fields of another object.
    pub name: String,
    /// Its type, in the words of the document.
    pub kind: String,
}

impl Documented {
    /// Reads the document.
    ///
    /// # Panics
    /// If it is not there, or a table is not understood.
    pub fn read(file: &File) -> Self {
        let text = std::fs::read_to_string(file).expect("the document can be read");
        let mut documented = Self::default();
        let (mut object, mut in_path) = (None, false);
        for line in text.lines() {
            if let Some(title) = line.strip_prefix('#') {
                (object, in_path) = (None, false);
                let title = title.trim_start_matches('#').trim();
                let (first, rest) = title.split_once(' ').unwrap_or((title, ""));
                let name = |quoted: &str| quoted.strip_prefix('`')?.strip_suffix('`').map(str::to_owned);
                if let (true, Some(name)) = (["GET", "POST"].contains(&first), name(rest)) {
                    documented.paths.push(Path { method: first.into(), name, ..Path::default() });
                    in_path = true;
                } else if let Some(name) = name(title) {
                    documented.objects.insert(name.clone(), Vec::new());
                    object = Some(name);
                }
                continue;
            }
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let fields = object.as_ref().and_then(|name| documented.objects.get_mut(name));
            match (fields, &cells[..]) {
                (Some(fields), [name, kind, _]) if name.starts_with(['`', '…']) => {
                    fields.push(Field { name: name.trim_matches('`').into(), kind: (*kind).into() });
                }
                (None, _) if in_path => {
                    documented.paths.last_mut().into_iter().for_each(|path| path.take(line, &cells))
                }
                _ => {}
            }
        }
        for path in &documented.paths {
            if let Some(object) = &path.wants {
                documented.bodies.insert((path.method.clone(), path.name.clone()), object.clone());
            }
        }
        documented
    }

    /// Checks that a value is the documented object, or a list of it, and notes all objects that it has in it.
    ///
    /// # Panics
    /// If it has a field that is not documented, lacks one, or has one of another type.
    pub fn check(&self, object: &str, value: &Value, seen: &mut BTreeSet<String>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.check(object, value, seen)),
            value => {
                let left = self.check_fields(object, value, seen);
                assert!(left.is_empty(), "{object} has fields that are not documented: {left:?}");
            }
        }
    }

    /// Checks the documented fields; returns the others.
    fn check_fields(&self, object: &str, value: &Value, seen: &mut BTreeSet<String>) -> Vec<String> {
        seen.insert(object.to_owned());
        let fields = self.objects.get(object).unwrap_or_else(|| panic!("{object} is not documented"));
        let found = value.as_object().unwrap_or_else(|| panic!("{object} is no object: {value}"));
        let mut left: Vec<String> = found.keys().cloned().collect();
        for field in fields {
            if field.name == "…" {
                let among = linked(&field.kind).expect("fields of another object have a link to it");
                let others = self.check_fields(among, value, seen);
                left.retain(|name| others.contains(name));
                continue;
            }
            left.retain(|name| *name != field.name);
            let (kind, may_be_absent) = match field.kind.strip_suffix("; may be absent") {
                Some(kind) => (kind, true),
                None => (field.kind.as_str(), false),
            };
            match found.get(&field.name) {
                Some(value) => self.check_kind(&format!("{object}.{}", field.name), kind, value, seen),
                None => assert!(may_be_absent, "{object} lacks {}: {value}", field.name),
            }
        }
        left
    }

    fn check_kind(&self, place: &str, kind: &str, value: &Value, seen: &mut BTreeSet<String>) {
        if let Some(kind) = kind.strip_suffix(" or null") {
            if !value.is_null() {
                self.check_kind(place, kind, value, seen);
            }
            return;
        }
        let each = |values: Vec<&Value>, kind: &str, seen: &mut BTreeSet<String>| {
            let kind = kind.strip_suffix('s').unwrap_or(kind);
            values.into_iter().for_each(|value| self.check_kind(place, kind, value, seen));
        };
        if let Some(kind) = kind.strip_prefix("list of ") {
            let values = value.as_array().unwrap_or_else(|| panic!("{place} is no list: {value}"));
            return each(values.iter().collect(), &kind.replace("pairs of", "pair of"), seen);
        }
        if let Some(kind) = kind.strip_prefix("object of ") {
            let values = value.as_object().unwrap_or_else(|| panic!("{place} is no object: {value}"));
            return each(values.values().collect(), kind, seen);
        }
        if let Some((count, of)) = kind
            .trim_start_matches("groups of ")
            .split_once(' ')
            .filter(|(count, _)| count.parse::<usize>().is_ok())
        {
            let values = value.as_array().unwrap_or_else(|| panic!("{place} is no list: {value}"));
            assert_eq!(values.len().to_string(), count, "{place}: {value}");
            return each(values.iter().collect(), of, seen);
        }
        let fits = match kind {
            "text" => value.is_string(),
            "integer" => value.is_u64(),
            "number" => value.is_number(),
            "true or false" => value.is_boolean(),
            "pair of integer" => {
                value.as_array().is_some_and(|pair| pair.len() == 2 && pair.iter().all(Value::is_u64))
            }
            other => {
                let object = linked(other).unwrap_or_else(|| panic!("{place}: no type is called {other:?}"));
                self.check(object, value, seen);
                true
            }
        };
        assert!(fits, "{place} is documented as {kind}, and is {value}");
    }
}

/// The object that a link leads to: ``[`Now`](#now)``.
fn linked(kind: &str) -> Option<&str> {
    kind.split_once("[`")?.1.split_once('`').map(|(name, _)| name)
}

impl Path {
    /// Takes what a line says of it.
    fn take(&mut self, line: &str, cells: &[&str]) {
        if let [status, content_type, _] = cells
            && let Ok(status) = status.parse()
        {
            self.answers.push((status, (*content_type).to_owned()));
        } else if line.starts_with("The body is ") {
            self.wants = linked(line).map(str::to_owned);
        } else if line.starts_with("The answer is ") {
            self.object = linked(line).map(str::to_owned);
        } else if let Some((_, address)) = line.split_once("http://127.0.0.1:8080") {
            let end = address.find([' ', '\'']).unwrap_or(address.len());
            self.example = address[..end].to_owned();
            let body = line.split_once(" -d '").and_then(|(_, body)| body.split_once('\''));
            self.body = body.map_or_else(String::new, |(body, _)| body.to_owned());
            assert_eq!(line.contains("-X POST"), self.method == "POST", "{line}");
        }
    }
}

//! The text of a configuration file: its tables, where a key stands in it, and `--set key=value` on top of it.

use crate::ConfigError;
use evforge_core::settings::{RefusedValue, SettingsError};
use evforge_core::whole_file;
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// The text of a configuration, with the overrides that are in it.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The text before anything was overridden in it.
    pub(crate) file_text: String,
    pub(crate) overrides: Vec<String>,
    /// How files are read that it names: of one that is part of the program, so are they.
    pub(crate) read_file: ReadFile,
}

/// Reads the text of a file that a configuration names.
pub(crate) type ReadFile = fn(&Path) -> std::io::Result<String>;

/// Reads it from the disk.
pub(crate) fn from_disk(path: &Path) -> std::io::Result<String> {
    whole_file::text(path, whole_file::SETTINGS)
}

impl Document {
    /// A file, with `overrides` (`key=value`) applied in their order. In them `detector` stands for the one of `sections`
    /// that the file has.
    pub(crate) fn read(path: &Path, overrides: &[String], sections: &[&str]) -> Result<Self, ConfigError> {
        let text =
            from_disk(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Self::new(path, &text, overrides, sections)
    }

    /// As [`Document::read`], from text; `path` is for the messages.
    pub(crate) fn new(
        path: &Path,
        text: &str,
        overrides: &[String],
        sections: &[&str],
    ) -> Result<Self, ConfigError> {
        let plain = Self {
            path: path.to_owned(),
            text: text.to_owned(),
            file_text: text.to_owned(),
            overrides: Vec::new(),
            read_file: from_disk,
        };
        if overrides.is_empty() {
            return Ok(plain);
        }
        let mut table: Table =
            toml::from_str(text).map_err(|error: toml::de::Error| plain.invalid(error.into()))?;
        for assignment in overrides {
            let assignment = spelled_out(&table, assignment, sections);
            set(&mut table, &assignment).map_err(|problem| plain.with_problem(None, problem))?;
        }
        // Text again, so that the error of a wrong value can say at which key it stands.
        let text = toml::to_string(&table);
        let document = Self { overrides: overrides.to_owned(), ..plain };
        match text {
            Ok(text) => Ok(Self { text, ..document }),
            Err(error) => Err(document.with_problem(None, document.told(&error.to_string()))),
        }
    }

    /// What is wrong, with its place: line and column, or the overrides that led to it.
    pub(crate) fn invalid(&self, error: TableError) -> ConfigError {
        let is_overridden = !self.overrides.is_empty();
        match error {
            // Lines are those of the file, which are not those of the text that the overrides are in.
            TableError::Toml(error, place) if is_overridden => {
                let key = key_at(&self.text, &place);
                let named = key.as_ref().map_or_else(String::new, |key| format!("{key}: "));
                let problem = self.told(&format!("{named}{}", in_words(error.message())));
                self.with_problem(key.and_then(|key| self.place_in_file(&key)), problem)
            }
            TableError::Toml(error, place) => {
                let place = place_of(&self.text, place.start);
                self.with_problem(Some(place), in_words(error.message()))
            }
            TableError::Setting(error) if is_overridden => {
                self.with_problem(self.place_in_file(&error.key), self.told(&error.to_string()))
            }
            TableError::Setting(error) => {
                self.with_problem(locate(&self.text, &error.key), error.to_string())
            }
        }
    }

    /// Where the value of `key` stands in the file; none if it is overridden.
    fn place_in_file(&self, key: &str) -> Option<Place> {
        let is_set = self.overrides.iter().any(|assignment| {
            let set = assignment.split('=').next().unwrap_or_default().trim();
            // In overrides `detector` stands for the section.
            let key = match set.strip_prefix("detector.") {
                Some(_) => key.split_once('.').map_or(key, |(_, own)| own),
                None => key,
            };
            let set = set.strip_prefix("detector.").unwrap_or(set);
            key.strip_prefix(set).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        locate(&self.file_text, key).filter(|_| !is_set)
    }

    fn told(&self, problem: &str) -> String {
        format!("with --set {}: {}", self.overrides.join(" --set "), problem.trim_end())
    }

    fn with_problem(&self, place: Option<Place>, problem: String) -> ConfigError {
        ConfigError::Invalid { path: self.path.clone(), place, problem }
    }
}

/// What is wrong with a table.
#[derive(Debug)]
pub(crate) enum TableError {
    /// It is not TOML, or not of the form that is expected; with the place in the text.
    Toml(toml::de::Error, Range<usize>),
    /// A setting in it is refused.
    Setting(SettingsError),
}

impl From<toml::de::Error> for TableError {
    fn from(error: toml::de::Error) -> Self {
        let place = error.span().unwrap_or_default();
        Self::Toml(error, place)
    }
}

impl From<SettingsError> for TableError {
    fn from(error: SettingsError) -> Self {
        Self::Setting(error)
    }
}

/// The tables of a text, each of which is taken by whoever knows its keys.
pub(crate) struct Tables<'t> {
    text: &'t str,
    root: DeTable<'t>,
    /// What is worth knowing of the files that tables name: see [`Config::notes`](crate::Config::notes).
    pub(crate) notes: Vec<String>,
}

impl<'t> Tables<'t> {
    pub(crate) fn parse(text: &'t str) -> Result<Self, TableError> {
        let root = DeTable::parse(text)?.into_inner();
        Ok(Self { text, root, notes: Vec::new() })
    }

    /// Refuses a key that is not one of `known`.
    pub(crate) fn refuse_unknown(&self, known: &'static [&'static str]) -> Result<(), TableError> {
        let unknown = self.root.keys().find(|key| !known.contains(&&**key.get_ref()));
        let Some(key) = unknown else { return Ok(()) };
        let place = key.span();
        // Asked of serde, which words it as it does for the keys of tables.
        let error = toml::de::Error::unknown_field(key.get_ref(), known);
        Err(self.placed(error, place))
    }

    /// True if there is a table or value `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.root.contains_key(key)
    }

    /// The table or value `key`, if it is there.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, TableError> {
        let Some(value) = self.root.remove(key) else { return Ok(None) };
        let place = value.span();
        let found = T::deserialize(value.into_deserializer());
        found.map(Some).map_err(|error| self.placed(error, place))
    }

    /// The table or value `key`, or its default.
    pub(crate) fn take_or_default<T: DeserializeOwned + Default>(
        &mut self,
        key: &str,
    ) -> Result<T, TableError> {
        self.take(key).map(Option::unwrap_or_default)
    }

    /// The table or value `key`, which must be there.
    pub(crate) fn require<T: DeserializeOwned>(&mut self, key: &'static str) -> Result<T, TableError> {
        match self.take(key)? {
            Some(found) => Ok(found),
            None => Err(self.placed(toml::de::Error::missing_field(key), 0..self.text.len())),
        }
    }

    /// An error with its place in the text, which is `place` if it has none of its own.
    fn placed(&self, mut error: toml::de::Error, place: Range<usize>) -> TableError {
        if let Some(refused) = RefusedValue::in_message(error.message()) {
            let span = error.span().unwrap_or(place);
            return TableError::Setting(refused.within(&key_at(self.text, &span).unwrap_or_default()));
        }
        let place = error.span().unwrap_or(place);
        error.set_input(Some(self.text));
        TableError::Toml(error, place)
    }
}

/// An error of serde without the names that a table and a number have in the code.
fn in_words(message: &str) -> String {
    let Some((before, name)) = message.trim_end().rsplit_once("expected ") else { return message.to_owned() };
    let most = match name {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        // TOML has no larger ones.
        "u64" | "usize" => i64::MAX as u64,
        _ => match name.strip_prefix("struct ") {
            Some(name) if name.chars().all(char::is_alphanumeric) => {
                return format!("{before}expected a table");
            }
            _ => return message.to_owned(),
        },
    };
    format!("{before}expected a whole number from 0 to {most}")
}

/// The key whose value stands at `span`, as `a.b[2].c`.
fn key_at(text: &str, span: &Range<usize>) -> Option<String> {
    fn within(value: &DeValue<'_>, span: &Range<usize>, key: &str) -> Option<String> {
        let inner = |inner: &toml::Spanned<DeValue<'_>>, key: String| {
            // The innermost value of that span: a list of tables has that of its first one.
            within(inner.get_ref(), span, &key).or_else(|| (inner.span() == *span).then_some(key))
        };
        match value {
            DeValue::Table(table) => table.iter().find_map(|(name, value)| {
                let dot = if key.is_empty() { "" } else { "." };
                inner(value, format!("{key}{dot}{}", name.get_ref()))
            }),
            DeValue::Array(array) => {
                array.iter().enumerate().find_map(|(index, value)| inner(value, format!("{key}[{index}]")))
            }
            _ => None,
        }
    }
    let root = DeTable::parse(text).ok()?.into_inner();
    within(&DeValue::Table(root), span, "")
}

/// Line and column, both counted from 1.
pub(crate) type Place = (usize, usize);

/// Line and column of a byte of `text`. The column counts characters.
pub(crate) fn place_of(text: &str, byte: usize) -> Place {
    let before = &text[..text.floor_char_boundary(byte)];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Where the value of `key` (as `a.b[2].c`) stands in `text`, or the nearest table above it that is there.
pub(crate) fn locate(text: &str, key: &str) -> Option<Place> {
    let table = DeTable::parse(text).ok()?;
    let mut names = segments(key)?.into_iter();
    let mut value = match names.next()? {
        Segment::Name(name) => table.get_ref().get(name.as_str())?,
        Segment::Index(_) => return None,
    };
    for name in names {
        let inner = match (value.get_ref(), &name) {
            (DeValue::Table(table), Segment::Name(name)) => table.get(name.as_str()),
            (DeValue::Array(array), Segment::Index(index)) => array.get(*index),
            _ => None,
        };
        match inner {
            Some(inner) => value = inner,
            None => break,
        }
    }
    Some(place_of(text, value.span().start))
}

/// Sets `key` to `value` in a parsed document. The value is read as TOML; what is not TOML is a string.
///
/// # Errors
/// If the key is malformed or leads through something that is not a table or an array.
pub(crate) fn set(document: &mut Table, assignment: &str) -> Result<(), String> {
    let wrong = |why: &str| format!("--set {assignment}: {why}");
    let (key, text) =
        assignment.split_once('=').ok_or_else(|| wrong("expected key=value, as in sorting.window=1ms"))?;
    let names = segments(key.trim()).ok_or_else(|| wrong("the key is empty or malformed"))?;
    let text = text.trim();
    let value = format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()));
    let mut names = names.into_iter();
    let Some(Segment::Name(first)) = names.next() else {
        return Err(wrong("the key must begin with a name"));
    };
    let mut place = document.entry(first).or_insert_with(|| Value::Table(Table::new()));
    for name in names {
        place = match (place, name) {
            (Value::Table(table), Segment::Name(name)) => {
                table.entry(name).or_insert_with(|| Value::Table(Table::new()))
            }
            (Value::Array(array), Segment::Index(index)) => {
                let length = array.len();
                array
                    .get_mut(index)
                    .ok_or_else(|| wrong(&format!("there is no entry {index}: the list has {length}")))?
            }
            (Value::Table(_), Segment::Index(_)) => return Err(wrong("an index, but this is not a list")),
            _ => return Err(wrong("the key leads through a value that has no parts")),
        };
    }
    *place = value;
    Ok(())
}

/// An assignment in which `detector` at the start of the key, which stands for the section of the detector, is
/// replaced by the name among `sections` that the document has.
pub(crate) fn spelled_out<'a>(document: &Table, assignment: &'a str, sections: &[&str]) -> Cow<'a, str> {
    let section = sections.iter().find(|section| document.contains_key(**section));
    match (assignment.trim_start().strip_prefix("detector."), section) {
        (Some(rest), Some(section)) => Cow::Owned(format!("{section}.{rest}")),
        _ => Cow::Borrowed(assignment),
    }
}

enum Segment {
    Name(String),
    Index(usize),
}

/// The parts of `a.b[2].c`.
fn segments(key: &str) -> Option<Vec<Segment>> {
    let mut parts = Vec::new();
    for part in key.split('.') {
        let (name, indices) = part.split_once('[').map_or((part, None), |(name, rest)| (name, Some(rest)));
        if name.is_empty() {
            return None;
        }
        parts.push(Segment::Name(name.to_owned()));
        if let Some(indices) = indices {
            for index in indices.strip_suffix(']')?.split("][") {
                parts.push(Segment::Index(index.parse().ok()?));
            }
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[b]\nc = [\n  { d = 'x' },\n  { d = 'ü', e = 5 },\n]\n";

    #[test]
    fn keys_are_found_with_line_and_column() {
        assert_eq!(locate(TEXT, "a"), Some((1, 5)));
        assert_eq!(locate(TEXT, "b.c[1].e"), Some((5, 18)));
        assert_eq!(locate(TEXT, "b.c[1].f"), Some((5, 3)), "the nearest table above");
        assert_eq!(locate(TEXT, "z.c"), None);
    }

    #[test]
    fn values_are_set_through_tables_and_lists() {
        let mut table: Table = TEXT.parse().unwrap();
        set(&mut table, "b.c[0].d=200ns").unwrap();
        set(&mut table, "n.m = 7").unwrap();
        set(&mut table, "flag=true").unwrap();
        assert_eq!(table["b"]["c"][0]["d"].as_str(), Some("200ns"));
        assert_eq!(table["n"]["m"].as_integer(), Some(7));
        assert_eq!(table["flag"].as_bool(), Some(true));
        for wrong in ["b", "=5", "b.c[9].d=1", "a.x=1", "b[0]=1", "b..c=1"] {
            let error = set(&mut table, wrong).unwrap_err();
            assert!(error.starts_with(&format!("--set {wrong}: ")), "{error}");
        }
    }
}

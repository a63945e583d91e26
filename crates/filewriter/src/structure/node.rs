//! Datasets, links and times: nodes whose content is known.

use serde_json::value::RawValue;

use super::array;
use super::attributes::{attributes, entries, text};
use super::content::{Attribute, Dataset, Link, RunTime};
use super::dtype::{DType, did_you_mean};
use super::error::StructureError;
use super::name;
use super::notes::Notes;
use super::path::{Path, quoted, shown_json};
use super::tree::{self, Item, Object};

/// The keys of a configuration, each at most once.
pub(super) struct Config<'j> {
    entries: Vec<(std::borrow::Cow<'j, str>, &'j RawValue)>,
}

impl<'j> Config<'j> {
    /// Reads them from the value of a key.
    ///
    /// # Errors
    /// If it is no object, or a key is there twice.
    pub(super) fn read(json: Option<&'j RawValue>, path: &Path<'_>) -> Result<Self, StructureError> {
        let Some(json) = json else { return Err(path.refuse("nothing", "an object")) };
        let entries = entries(json, path)?;
        match tree::repeated(entries.iter().map(|(key, _)| key.as_ref())) {
            Some(key) => Err(path.refuse(format!("the key {} twice", quoted(key)), "each key once")),
            None => Ok(Self { entries }),
        }
    }

    /// Takes the value of a key, whichever of its names is used.
    ///
    /// # Errors
    /// If two names are used.
    pub(super) fn take(
        &mut self,
        keys: &[&str],
        path: &Path<'_>,
    ) -> Result<Option<&'j RawValue>, StructureError> {
        let mut found = None;
        for key in keys {
            let Some(at) = self.entries.iter().position(|(known, _)| known == key) else { continue };
            let (_, value) = self.entries.remove(at);
            if found.replace(value).is_some() {
                return Err(path.refuse(format!("both {}", keys.join(" and ")), "one of them"));
            }
        }
        Ok(found)
    }

    /// Takes the value of a key that must be there.
    ///
    /// # Errors
    /// If it is not there.
    pub(super) fn need(&mut self, keys: &[&str], path: &Path<'_>) -> Result<&'j RawValue, StructureError> {
        self.take(keys, path)?
            .ok_or_else(|| path.name(keys[0]).refuse("nothing", "a value: the key is missing"))
    }

    /// What was not taken.
    pub(super) fn rest(self) -> Vec<(std::borrow::Cow<'j, str>, &'j RawValue)> {
        self.entries
    }

    /// Notes what was not taken.
    fn note_rest(self, path: &Path<'_>, notes: &mut Notes) {
        for (key, _) in &self.entries {
            let sentence = match key.as_ref() {
                "attributes" => "attributes in a configuration are not used; they belong next to it",
                "string_size" | "size" | "space" => "this key is obsolete and not used",
                _ => "this key is not used",
            };
            notes.add(&path.name(key), sentence);
        }
    }
}

/// Notes the keys of a node that mean nothing in it.
pub(super) fn note_keys(object: &Object<'_>, known: &[&str], path: &Path<'_>, notes: &mut Notes) {
    for (key, item) in &object.0 {
        if !known.contains(&key.as_ref()) || !matches!(item, Item::Text(_)) {
            notes.add(&path.name(key), "this key of a node is not used");
        }
    }
}

/// `{"module": "dataset", "config": {…}, "attributes": …}`.
pub(super) fn dataset(
    object: &Object<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<Dataset, StructureError> {
    note_keys(object, &["module", "config", "attributes"], path, notes);
    let config_path = path.name("config");
    let mut config = Config::read(object.text("config"), &config_path)?;
    let name = text(config.need(&["name"], &config_path)?, &config_path.name("name"))?;
    let values = config.need(&["values", "value"], &config_path)?;
    let dtype = config.take(&["dtype", "type"], &config_path)?;
    config.note_rest(&config_path, notes);
    finished(&name, values, dtype, object, path, &config_path, notes)
}

/// The older spelling: `{"type": "dataset", "name": …, "values": …, "dataset": {"type": …}, "attributes": …}`.
pub(super) fn old_dataset(
    object: &Object<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<Dataset, StructureError> {
    let known =
        ["type", "name", "values", "value", "dtype", "dataset", "attributes", "size", "space", "string_size"];
    note_keys(object, &known, path, notes);
    let name = needed(object, "name", path)?;
    let name = text(name, &path.name("name"))?;
    let values = match (object.text("values"), object.text("value")) {
        (Some(_), Some(_)) => return Err(path.refuse("both values and value", "one of them")),
        (Some(values), None) | (None, Some(values)) => values,
        (None, None) => needed(object, "values", path)?,
    };
    let mut dtype = object.text("dtype");
    if let Some(settings) = object.text("dataset") {
        let settings_path = path.name("dataset");
        let mut settings = Config::read(Some(settings), &settings_path)?;
        let inner = settings.take(&["dtype", "type"], &settings_path)?;
        if inner.is_some() && dtype.is_some() {
            return Err(path.refuse("dtype and a type in dataset", "one of them"));
        }
        dtype = dtype.or(inner);
        settings.note_rest(&settings_path, notes);
    }
    finished(&name, values, dtype, object, path, path, notes)
}

/// The dataset of what was found; `config` is the path of name, values and dtype.
fn finished(
    name: &str,
    values: &RawValue,
    dtype: Option<&RawValue>,
    object: &Object<'_>,
    path: &Path<'_>,
    config: &Path<'_>,
    notes: &mut Notes,
) -> Result<Dataset, StructureError> {
    name::check(name, &config.name("name"))?;
    let dtype = match dtype {
        Some(dtype) => DType::named(&text(dtype, &config.name("dtype"))?, &config.name("dtype"))?,
        None => DType::F64,
    };
    let (array, is_spelled) = array::read(values.get(), dtype, &config.name("values"))?;
    if is_spelled {
        notes.add(&config.name("values"), "what is no text is written as it is spelled");
    }
    Ok(Dataset { name: name.to_owned(), values: array, attributes: own_attributes(object, path, notes)? })
}

/// The attributes of a node.
pub(super) fn own_attributes(
    object: &Object<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<Vec<Attribute>, StructureError> {
    object
        .text("attributes")
        .map_or_else(|| Ok(Vec::new()), |json| attributes(json, &path.name("attributes"), notes))
}

/// `{"module": "link", "config": {"name": …, "source": …}}`.
pub(super) fn link(object: &Object<'_>, path: &Path<'_>, notes: &mut Notes) -> Result<Link, StructureError> {
    note_keys(object, &["module", "config"], path, notes);
    let config_path = path.name("config");
    let mut config = Config::read(object.text("config"), &config_path)?;
    let name = text(config.need(&["name"], &config_path)?, &config_path.name("name"))?;
    let source = text(config.need(&["source"], &config_path)?, &config_path.name("source"))?;
    config.note_rest(&config_path, notes);
    link_of(&name, &source, &config_path.name("name"), &config_path.name("source"))
}

/// The older spelling: `{"type": "link", "name": …, "target": …}`.
pub(super) fn old_link(
    object: &Object<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<Link, StructureError> {
    note_keys(object, &["type", "name", "target"], path, notes);
    let name = text(needed(object, "name", path)?, &path.name("name"))?;
    let target = text(needed(object, "target", path)?, &path.name("target"))?;
    link_of(&name, &target, &path.name("name"), &path.name("target"))
}

fn link_of(name: &str, source: &str, at: &Path<'_>, source_at: &Path<'_>) -> Result<Link, StructureError> {
    /// Bytes of a path at most: no path is longer whose names all are as long as they may be.
    const LONGEST: usize = 64 << 10;
    name::check(name, at)?;
    if source.is_empty() || source.len() > LONGEST {
        return Err(
            source_at.refuse(format!("{} bytes", source.len()), format!("a path of 1 to {LONGEST} bytes"))
        );
    }
    Ok(Link { name: name.to_owned(), source: source.to_owned() })
}

/// `{"module": "mdat", "config": {"items": ["start_time", "end_time"]}}`.
pub(super) fn run_times(
    object: &Object<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<Vec<RunTime>, StructureError> {
    note_keys(object, &["module", "config"], path, notes);
    let config_path = path.name("config");
    let mut config = Config::read(object.text("config"), &config_path)?;
    let items = config.need(&["items"], &config_path)?;
    config.note_rest(&config_path, notes);
    let items_path = config_path.name("items");
    let list: Vec<&RawValue> = serde_json::from_str(items.get())
        .map_err(|_| items_path.refuse(shown_json(items.get()), "a list of start_time and end_time"))?;
    let item = |(index, item): (usize, &&RawValue)| {
        let path = items_path.index(index);
        let name = text(item, &path)?;
        [RunTime::Start, RunTime::End].into_iter().find(|time| time.name() == name).ok_or_else(|| {
            let hint = did_you_mean(&name, ["start_time", "end_time"].into_iter());
            path.refuse(quoted(&name), format!("start_time or end_time{hint}"))
        })
    };
    list.iter().enumerate().map(item).collect()
}

/// The value of a key of a node that must be there.
pub(super) fn needed<'j>(
    object: &Object<'j>,
    key: &str,
    path: &Path<'_>,
) -> Result<&'j RawValue, StructureError> {
    object.text(key).ok_or_else(|| path.name(key).refuse("nothing", "a value: the key is missing"))
}

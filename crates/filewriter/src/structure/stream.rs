//! Modules: whose messages go to the group that they are in.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::attributes::text;
use super::content::StreamModule;
use super::dtype::{DType, did_you_mean};
use super::error::StructureError;
use super::kind::ModuleKind;
use super::node::{Config, note_keys};
use super::notes::Notes;
use super::path::{Path, quoted, shown_json};
use super::tree::Object;

/// Sources of a module at most.
const MOST_SOURCES: usize = 10_000;

/// Bytes of JSON of the settings of a module at most.
const LARGEST_SETTINGS: usize = 4 << 20;

/// Bytes of the name of a topic at most, as Kafka has it.
const LONGEST_TOPIC: usize = 249;

/// Names of modules that are no streams.
const STATIC: [&str; 3] = ["mdat", "dataset", "link"];

/// The module of a name.
///
/// # Errors
/// If there is none, with the one that is most like it.
pub(super) fn kind(name: &str, path: &Path<'_>) -> Result<ModuleKind, StructureError> {
    name.parse().map_err(|()| {
        let known = || ModuleKind::ALL.iter().map(|kind| kind.name()).chain(STATIC);
        let listed: Vec<&str> = known().collect();
        path.refuse(
            quoted(name),
            format!("one of the modules {}{}", listed.join(", "), did_you_mean(name, known())),
        )
    })
}

/// `{"module": …, "config": {…}}`.
pub(super) fn module(
    kind: ModuleKind,
    object: &Object<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<StreamModule, StructureError> {
    note_keys(object, &["module", "config"], path, notes);
    let path = path.name("config");
    let mut config = Config::read(object.text("config"), &path)?;
    if let Some(writer) = config.take(&["writer_module"], &path)?
        && text(writer, &path.name("writer_module"))?.parse() != Ok(kind)
    {
        notes.add(&path.name("writer_module"), "this is not the module, which is named next to config");
    }
    finished(kind, config, &path, notes)
}

/// `{"type": "stream", "stream": {"writer_module": …, …}}`.
pub(super) fn old_stream(
    object: &Object<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<StreamModule, StructureError> {
    note_keys(object, &["type", "stream"], path, notes);
    let path = path.name("stream");
    let mut config = Config::read(object.text("stream"), &path)?;
    let writer = path.name("writer_module");
    let kind = kind(&text(config.need(&["writer_module"], &path)?, &writer)?, &writer)?;
    finished(kind, config, &path, notes)
}

fn finished(
    kind: ModuleKind,
    mut config: Config<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<StreamModule, StructureError> {
    let topic = topic(config.need(&["topic"], path)?, &path.name("topic"))?;
    let sources = sources(config.need(&["source"], path)?, &path.name("source"))?;
    let settings = settings(kind, config, path, notes)?;
    Ok(StreamModule { kind, topic, sources, settings })
}

fn topic(json: &RawValue, path: &Path<'_>) -> Result<String, StructureError> {
    let topic = text(json, path)?;
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if topic.is_empty()
        || topic.len() > LONGEST_TOPIC
        || !topic.chars().all(is_legal)
        || topic == "."
        || topic == ".."
    {
        let expected = format!(
            "the name of a topic: 1 to {LONGEST_TOPIC} letters, digits, points, underscores and hyphens"
        );
        return Err(path.refuse(quoted(&topic), expected));
    }
    Ok(topic.into_owned())
}

/// One source, or several, which is our own extension.
fn sources(json: &RawValue, path: &Path<'_>) -> Result<Vec<String>, StructureError> {
    let source = |json: &RawValue, path: &Path<'_>| {
        let source = text(json, path)?;
        if source.is_empty() {
            Err(path.refuse("no characters", "the name of a source"))
        } else {
            Ok(source.into_owned())
        }
    };
    if !json.get().starts_with('[') {
        return Ok(vec![source(json, path)?]);
    }
    let list: Vec<&RawValue> = serde_json::from_str(json.get())
        .map_err(|_| path.refuse(shown_json(json.get()), "a list of names"))?;
    if list.is_empty() || list.len() > MOST_SOURCES {
        return Err(path.refuse(format!("a list of {}", list.len()), format!("1 to {MOST_SOURCES} sources")));
    }
    let sources: Vec<String> =
        list.iter().enumerate().map(|(at, json)| source(json, &path.index(at))).collect::<Result<_, _>>()?;
    match super::tree::repeated(sources.iter().map(String::as_str)) {
        Some(twice) => Err(path.refuse(format!("{} twice", quoted(twice)), "each source once")),
        None => Ok(sources),
    }
}

/// What the module reads itself. Names of types are checked here, as they are the same for all.
fn settings(
    kind: ModuleKind,
    config: Config<'_>,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<Map<String, Value>, StructureError> {
    let mut settings = Map::new();
    let mut bytes = 0;
    for (key, json) in config.rest() {
        let path = path.name(&key);
        match key.as_ref() {
            // Of da00 they are those of the group.
            "attributes" if kind != ModuleKind::Da00 => {
                notes.add(&path, "attributes in a configuration are not used; they belong to the group");
                continue;
            }
            "string_size" | "stream" => {
                notes.add(&path, "this key is obsolete and not used");
                continue;
            }
            "dtype" | "type" => check_type(kind, json, &path)?,
            _ => {}
        }
        bytes += json.get().len();
        if bytes > LARGEST_SETTINGS {
            let most = LARGEST_SETTINGS >> 20;
            return Err(path.refuse("more settings", format!("at most {most} MiB of settings for a module")));
        }
        let value: Value = serde_json::from_str(json.get()).map_err(|error| {
            path.refuse(shown_json(json.get()), format!("JSON that can be read ({error})"))
        })?;
        if has_zero(&value) {
            return Err(path.refuse(shown_json(json.get()), "text without zero bytes"));
        }
        settings.insert(key.into_owned(), value);
    }
    Ok(settings)
}

fn check_type(kind: ModuleKind, json: &RawValue, path: &Path<'_>) -> Result<(), StructureError> {
    let dtype = DType::named(&text(json, path)?, path)?;
    let is_of_numbers = matches!(kind, ModuleKind::F144 | ModuleKind::Se00 | ModuleKind::Ad00);
    if is_of_numbers && dtype == DType::Text {
        return Err(path.refuse(quoted(dtype.name()), format!("a type of numbers: {kind} has no text")));
    }
    Ok(())
}

/// JSON that serde_json has read is at most 128 levels deep.
fn has_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_zero),
        Value::Object(values) => values.iter().any(|(key, value)| key.contains('\0') || has_zero(value)),
        _ => false,
    }
}

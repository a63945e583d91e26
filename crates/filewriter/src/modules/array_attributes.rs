//! Attributes of the group of a da00: those of the configuration, and `signal` and `axes` where they are absent.

use evforge_stream::storage::text::{set_attribute, set_list_attribute};
use hdf5_metno::Group;
use serde_json::Value;

use super::array_settings::{ArraySettings, is_name};
use super::module::ModuleError;
use super::settings::wrong;

/// Writes them. The first variable is the signal unless something else is said. Its axes have the time before them.
pub(super) fn write_attributes(
    group: &Group,
    configured: Option<(&'static str, &Value)>,
    variables: &[ArraySettings],
) -> Result<(), ModuleError> {
    let mut attributes = match configured {
        Some((key, value)) => read(key, value)?,
        None => Vec::new(),
    };
    let named =
        |attributes: &[(String, Value)], wanted: &str| attributes.iter().position(|(name, _)| name == wanted);
    if named(&attributes, "signal").is_none()
        && let Some(first) = variables.first()
    {
        attributes.push(("signal".into(), first.name.clone().into()));
    }
    let signal = named(&attributes, "signal").and_then(|at| attributes[at].1.as_str().map(str::to_owned));
    let signal = signal.and_then(|signal| variables.iter().find(|variable| variable.name == signal));
    if let Some(signal) = signal {
        match named(&attributes, "axes") {
            None if signal.axes.is_empty() => {}
            None => attributes.push(("axes".into(), with_time(signal.axes.iter().cloned().map(Value::from)))),
            Some(at) => {
                if let Value::Array(axes) = &attributes[at].1
                    && axes.first().and_then(Value::as_str) != Some("time")
                {
                    attributes[at].1 = with_time(axes.iter().cloned());
                }
            }
        }
    }
    for (name, value) in &attributes {
        // What the structure says of the group itself stays.
        if group.attr(name).is_err() {
            write(group, name, value)?;
        }
    }
    Ok(())
}

fn with_time(axes: impl Iterator<Item = Value>) -> Value {
    std::iter::once(Value::from("time")).chain(axes).collect()
}

/// Attributes as `{"name": value}` or as `[{"name": …, "values": …}]`.
fn read(key: &str, value: &Value) -> Result<Vec<(String, Value)>, ModuleError> {
    let list: Vec<(String, Value)> = match value {
        Value::Object(keys) => keys.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        Value::Array(list) => {
            let entry = |entry: &Value| -> Option<(String, Value)> {
                let value = ["data", "values", "value"].iter().find_map(|key| entry.get(*key))?;
                Some((entry.get("name")?.as_str()?.to_owned(), value.clone()))
            };
            let entries = list.iter().enumerate().map(|(place, found)| {
                entry(found)
                    .ok_or_else(|| wrong(&format!("{key}[{place}]"), found, "an object with name and data"))
            });
            entries.collect::<Result<_, _>>()?
        }
        other => return Err(wrong(key, other, "an object, or a list of objects with name and data")),
    };
    for (name, value) in &list {
        if !is_name(name) || !is_writable(value) {
            let place = format!("{key}/{name}");
            return Err(wrong(&place, value, "a text, a number, or a list of texts or of numbers"));
        }
    }
    Ok(list)
}

fn is_writable(value: &Value) -> bool {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.contains('\0'));
    match value {
        Value::Array(list) => {
            !list.is_empty() && (list.iter().all(is_text) || list.iter().all(Value::is_number))
        }
        single => is_text(single) || single.is_number(),
    }
}

fn write(group: &Group, name: &str, value: &Value) -> hdf5_metno::Result<()> {
    match value {
        Value::String(text) => set_attribute(group, name, text),
        Value::Array(list) => {
            let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
            let whole: Option<Vec<i64>> = list.iter().map(Value::as_i64).collect();
            match (texts, whole) {
                (Some(texts), _) => set_list_attribute(group, name, &texts),
                (None, Some(whole)) => {
                    group.new_attr::<i64>().shape(whole.len()).create(name)?.write_raw(&whole)
                }
                (None, None) => {
                    let numbers: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
                    group.new_attr::<f64>().shape(numbers.len()).create(name)?.write_raw(&numbers)
                }
            }
        }
        single => match single.as_i64() {
            Some(whole) => group.new_attr::<i64>().create(name)?.write_scalar(&whole),
            None => {
                let number = single.as_f64().unwrap_or(f64::NAN);
                group.new_attr::<f64>().create(name)?.write_scalar(&number)
            }
        },
    }
}

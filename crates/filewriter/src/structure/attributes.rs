//! Attributes in both spellings.

use serde_json::value::RawValue;

use super::array::{inferred, read};
use super::content::{Array, Attribute, Values};
use super::dtype::DType;
use super::error::StructureError;
use super::name;
use super::notes::Notes;
use super::path::{Path, quoted, shown_json};
use super::tree;

/// Bytes of the values of an attribute at most. HDF5 takes 64 KiB with its name and its type.
const LARGEST: usize = 64_000;

/// Reads `{"units": "mm"}` or `[{"name": "units", "values": "mm", "dtype": "string"}]`.
///
/// # Errors
/// If it is neither, or mixed; if a name is there twice; if a value does not fit.
pub(super) fn attributes(
    json: &RawValue,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<Vec<Attribute>, StructureError> {
    let expected = "an object of names with values, or a list of objects with name and values";
    let attributes = match json.get().as_bytes().first() {
        Some(b'{') => object(json, path, notes)?,
        Some(b'[') => list(json, path, notes)?,
        _ if json.get() == "null" => Vec::new(),
        _ => return Err(path.refuse(shown_json(json.get()), expected)),
    };
    match tree::repeated(attributes.iter().map(|attribute| attribute.name.as_str())) {
        Some(name) => Err(path.refuse(format!("{} twice", quoted(name)), "one attribute of each name")),
        None => Ok(attributes),
    }
}

fn object(json: &RawValue, path: &Path<'_>, notes: &mut Notes) -> Result<Vec<Attribute>, StructureError> {
    let entries = entries(json, path)?;
    let has = |key: &str| entries.iter().any(|(name, _)| name == key);
    if has("name") && (has("values") || has("value")) {
        return Err(path
            .refuse("an object with name and values", "a list of such objects, or names with their values"));
    }
    entries.iter().map(|(name, value)| attribute(name, value, None, false, &path.name(name), notes)).collect()
}

fn list(json: &RawValue, path: &Path<'_>, notes: &mut Notes) -> Result<Vec<Attribute>, StructureError> {
    let elements: Vec<&RawValue> = serde_json::from_str(json.get())
        .map_err(|_| path.refuse("a list that cannot be read", "a list of objects with name and values"))?;
    elements.iter().enumerate().map(|(index, element)| listed(element, &path.index(index), notes)).collect()
}

/// An element of a list of attributes.
fn listed(json: &RawValue, path: &Path<'_>, notes: &mut Notes) -> Result<Attribute, StructureError> {
    let expected = "an object with name and values, as the spelling with a list has them";
    if !json.get().starts_with('{') {
        return Err(path.refuse(shown_json(json.get()), expected));
    }
    let entries = entries(json, path)?;
    if let Some(key) = tree::repeated(entries.iter().map(|(key, _)| key.as_ref())) {
        return Err(path.refuse(format!("the key {} twice", quoted(key)), "each key once"));
    }
    let (mut name, mut values, mut dtype) = (None, None, None);
    for (key, value) in &entries {
        let slot = match key.as_ref() {
            "name" => &mut name,
            "value" | "values" => &mut values,
            "type" | "dtype" => &mut dtype,
            _ => {
                notes.add(&path.name(key), "this key of an attribute is not used");
                continue;
            }
        };
        if slot.replace(*value).is_some() {
            return Err(path.refuse(format!("{} a second time, in another spelling", quoted(key)), "it once"));
        }
    }
    let (Some(name), Some(values)) = (name, values) else {
        let keys: Vec<String> = entries.iter().take(5).map(|(key, _)| quoted(key)).collect();
        let found = if keys.is_empty() { "no keys".into() } else { format!("the keys {}", keys.join(", ")) };
        return Err(path.refuse(found, expected));
    };
    let name = text(name, &path.name("name"))?;
    let dtype = match dtype {
        Some(dtype) => Some(DType::named(&text(dtype, &path.name("dtype"))?, &path.name("dtype"))?),
        None => None,
    };
    attribute(&name, values, dtype, true, &path.name("values"), notes)
}

/// An attribute; `path` is that of its values.
pub(super) fn attribute(
    name: &str,
    json: &RawValue,
    dtype: Option<DType>,
    lists_are_double: bool,
    path: &Path<'_>,
    notes: &mut Notes,
) -> Result<Attribute, StructureError> {
    name::check(name, path)?;
    let dtype = dtype.unwrap_or_else(|| inferred(json.get(), lists_are_double));
    let (values, is_spelled) = read(json.get(), dtype, path)?;
    if is_spelled {
        notes.add(path, "what is no text is written as it is spelled");
    }
    let bytes = bytes(&values);
    if bytes > LARGEST {
        return Err(path.refuse(format!("{bytes} bytes"), format!("an attribute of at most {LARGEST} bytes")));
    }
    Ok(Attribute { name: name.to_owned(), values })
}

/// Bytes of the values of an attribute.
fn bytes(array: &Array) -> usize {
    /// What HDF5 keeps of a text of variable length, next to the text.
    const REFERENCE: usize = 16;
    match &array.values {
        Values::Text(texts) => texts.iter().map(|text| text.len().max(REFERENCE)).sum(),
        numbers => numbers.bytes(),
    }
}

/// The keys of an object with their values.
///
/// # Errors
/// If it is no object, or a key is no text.
pub(super) fn entries<'j>(
    json: &'j RawValue,
    path: &Path<'_>,
) -> Result<Vec<(std::borrow::Cow<'j, str>, &'j RawValue)>, StructureError> {
    tree::entries(json)
        .map_err(|_| path.refuse(shown_json(json.get()), "an object with keys of whole characters"))
}

/// Text without zero bytes.
///
/// # Errors
/// If it is something else.
pub(super) fn text<'j>(
    json: &'j RawValue,
    path: &Path<'_>,
) -> Result<std::borrow::Cow<'j, str>, StructureError> {
    match tree::text(json.get()) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) => Err(path.refuse(shown_json(json.get()), "text without zero bytes")),
        Err(_) => Err(path.refuse(shown_json(json.get()), "text")),
    }
}

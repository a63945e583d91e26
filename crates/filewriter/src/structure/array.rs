//! Nested lists of JSON as arrays.

use super::content::{Array, Values};
use super::dtype::DType;
use super::error::StructureError;
use super::number::{Misfit, Number};
use super::path::{Path, shown_json};
use super::tree;

/// Axes at most, as HDF5 has them.
const MOST_AXES: usize = 32;

/// Bytes at most of a list of texts, each with the room of the longest.
const MOST_TEXT: usize = 64 << 20;

/// Reads values of a type. Numbers and booleans where text is expected are taken as they are spelled, and the second result says
/// so.
///
/// # Errors
/// If a value does not fit the type, or lists of one axis have different lengths.
pub(super) fn read(json: &str, dtype: DType, path: &Path<'_>) -> Result<(Array, bool), StructureError> {
    let mut is_spelled = false;
    macro_rules! numbers {
        ($variant:ident) => {{
            let (shape, values) = numbers(json, path)?;
            Array { shape, values: Values::$variant(values) }
        }};
    }
    let array = match dtype {
        DType::I8 => numbers!(I8),
        DType::U8 => numbers!(U8),
        DType::I16 => numbers!(I16),
        DType::U16 => numbers!(U16),
        DType::I32 => numbers!(I32),
        DType::U32 => numbers!(U32),
        DType::I64 => numbers!(I64),
        DType::U64 => numbers!(U64),
        DType::F32 => numbers!(F32),
        DType::F64 => numbers!(F64),
        DType::Text => {
            let mut texts = Vec::new();
            let mut longest = 0;
            let shape = walk(json, path, |value| {
                let text = text(value)?;
                is_spelled |= !value.starts_with('"');
                longest = longest.max(text.len());
                texts.push(text);
                Ok(())
            })?;
            if texts.len().saturating_mul(longest) > MOST_TEXT && texts.len() > 1 {
                let found = format!("{} texts of up to {longest} bytes", texts.len());
                let most = MOST_TEXT >> 20;
                return Err(
                    path.refuse(found, format!("at most {most} MiB if all are as long as the longest"))
                );
            }
            Array { shape, values: Values::Text(texts) }
        }
    };
    Ok((array, is_spelled))
}

fn numbers<T: Number>(json: &str, path: &Path<'_>) -> Result<(Vec<usize>, Vec<T>), StructureError> {
    let mut values = Vec::new();
    let shape = walk(json, path, |value| {
        values.push(T::read(value)?);
        Ok(())
    })?;
    values.shrink_to_fit();
    Ok((shape, values))
}

fn text(json: &str) -> Result<String, Misfit> {
    if json == "null" {
        return Err((json.into(), "text".into()));
    }
    if !json.starts_with('"') {
        return Ok(json.to_owned());
    }
    let text = tree::text(json).map_err(|_| (shown_json(json), "text of whole characters".into()))?;
    if text.contains('\0') {
        return Err((shown_json(json), "text without zero bytes".into()));
    }
    Ok(text.into_owned())
}

/// The type that values have if nobody says: text if there is any, integers as they are or, with `lists_are_double`, only those
/// that are in no list.
pub(super) fn inferred(json: &str, lists_are_double: bool) -> DType {
    if json.contains('"') {
        return DType::Text;
    }
    if json.contains(['.', 'e', 'E']) && !json.contains("true") && !json.contains("false") {
        return DType::F64;
    }
    if json.starts_with('[') && lists_are_double {
        return DType::F64;
    }
    if json == "true" || json == "false" {
        return DType::U8;
    }
    let has_large = json
        .split(|c: char| !c.is_ascii_digit())
        .any(|digits| digits.parse::<i64>().is_err() && !digits.is_empty());
    if has_large { DType::U64 } else { DType::I64 }
}

/// Goes through nested lists, hands each value on, and returns the shape.
///
/// The text is JSON already: brackets fit, and what is between them is one value each.
fn walk(
    json: &str,
    path: &Path<'_>,
    mut take: impl FnMut(&str) -> Result<(), Misfit>,
) -> Result<Vec<usize>, StructureError> {
    let bytes = json.as_bytes();
    // Elements so far of each list that is open, and the lengths of the lists at each depth, once one has ended.
    let mut open: Vec<usize> = Vec::new();
    let mut lengths: Vec<Option<usize>> = Vec::new();
    let mut has_values = false;
    let mut at = 0;
    let refuse = |open: &[usize], (found, expected): Misfit| {
        let places: String = open.iter().map(|&count| format!("[{}]", count.saturating_sub(1))).collect();
        StructureError::Refused { path: format!("{path}{places}"), found, expected }
    };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => at += 1,
            b']' => {
                let length = open.pop().unwrap_or(0);
                match lengths.get_mut(open.len()) {
                    Some(Some(other)) if *other != length => {
                        let found = format!("a list of {length}");
                        return Err(refuse(&open, (found, format!("one of {other}, as those before"))));
                    }
                    Some(known) => *known = Some(length),
                    None => {}
                }
                at += 1;
            }
            _ => {
                if let Some(count) = open.last_mut() {
                    *count += 1;
                }
                if byte == b'[' {
                    if open.len() == MOST_AXES {
                        let expected = format!("at most {MOST_AXES} axes");
                        return Err(refuse(&open, ("a list in it".into(), expected)));
                    }
                    if has_values && open.len() == lengths.len() {
                        return Err(refuse(&open, ("a list".into(), "a value, as those before".into())));
                    }
                    open.push(0);
                    if lengths.len() < open.len() {
                        lengths.push(None);
                    }
                    at += 1;
                    continue;
                }
                let end = value_end(bytes, at);
                let value = &json[at..end];
                if byte == b'{' {
                    return Err(refuse(&open, ("an object".into(), "values".into())));
                }
                if open.len() < lengths.len() {
                    return Err(refuse(&open, (shown_json(value), "a list, as those before".into())));
                }
                take(value).map_err(|misfit| refuse(&open, misfit))?;
                has_values = true;
                at = end;
            }
        }
    }
    Ok(lengths.into_iter().map(|length| length.unwrap_or(0)).collect())
}

/// The place after the value that begins at `start`.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    if rest[0] != b'"' {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        return start + rest.iter().position(ends).unwrap_or(rest.len());
    }
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

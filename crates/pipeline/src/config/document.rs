//! The text of a configuration file: where a key stands in it, and `--set key=value` on top of it.

use std::borrow::Cow;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Line and column, both counted from 1.
pub(super) type Place = (usize, usize);

/// Line and column of a byte of `text`. The column counts characters.
pub(super) fn place_of(text: &str, byte: usize) -> Place {
    let before = &text[..text.floor_char_boundary(byte)];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Where the value of `key` (as `a.b[2].c`) stands in `text`, or the nearest table above it that is there.
pub(super) fn locate(text: &str, key: &str) -> Option<Place> {
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
pub(super) fn set(document: &mut Table, assignment: &str) -> Result<(), String> {
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
pub(super) fn spelled_out<'a>(document: &Table, assignment: &'a str, sections: &[&str]) -> Cow<'a, str> {
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

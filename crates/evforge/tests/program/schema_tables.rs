//! The tables of keys in `docs/configuration.md` are made of the schema, between `<!-- keys: receive -->` and `<!-- end -->`.
//!
//! The document says which keys a table has and in which order, one in each row; the schema says all else. A key that has no row
//! anywhere gets one at the end of its table.

use crate::common::{evforge, workspace};
use evforge_config::detectors::SECTIONS;
use serde_json::Value;
use std::fmt::Write as _;

const BEGIN: &str = "<!-- keys: ";
const END: &str = "<!-- end -->\n";

#[test]
fn the_tables_of_the_document_are_up_to_date() {
    let path = workspace().join("docs/configuration.md");
    let found = std::fs::read_to_string(&path).expect("docs/configuration.md");
    let schema: Value = serde_json::from_slice(&evforge(&["run", "--schema"]).stdout).expect("the schema");
    let expected = with_tables(&found, &schema);
    assert!(expected.matches(BEGIN).count() > 10, "where are the tables?");
    if std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, expected).expect("docs/configuration.md can be written");
        return;
    }
    assert!(
        found == expected,
        "tables of docs/configuration.md are out of date: regenerate them with `make schema`"
    );
}

#[test]
fn every_detector_has_a_table_in_the_document() {
    let text =
        std::fs::read_to_string(workspace().join("docs/configuration.md")).expect("docs/configuration.md");
    for section in SECTIONS {
        assert!(text.contains(&format!("{BEGIN}{section} -->")), "no table of the keys of [{section}]");
    }
}

#[test]
fn a_key_that_is_new_gets_a_row_and_one_that_is_gone_loses_it() {
    let schema: Value = serde_json::from_str(
        r#"{ "properties": { "t": { "type": "object", "required": ["a"], "properties": {
            "a": { "type": "integer", "minimum": 1, "maximum": 5, "description": "A." },
            "b": { "properties": { "c": { "type": "boolean", "default": true, "description": "C|D." } } },
            "e": { "properties": { "f": { "type": "string" } } } } } } }"#,
    )
    .unwrap();
    let text = "<!-- keys: t -->\n\n| key |\n|---|\n| `gone` |\n| `b.c` |\n\n<!-- end -->\n<!-- keys: t.e -->\n<!-- end -->\n";
    let expected = "<!-- keys: t -->\n\n| key | default | range | meaning |\n|---|---|---|---|\n\
        | `b.c` | `true` | `true`, `false` | C\\|D. |\n| `a` | – | 1 to 5 | A. |\n\n<!-- end -->\n\
        <!-- keys: t.e -->\n\n| key | default | range | meaning |\n|---|---|---|---|\n| `f` | none | | |\n\n<!-- end -->\n";
    assert_eq!(with_tables(text, &schema), expected);
}

/// The document with its tables made anew.
fn with_tables(document: &str, schema: &Value) -> String {
    let mut pieces = document.split(BEGIN);
    let mut made = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (table, rest) = piece.split_once(" -->\n").expect("the end of a mark");
        let (rows, after) = rest.split_once(END).expect("the end of a table");
        let _ =
            write!(made, "{BEGIN}{table} -->\n\n{}\n{END}{after}", key_table(document, schema, table, rows));
    }
    made
}

/// The table of the keys in `table`, with the rows in the order of those that are there.
fn key_table(document: &str, schema: &Value, table: &str, rows: &str) -> String {
    let keys = Keys { root: schema };
    let whole = keys.find(schema, table).unwrap_or_else(|| panic!("the schema has no [{table}]")).0;
    let named = rows.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    let mut paths: Vec<String> =
        named.filter(|path| keys.find(whole, path).is_some()).map(str::to_owned).collect();
    for (key, own) in keys.of(whole) {
        let has_row = paths.iter().any(|path| path == key || path.starts_with(&format!("{key}.")));
        let has_table = document.contains(&format!("{BEGIN}{table}.{key}"));
        if !has_row && !has_table && own.get("deprecated").is_none() {
            paths.push(key.clone());
        }
    }
    let rows: Vec<[String; 5]> = paths.iter().filter_map(|path| keys.row(whole, path)).collect();
    let has_units = rows.iter().any(|[_, unit, ..]| !unit.is_empty());
    let (head, line) = if has_units { ("| unit ", "|---") } else { ("", "") };
    let mut text = format!("| key {head}| default | range | meaning |\n|---{line}|---|---|---|\n");
    for [key, unit, default, range, meaning] in rows {
        let unit = if has_units { format!("| {unit} ") } else { String::new() };
        let _ = writeln!(
            text,
            "{}",
            format!("| {key} {unit}| {default} | {range} | {meaning} |")
                .replace("|  |", "| |")
                .replace("|  |", "| |")
        );
    }
    text
}

/// What the schema says of keys.
struct Keys<'s> {
    root: &'s Value,
}

impl<'s> Keys<'s> {
    /// What a schema refers to, or what its entries are, where it is a list.
    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let link = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|link| self.root.pointer(link.strip_prefix('#')?));
        match (link, schema.get("items")) {
            (Some(found), _) | (None, Some(found)) => self.resolved(found),
            (None, None) => schema,
        }
    }

    /// The keys of a table, or of the tables in a list.
    fn of(&self, table: &'s Value) -> impl Iterator<Item = (&'s String, &'s Value)> {
        let resolved = self.resolved(table);
        let choices = resolved.get("anyOf").and_then(Value::as_array);
        let tables = choices.map_or(std::slice::from_ref(resolved), Vec::as_slice);
        let properties = tables.iter().find_map(|table| self.resolved(table).get("properties")?.as_object());
        properties.into_iter().flatten()
    }

    /// The key with this path, and whether it must be there.
    fn find(&self, table: &'s Value, path: &str) -> Option<(&'s Value, bool)> {
        path.split('.').try_fold((table, false), |(table, _), name| {
            let (_, found) = self.of(table).find(|(key, _)| *key == name)?;
            let required = self.resolved(table).get("required").and_then(Value::as_array);
            Some((found, required.is_some_and(|keys| keys.iter().any(|key| key == name))))
        })
    }

    /// Key, unit, default, range and meaning.
    fn row(&self, table: &'s Value, path: &str) -> Option<[String; 5]> {
        let (own, is_required) = self.find(table, path)?;
        // What is said of the key wins over what its type says of itself.
        let of_type = self.resolved(own);
        let said = |word: &str| own.get(word).or_else(|| of_type.get(word));
        let text = |word: &str| said(word).and_then(Value::as_str).map(str::to_owned);
        let unit = text("x-unit").unwrap_or_default();
        let default = text("x-default").unwrap_or_else(|| match own.get("default") {
            Some(default) => written(default, &unit),
            None if is_required => "–".to_owned(),
            None if self.of(own).next().is_some() && own.get("items").is_none() => String::new(),
            None => "none".to_owned(),
        });
        let range = text("x-range").unwrap_or_else(|| range(own, of_type));
        let former =
            own.get("x-former").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let key = former.fold(format!("`{path}`"), |key, name| format!("{key} (formerly `{name}`)"));
        let meaning = own.get("description").and_then(Value::as_str).unwrap_or_default();
        Some([key, unit, default, range, meaning.replace('|', "\\|")])
    }
}

/// A default as people read it: words in code, quantities with a blank before their unit.
fn written(default: &Value, unit: &str) -> String {
    match default {
        Value::String(text) if ["time", "size", "frequency", "length", "angle"].contains(&unit) => {
            let end = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
            let (number, unit) = text.split_at(end);
            format!("{number} {unit}")
        }
        Value::String(text) => format!("`\"{text}\"`"),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Number(_) => number(default),
        other => format!("`{other}`"),
    }
}

/// What values are taken, in words.
fn range(own: &Value, of_type: &Value) -> String {
    let words = |schema: &Value| -> Option<Vec<String>> {
        let list = schema.get("enum").or_else(|| schema.get("oneOf"))?.as_array()?;
        let word = |entry: &Value| Some(format!("`{}`", entry.get("const").unwrap_or(entry)));
        // A list of words, and variants with a meaning each, of which some have lists.
        let words = list.iter().flat_map(|entry| match entry.get("enum").and_then(Value::as_array) {
            Some(several) => several.iter().filter_map(word).collect::<Vec<_>>(),
            None => word(entry).into_iter().collect(),
        });
        Some(words.filter(|word| !word.starts_with("`{")).collect())
    };
    if let Some(words) = words(own).or_else(|| words(of_type)) {
        return words.join(", ");
    }
    if own.get("type").is_some_and(|name| name == "boolean") {
        return "`true`, `false`".to_owned();
    }
    let limit = |word: &str| own.get(word).filter(|limit| **limit != 0 || word == "maximum");
    match (limit("minimum"), limit("maximum")) {
        (Some(from), Some(to)) => format!("{} to {}", number(from), number(to)),
        (Some(from), None) => format!("at least {}", number(from)),
        // The limits of whole numbers of 8, 16 or 32 bits are no news.
        (None, Some(to)) if ![255, 65_535, u64::from(u32::MAX)].contains(&to.as_u64().unwrap_or(0)) => {
            format!("0 to {}", number(to))
        }
        _ => String::new(),
    }
}

fn number(number: &Value) -> String {
    let whole = number
        .as_u64()
        .or_else(|| number.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as u64));
    whole.map_or_else(|| number.to_string(), count)
}

/// Large numbers in groups, or as powers of two.
fn count(count: u64) -> String {
    match count {
        _ if count >= 1 << 20 && count.is_power_of_two() => format!("2^{}", count.trailing_zeros()),
        _ if count > u64::from(u32::MAX) && (count + 1).is_power_of_two() => {
            format!("2^{} − 1", (count + 1).trailing_zeros())
        }
        0..10_000 => count.to_string(),
        _ => evforge_core::quantity::grouped(count),
    }
}

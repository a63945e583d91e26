//! A JSON text as a tree whose values know where they stand: each error names the path in the file, what was found and
//! what is expected. Errors of syntax have line and column.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

/// A value.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Nothing,
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

/// Longest text that an error quotes.
const LONGEST_QUOTE: usize = 40;

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("null"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) if text.chars().count() > LONGEST_QUOTE => {
                write!(f, "{:?}…", text.chars().take(LONGEST_QUOTE).collect::<String>())
            }
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(list) => write!(f, "a list of {}", list.len()),
            Self::Table(_) => f.write_str("a table"),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Flag(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Whole(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        Ok(i64::try_from(number).map_or(Node::Number(number as f64), Node::Whole))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Node, A::Error> {
        let mut table = BTreeMap::new();
        while let Some(key) = values.next_key::<String>()? {
            if table.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice in a table")));
            }
            table.insert(key, values.next_value()?);
        }
        Ok(Node::Table(table))
    }
}

/// A JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct Document(Node);

impl Document {
    /// Reads the text.
    ///
    /// # Errors
    /// What is no JSON in it, with line and column.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Some editors put a byte order mark in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        serde_json::from_str(text).map(Self).map_err(|error| format!("is no valid JSON: {error}"))
    }

    /// The table that the text is.
    ///
    /// # Errors
    /// If it is something else.
    pub fn table(&self) -> Result<Table<'_>, String> {
        Value { node: &self.0, path: String::new() }.table()
    }
}

/// What errors begin with: nothing for the whole file.
fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// A value with its path in the file.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    node: &'a Node,
    path: String,
}

impl<'a> Value<'a> {
    /// Where it stands: `Config[3].Plane`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The error that something else is expected here.
    pub fn refuse<T>(&self, expected: &str) -> Result<T, String> {
        Err(format!("{}found {}, expected {expected}", prefix(&self.path), self.node))
    }

    /// A whole number in a range.
    ///
    /// # Errors
    /// If it is none.
    pub fn whole(&self, range: RangeInclusive<i64>) -> Result<i64, String> {
        match self.node {
            Node::Whole(number) if range.contains(number) => Ok(*number),
            _ => self.refuse(&format!("a whole number in {}..={}", range.start(), range.end())),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// If it is none.
    pub fn number(&self) -> Result<f64, String> {
        match self.node {
            Node::Whole(number) => Ok(*number as f64),
            Node::Number(number) if number.is_finite() => Ok(*number),
            _ => self.refuse("a number"),
        }
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn flag(&self) -> Result<bool, String> {
        match self.node {
            Node::Flag(flag) => Ok(*flag),
            _ => self.refuse("true or false"),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// If it is none.
    pub fn text(&self) -> Result<&'a str, String> {
        match self.node {
            Node::Text(text) => Ok(text),
            _ => self.refuse("a text"),
        }
    }

    /// The values of a list.
    ///
    /// # Errors
    /// If it is none.
    pub fn list(&self) -> Result<Vec<Value<'a>>, String> {
        let Node::List(list) = self.node else { return self.refuse("a list") };
        let value = |(index, node)| Value { node, path: format!("{}[{index}]", self.path) };
        Ok(list.iter().enumerate().map(value).collect())
    }

    /// A table.
    ///
    /// # Errors
    /// If it is none.
    pub fn table(&self) -> Result<Table<'a>, String> {
        match self.node {
            Node::Table(keys) => Ok(Table { keys, path: self.path.clone() }),
            _ => self.refuse("a table { … }"),
        }
    }

    /// As it is written, for messages.
    pub fn shown(&self) -> String {
        self.node.to_string()
    }
}

/// A table with its path in the file.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    keys: &'a BTreeMap<String, Node>,
    path: String,
}

impl<'a> Table<'a> {
    /// Where it stands; nothing for the whole file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value of a key, if there is one.
    pub fn optional(&self, key: &str) -> Option<Value<'a>> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let value = |node| Value { node, path: format!("{}{dot}{key}", self.path) };
        self.keys.get(key).map(value)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// If there is none: says which keys there are.
    pub fn required(&self, key: &str) -> Result<Value<'a>, String> {
        self.optional(key).ok_or_else(|| {
            let keys: Vec<_> = self.keys().take(8).collect();
            let (keys, more) = (keys.join(", "), if self.keys.len() > 8 { " …" } else { "" });
            let found = if keys.is_empty() { "an empty table".to_owned() } else { format!("{keys}{more}") };
            format!("{}the key {key} is missing: found {found}", prefix(&self.path))
        })
    }

    /// Its keys, in the order of the alphabet.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.keys.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_where_they_are_what_was_found_and_what_is_expected() {
        let document = Document::parse(r#"{"a": [{"b": 5, "c": "x"}, {"b": true}], "d": 1.5}"#).unwrap();
        let file = document.table().unwrap();
        let list = file.required("a").unwrap().list().unwrap();
        let entry = list[0].table().unwrap();
        let found = |result: Result<i64, String>| result.unwrap_err();
        assert_eq!(
            found(entry.required("b").unwrap().whole(0..=1)),
            "a[0].b: found 5, expected a whole number in 0..=1"
        );
        assert_eq!(
            found(entry.required("c").unwrap().whole(0..=1)),
            "a[0].c: found \"x\", expected a whole number in 0..=1"
        );
        assert_eq!(entry.required("e").unwrap_err(), "a[0]: the key e is missing: found b, c");
        assert_eq!(list[1].text().unwrap_err(), "a[1]: found a table, expected a text");
        assert_eq!(file.required("d").unwrap().table().unwrap_err(), "d: found 1.5, expected a table { … }");
        assert_eq!(
            Document::parse("[]").unwrap().table().unwrap_err(),
            "found a list of 0, expected a table { … }"
        );
    }

    #[test]
    fn what_is_no_json_has_line_and_column() {
        for (text, expected) in [
            ("{\n  \"a\": 1,\n  \"a\": 2}", "the key \"a\" stands twice in a table at line 3 column 5"),
            ("{\"a\": NaN}", "expected value at line 1 column 7"),
            ("{\"a\": 1e999}", "number out of range at line 1 column 1"),
            ("{\"a\": [1, 2}", "expected `,` or `]` at line 1 column 12"),
            ("{} x", "trailing characters at line 1 column 4"),
            ("", "EOF while parsing a value at line 1 column 0"),
        ] {
            let error = Document::parse(text).unwrap_err();
            assert!(
                error.starts_with(&format!("is no valid JSON: {expected}")),
                "{error}\n  expected {expected}"
            );
        }
        assert!(Document::parse(&"[".repeat(1 << 20)).unwrap_err().contains("recursion limit"));
        assert!(Document::parse("\u{feff}{}").is_ok(), "a byte order mark");
    }
}

//! Where each value of a configuration comes from: which line of the file, or what overrode it.

use crate::CommonConfig;
use crate::detectors::SECTIONS;
use crate::document::{place_of, spelled_out};
use evforge_control::{ConfiguredValue, ValueOrigin};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

impl CommonConfig {
    /// Every value that somebody has given, in the order of the keys. `named` are the overrides (`key=value`) that did not come
    /// from `--set`, with the option or variable that they came from; outputs that the command line asks for are among the
    /// values, too, as of an option. What is not listed has its default.
    pub fn values(&self, named: &[(String, String)]) -> Vec<ConfiguredValue> {
        let mut table: Table = self.text.parse().unwrap_or_default();
        let outputs: Table = self.outputs.clone().into_iter().collect();
        if !outputs.is_empty() {
            table.insert("outputs".into(), Value::Table(outputs));
        }
        let lines = lines(&self.file_text);
        let mut found = Vec::new();
        for (key, value) in leaves(Value::Table(table)) {
            let origin = self.origin(&key, &value, named, &lines);
            found.push(ConfiguredValue { key, value: value.to_string(), origin });
        }
        found.sort_by(|one, other| one.key.cmp(&other.key));
        found
    }

    fn origin(
        &self,
        key: &str,
        value: &Value,
        named: &[(String, String)],
        lines: &[(String, usize, String)],
    ) -> ValueOrigin {
        // The last one that says something of this key holds.
        let table: Table = self.file_text.parse().unwrap_or_default();
        let overridden = self.overrides.iter().rev().find(|assignment| {
            let assignment = spelled_out(&table, assignment, &SECTIONS);
            let set = assignment.split_once('=').map_or("", |(set, _)| set.trim());
            let rest = key.strip_prefix(set);
            !set.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        if let Some(assignment) = overridden {
            let option = named.iter().find(|(known, _)| known == assignment);
            return option.map_or(ValueOrigin::Set, |(_, option)| ValueOrigin::Option(option.clone()));
        }
        let written = value.to_string();
        match lines.iter().find(|(known, ..)| known == key) {
            Some((_, line, text)) if *text == written || !key.starts_with("outputs.") => {
                ValueOrigin::File { line: *line }
            }
            _ => ValueOrigin::Option("of the command line or the environment".into()),
        }
    }
}

/// Every value that is no table and no list of tables, with its key.
fn leaves(value: Value) -> Vec<(String, Value)> {
    fn walk(value: Value, key: &str, found: &mut Vec<(String, Value)>) {
        match value {
            Value::Table(table) => {
                for (name, value) in table {
                    let key = if key.is_empty() { name } else { format!("{key}.{name}") };
                    walk(value, &key, found);
                }
            }
            Value::Array(list) if list.iter().any(Value::is_table) => {
                for (index, value) in list.into_iter().enumerate() {
                    walk(value, &format!("{key}[{index}]"), found);
                }
            }
            value => found.push((key.to_owned(), value)),
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

/// The same of the text of a file, with the line of each value, counted from 1, and the value as [`leaves`] writes it.
fn lines(text: &str) -> Vec<(String, usize, String)> {
    fn walk(text: &str, value: &toml::Spanned<DeValue<'_>>, key: &str, found: &mut Vec<(String, usize)>) {
        match value.get_ref() {
            DeValue::Table(table) => {
                for (name, value) in table {
                    walk(text, value, &format!("{key}.{}", name.get_ref()), found);
                }
            }
            DeValue::Array(list) if list.iter().any(|value| matches!(value.get_ref(), DeValue::Table(_))) => {
                for (index, value) in list.iter().enumerate() {
                    walk(text, value, &format!("{key}[{index}]"), found);
                }
            }
            _ => found.push((key.to_owned(), place_of(text, value.span().start).0)),
        }
    }
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in root.get_ref() {
        walk(text, value, name.get_ref(), &mut found);
    }
    let values: std::collections::BTreeMap<String, String> =
        leaves(Value::Table(text.parse().unwrap_or_default()))
            .into_iter()
            .map(|(key, value)| (key, value.to_string()))
            .collect();
    found
        .into_iter()
        .map(|(key, line)| {
            let written = values.get(&key).cloned().unwrap_or_default();
            (key, line, written)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_value_is_of_a_line_an_override_or_an_option() {
        let text = "name = \"Test\"\n\n[input]\nthreads = 1\npackets_per_slab = 64\n\n[[change]]\nat_ns = 5\nkey = \"a\"\nvalue = 40\n\n[outputs.csv]\nfile = \"a.csv\"\n";
        let set = ["input.threads=2", "control.command_port=\"127.0.0.1:1\""].map(str::to_owned);
        let mut config = CommonConfig::parse(Path::new("test.toml"), text, &set).unwrap();
        config.set_output("csv", "file", "b.csv");
        config.set_output("image", "file", "c.png");
        let named = [(set[1].clone(), "--command-port".to_owned())];
        let values = config.values(&named);
        let origin =
            |key: &str| values.iter().find(|value| value.key == key).map(|value| value.origin.clone());
        assert_eq!(origin("name"), Some(ValueOrigin::File { line: 1 }));
        assert_eq!(origin("input.packets_per_slab"), Some(ValueOrigin::File { line: 5 }));
        assert_eq!(origin("change[0].value"), Some(ValueOrigin::File { line: 10 }));
        assert_eq!(origin("input.threads"), Some(ValueOrigin::Set));
        assert_eq!(origin("control.command_port"), Some(ValueOrigin::Option("--command-port".into())));
        assert!(matches!(origin("outputs.csv.file"), Some(ValueOrigin::Option(_))));
        assert!(matches!(origin("outputs.image.file"), Some(ValueOrigin::Option(_))));
        assert_eq!(origin("receive.address"), None, "it has its default");
    }
}

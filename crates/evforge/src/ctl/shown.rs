//! Answers as people read them.

use serde_json::Value;
use std::fmt::Write as _;

/// A value in words: a text without quotes.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Rows of a table, with columns as wide as they have to be.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

pub(super) fn state(answer: &Value) -> String {
    let mut rows: Vec<Vec<String>> = [
        ("instrument", "instrument"),
        ("seconds", "elapsed_s"),
        ("input", "input"),
        ("packets", "packets"),
        ("lost", "packets_lost"),
        ("events", "events"),
        ("calibration", "calibration_mode"),
    ]
    .iter()
    .map(|(name, key)| vec![(*name).to_owned(), words(&answer[*key])])
    .collect();
    for output in list(&answer["outputs"]) {
        let failure = output["failure"].as_str().map_or_else(String::new, |why| format!(", FAILED: {why}"));
        rows.push(vec![
            "output".into(),
            format!("{}: {} events{failure}", words(&output["id"]), output["accepted"]),
        ]);
    }
    rows.extend(list(&answer["alarms"]).iter().map(|alarm| vec!["ALARM".to_owned(), words(alarm)]));
    table(&rows)
}

pub(super) fn counters(answer: &Value) -> String {
    table(&list(answer).iter().map(row_of_counter).collect::<Vec<_>>())
}

fn row_of_counter(counter: &Value) -> Vec<String> {
    ["name", "value", "unit"].iter().map(|key| words(&counter[*key])).collect()
}

pub(super) fn counter(answer: &Value) -> String {
    format!("{}\n", words(&answer["value"]))
}

pub(super) fn configuration(answer: &Value) -> String {
    let text = words(&answer["text"]);
    if text.ends_with('\n') { text } else { text + "\n" }
}

pub(super) fn origins(answer: &Value) -> String {
    let path = words(&answer["path"]);
    let origin = |value: &Value| match value["origin"].as_str() {
        Some("file") => format!("{path}:{}", value["line"]),
        Some("set") => "--set".to_owned(),
        _ => words(&value["option"]),
    };
    let row = |value: &Value| vec![words(&value["key"]), words(&value["value"]), origin(value)];
    let rows: Vec<_> = list(&answer["values"]).iter().map(row).collect();
    format!("{}everything else has its default (docs/configuration.md)\n", table(&rows))
}

pub(super) fn parameters(answer: &Value) -> String {
    let row = |parameter: &Value| {
        let range = format!("0 to {} {}", parameter["largest"], words(&parameter["unit"]));
        vec![words(&parameter["key"]), words(&parameter["value"]), range, words(&parameter["help"])]
    };
    let rows: Vec<_> = list(answer).iter().map(row).collect();
    if rows.is_empty() { "nothing can be changed while this run goes on\n".to_owned() } else { table(&rows) }
}

pub(super) fn changes(answer: &Value) -> String {
    let line = |change: &Value| {
        let restarts = match change["restarts"].as_u64() {
            Some(0) | None => String::new(),
            Some(restarts) => format!(" after {restarts} restarts of a clock"),
        };
        format!("{} = {} from {} ns{restarts} on\n", words(&change["key"]), change["value"], change["at_ns"])
    };
    list(&answer["changes"]).iter().map(line).collect()
}

pub(super) fn switch(answer: &Value) -> String {
    if answer["on"] == true { "on\n".to_owned() } else { "off\n".to_owned() }
}

pub(super) fn done(_: &Value) -> String {
    "done\n".to_owned()
}

fn rows_of_run(run: &Value) -> Vec<Vec<String>> {
    let files: Vec<String> = list(&run["files"]).iter().map(words).collect();
    vec![
        vec!["run".into(), words(&run["number"])],
        vec!["title".into(), words(&run["title"])],
        vec!["files".into(), files.join(", ")],
        vec!["began".into(), format!("{} ns since 1970", run["began_unix_ns"])],
    ]
}

pub(super) fn run(answer: &Value) -> String {
    table(&rows_of_run(answer))
}

pub(super) fn run_end(answer: &Value) -> String {
    let mut rows = rows_of_run(&answer["run"]);
    rows.push(vec!["ended".into(), format!("{} ns since 1970", answer["ended_unix_ns"])]);
    rows.push(vec!["outcome".into(), words(&answer["outcome"])]);
    table(&rows)
}

pub(super) fn runs(answer: &Value) -> String {
    let mut rows = vec![
        vec!["phase".to_owned(), words(&answer["phase"])],
        vec!["runs".to_owned(), words(&answer["runs"])],
    ];
    if answer["run"].is_object() {
        rows.extend(rows_of_run(&answer["run"]));
    }
    let last = &answer["last"];
    if last.is_object() {
        rows.push(vec![
            "last".into(),
            format!("{}: {}", words(&last["run"]["title"]), words(&last["outcome"])),
        ]);
    }
    table(&rows)
}

pub(super) fn log_groups(answer: &Value) -> String {
    let row = |group: &Value| ["name", "level", "help"].iter().map(|key| words(&group[*key])).collect();
    table(&list(answer).iter().map(row).collect::<Vec<_>>())
}

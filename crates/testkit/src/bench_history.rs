//! The history of benchmarks: tables in `docs/benchmarks`, to which `make bench` adds a row for each figure.
//!
//! Nothing else adds rows: a bench that is started otherwise, or a test of it, has no [`RUN`] and keeps nothing. The columns
//! are declared in `docs/benchmarks/columns.json`, for `scripts/compare-speed.py` as well.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The variable by which `make bench` says that figures are kept: date and commit, `2026-11-23 0d2f07c`.
pub const RUN: &str = "EVFORGE_BENCH_RUN";
/// The table of absolute figures.
pub const FIGURES: &str = "figures.csv";
/// The table of ratios of two builds, which `scripts/compare-speed.py --keep` adds to.
pub const PAIRS: &str = "pairs.csv";

/// The folder with the tables.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks")
}

/// A column: its name, and what is in it.
pub type Column = (String, String);

/// The declared columns of a table; none if there is no such table.
///
/// # Panics
/// If the declaration cannot be read.
pub fn columns(table: &str) -> Option<Vec<Column>> {
    let text = std::fs::read_to_string(folder().join("columns.json")).expect("docs/benchmarks/columns.json");
    let tables: std::collections::BTreeMap<String, Vec<Column>> =
        serde_json::from_str(&text).expect("tables with columns");
    tables.get(table).cloned()
}

/// A figure that a bench has found.
#[derive(Clone, Copy, Debug)]
pub struct Figure<'a> {
    /// The bench.
    pub bench: &'a str,
    /// What was measured: capture, configuration, size.
    pub case: &'a str,
    /// What of it.
    pub figure: &'a str,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: &'a str,
    /// Keys per second of the yardstick in the same minute, where it was taken.
    pub keys_per_second: Option<f64>,
}

impl Figure<'_> {
    /// The row of a run, with the end of its line.
    fn row(&self, date: &str, commit: &str) -> String {
        let mut row = format!("{date},{commit}");
        for name in [self.bench, self.case, self.figure] {
            // Writing to a string cannot fail.
            let _ = write!(row, ",{}", quoted(name));
        }
        let keys = self.keys_per_second.map_or_else(String::new, |keys| format!("{:.1}", keys / 1e6));
        let _ = writeln!(row, ",{},{},{keys}", significant(self.value), quoted(self.unit));
        row
    }
}

/// Adds a figure to the history, if this is a run of `make bench`.
///
/// # Panics
/// If the table cannot be written: a figure that is missing would not be noticed.
pub fn keep(figure: &Figure<'_>) {
    let Ok(run) = std::env::var(RUN) else { return };
    let Some((date, commit)) = run.split_once(' ') else { return };
    let path = folder().join(FIGURES);
    let names: Vec<String> = columns(FIGURES).expect("declared").into_iter().map(|(name, _)| name).collect();
    let header = if path.exists() { String::new() } else { names.join(",") + "\n" };
    let text = header + &figure.row(date, commit);
    let table = OpenOptions::new().append(true).create(true).open(&path);
    table.and_then(|mut table| table.write_all(text.as_bytes())).expect("docs/benchmarks/figures.csv");
}

/// Four digits: more are noise.
fn significant(value: f64) -> String {
    let digits = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.digits$}")
}

/// A name as a field of CSV.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

/// The fields of a line of CSV.
pub fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut is_quoted) = (vec![String::new()], false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                fields.last_mut().expect("never empty").push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            letter => fields.last_mut().expect("never empty").push(letter),
        }
    }
    fields
}

/// What is wrong with a table of this name, in words: its header, and every row that is not sound.
pub fn problems(table: &str, text: &str) -> Vec<String> {
    let Some(columns) = columns(table) else {
        return vec![format!("{table} is not declared in columns.json")];
    };
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut problems = Vec::new();
    if text.lines().next() != Some(&names.join(",")) {
        problems.push(format!("{table}: the header is not {}", names.join(",")));
    }
    if !text.ends_with('\n') {
        problems.push(format!("{table}: the last line is not whole"));
    }
    for (number, line) in text.lines().enumerate().skip(1) {
        let found = fields(line);
        if found.len() != columns.len() {
            problems.push(format!(
                "{table}:{}: {} fields instead of {}",
                number + 1,
                found.len(),
                columns.len()
            ));
        }
        for (field, (name, kind)) in found.iter().zip(&columns) {
            if !is_sound(field, kind) {
                problems.push(format!("{table}:{}: {name} is `{field}`, expected a {kind}", number + 1));
            }
        }
    }
    problems
}

/// True if a field is what its column declares.
fn is_sound(field: &str, kind: &str) -> bool {
    let is_digits =
        |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    match kind {
        "day" => {
            let parts: Vec<&str> = field.split('-').collect();
            parts.len() == 3 && is_digits(parts[0], 4) && is_digits(parts[1], 2) && is_digits(parts[2], 2)
        }
        "commit" => (7..=40).contains(&field.len()) && field.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "name" => !field.trim().is_empty(),
        "number" => field.parse::<f64>().is_ok_and(|value| value.is_finite() && value >= 0.0),
        "number or nothing" => field.is_empty() || is_sound(field, "number"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: Figure<'static> = Figure {
        bench: "forming",
        case: "SoNDe, one module",
        figure: "time",
        value: 8.3456,
        unit: "ns/readout",
        keys_per_second: Some(88.24e6),
    };

    #[test]
    fn rows_are_sound_and_read_back() {
        let row = FIGURE.row("2026-11-23", "0d2f07c");
        assert_eq!(row, "2026-11-23,0d2f07c,forming,\"SoNDe, one module\",time,8.346,ns/readout,88.2\n");
        assert_eq!(fields(row.trim_end())[3], FIGURE.case);
        let without =
            Figure { keys_per_second: None, value: 1578.2e3, ..FIGURE }.row("2026-11-23", "0d2f07c");
        assert!(without.ends_with(",1578200,ns/readout,\n"), "{without}");
        let names: Vec<String> = columns(FIGURES).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(problems(FIGURES, &format!("{}\n{row}{without}", names.join(","))), [""; 0]);
    }

    #[test]
    fn rows_that_are_not_sound_are_named() {
        let names: Vec<String> = columns(FIGURES).unwrap().into_iter().map(|(name, _)| name).collect();
        let header = names.join(",");
        for (row, expected) in [
            ("23.11.2026,0d2f07c,a,b,c,1,ns,2\n", "figures.csv:2: date is `23.11.2026`, expected a day"),
            ("2026-11-23,0d2f07c+,a,b,c,1,ns,2\n", "figures.csv:2: commit is `0d2f07c+`, expected a commit"),
            ("2026-11-23,0d2f07c,a,b,c,NaN,ns,\n", "figures.csv:2: value is `NaN`, expected a number"),
            ("2026-11-23,0d2f07c,a,b,1,ns,2\n", "figures.csv:2: 7 fields instead of 8"),
            ("2026-11-23,0d2f07c,a,b,c,1,ns,2", "figures.csv: the last line is not whole"),
        ] {
            let found = problems(FIGURES, &format!("{header}\n{row}"));
            assert_eq!(found.first().map(String::as_str), Some(expected));
        }
        assert_eq!(problems(FIGURES, "a,b\n").len(), 1);
        assert_eq!(problems("other.csv", ""), ["other.csv is not declared in columns.json"]);
    }

    /// The tables of the repository.
    #[test]
    fn all_tables_have_their_declared_columns_and_sound_rows() {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "csv") {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                found.extend(problems(&name, &std::fs::read_to_string(&path).unwrap()));
            }
        }
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn the_document_tells_every_column() {
        let text = std::fs::read_to_string(folder().join("README.md")).unwrap();
        for (name, _) in [FIGURES, PAIRS].into_iter().flat_map(|table| columns(table).unwrap()) {
            assert!(text.contains(&format!("`{name}`")), "{name}");
        }
    }
}

//! A comparison for people.

use super::comparison::{ComparedTable, Comparison, Difference};
use crate::table::{Cell, Column};
use crate::text::{aligned, shown};
use std::fmt::Write as _;

/// The comparison: facts that differ, tables, what only one has, and how many figures differ.
pub fn to_text(comparison: &Comparison) -> String {
    let [a, b] = &comparison.began;
    let mut text = format!("evforge measure {}: A of {a}, B of {b}\n\n", comparison.kind);
    text += &facts(comparison);
    for loaded in &comparison.loaded {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{loaded}");
    }
    for table in &comparison.tables {
        text.push('\n');
        text += &of_table(table);
    }
    if !comparison.only_one.is_empty() {
        text.push('\n');
    }
    for sentence in &comparison.only_one {
        let _ = writeln!(text, "{sentence}");
    }
    let count = |difference| comparison.count(difference);
    let _ = writeln!(
        text,
        "\n{} figures compared: {} equal, {} within noise, {} different, {} without an interval",
        comparison.tables.iter().map(|table| table.rows.len()).sum::<usize>(),
        count(Difference::Equal),
        count(Difference::WithinNoise),
        count(Difference::Different),
        count(Difference::NoInterval)
    );
    text
}

fn facts(comparison: &Comparison) -> String {
    if comparison.facts.is_empty() {
        return "Measured with the same host, program and settings, as far as the fingerprint tells.\n"
            .to_owned();
    }
    let headings = ["What differs", "", "A", "B"].map(str::to_owned);
    let absent = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
    let rows: Vec<Vec<String>> = comparison
        .facts
        .iter()
        .map(|fact| vec![fact.part.clone(), fact.name.clone(), absent(&fact.a), absent(&fact.b)])
        .collect();
    aligned(&headings, &rows, &[true; 4])
}

fn of_table(table: &ComparedTable) -> String {
    let keys = |cells: &[Cell]| -> Vec<String> {
        cells.iter().zip(&table.keys).map(|(cell, column)| shown(cell, column)).collect()
    };
    let mut headings: Vec<String> = table.keys.iter().map(Column::heading).collect();
    headings.extend(["Figure", "A", "B", "B / A", ""].map(str::to_owned));
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|cell| {
            let mut row = keys(&cell.keys);
            let ratio = cell.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.4}"));
            let [a, b] = [&cell.a, &cell.b].map(|one| shown(one, &cell.column));
            row.extend([cell.column.heading(), a, b, ratio, cell.difference.words().to_owned()]);
            row
        })
        .collect();
    let is_text = |place: usize| place >= table.keys.len() && [0, 4].contains(&(place - table.keys.len()));
    let are_texts: Vec<bool> = (0..headings.len()).map(is_text).collect();
    let mut text = format!("{}\n{}", table.title, aligned(&headings, &rows, &are_texts));
    for (name, only) in [("A", &table.only_a), ("B", &table.only_b)] {
        for cells in only {
            let named: Vec<String> = table
                .keys
                .iter()
                .zip(keys(cells))
                .map(|(column, key)| format!("{} {key}", column.heading()))
                .collect();
            let _ = writeln!(text, "  only {name} has {}", named.join(", "));
        }
    }
    text
}

//! Results for a terminal.

use crate::measurement::Measurement;
use crate::table::{Cell, Column, Table};
use std::fmt::Write as _;

/// A result: verdict, findings, tables, what it cannot show.
pub fn of(result: &Measurement) -> String {
    let mut text = format!("{}\n\n", result.title);
    for table in &result.tables {
        text += &of_table(table);
        text.push('\n');
    }
    for finding in &result.findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{finding}");
    }
    for limit in &result.limits {
        let _ = writeln!(text, "Note: {limit}");
    }
    let word = if result.verdict.is_good { "GOOD" } else { "NOT GOOD" };
    let _ = writeln!(text, "{word}: {}", result.verdict.sentence);
    text
}

/// A table with its title.
pub fn of_table(table: &Table) -> String {
    let headings: Vec<String> = table.columns.iter().map(Column::heading).collect();
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| row.iter().zip(&table.columns).map(|(cell, column)| shown(cell, column)).collect())
        .collect();
    let is_text = |place: usize| table.rows.iter().any(|row| matches!(row.get(place), Some(Cell::Text(_))));
    let are_texts: Vec<bool> = (0..headings.len()).map(is_text).collect();
    format!("{}\n{}", table.title, aligned(&headings, &rows, &are_texts))
}

/// Rows below headings, numbers to the right, texts to the left; what is last is not filled.
pub(crate) fn aligned(headings: &[String], rows: &[Vec<String>], are_texts: &[bool]) -> String {
    let width = |place: usize| {
        let of_rows = rows.iter().filter_map(|row| row.get(place)).chain(headings.get(place));
        of_rows.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let mut text = String::new();
    for row in std::iter::once(headings).chain(rows.iter().map(Vec::as_slice)) {
        let mut line = String::new();
        for ((cell, width), is_text) in row.iter().zip(&widths).zip(are_texts) {
            let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
            line += &if *is_text { format!("  {cell}{fill}") } else { format!("  {fill}{cell}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A cell as a person reads it: `1.20`, `4.0e-1 (3.9e-1 to 4.1e-1)`, `none (< 3.0e-6)`.
pub(crate) fn shown(cell: &Cell, column: &Column) -> String {
    match cell {
        Cell::Number(value) => number(*value, column.decimals),
        Cell::Measured { high, .. } if cell.is_upper_bound() => {
            format!("none (< {})", number(*high, column.decimals))
        }
        Cell::Measured { value, low, high } => {
            let [value, low, high] = [*value, *low, *high].map(|value| number(value, column.decimals));
            format!("{value} ({low} to {high})")
        }
        Cell::Text(text) => text.clone(),
        Cell::Missing => "–".to_owned(),
    }
}

/// A number with these decimals, or with four significant digits; very small and large ones with a power of ten.
pub(crate) fn number(value: f64, decimals: Option<u8>) -> String {
    let size = value.abs();
    match decimals {
        Some(decimals) => format!("{value:.*}", usize::from(decimals)),
        None if size == 0.0 => "0".to_owned(),
        None if !(1e-3..1e7).contains(&size) => format!("{value:.2e}"),
        None => {
            let before = size.log10().floor() as i32;
            format!("{value:.*}", (3 - before).max(0) as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_none_says_below_what() {
        let found =
            [0.0, 0.25, 14.880_952, 1234.5, 6.1e-6, 3.42e-13, 2.92e12].map(|value| number(value, None));
        assert_eq!(found, ["0", "0.2500", "14.88", "1234", "6.10e-6", "3.42e-13", "2.92e12"]);
        let column = Column::measured("per", "PER", "");
        let bound = Cell::Measured { value: 0.0, low: 0.0, high: 3e-6 };
        assert_eq!(shown(&bound, &column), "none (< 3.00e-6)");
        let measured = Cell::Measured { value: 0.4, low: 0.39, high: 0.41 };
        assert_eq!(shown(&measured, &column.decimals(2)), "0.40 (0.39 to 0.41)");
    }

    #[test]
    fn columns_are_aligned() {
        let columns = vec![Column::key("a", "Size", "B").decimals(0), Column::exact("b", "Why", "")];
        let mut table = Table::new("t", "Title", columns);
        table.rows =
            vec![vec![Cell::Number(64.0), Cell::text("x")], vec![Cell::Number(1024.0), Cell::Missing]];
        assert_eq!(of_table(&table), "Title\n  Size (B)  Why\n        64  x\n      1024  –\n");
    }
}

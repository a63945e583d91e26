//! Tables as CSV (RFC 4180).

use crate::table::{Cell, Column, Role, Table};

/// A table as CSV: a line of headings with units in brackets, `rate [Mpps]`, then the rows. A column in which a cell has an interval is
/// followed by its ends, `rate low [Mpps]` and `rate high [Mpps]`. Numbers have all of their digits.
pub fn of(table: &Table) -> String {
    let has_interval = |place: usize| {
        table.rows.iter().any(|row| row.get(place).is_some_and(|cell| cell.interval().is_some()))
    };
    let intervals: Vec<bool> = (0..table.columns.len()).map(has_interval).collect();
    let mut text = String::new();
    let mut heading = Vec::new();
    for (column, has_interval) in table.columns.iter().zip(&intervals) {
        heading.push(named(column, ""));
        if *has_interval {
            heading.extend([" low", " high"].map(|end| named(column, end)));
        }
    }
    line(&mut text, heading.into_iter());
    for row in &table.rows {
        let mut fields = Vec::new();
        for ((cell, has_interval), column) in row.iter().zip(&intervals).zip(&table.columns) {
            fields.push(field(cell, column));
            if *has_interval {
                let ends = cell.interval();
                fields.extend(
                    [ends.map(|(low, _)| low), ends.map(|(_, high)| high)]
                        .map(|end| end.map(|end| end.to_string()).unwrap_or_default()),
                );
            }
        }
        line(&mut text, fields.into_iter());
    }
    text
}

fn named(column: &Column, end: &str) -> String {
    match column.unit.as_str() {
        "" => format!("{}{end}", column.name),
        unit => format!("{}{end} [{unit}]", column.name),
    }
}

fn field(cell: &Cell, column: &Column) -> String {
    match cell {
        // Keys are numbers that somebody has typed.
        Cell::Number(value) if column.role == Role::Key && value.fract() == 0.0 => format!("{value:.0}"),
        Cell::Number(value) | Cell::Measured { value, .. } => value.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Missing => String::new(),
    }
}

fn line(text: &mut String, fields: impl Iterator<Item = String>) {
    for (number, field) in fields.enumerate() {
        if number > 0 {
            text.push(',');
        }
        match field.contains([',', '"', '\n', '\r']) {
            true => *text += &format!("\"{}\"", field.replace('"', "\"\"")),
            false => *text += &field,
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_columns_of_their_own_and_texts_are_quoted_where_they_must_be() {
        let columns = vec![
            Column::key("size", "Size", "B"),
            Column::measured("lost", "Lost", ""),
            Column::exact("why", "Why", ""),
        ];
        let mut table = Table::new("t", "", columns);
        table.rows = vec![
            vec![
                Cell::Number(64.0),
                Cell::Measured { value: 0.0, low: 0.0, high: 3e-6 },
                Cell::text("a, \"b\""),
            ],
            vec![Cell::Number(128.0), Cell::Number(0.25), Cell::Missing],
        ];
        assert_eq!(
            of(&table),
            "size [B],lost,lost low,lost high,why\n64,0,0,0.000003,\"a, \"\"b\"\"\"\n128,0.25,,,\n"
        );
    }
}

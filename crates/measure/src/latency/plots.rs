//! The plots of latencies: half and 99 % of the events, against load.

use super::series::Stage;
use super::table::is_loss_free;
use crate::error::MeasureError;
use crate::plot::{Axis, Line, MOST_MEASURED, Plot};
use crate::table::{Cell, Table};

/// Two for each configuration, with a line for each destination and stage: as many as can be told apart.
pub(super) fn all(table: &Table) -> Result<Vec<Plot>, MeasureError> {
    let mut plots = Vec::new();
    for name in values(table, "configuration") {
        for (column, share) in [("p50", "Half"), ("p99", "99 %")] {
            let mut plot = Plot::new(
                &format!("{name}-{column}"),
                &format!("{share} of the events, {name}"),
                Axis::logarithmic("Packets", "kpps"),
                Axis::logarithmic("From arrival", "ms"),
            )
            .captioned(
                "Points without loss only. Bars: the median over rounds is in them with 95 % confidence.",
            );
            for into in values(table, "into") {
                for stage in Stage::ALL {
                    let is_of = |row: &[Cell]| {
                        row.first() == Some(&Cell::text(&name))
                            && row.get(1) == Some(&Cell::text(&into))
                            && row.get(3) == Some(&Cell::text(stage.name()))
                            && is_loss_free(table, row)
                    };
                    let line = Line::of_columns(
                        &format!("{into}: {}", stage.name()),
                        table,
                        ["rate", column],
                        is_of,
                    )?;
                    // Until events are handed on is the same whatever takes them: shown of `nothing` if that was measured.
                    let is_shown = stage != Stage::Event || into == first(table, &name).unwrap_or_default();
                    if is_shown && !line.points.is_empty() && plot.lines.len() < MOST_MEASURED {
                        plot = plot.with(line);
                    }
                }
            }
            plots.push(plot);
        }
    }
    Ok(plots)
}

/// The first destination of a configuration.
fn first(table: &Table, name: &str) -> Option<String> {
    let row = table.rows.iter().find(|row| row.first() == Some(&Cell::text(name)))?;
    text(row.get(1)?)
}

/// The texts in a column, each once.
fn values(table: &Table, column: &str) -> Vec<String> {
    let Some(place) = table.column(column) else { return Vec::new() };
    let mut values: Vec<String> = Vec::new();
    for value in table.rows.iter().filter_map(|row| text(row.get(place)?)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.clone()),
        _ => None,
    }
}

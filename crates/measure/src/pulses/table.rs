//! The table of peaks.

use super::filling::fillings;
use crate::table::{Cell, Column, Table};
use evforge_lab::measured_pulses::{FoundPeak, SearchedPulses};

/// A row for each point.
pub(super) fn points(points: &[SearchedPulses]) -> Table {
    let columns = vec![
        Column::key("size", "User data", "B").decimals(0),
        Column::key("work", "Work for each packet", "us").decimals(1),
        Column::key("peak_factor", "Peak factor", "").decimals(1),
        Column::key("buffer", "Buffer asked for", "kB").decimals(1),
        Column::measured("truesize", "Of the buffer for each packet", "B").decimals(0),
        Column::measured("served", "Served", "kpps").decimals(1),
        Column::measured("reliable", "Relation: can be relied on", "kpps").decimals(1),
        Column::measured("at_most", "Relation: at most", "kpps").decimals(1),
        Column::measured("found", "Highest peak received whole", "kpps").decimals(1),
        Column::measured("over_relation", "Found, over at most", "").decimals(2),
        Column::measured("filled", "Of twice the buffer, filled", "").decimals(2),
        Column::measured("limit", "Limited by", ""),
        Column::measured("whole_below", "Whole at 90 % of the peak", ""),
    ];
    let mut table = Table::new("peaks", "Highest peaks received whole", columns);
    table.rows = points.iter().map(row).collect();
    table
}

fn row(searched: &SearchedPulses) -> Vec<Cell> {
    let point = &searched.point;
    let thousands = |value: f64| Cell::Number(value / 1e3);
    let relation = searched.relation();
    let peaks = searched.peaks();
    let scaled = |by: f64| Cell::measured(&peaks.iter().map(|peak| peak / by).collect::<Vec<_>>());
    vec![
        Cell::Number(point.size as f64),
        Cell::Number(point.work.as_nanos() as f64 / 1e3),
        Cell::Number(point.pulses.peak_factor),
        Cell::Number(point.buffer as f64 / 1e3),
        Cell::Number(searched.receiver.truesize),
        searched.receiver.served.map_or(Cell::Missing, thousands),
        relation.map_or(Cell::Missing, |relation| thousands(relation.reliable)),
        relation.map_or(Cell::Missing, |relation| thousands(relation.at_most)),
        scaled(1e3),
        relation.map_or(Cell::Missing, |relation| scaled(relation.at_most)),
        Cell::measured(&fillings(searched)),
        Cell::text(limit(searched)),
        whole_below(searched),
    ]
}

/// What the peak is limited by.
fn limit(searched: &SearchedPulses) -> &'static str {
    match searched.relation() {
        None => "not known",
        Some(relation) if !relation.is_of_buffer => "mean rate",
        Some(_) if searched.rounds.iter().all(FoundPeak::is_of_sender) => "sender",
        Some(_) => "buffer",
    }
}

fn whole_below(searched: &SearchedPulses) -> Cell {
    let below = || searched.rounds.iter().filter_map(|round| round.below.as_ref());
    match below().count() {
        0 => Cell::Missing,
        all => {
            let whole = below().filter(|point| point.is_whole()).count();
            Cell::text(format!("{whole} of {all}"))
        }
    }
}

/// A point in a sentence.
pub(super) fn name(searched: &SearchedPulses) -> String {
    let point = &searched.point;
    format!(
        "{} B, work {:?}, peak factor {}, buffer {} B",
        point.size, point.work, point.pulses.peak_factor, point.buffer
    )
}

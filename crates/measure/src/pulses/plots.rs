//! The peaks that were found against the relation.

use crate::error::MeasureError;
use crate::plot::{Axis, Line, Look, MOST_MEASURED, Plot, Point};
use crate::table::{Cell, Table};
use evforge_lab::measured_pulses::PulsePlan;

/// A plot for each six sizes, as many as can be told apart, of those of which a peak was found.
pub(super) fn all(plan: &PulsePlan, table: &Table) -> Result<Vec<Plot>, MeasureError> {
    let mut lines = Vec::new();
    for &size in &plan.sizes {
        let chosen = |row: &[Cell]| row.first() == Some(&Cell::Number(size as f64));
        let line = Line::of_columns(&format!("{size} B"), table, ["at_most", "found"], chosen)?;
        if !line.points.is_empty() {
            lines.push(line);
        }
    }
    let plots = lines.chunks(MOST_MEASURED).zip(1..).map(|(lines, number)| {
        let plot = Plot::new(
            &format!("peaks-{number}"),
            "Highest peaks of pulses that are received whole",
            Axis::logarithmic("Peak by the relation, at most", "kpps"),
            Axis::logarithmic("Peak found", "kpps"),
        )
        .captioned(
            "Dashes: found as the relation says, with all of twice the buffer filled. The kernel gives memory back in steps of up to \
             a quarter of the buffer, so that points may lie below.",
        )
        .with(relation(lines));
        lines.iter().cloned().fold(plot, Plot::with)
    });
    Ok(plots.collect())
}

/// As far as the points go.
fn relation(lines: &[Line]) -> Line {
    let across = || lines.iter().flat_map(|line| &line.points).map(|point| point.x);
    let ends = [across().min_by(f64::total_cmp), across().max_by(f64::total_cmp)];
    let points = ends.into_iter().flatten().map(|end| Point::at(end, end)).collect();
    Line::new("relation", Look::Theory, points)
}

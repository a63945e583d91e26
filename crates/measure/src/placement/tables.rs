//! The tables and the plot of measured assignments.

use super::learned::{RuleFinding, RuleOutcome, Side};
use super::recommendation::is_loss_free;
use super::spread::{Figure, Spread};
use super::study::{PlacementStage, PlacementStudy};
use crate::counted::streams;
use crate::plot::{Axis, Line, Look, MOST_MEASURED, Plot, Point};
use crate::table::{Cell, Column, Table};
use evforge_core::quantity::grouped;
use evforge_lab::measured_link::{CoreShares, MeasuredPoint};
use evforge_lab::measured_streams::MeasuredStreams;
use evforge_lab::placement::{Assignment, MeasuredAssignment};
use std::collections::BTreeMap;
use std::time::Duration;

fn keys() -> Vec<Column> {
    vec![
        Column::key("streams", "Streams", "").decimals(0),
        Column::key("interrupt", "Interrupt", ""),
        Column::key("receiver", "Receiver", "").decimals(0),
        Column::key("workers", "Workers", ""),
    ]
}

fn key_cells(assignment: &Assignment) -> Vec<Cell> {
    vec![
        Cell::Number(assignment.streams() as f64),
        Cell::text(assignment.interrupt_text()),
        Cell::Number(assignment.receiver as f64),
        Cell::text(assignment.workers_text()),
    ]
}

/// Every assignment, the best one of its number of streams first.
pub(super) fn assignments(study: &PlacementStudy, work: Duration) -> Table {
    let figure = study.figure();
    let (name, unit) = match figure {
        Figure::Shortfall => ("Lost, or too slow by", ""),
        Figure::Rate => ("Highest rate without loss, per stream", "kpps"),
    };
    let mut columns = keys();
    columns.extend([
        Column::measured("rank", "Rank", "").decimals(0),
        Column::measured("figure", name, unit),
        Column::measured("loss_free_rounds", "Rounds without loss", ""),
        Column::measured("loss", "Lost", ""),
        Column::measured("sent_rate", "Sent, per stream", "kpps").decimals(1),
        Column::measured("received_rate", "Dealt with, per stream", "kpps").decimals(1),
        Column::measured("of_limit", "Highest rate, over that of the work", "%").decimals(1),
        Column::measured("locations", "Lost where", ""),
    ]);
    let mut table = Table::new("assignments", "Assignments to logical cores", columns);
    for stage in study.stages() {
        for (place, (measured, spread)) in stage.measured.iter().enumerate() {
            let mut row = key_cells(&measured.assignment);
            row.extend(figures(measured, *spread, figure, work));
            row.insert(4, Cell::Number(place as f64 + 1.0));
            table.rows.push(row);
        }
    }
    table
}

fn figures(
    measured: &MeasuredAssignment,
    spread: Option<Spread>,
    figure: Figure,
    work: Duration,
) -> Vec<Cell> {
    let rounds = || measured.rounds.iter().map(|round| &round.measured);
    let over_rounds = |of: fn(&MeasuredPoint) -> f64| {
        Cell::measured(&rounds().map(|round| of(&round.of_one())).collect::<Vec<_>>())
    };
    let sum = |count: fn(&MeasuredPoint) -> u64| {
        rounds().map(|round| round.sum(count)).fold(0, u64::saturating_add)
    };
    let once = || match figure {
        Figure::Shortfall => rounds().next().and_then(MeasuredStreams::shortfall),
        Figure::Rate => {
            measured.rounds.first().and_then(|round| round.found.as_ref()?.rate).map(|rate| rate / 1e3)
        }
    };
    let good = measured
        .rounds
        .iter()
        .filter(|round| {
            let one = MeasuredAssignment {
                assignment: measured.assignment.clone(),
                rounds: vec![(*round).clone()],
            };
            is_loss_free(&one, figure)
        })
        .count();
    vec![
        spread.map_or_else(|| once().map_or(Cell::Missing, Cell::Number), |spread| spread.cell(figure)),
        Cell::text(format!("{good} of {}", measured.rounds.len())),
        Cell::counted_share(sum(|stream| stream.lost), sum(|stream| stream.sent)),
        over_rounds(|point| point.sent_per_second / 1e3),
        over_rounds(|point| point.received_per_second / 1e3),
        Cell::measured(&of_limit(measured, work)),
        Cell::text(locations(measured)),
    ]
}

/// The rates found, in percent of what the work allows: one packet in its time. Nothing without work, or without a search.
pub(super) fn of_limit(measured: &MeasuredAssignment, work: Duration) -> Vec<f64> {
    if work.is_zero() {
        return Vec::new();
    }
    let rates = measured.rounds.iter().filter_map(|round| round.found.as_ref()?.rate);
    rates.map(|rate| 100.0 * rate * work.as_secs_f64()).collect()
}

/// Where packets were lost in all rounds.
pub(super) fn lost_where(measured: &MeasuredAssignment) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (location, packets) in measured.rounds.iter().flat_map(|round| round.measured.locations()) {
        *all.entry(location).or_insert(0_u64) += packets;
    }
    all
}

fn locations(measured: &MeasuredAssignment) -> String {
    let each: Vec<String> = lost_where(measured)
        .iter()
        .filter(|(_, packets)| **packets > 0)
        .map(|(location, packets)| format!("{} {location}", grouped(*packets)))
        .collect();
    if each.is_empty() { "nowhere".to_owned() } else { each.join(", ") }
}

/// What was held against the measurements, and what came of it.
pub(super) fn rules(study: &PlacementStudy) -> Table {
    let figure = study.figure();
    let unit = if figure == Figure::Rate { "kpps" } else { "" };
    let side = |name: &str, title: &str| {
        [
            Column::measured(&format!("{name}_count"), &format!("{title}: assignments"), "").decimals(0),
            Column::measured(&format!("{name}_best"), &format!("{title}: best"), unit),
            Column::measured(&format!("{name}_median"), &format!("{title}: median"), unit),
        ]
    };
    let mut columns = vec![
        Column::key("streams", "Streams", "").decimals(0),
        Column::key("rule", "Rule", ""),
        Column::measured("outcome", "Outcome", ""),
    ];
    columns.extend(side("followers", "Follow it"));
    columns.extend(side("breakers", "Break it"));
    let mut table = Table::new("rules", "Rules, held against the measurements", columns);
    for stage in study.stages() {
        for finding in &stage.findings {
            let mut row = vec![
                Cell::Number(stage.streams as f64),
                Cell::text(finding.rule.name()),
                Cell::text(outcome(finding)),
            ];
            for side in [&finding.followers, &finding.breakers] {
                row.extend(side_cells(side.as_ref(), figure));
            }
            table.rows.push(row);
        }
    }
    table
}

fn outcome(finding: &RuleFinding) -> String {
    match &finding.outcome {
        RuleOutcome::Found => "found".to_owned(),
        RuleOutcome::NotFound => "not found".to_owned(),
        RuleOutcome::Untested(reason) => format!("untested: {reason}"),
    }
}

fn side_cells(side: Option<&Side>, figure: Figure) -> [Cell; 3] {
    let Some(side) = side else { return [Cell::Number(0.0), Cell::Missing, Cell::Missing] };
    let median = Spread { value: side.median, low: side.median, high: side.median };
    let median = median.cell(figure).value().map_or(Cell::Missing, Cell::Number);
    [Cell::Number(side.count as f64), side.figure.cell(figure), median]
}

/// What each core did while packets were sent.
pub(super) fn cores(study: &PlacementStudy) -> Table {
    let mut columns = keys();
    columns.push(Column::key("core", "Core", "").decimals(0));
    let share = |name: &str, title: &str| Column::measured(name, title, "%").decimals(0);
    columns.extend([
        Column::measured("holds", "Holds", ""),
        share("programs", "User and system"),
        share("interrupts", "Softirq and irq"),
        share("stolen", "Taken by others"),
    ]);
    let mut table = Table::new("cores", "What the cores did", columns);
    for (measured, _) in study.stages().iter().flat_map(|stage| &stage.measured) {
        for core in study.topology().numbers() {
            let of = |share: fn(&CoreShares) -> f64| {
                let rounds = measured.rounds.iter().filter_map(|round| round.measured.cores.get(&core));
                Cell::measured(&rounds.map(|shares| 100.0 * share(shares)).collect::<Vec<f64>>())
            };
            let mut row = key_cells(&measured.assignment);
            row.extend([
                Cell::Number(core as f64),
                Cell::text(holds(&measured.assignment, core)),
                of(|shares| shares.user + shares.system),
                of(|shares| shares.interrupts),
                of(|shares| shares.stolen),
            ]);
            table.rows.push(row);
        }
    }
    table
}

fn holds(assignment: &Assignment, core: usize) -> String {
    let mut all = Vec::new();
    all.extend(assignment.interrupt.contains(&core).then(|| "interrupt".to_owned()));
    all.extend((assignment.sender == Some(core)).then(|| "sender".to_owned()));
    all.extend((assignment.receiver == core).then(|| "receiver".to_owned()));
    let workers = assignment.workers.iter().enumerate().filter(|(_, worker)| **worker == core);
    all.extend(workers.map(|(number, _)| format!("worker {}", number + 1)));
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// The assignments, the best one first, a line for each number of streams.
pub(super) fn plot(study: &PlacementStudy) -> Plot {
    let across = Axis::linear("Assignments, the best one first (rank in the table)", "");
    let plot = match study.figure() {
        Figure::Shortfall => Plot::new(
            "assignments",
            "Packets lost, by assignment",
            across,
            Axis::logarithmic("Lost, or too slow by (share)", ""),
        )
        .captioned(
            "Bars with an arrow: nothing was lost; the share is below their upper end with 95 % confidence.",
        ),
        Figure::Rate => Plot::new(
            "assignments",
            "Highest rate without loss, by assignment",
            across,
            Axis::linear("Highest rate of each stream", "kpps"),
        )
        .captioned("Bars: 95 % over the rounds."),
    };
    let lines = study.stages().iter().filter(|stage| !stage.measured.is_empty());
    lines.take(MOST_MEASURED).fold(plot, |plot, stage| plot.with(line(stage, study.figure())))
}

fn line(stage: &PlacementStage, figure: Figure) -> Line {
    let point = |(place, (_, spread)): (usize, &(MeasuredAssignment, Option<Spread>))| {
        let cell = spread.as_ref()?.cell(figure);
        let (low, high) = cell.interval()?;
        Some(Point { x: place as f64 + 1.0, y: cell.value()?, low: Some(low), high: Some(high) })
    };
    let points = stage.measured.iter().enumerate().filter_map(point).collect();
    Line::new(&streams(stage.streams), Look::Measured, points)
}

//! Assignments that are listed, and not measured: those of another host, or those that a measurement would have.

use crate::counted::streams;
use crate::measurement::{Measurement, Verdict};
use crate::session::Session;
use crate::table::{Cell, Column, Table};
use evforge_lab::placement::{Assignment, Rule, Topology};

/// The assignments of some streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedStage {
    /// Streams.
    pub streams: usize,
    /// Assignments without any rule.
    pub possible: usize,
    /// Rules that chose among them.
    pub rules: Vec<Rule>,
    /// Those that are left.
    pub assignments: Vec<Assignment>,
}

/// The list as a result: a table, and how many there are. Nothing is measured.
pub fn listed(session: Session, topology: &Topology, stages: &[ListedStage]) -> Measurement {
    let session = session.setting("topology", topology.sentence());
    let counts: Vec<String> = stages
        .iter()
        .map(|stage| format!("{} of {}", stage.assignments.len(), streams(stage.streams)))
        .collect();
    let mut result =
        session.end(Verdict::good(format!("Listed, not measured: assignments: {}", counts.join(", "))));
    result.findings = stages.iter().map(sentence).collect();
    result.limits = vec![
        "Nothing was measured: a rule is that of the paper, or one that was given, and not of this host."
            .to_owned(),
    ];
    result.tables.push(table(stages));
    result
}

fn sentence(stage: &ListedStage) -> String {
    let ListedStage { possible, rules, assignments, .. } = stage;
    let streams = streams(stage.streams);
    match rules.as_slice() {
        [] => format!("{streams}: {} assignments, without any rule.", assignments.len()),
        rules => {
            let rules: Vec<String> =
                rules.iter().map(|rule| format!("{} ({rule})", rule.sentence())).collect();
            format!(
                "{streams}: {} assignments of {possible} that are possible, as {}.",
                assignments.len(),
                rules.join("; ")
            )
        }
    }
}

fn table(stages: &[ListedStage]) -> Table {
    let columns = vec![
        Column::key("streams", "Streams", "").decimals(0),
        Column::key("interrupt", "Interrupt", ""),
        Column::key("receiver", "Receiver", "").decimals(0),
        Column::key("workers", "Workers", ""),
        Column::exact("options", "evforge drop receive", ""),
    ];
    let mut table = Table::new("assignments", "Assignments to logical cores", columns);
    for assignment in stages.iter().flat_map(|stage| &stage.assignments) {
        table.rows.push(vec![
            Cell::Number(assignment.streams() as f64),
            Cell::text(assignment.interrupt_text()),
            Cell::Number(assignment.receiver as f64),
            Cell::text(assignment.workers_text()),
            Cell::text(assignment.options()),
        ]);
    }
    table
}

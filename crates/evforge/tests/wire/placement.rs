//! `evforge measure placement` and `measure streams` in namespaces of their own: every assignment is measured, every packet accounted for,
//! and nothing is left. Needs root.

use crate::common::{PROGRAM, text};
use crate::measure::state;
use evforge_measure::table::{Cell, Table};
use evforge_measure::{Measurement, result_file};
use evforge_net::affinity::allowed_cores;
use evforge_testkit::patience::wait_for;
use evforge_testkit::veth::is_possible;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Runs a measurement: its result, and what it said. Nothing is left of it but the result.
fn measured(folder: &Path, arguments: &[&str]) -> (Measurement, bool, String) {
    let before = state();
    let mut command = Command::new(PROGRAM);
    command.arg("measure").args(arguments).arg("--output").arg(folder.join("result"));
    let output = command.env("TMPDIR", folder).output().expect("it starts");
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let result = result_file::read(&folder.join("result")).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(state(), before);
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), 1, "nothing but the result");
    (result, output.status.success(), said)
}

fn of(table: &Table, row: &[Cell], name: &str) -> Cell {
    row[table.column(name).expect(name)].clone()
}

/// The number of packets in a text such as `1 234 own queue, 5 socket buffer`.
fn located(text: &Cell) -> u64 {
    let Cell::Text(text) = text else { panic!("{text:?}") };
    let of = |part: &str| -> String { part.chars().filter(char::is_ascii_digit).collect() };
    text.split(',').filter_map(|part| of(part).parse::<u64>().ok()).sum()
}

#[test]
fn every_assignment_of_one_stream_is_measured_and_accounted_for() {
    if !is_possible("every_assignment_of_one_stream_is_measured_and_accounted_for") {
        return;
    }
    let cores = allowed_cores().expect("cores");
    let cores = [cores[0], cores[cores.len() - 1]];
    let list = cores.map(|core| core.to_string()).join(",");
    let folder = tempfile::tempdir().expect("a folder");
    let (result, is_good, said) = measured(
        folder.path(),
        &[
            "placement",
            "--streams",
            "1",
            "--rate",
            "unpaced",
            "--for",
            "150ms",
            "--rounds",
            "2",
            "--cores",
            &list,
            "--interrupt",
            &list,
        ],
    );
    // Whether an assignment is without loss depends on what else this machine does; that the verdict is what its rows say, does not.
    let table = result.table("assignments").expect("a table");
    let is_loss_free = |row: &Vec<Cell>| of(table, row, "loss_free_rounds") == Cell::text("2 of 2");
    assert_eq!(result.verdict.is_good, table.rows.iter().any(is_loss_free), "{said}");
    assert_eq!(result.verdict.is_good, is_good, "{said}");
    let key = |row: &Vec<Cell>| {
        let [interrupt, receiver, workers] =
            ["interrupt", "receiver", "workers"].map(|name| of(table, row, name));
        format!("{interrupt:?} {receiver:?} {workers:?}")
    };
    let distinct = cores.iter().collect::<BTreeSet<_>>().len();
    let keys: BTreeSet<String> = table.rows.iter().map(key).collect();
    assert_eq!((table.rows.len(), keys.len()), (distinct.pow(3), distinct.pow(3)), "{said}");
    for row in &table.rows {
        assert!(of(table, row, "sent_rate").value().is_some_and(|rate| rate > 0.0), "{row:?}");
        let (loss, lost) =
            (of(table, row, "loss").value().expect("a share"), located(&of(table, row, "locations")));
        assert_eq!(loss > 0.0, lost > 0, "{row:?}");
    }
    let rules = result.table("rules").expect("rules");
    let outcome = |name: &str| {
        let row = rules.rows.iter().find(|row| row[1] == Cell::text(name)).expect(name);
        of(rules, row, "outcome")
    };
    assert!(matches!(outcome("workers-apart"), Cell::Text(text) if text.starts_with("untested")));
    if distinct > 1 {
        assert!(
            !matches!(outcome("receiver-off-interrupt"), Cell::Text(text) if text.starts_with("untested"))
        );
    }
    assert!(
        result.limits.iter().any(|limit| limit.contains("A veth has no interrupts")),
        "{:?}",
        result.limits
    );
    assert!(result.findings.iter().any(|said| said.contains("recommended") || said.contains("use: evforge")));
    assert_eq!(result.table("cores").map(|table| table.rows.len()), Some(distinct.pow(4)));
}

#[test]
fn no_more_than_the_known_limit_of_a_slow_worker_is_found() {
    if !is_possible("no_more_than_the_known_limit_of_a_slow_worker_is_found") {
        return;
    }
    let cores = allowed_cores().expect("cores");
    let last = cores[cores.len() - 1].to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let (result, _, said) = measured(
        folder.path(),
        &[
            "placement",
            "--streams",
            "1",
            "--for",
            "1s",
            "--rounds",
            "1",
            "--cores",
            &last,
            "--interrupt",
            "sender",
            "--work",
            "200us",
            "--queue",
            "1MB",
        ],
    );
    let table = result.table("assignments").expect("a table");
    assert_eq!(table.rows.len(), 1, "{said}");
    // 200 us for each packet: never more than 5000 packets per second, however long its queue is, and 4 % for the 30 ms and the 1 % that it may
    // be behind. Other tests may make it less.
    let share = of(table, &table.rows[0], "of_limit").value();
    assert!(share.is_none_or(|share| share > 0.0 && share < 105.0), "{share:?}: {said}");
    assert_eq!(share.is_some(), result.verdict.is_good, "{said}");
}

#[test]
fn streams_with_and_without_decoding_are_a_row_each() {
    if !is_possible("streams_with_and_without_decoding_are_a_row_each") {
        return;
    }
    // A host that is stopped for as long as a point takes makes a stream of which nothing arrives: that is said, and tried again.
    let (result, said) = wait_for("something of every stream in every round", || {
        let folder = tempfile::tempdir().expect("a folder");
        let measurement = ["streams", "--streams", "1,2", "--for", "150ms", "--rounds", "2"];
        let (result, is_good, said) = measured(folder.path(), &measurement);
        assert_eq!(result.verdict.is_good, is_good, "{said}");
        assert!(is_good || said.contains("A stream of which nothing arrived"), "{said}");
        is_good.then_some((result, said))
    });
    let table = result.table("streams").expect("a table");
    let keys: Vec<(Cell, Option<f64>)> =
        table.rows.iter().map(|row| (of(table, row, "decode"), of(table, row, "streams").value())).collect();
    let expected = [("off", 1.0), ("off", 2.0), ("on", 1.0), ("on", 2.0)];
    assert_eq!(keys, expected.map(|(decode, streams)| (Cell::text(decode), Some(streams))));
    let each = result.table("each-stream").expect("a table");
    assert_eq!(each.rows.len(), 2 * (1 + 2));
    for row in &each.rows {
        let (loss, lost) =
            (of(each, row, "loss").value().expect("a share"), located(&of(each, row, "locations")));
        assert_eq!(loss > 0.0, lost > 0, "{row:?}");
        assert!(of(each, row, "rate").value().is_some_and(|rate| rate > 0.0), "{row:?}");
    }
    assert_eq!(result.plots.len(), 2, "{said}");
}

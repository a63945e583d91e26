//! Measurements whose events go to Kafka, through a real broker.

use crate::common::{PROGRAM, text};
use evforge_measure::result_file;
use evforge_measure::table::{Cell, Table};
use evforge_testkit::kafka_broker::{SharedBroker, shared};
use std::process::Command;

/// A measurement over loopback into a broker: its result, and what it said.
fn measured(broker: &SharedBroker, arguments: &[&str]) -> (evforge_measure::Measurement, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(PROGRAM);
    command.arg("measure").args(arguments).args([
        "--into",
        "kafka",
        "--loopback",
        "--kafka",
        broker.address(),
    ]);
    let output = command.arg("--output").arg(folder.path().join("result")).output().expect("it starts");
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let result =
        result_file::read(&folder.path().join("result")).unwrap_or_else(|error| panic!("{error}: {said}"));
    (result, said)
}

fn cell(table: &Table, row: usize, name: &str) -> Cell {
    table.rows[row][table.column(name).expect(name)].clone()
}

#[test]
fn latencies_into_kafka_go_as_far_as_the_acknowledgement_and_formation_has_a_row() {
    let test = "latencies_into_kafka_go_as_far_as_the_acknowledgement_and_formation_has_a_row";
    let Some(broker) = shared(test) else { return };
    let load = ["latency", "--rate", "2kpps", "--for", "1s", "--rounds", "1", "--pulses", "2"];
    let (result, said) = measured(&broker, &load);
    let table = result.table("latencies").expect("a table");
    let stages: Vec<Cell> = (0..table.rows.len()).map(|row| cell(table, row, "until")).collect();
    let expected = ["event handed on", "taken by the output", "acknowledged by the broker"];
    assert_eq!(stages, expected.map(Cell::text), "{said}");
    assert!(cell(table, 2, "p50").value() >= cell(table, 0, "p50").value(), "{said}");
    let load =
        ["formation", "--detector", "sonde-module", "--for", "300ms", "--rounds", "1", "--pulses", "2"];
    let (result, said) = measured(&broker, &load);
    let table = result.table("formation").expect("a table");
    assert_eq!((table.rows.len(), cell(table, 0, "into")), (1, Cell::text("kafka")), "{said}");
}

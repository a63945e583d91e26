//! `evforge measure placement --topology`: the assignments of another host, counted as the XDP paper counts them.

use crate::common::{PROGRAM, text};
use evforge_measure::result_file;
use evforge_measure::table::Cell;
use std::path::Path;
use std::process::{Command, Output};

/// The paper's core complex: position 0 has the interrupt, 1 is its sibling, 2 and 3 are the second core.
const PAPER: &str =
    "interrupt = 0\n[[core]]\nthreads = [0, 1]\ncache = 0\n[[core]]\nthreads = [2, 3]\ncache = 0\n";

fn list(folder: &Path, topology: &str, arguments: &[&str]) -> Output {
    let path = folder.join("cores.toml");
    std::fs::write(&path, topology).expect("a file");
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "placement", "--topology"]).arg(path).args(arguments);
    command.output().expect("it starts")
}

#[test]
fn the_papers_core_complex_has_16_assignments_of_1_stream_and_6_of_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let result = folder.path().join("result");
    let output = list(folder.path(), PAPER, &["--streams", "1,2", "--output", &result.to_string_lossy()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("16 of 1 stream, 6 of 2 streams"), "{said}");
    assert!(
        said.contains("6 assignments of 40 that are possible") && said.contains("worker-alone"),
        "{said}"
    );
    let result = result_file::read(&result).expect("a result");
    let table = result.table("assignments").expect("a table");
    let of = |row: &Vec<Cell>, name: &str| row[table.column(name).expect(name)].clone();
    let two: Vec<(Option<f64>, Cell)> = table
        .rows
        .iter()
        .filter(|row| of(row, "streams").value() == Some(2.0))
        .map(|row| (of(row, "receiver").value(), of(row, "workers")))
        .collect();
    let expected = [(0.0, "1,2"), (0.0, "1,3"), (0.0, "2,3"), (1.0, "2,3"), (2.0, "1,3"), (3.0, "1,2")];
    assert_eq!(two, expected.map(|(receiver, workers)| (Some(receiver), Cell::text(workers))));
    assert_eq!(table.rows.len(), 16 + 6);
    let options = of(&table.rows[16], "options");
    assert_eq!(options, Cell::text("--workers --cores 0 --worker-cores 1,2"));
}

#[test]
fn rules_that_are_named_choose_and_without_any_all_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = "worker-alone,receiver-off-interrupt";
    let output = list(folder.path(), PAPER, &["--streams", "2", "--rule", rules]);
    assert!(text(&output.stdout).contains("3 assignments of 40"), "{}", text(&output.stdout));
    let output = list(folder.path(), PAPER, &["--streams", "2", "--rule", "workers-apart"]);
    assert!(text(&output.stdout).contains("24 assignments of 40"), "{}", text(&output.stdout));
    let output = list(folder.path(), PAPER, &["--rule", "alone"]);
    assert!(
        !output.status.success() && text(&output.stderr).contains("worker-alone"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_file_that_is_no_topology_is_refused_with_its_name_and_what_is_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = list(folder.path(), "interrupt = 9\n[[core]]\nthreads = [0, 1]\n", &[]);
    let said = text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("cores.toml") && said.contains("interrupt = 9"),
        "{said}"
    );
    let output = list(folder.path(), PAPER, &["--cores", "0,7"]);
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("no logical core 7") && said.contains("0-3"), "{said}");
}

//! `evforge measure trains` between namespaces: losses that were provoked are found in their pair, and in their time. Needs root.

use crate::common::{PROGRAM, text};
use crate::measure::state;
use evforge_measure::figure::Figure;
use evforge_measure::table::{Cell, Table};
use evforge_measure::{Measurement, result_file};
use evforge_testkit::veth::is_possible;
use std::process::Command;

/// What it measures, with these further options, and what it says.
fn measured(further: &[&str]) -> (Measurement, String) {
    let (folder, before) = (tempfile::tempdir().expect("a folder"), state());
    let mut command = Command::new(PROGRAM);
    // Slow, and with room for everything: a machine that runs other tests loses nothing.
    command.args(["measure", "trains", "--senders", "2", "--trains", "2", "--rounds", "1"]);
    command.args(["--rate", "200Mbit/s"]).args(further);
    command.arg("--output").arg(folder.path().join("result"));
    let output = command.env("TMPDIR", folder.path()).output().expect("it starts");
    let said = text(&output.stdout) + &text(&output.stderr);
    let result =
        result_file::read(&folder.path().join("result")).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(output.status.success() && result.verdict.is_good, "{said}");
    assert_eq!(state(), before);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing but the result");
    assert!(!result.command.iter().any(|word| word.contains("within")), "{:?}", result.command);
    (result, said)
}

fn cell(table: &Table, row: usize, name: &str) -> f64 {
    let cell: &Cell = &table.rows[row][table.column(name).expect(name)];
    cell.value().unwrap_or_else(|| panic!("row {row} has no {name}"))
}

#[test]
fn losses_of_one_sender_are_found_in_their_pairs_and_the_warm_up_is_told_apart() {
    if !is_possible("losses_of_one_sender_are_found_in_their_pairs_and_the_warm_up_is_told_apart") {
        return;
    }
    // Sender 1 sends its trains 0 and 2 to receiver 0, and 1 and 3 to receiver 1. A train has 1026 packets.
    let faults = ["--fault", "lost:train=0,packet=5", "--fault", "lost:train=3,packet=700"];
    let (result, said) = measured(&[&["--receivers", "2", "--fault-sender", "1"], &faults[..]].concat());
    let pairs = result.table("pairs").expect("pairs");
    let of = |row: usize| {
        ["sender", "receiver", "packets", "missing", "warm_up_missing", "later_missing", "trains_incomplete"]
            .map(|name| cell(pairs, row, name))
    };
    // Each run once: with profile, and without.
    assert_eq!(of(0), [0.0, 0.0, 4104.0, 0.0, 0.0, 0.0, 0.0], "{said}");
    assert_eq!(of(1), [0.0, 1.0, 4104.0, 0.0, 0.0, 0.0, 0.0], "{said}");
    assert_eq!(of(2), [1.0, 0.0, 4104.0, 2.0, 2.0, 0.0, 2.0], "{said}");
    assert_eq!(of(3), [1.0, 1.0, 4104.0, 2.0, 0.0, 2.0, 2.0], "{said}");
    let [place, time, ..] = result.findings.iter().filter(|said| said.contains('?')).collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", result.findings)
    };
    assert!(place.contains("On few machines, in 2 of 4 pairs: sender 1, receivers 0, 1"), "{place}");
    assert!(time.contains("In the warm-up and later"), "{time}");
    assert!(result.findings.iter().any(|said| said.contains("4 not sent, on purpose")), "{said}");
    let Some(Figure::Matrix(matrix)) = &result.plots[0].figure else { panic!("no matrix") };
    let lossy = matrix.fields.iter().map(|field| field.share.value() > Some(0.0)).collect::<Vec<_>>();
    assert_eq!(lossy, [false, false, true, true]);
    // Every receiver says where its time goes.
    let receivers = result.table("receivers").expect("receivers");
    for row in 0..2 {
        let parts =
            ["waiting", "fetching", "assembling", "housekeeping"].map(|name| cell(receivers, row, name));
        assert!((parts.iter().sum::<f64>() - 100.0).abs() < 1e-6, "{parts:?}");
        assert!(cell(receivers, row, "processor") > 0.0);
    }
}

#[test]
fn a_whole_experiment_names_no_machine() {
    if !is_possible("a_whole_experiment_names_no_machine") {
        return;
    }
    let (result, said) = measured(&["--receivers", "3", "--packets-per-train", "40"]);
    assert!(
        result.verdict.sentence.contains("960 packets")
            && result.verdict.sentence.contains("none is missing"),
        "{said}"
    );
    let pairs = result.table("pairs").expect("pairs");
    assert!((0..6).all(|row| cell(pairs, row, "trains_good") == 4.0), "{said}");
}

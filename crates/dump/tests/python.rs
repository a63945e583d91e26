//! Dumps read and written by h5py, through `tests/python`.
//!
//! A program of its own: a new process inherits the files that HDF5 has open here, and keeps the locks on them until it ends.
//!
//! The Python with the packages of `tests/python/requirements.txt` is taken from `EVFORGE_PYTHON`, or else from
//! `.venv` at the root of the workspace.
#![allow(clippy::unwrap_used)]

mod shared;

use evforge_dump::layout::Row;
use evforge_dump::rows::{CaenReadout, MesytecHit, SrsHit};
use serde_json::{Value, json};
use shared::{read, write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command that runs the script, or none with `test` reported as skipped.
fn python(test: &str) -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = match std::env::var_os("EVFORGE_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => root.join(".venv/bin/python"),
    };
    let mut probe = Command::new(&interpreter);
    probe.args(["-c", "import h5py"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        let missing = format!(
            "{} cannot import h5py: python3 -m venv .venv && .venv/bin/pip install -r tests/python/requirements.txt",
            interpreter.display()
        );
        evforge_testkit::skip(test, &missing);
        return None;
    }
    let mut command = Command::new(interpreter);
    command.arg(root.join("tests/python/test_dump_readback.py"));
    Some(command)
}

fn check<R: Row>(command: &mut Command, rows: &[R], columns: Value, values: Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.h5");
    write(&path, rows);
    let expected = json!({
        "table": R::TABLE, "columns": columns, "rows": values, "version": R::FORMAT_VERSION,
    });
    let expectation = folder.path().join("expected.json");
    std::fs::write(&expectation, expected.to_string()).unwrap();
    let output = command.arg("read").args([&path, &expectation]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// EFU formats of 2018, section 12: names, types, order and attributes of the columns.
#[test]
fn h5py_reads_what_is_written() {
    let test = "h5py_reads_what_is_written";
    if python(test).is_none() {
        return;
    }
    let srs = |n: u16| SrsHit {
        fec: 2,
        chip_id: 15,
        srs_timestamp: u64::MAX - u64::from(n),
        channel: n,
        bcid: 4095,
        tdc: 255,
        adc: 1023,
        over_threshold: 1,
        chiptime: 0.25 * f32::from(n),
    };
    check(
        &mut python(test).unwrap(),
        &(0..1000).map(srs).collect::<Vec<_>>(),
        json!([
            ["fec", "u1"],
            ["chip_id", "u1"],
            ["srs_timestamp", "<u8"],
            ["channel", "<u2"],
            ["bcid", "<u2"],
            ["tdc", "<u2"],
            ["adc", "<u2"],
            ["over_threshold", "u1"],
            ["chiptime", "<f4"]
        ]),
        (0..1000)
            .map(|n: u16| json!([2, 15, u64::MAX - u64::from(n), n, 4095, 255, 1023, 1, 0.25 * f32::from(n)]))
            .collect(),
    );
    let caen =
        CaenReadout { global_time: 1 << 40, digitizer: 143, local_time: u32::MAX, channel: 47, adc: 65535 };
    check(
        &mut python(test).unwrap(),
        &[caen, caen],
        json!([
            ["global_time", "<u8"],
            ["digitizer", "<u4"],
            ["local_time", "<u4"],
            ["channel", "<u2"],
            ["adc", "<u2"]
        ]),
        vec![json!([1_u64 << 40, 143, u32::MAX, 47, 65535]); 2],
    );
    let hit = MesytecHit {
        trigger_count: 1,
        external_trigger: -1,
        module: 3,
        high_time: 4,
        low_time: 5,
        total_time: u64::MAX,
        bus: 7,
        channel: 8,
        adc: 9,
        time_diff: 10,
    };
    check(
        &mut python(test).unwrap(),
        &[hit],
        json!([
            ["trigger_count", "<u8"],
            ["external_trigger", "i1"],
            ["module", "u1"],
            ["high_time", "<u4"],
            ["low_time", "<u4"],
            ["total_time", "<u8"],
            ["bus", "u1"],
            ["channel", "<u2"],
            ["adc", "<u2"],
            ["time_diff", "<u2"]
        ]),
        vec![json!([1, -1, 3, 4, 5, u64::MAX, 7, 8, 9, 10])],
    );
}

/// The layout of August 2018, written by another program than ours.
#[test]
fn what_h5py_writes_as_of_august_2018_is_read_as_it_was_meant() {
    let Some(mut command) = python("what_h5py_writes_as_of_august_2018_is_read_as_it_was_meant") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("august.h5");
    let output = command.arg("august").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = read::<SrsHit>(&path);
    let expected = |n: u16| SrsHit {
        fec: (n * 3) as u8,
        chip_id: (n * 4) as u8,
        srs_timestamp: u64::from(n) * 6,
        channel: n * 7,
        bcid: n * 8,
        tdc: n * 9,
        adc: n * 10,
        over_threshold: ((n * 11) as u8) % 2,
        chiptime: 0.0,
    };
    assert_eq!(rows, (0..1000).map(expected).collect::<Vec<_>>());
}

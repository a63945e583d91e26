//! What users do with a file in Python: the notebook `examples/notebooks/first_events.ipynb` runs from its first
//! cell to its last, and the NeXus file holds the events of the CSV.
//!
//! The Python with the packages of `tests/python/requirements.txt` is taken from `EVFORGE_PYTHON`, or else from
//! `.venv` at the root of the workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Compares the arrays of a NeXus file with a CSV of events on the detector's clock.
const COMPARE: &str = r#"
import sys
import h5py
import numpy as np

nexus, csv = sys.argv[1:]
times, pixels = np.loadtxt(csv, delimiter=",", skiprows=1, dtype=np.int64, unpack=True)
with h5py.File(nexus, "r") as file:
    events = file["entry/instrument/detector/detector_events"]
    zero = events["event_time_zero"][()].astype(np.int64) - file["entry/recording/clock_anchor"][()]
    count = np.diff(np.append(events["event_index"][()], len(events["event_id"])))
    found = np.repeat(zero, count) + events["event_time_offset"][()]
    assert np.array_equal(events["event_id"][()], pixels), "pixels"
    assert np.array_equal(found, times), "times"
    assert np.all(events["event_time_offset"][()] >= 0), "an event before its pulse"
print(len(times))
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Python interpreter, or none with `test` reported as skipped.
fn python(test: &str) -> Option<PathBuf> {
    let interpreter = match std::env::var_os("EVFORGE_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => root().join(".venv/bin/python"),
    };
    let mut probe = Command::new(&interpreter);
    probe.args(["-c", "import h5py, matplotlib, scippnexus"]).stdout(Stdio::null()).stderr(Stdio::null());
    if probe.status().is_ok_and(|status| status.success()) {
        return Some(interpreter);
    }
    let missing = format!(
        "{} cannot import h5py, matplotlib and scippnexus: python3 -m venv .venv && .venv/bin/pip install -r \
         tests/python/requirements.txt",
        interpreter.display()
    );
    evforge_testkit::skip(test, &missing);
    None
}

/// What a command has printed; it must have succeeded.
fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

/// The files of a run on a simulated capture.
struct Run {
    folder: tempfile::TempDir,
}

impl Run {
    fn new() -> Self {
        Self::of("gdgem-srs")
    }

    fn of(config: &str) -> Self {
        let run = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        let config = root().join(format!("configs/{config}.toml"));
        let mut simulate = Command::new(env!("CARGO_BIN_EXE_evforge"));
        simulate.arg("simulate").arg("--config").arg(&config).args(["--pulses", "5"]);
        self::run(simulate.arg("--output").arg(run.path("run.pcapng")));
        let mut form = Command::new(env!("CARGO_BIN_EXE_evforge"));
        form.args(["run", "--quiet", "--config"]).arg(&config);
        for (option, name) in [
            ("--input", "run.pcapng"),
            ("--nexus", "run.nxs"),
            ("--events", "events.csv"),
            ("--report", "report.json"),
        ] {
            form.arg(option).arg(run.path(name));
        }
        self::run(&mut form);
        run
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn report(&self) -> serde_json::Value {
        let report = std::fs::read(self.path("report.json")).expect("the report is there");
        serde_json::from_slice(&report).expect("the report is JSON")
    }
}

#[test]
fn the_notebook_finds_what_the_report_says() {
    let Some(python) = python("the_notebook_finds_what_the_report_says") else { return };
    let files = Run::new();
    let mut command = Command::new(python);
    command
        .arg(root().join("tests/python/run_notebook.py"))
        .arg(root().join("examples/notebooks/first_events.ipynb"))
        .args([
            "event_count",
            "pulse_count",
            "packets_sent",
            "packets_received",
            "packets_lost",
            "unaccounted",
        ])
        .env("EVFORGE_FILE", files.path("run.nxs"))
        .env("MPLCONFIGDIR", files.folder.path())
        .current_dir(files.folder.path());
    let found: serde_json::Value = serde_json::from_str(&run(&mut command)).unwrap();
    let report = files.report();
    let stream = &report["streams"][0];
    assert!(stream["events"].as_u64().is_some_and(|events| events > 1000), "{}", stream["events"]);
    for (name, pointer) in [
        ("event_count", "/events"),
        ("packets_sent", "/packets/sent"),
        ("packets_received", "/packets/received"),
        ("packets_lost", "/packets/lost"),
        ("unaccounted", "/unaccounted"),
    ] {
        assert_eq!(Some(&found[name]), stream.pointer(pointer), "{name}");
    }
    assert_eq!((found["packets_lost"].as_i64(), found["unaccounted"].as_i64()), (Some(0), Some(0)));
    assert!(found["pulse_count"].as_u64().is_some_and(|pulses| (5..=6).contains(&pulses)), "{found}");
}

/// The digitizers of a Multi-Blade give their packets no numbers.
#[test]
fn what_nobody_can_know_is_called_unknown() {
    let Some(python) = python("what_nobody_can_know_is_called_unknown") else { return };
    let files = Run::of("multiblade");
    let mut command = Command::new(python);
    command
        .arg(root().join("tests/python/run_notebook.py"))
        .arg(root().join("examples/notebooks/first_events.ipynb"))
        .args(["packets_sent", "packets_received", "packets_lost", "unaccounted"])
        .env("EVFORGE_FILE", files.path("run.nxs"))
        .env("MPLCONFIGDIR", files.folder.path())
        .current_dir(files.folder.path());
    let output = command.output().expect("Python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["packets_sent"].is_null() && found["packets_lost"].is_null(), "{found}");
    let received = found["packets_received"].as_u64().unwrap();
    assert!(
        said.contains(&format!("sent unknown, received {received}, lost unknown, unaccounted 0")),
        "{said}"
    );
}

#[test]
fn a_failing_cell_is_named() {
    let Some(python) = python("a_failing_cell_is_named") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    command
        .arg(root().join("tests/python/run_notebook.py"))
        .arg(root().join("examples/notebooks/first_events.ipynb"))
        .env("EVFORGE_FILE", "not-there.nxs")
        .env("MPLCONFIGDIR", folder.path())
        .current_dir(folder.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
    assert!(said.contains("cell 2 (open) failed") && said.contains("not-there.nxs is not there"), "{said}");
}

#[test]
fn the_nexus_file_holds_the_events_of_the_csv() {
    let Some(python) = python("the_nexus_file_holds_the_events_of_the_csv") else { return };
    let files = Run::new();
    let mut command = Command::new(python);
    command.args(["-c", COMPARE]).args([files.path("run.nxs"), files.path("events.csv")]);
    let compared = run(&mut command).trim().parse::<u64>().ok();
    assert_eq!(compared, files.report()["streams"][0]["events"].as_u64());
}

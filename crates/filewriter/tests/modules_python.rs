//! A file of several modules read by its users' programs: h5py and scippnexus, through `tests/python`.
//!
//! A program of its own: a new process inherits the files that HDF5 has open here, and keeps the locks on them until it ends.
#![allow(clippy::unwrap_used)]

#[path = "modules_common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::stream;
use evforge_filewriter::file::Columns;
use evforge_filewriter::modules::{Module, open};
use evforge_filewriter::structure::companions;
use evforge_messages::al00::Severity;
use evforge_messages::da00::Variable;
use evforge_messages::f144::Value as LogValue;
use evforge_messages::{Al00, Da00, Ev44, F144, Message};
use evforge_stream::storage::dataset::{class, write_grid};
use evforge_stream::storage::text::set_attribute;
use evforge_stream::storage::workers::Workers;
use hdf5_metno::{File, Group};
use serde_json::{Value, json};

const T: i64 = 1_790_000_000_000_000_000;

/// The Python with the packages of `tests/python/requirements.txt`, from `EVFORGE_PYTHON`, or else from `.venv` at the root of the
/// workspace.
fn python(test: &str) -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = std::env::var_os("EVFORGE_PYTHON").map_or(root.join(".venv/bin/python"), PathBuf::from);
    let mut probe = Command::new(&interpreter);
    probe.args(["-c", "import h5py, scipp, scippnexus"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        let missing = format!("{} cannot import h5py and scippnexus", interpreter.display());
        evforge_testkit::skip(test, &missing);
        return None;
    }
    let mut command = Command::new(interpreter);
    command.arg(root.join("tests/python/test_filewriter_readback.py"));
    Some(command)
}

/// A detector of three pixels with a group for its events.
fn detector(instrument: &Group, name: &str) -> Group {
    let detector = class(instrument, name, "NXdetector").unwrap();
    write_grid(&detector, "detector_number", &[3], &[11_i32, 12, 13]).unwrap();
    let offsets = write_grid(&detector, "x_pixel_offset", &[3], &[0.0, 0.1, 0.2]).unwrap();
    set_attribute(&offsets, "units", "m").unwrap();
    detector.create_group("events").unwrap()
}

#[test]
fn h5py_and_scippnexus_see_what_modules_write() {
    let test = "h5py_and_scippnexus_see_what_modules_write";
    let Some(mut command) = python(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let file = File::with_options().with_fapl(|plist| plist.libver_latest()).create(&path).unwrap();
    let entry = class(&file, "entry", "NXentry").unwrap();
    let instrument = class(&entry, "instrument", "NXinstrument").unwrap();
    let mut columns = Columns::new(Workers::start(1, 2).unwrap(), Some(2));
    let mut begin = |kind: &str, settings: Value, group: &Group| -> Box<dyn Module> {
        open(&stream(kind, settings), group, &mut columns).unwrap().module
    };
    let mut events = begin("ev44", json!({}), &detector(&instrument, "detector"));
    let mut own = begin("ev44", json!({"layout": "evforge"}), &detector(&instrument, "own"));
    let temperature = entry.create_group("temperature").unwrap();
    let log_settings = json!({"dtype": "double", "value_units": "K"});
    let mut log = begin("f144", log_settings.clone(), &temperature);
    let with_log = companions(&[&stream("f144", log_settings)]);
    let mut monitor =
        begin("da00", json!({"accumulate": true, "shape": [2]}), &entry.create_group("monitor").unwrap());
    let variable =
        json!({"name": "signal", "unit": "counts", "data_type": "int32", "axes": ["x"], "shape": [2]});
    let x = json!({"name": "x", "unit": "mm", "axes": ["x"], "data": [1.0, 2.0]});
    let settings = json!({"variables": [variable], "constants": [x]});
    let mut array = begin("da00", settings, &entry.create_group("array").unwrap());
    let mut more: Vec<Box<dyn Module>> =
        with_log.iter().map(|module| open(module, &temperature, &mut columns).unwrap().module).collect();

    let (mut values, mut times) = (Vec::new(), Vec::new());
    for step in 0..20_i64 {
        let time = T + step * 1_000_000_000;
        let count = usize::try_from(step % 4).unwrap();
        let offsets: Vec<i32> = (0..count).map(|event| 1000 + event as i32).collect();
        let pixels: Vec<i32> = (0..count).map(|event| 11 + (event as i32 + step as i32) % 3).collect();
        let pulse = [time];
        let message = Message::Ev44(Ev44 {
            source_name: "source",
            message_id: step,
            reference_time: (&pulse).into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: (&offsets).into(),
            pixel_id: (&pixels).into(),
        });
        events.write(&message, &mut columns).unwrap();
        own.write(&message, &mut columns).unwrap();
        let value = 20.0 + step as f64 * 0.1;
        let message = F144 { source_name: "source", timestamp: time, value: LogValue::Scalar(value.into()) };
        log.write(&Message::F144(message), &mut columns).unwrap();
        values.push(value);
        times.push(time);
        let counts = [step, 1];
        let data = vec![
            Variable::new("signal", Some("counts"), vec!["frame_time"], &[2], &counts),
            Variable::new("frame_time", Some("ns"), vec!["frame_time"], &[3], &[0_i64, 10, 20]),
        ];
        let message = Message::Da00(Da00 { source_name: "source", timestamp: time, data });
        monitor.write(&message, &mut columns).unwrap();
        array.write(&message, &mut columns).unwrap();
    }
    let alarm = Al00 { source_name: Some("source"), timestamp: T, severity: Severity::Ok, message: None };
    more[0].write(&Message::Al00(alarm), &mut columns).unwrap();
    for module in [&mut events, &mut own, &mut log, &mut monitor, &mut array].into_iter().chain(&mut more) {
        module.close(&mut columns);
    }
    columns.prepare(true).unwrap();
    columns.flush().unwrap();
    drop(columns);
    drop((entry, instrument, temperature, file));

    let counts: Vec<i64> = (0..20).map(|step| step % 4).collect();
    let first = |step: usize| counts[..step].iter().sum::<i64>();
    let pixels: Vec<i64> =
        (0..20).flat_map(|step| (0..step % 4).map(move |event| 11 + (event + step) % 3)).collect();
    let offsets: Vec<i64> = (0..20).flat_map(|step| (0..step % 4).map(|event| 1000 + event)).collect();
    let with_events: Vec<usize> = (0..20).filter(|step| counts[*step] > 0).collect();
    let expected = json!({
        "pixels": pixels,
        "offsets": offsets,
        "pulses": with_events.iter().map(|step| times[*step]).collect::<Vec<_>>(),
        "index": with_events.iter().map(|step| first(*step)).collect::<Vec<_>>(),
        "kept": [pixels, offsets, times, (0..20).map(first).collect::<Vec<_>>()],
        "values": values,
        "times": times,
        "alarms": ["NO ALARM MESSAGE"],
        "monitor": [190, 20],
        "edges": [0, 10, 20],
        "rows": (0..20).map(|step| [step, 1]).collect::<Vec<_>>(),
    });
    let expectation = folder.path().join("expected.json");
    std::fs::write(&expectation, expected.to_string()).unwrap();
    let output = command.arg("modules").args([&path, &expectation]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

//! The page of a file: what it shows is what the events of the same run are, picture by picture.

use crate::common::program::Program;
use crate::common::{PROGRAM, evforge, send_signal, wait_until, work_of, workspace};
use crate::page_json::ask;
use crate::viewed_file::ViewedFile;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Pixels of the events of a run, counted from 0.
fn pixels(csv: &Path) -> Vec<usize> {
    let text = std::fs::read_to_string(csv).expect("events");
    let pixel =
        |line: &str| line.split(',').nth(1).and_then(|pixel| pixel.parse::<usize>().ok()).expect("a pixel");
    text.lines().skip(1).map(|line| pixel(line) - 1).collect()
}

#[test]
fn a_file_is_shown_as_the_events_of_its_run_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for (detector, [nx, ny, nz]) in [("sonde", [160, 160, 1]), ("multigrid", [12, 40, 20])] {
        let (capture, events, file) = (path("a.pcapng"), path("a.csv"), path(&format!("{detector}.nxs")));
        let config = workspace().join(format!("configs/{detector}.toml"));
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        evforge(&["simulate", detector, "--pulses", "14", "--output", &text(&capture)]);
        let outputs = ["--nexus", &text(&file), "--events", &text(&events), "--quiet"];
        evforge(&[&["run", "--config", &text(&config), &text(&capture)], &outputs[..]].concat());
        let pixels = pixels(&events);
        assert!(pixels.len() > 1000, "{detector}: {}", pixels.len());
        let report = path("view.json");
        let viewed = ViewedFile::start(&file, &["--overwrite", "--report", &text(&report)]);
        viewed.until_complete();
        let state = ask(&viewed.page, "/api/state.json");
        assert_eq!((&state["events"], &state["ledger"]["unaccounted"]), (&pixels.len().into(), &0.into()));
        // Columns, rows and the places of a pixel in them: across, up.
        type Place = fn(usize, [usize; 3]) -> [usize; 2];
        let pictures: [(&str, [usize; 2], Place); 3] = [
            ("xy", [nx, ny], |pixel, [nx, ny, _]| [pixel % nx, pixel / nx % ny]),
            ("xz", [nx, nz], |pixel, [nx, ny, _]| [pixel % nx, pixel / (nx * ny)]),
            ("yz", [ny, nz], |pixel, [nx, ny, _]| [pixel / nx % ny, pixel / (nx * ny)]),
        ];
        for (name, [columns, rows], place) in pictures.into_iter().take(if nz > 1 { 3 } else { 1 }) {
            let picture = ask(&viewed.page, &format!("/api/image.json?picture={name}"));
            let mut expected = vec![0_u64; columns * rows];
            for &pixel in &pixels {
                let [across, up] = place(pixel, [nx, ny, nz]);
                expected[up * columns + across] += 1;
            }
            assert_eq!((&picture["nx"], &picture["ny"]), (&columns.into(), &rows.into()), "{name}");
            let counts: Vec<u64> =
                picture["counts"].as_array().expect("counts").iter().filter_map(Value::as_u64).collect();
            assert!(counts == expected, "{detector}, {name}: the picture is not that of the events");
        }
        send_signal(viewed.id(), "INT");
        wait_until("the report is written", || report.exists());
        let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
        assert_eq!(
            (&report["events"], &report["page"]["pictured"]),
            (&pixels.len().into(), &pixels.len().into())
        );
        assert_eq!(report["status"], "whole and of use");
        std::fs::remove_file(path("view.json")).expect("the report");
    }
    // A file without events that anybody could read is refused with its name.
    let refused = Command::new(PROGRAM).arg("view").arg(path("a.csv")).output().expect("the program starts");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && said.contains("a.csv"), "{said}");
}

/// A text of variable length whose size is beyond all numbers: the HDF5 library looks for the one behind it for ever.
#[test]
fn a_file_on_which_hdf5_runs_in_circles_can_be_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = |name: &str| folder.path().join(name).display().to_string();
    let (capture, file) = (text("a.pcapng"), text("a.nxs"));
    evforge(&["simulate", "sonde", "--pulses", "2", "--output", &capture]);
    let config = workspace().join("configs/sonde.toml").display().to_string();
    evforge(&["run", "--config", &config, &capture, "--nexus", &file, "--quiet"]);
    let mut bytes = std::fs::read(&file).expect("a file");
    let heaps: Vec<usize> =
        (0..bytes.len() - 32).filter(|&place| bytes[place..].starts_with(b"GCOL")).collect();
    assert!(!heaps.is_empty(), "no text of variable length is in the file");
    for heap in heaps {
        // The size of its first object, behind its head and the object's number and uses.
        bytes[heap + 24..heap + 32].copy_from_slice(&(u64::MAX - 15).to_le_bytes());
    }
    std::fs::write(&file, bytes).expect("a file");
    let mut viewing = Command::new(PROGRAM);
    viewing.args(["view", &file, "--view", "127.0.0.1:0"]);
    let viewing = Program::start(viewing);
    // Half a second of work is more than reading such a file takes.
    wait_until("it has ended or works without end", || {
        viewing.has_ended() || work_of(viewing.id()) > Duration::from_millis(500)
    });
    if viewing.has_ended() {
        // A later library refuses such a file.
        return assert_eq!(viewing.ended().0.code(), Some(1));
    }
    viewing.signal("TERM");
    let (status, _, said) = viewing.ended();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("a.nxs is not read any further"), "{said}");
}

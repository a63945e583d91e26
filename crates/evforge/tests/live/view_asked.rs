//! What a page can be asked: the cuts are those that NumPy makes of the same events, and a picture shows what a paper's showed.
#![allow(clippy::unwrap_used)]

use crate::common::{evforge, python, workspace};
use crate::page_json::ask;
use crate::viewed_file::ViewedFile;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the same cuts of the events in a NeXus file as `examples/notebooks/live_view.ipynb` asks the page for.
const CUTS: &str = r#"
import json
import sys
import h5py
import numpy as np

nx, ny = 160, 160
with h5py.File(sys.argv[1], "r") as file:
    events = file["entry/instrument/detector/detector_events"]
    pixels = events["event_id"][()].astype(np.int64) - 1
    flight = events["event_time_offset"][()].astype(np.int64)
x, y = pixels % nx + 0.5, pixels // nx + 0.5
in_slice = (flight >= 10_000_000) & (flight < 30_000_000)
inside = {"left half": x < nx // 2, "corner": y / ny < (x - nx // 2) / (nx - nx // 2)}
bins = np.arange(71) * 1_000_000
print(json.dumps({
    "event_count": len(pixels),
    "slice_count": int(in_slice.sum()),
    "region_counts": {name: int(mask.sum()) for name, mask in inside.items()},
    "region_spectra": {name: np.histogram(flight[mask], bins)[0].tolist() for name, mask in inside.items()},
}))
"#;

/// What a program prints, as JSON.
fn json(command: &mut Command) -> Value {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A NeXus file of simulated neutrons.
fn file_of(folder: &Path, name: &str, detector: &str, simulation: &[&str]) -> PathBuf {
    let path = |end: &str| folder.join(format!("{name}.{end}")).to_str().unwrap().to_owned();
    evforge(&[&["simulate", detector, "--output", &path("pcapng")], simulation].concat());
    let config = workspace().join(format!("configs/{detector}.toml"));
    let run =
        ["run", "--config", config.to_str().unwrap(), &path("pcapng"), "--nexus", &path("nxs"), "--quiet"];
    evforge(&run);
    path("nxs").into()
}

#[test]
fn regions_and_slices_of_the_page_are_the_cuts_of_numpy() {
    let Some(python) = python("regions_and_slices_of_the_page_are_the_cuts_of_numpy") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = file_of(folder.path(), "run", "sonde", &["--pulses", "14"]);
    let viewed = ViewedFile::start(&file, &[]);
    viewed.until_complete();
    let mut notebook = Command::new(&python);
    notebook
        .arg(workspace().join("tests/python/run_notebook.py"))
        .arg(workspace().join("examples/notebooks/live_view.ipynb"))
        .args(["event_count", "slice_count", "region_counts", "region_spectra"])
        .env("EVFORGE_PAGE", format!("http://{}", viewed.page))
        .env("MPLCONFIGDIR", folder.path());
    let asked = json(&mut notebook);
    let cut = json(Command::new(&python).args(["-c", CUTS]).arg(&file));
    assert_eq!(asked, cut);
    assert!(asked["slice_count"].as_u64().is_some_and(|events| events > 1000), "{}", asked["slice_count"]);
}

/// Figure 11 of the first paper about the EFU: the Multi-Grid turned by 2 degrees has a shadow in the picture xz, from which
/// the angle can be read.
#[test]
fn the_tilt_of_a_multi_grid_is_in_its_picture() {
    let folder = tempfile::tempdir().unwrap();
    let layers = |tilt: &str| -> Vec<f64> {
        let tilt = format!("simulation.multigrid.tilt_deg={tilt}");
        let flat =
            ["--set", "simulation.beam.image=\"flat\"", "--set", "simulation.multigrid.side_coating_um=50.0"];
        let load = ["--pulses", "56", "--neutrons", "60kHz", "--set", &tilt];
        let file = file_of(folder.path(), &tilt, "multigrid", &[&flat[..], &load].concat());
        let viewed = ViewedFile::start(&file, &[]);
        viewed.until_complete();
        let picture = ask(&viewed.page, "/api/image.json?picture=xz");
        let counts: Vec<u64> =
            picture["counts"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        counts
            .chunks(picture["nx"].as_u64().unwrap() as usize)
            .map(|row| row.iter().sum::<u64>() as f64)
            .collect()
    };
    let (upright, tilted) = (layers("0.0"), layers("2.0"));
    // The share of a layer that lies in the shadow grows in proportion to its depth; a fit through the front, weighted by counts.
    let (mut above, mut below) = (0.0, 0.0);
    for (layer, (&all, &seen)) in upright.iter().zip(&tilted).enumerate() {
        let depth = layer as f64 + 0.5;
        above += all * depth * (1.0 - seen / all);
        below += all * depth * depth;
    }
    let found = (above / below * 23.5 / 9.5).atan().to_degrees();
    assert!((found - 2.0).abs() < 0.3, "found {found:.2} degrees in {upright:?} and {tilted:?}");
}

/// Figure 14 of the EFU paper: a sampled track of the Gd-GEM with the event on it. The neutron was where the last charge came from.
#[test]
fn sampled_tracks_lead_back_to_their_neutrons() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (capture, truth, monitor) = (path("run.pcapng"), path("truth.csv"), path("monitor.json"));
    evforge(&["simulate", "gdgem", "--pulses", "14", "--output", &capture, "--truth", &truth]);
    let config = workspace().join("configs/gdgem-srs.toml");
    // The page has the same from /monitor.json.
    evforge(&["run", "--config", config.to_str().unwrap(), &capture, "--monitor", &monitor, "--quiet"]);
    let neutrons: Vec<[f64; 4]> = std::fs::read_to_string(truth)
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            // Time, place, and the pixel of the truth.
            [cells[1], cells[4], cells[5], cells[2]]
        })
        .collect();
    let data: Value = serde_json::from_slice(&std::fs::read(monitor).unwrap()).unwrap();
    let tracks = data["tracks"].as_array().unwrap();
    assert!(tracks.len() >= 8, "{}", tracks.len());
    let mut distances = [[0.0; 2]; 2];
    let mut found = 0;
    for track in tracks {
        let time = track["time_ns"].as_f64().unwrap();
        let apart = |neutron: &&[f64; 4]| (neutron[0] - time).abs() as u64;
        let [_, x, y, pixel] = *neutrons.iter().min_by_key(apart).unwrap();
        let event = track["pixel_id"].as_f64().unwrap() - 1.0;
        let true_pixel = pixel - 1.0;
        let is_near = |nx: f64| {
            ((event % nx) - (true_pixel % nx)).abs() <= 3.0
                && ((event / nx).floor() - (true_pixel / nx).floor()).abs() <= 3.0
        };
        found += u32::from(is_near(128.0));
        for (plane, at) in [x, y].into_iter().enumerate() {
            let of_plane = |hit: &&Value| hit["plane"].as_u64() == Some(plane as u64);
            let by_time = |hit: &&Value| hit["time_ns"].as_u64();
            let hits = || track["hits"].as_array().unwrap().iter().filter(of_plane);
            let ends = [hits().min_by_key(by_time), hits().max_by_key(by_time)];
            for (sum, hit) in distances[plane].iter_mut().zip(ends) {
                *sum += (hit.unwrap()["strip"].as_f64().unwrap() + 0.5 - at).abs() / tracks.len() as f64;
            }
        }
    }
    assert!(f64::from(found) >= 0.8 * tracks.len() as f64, "{found} of {}", tracks.len());
    for [first, last] in distances {
        assert!(last < 4.0 && last < 0.8 * first, "the ends are {distances:?} strips away on average");
    }
}

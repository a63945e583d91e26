//! Frames of a readout that tells them, from its packets into files and reports: those of the truth, everywhere the same.

use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_stream::nexus::{EventReader, ReadPulse};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn file(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a path that is text").to_owned()
}

/// The lines of a file behind the names of its columns.
fn lines(path: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

#[test]
fn frames_of_simulated_boards_are_those_of_the_truth_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name| file(folder.path(), name);
    let config = workspace().join("configs/isis-v2.toml");
    let [frames, events, nexus, truth, report] =
        ["frames.csv", "events.csv", "run.nxs", "truth.csv", "report.json"].map(&file);
    let output = evforge(&[
        "simulate",
        "--config",
        config.to_str().unwrap(),
        "--form",
        "--pulses",
        "60",
        "--seed",
        "5",
        "--neutrons",
        "5kHz",
        "--start",
        "fixed",
        "--set",
        "simulation.isis.periods=3",
        "--set",
        "simulation.isis.veto=[{ bit = 1, every = 4 }]",
        "--set",
        "outputs.csv.frame_columns=true",
        "--frames",
        &frames,
        "--events",
        &events,
        "--nexus",
        &nexus,
        "--truth-frames",
        &truth,
        "--report",
        &report,
    ]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let (truth, found) = (lines(&truth), lines(&frames));
    assert!(truth.len() >= 60, "{} frames", truth.len());
    let expected: Vec<Vec<String>> = truth
        .iter()
        .map(|frame| {
            let vetoes = number(&frame[3]);
            let is_good = u8::from(vetoes == 0);
            // Periods count from 0 in packets, and from 1 here.
            let period = number(&frame[2]) + 1;
            let said = [period.to_string(), format!("{vetoes:#x}"), is_good.to_string()];
            [vec![frame[1].clone()], said.into(), vec![frame[5].clone(), "complete".to_owned()]].concat()
        })
        .collect();
    let without_charge = |line: &Vec<String>| [&line[..4], &line[5..]].concat();
    assert_eq!(found.iter().map(without_charge).collect::<Vec<_>>(), expected);
    let charges: Vec<f64> = found.iter().map(|line| line[4].parse().unwrap()).collect();
    for (charge, frame) in charges.iter().zip(&truth) {
        assert!((charge - number(&frame[4]) as f64 * 1.738e-6).abs() < 1e-12, "{charge} of {frame:?}");
    }

    // The NeXus file has the same frames with the same numbers of events.
    let mut reader = EventReader::open(Path::new(&nexus)).unwrap();
    let (mut pulse, mut filed) = (ReadPulse::default(), Vec::new());
    while reader.read(&mut pulse).unwrap() {
        let frame = pulse.frame.expect("a frame");
        let [period, vetoes, good] = [
            (frame.period.unwrap() + 1).to_string(),
            format!("{:#x}", frame.vetoes),
            u8::from(!frame.is_vetoed).to_string(),
        ];
        let (events, state) = (pulse.times.len().to_string(), frame.state.name().to_owned());
        filed.push((
            vec![pulse.time_ns.to_string(), period, vetoes, good, events, state],
            frame.charge.unwrap().uah,
        ));
    }
    assert_eq!(filed.iter().map(|(line, _)| line.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(filed.iter().map(|(_, charge)| *charge).collect::<Vec<_>>(), charges);
    let names = reader.frame_vetoes().unwrap();
    assert!(names.iter().any(|veto| veto.bit == 1 && veto.name == "SMP" && veto.counts), "{names:?}");

    // Each event says what its frame is.
    let of_frames: Vec<Vec<String>> = lines(&events).into_iter().map(|line| line[2..].to_vec()).collect();
    let in_turn = expected.iter().flat_map(|frame| {
        let line =
            vec![frame[0].clone(), frame[1].clone(), frame[2].clone(), frame[3].clone(), frame[5].clone()];
        std::iter::repeat_n(line, number(&frame[4]) as usize)
    });
    assert_eq!(of_frames, in_turn.collect::<Vec<_>>());

    // And the report has their sums.
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    let told = &report["streams"][0]["frames"];
    let good = expected.iter().filter(|frame| frame[3] == "1").count();
    assert_eq!((told["raw"].as_u64(), told["good"].as_u64()), (Some(truth.len() as u64), Some(good as u64)));
    assert!(good < truth.len() && told["live_fraction"] == 1.0, "{told}");
    assert_eq!(told["periods"].as_array().map(Vec::len), Some(3));
    let said = text(&output.stdout);
    assert!(said.contains(&format!("{good} good of {} raw", truth.len())), "{said}");
}

#[test]
fn outputs_of_frames_are_refused_where_the_readout_tells_none() {
    let folder = tempfile::tempdir().unwrap();
    let frames = file(folder.path(), "frames.csv");
    let of = ["simulate", "multigrid", "--form", "--pulses", "2"];
    let events = file(folder.path(), "events.csv");
    let columns = ["--events", &events, "--set", "outputs.csv.frame_columns=true"];
    for (further, words) in [
        (&["--frames", &*frames][..], "[outputs.frames] (--frames) would stay empty"),
        (&columns[..], "outputs.csv.frame_columns would stay empty"),
    ] {
        let output = Command::new(PROGRAM).args(of).args(further).output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{said}");
        assert!(said.contains("the readout of [multigrid] tells no frames"), "{said}");
    }
    assert!(!Path::new(&frames).exists() && !Path::new(&events).exists());
}

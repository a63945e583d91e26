//! From events to topics to a file: the same as from events to a file.

use super::compared::{datasets, difference};
use super::support::{kafka, path, run, simulate, write};
use crate::common::{python, text, workspace};
use evforge_testkit::kafka_broker::shared;
use hdf5_metno::File;
use std::process::Command;

const TEST: &str = "a_file_from_topics_is_the_file_of_the_run";

/// What is in the file of the run and not, or not the same, in the file from topics, with the reason.
const NOT_THE_SAME: [(&str, &str); 14] = [
    (
        "/entry/recording/",
        "what the writer of the run says of itself: the file writer has /entry/evforge_writer",
    ),
    ("/entry/ledger/", "counters of the run over time: topics have the ledger in /entry/event_formation"),
    ("/entry/live_time/", "likewise"),
    ("/entry/outputs/", "outputs of the run"),
    ("/entry/configuration/toml", "the run has other outputs"),
    ("/entry/start_time", "milliseconds of the first message, as the module mdat has them"),
    ("/entry/end_time", "milliseconds of the last message: the run has the time of the last event"),
    ("/entry/duration", "of the run, not of the data: known to the run only"),
    ("/entry/total_pulses", "likewise"),
    ("/cue_index", "one per commit; the file writer has one for every 10^8 events, as the reference"),
    ("/cue_timestamp_zero", "likewise"),
    ("/below_range", "not in hs01"),
    ("/above_range", "not in hs01"),
    ("/readouts", "not in hs01"),
];

/// The number of pulses of a monitor is not in hs01 either, and its name is that of a dataset elsewhere.
fn is_excepted(path: &str, has_monitor: bool) -> bool {
    NOT_THE_SAME.iter().any(|(part, _)| path.contains(part)) || (has_monitor && path.ends_with("/pulses"))
}

#[test]
fn a_file_from_topics_is_the_file_of_the_run() {
    let Some(broker) = shared(TEST) else { return };
    let python = python(TEST);
    let folder = tempfile::tempdir().unwrap();
    let mut configs: Vec<_> = std::fs::read_dir(workspace().join("configs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        // What is said of frames is in the file of the run in `framelog`, and in that of topics where the module pu00 puts it.
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("isis-")))
        .collect();
    configs.sort();
    assert_eq!(configs.len(), 22, "a configuration came or went: does this test run it?");
    let mut compared = 0;
    let mut large = Vec::new();
    let (mut reduced, mut to_reduce) = (0, Vec::<String>::new());
    for config in configs {
        let name = config.file_stem().unwrap().to_str().unwrap();
        let config = config.to_str().unwrap();
        let (capture, _) = path(folder.path(), &format!("{name}.pcapng"));
        simulate(config, 20, &capture);
        let (direct, direct_text) = path(folder.path(), &format!("{name}.nxs"));
        let (written, written_text) = path(folder.path(), &format!("{name}_written.nxs"));
        let (_, events) = path(folder.path(), &format!("{name}.csv"));
        let (report, _) = path(folder.path(), &format!("{name}.json"));
        let keys = kafka(&broker, name, name);
        run(config, &capture, &keys, &["--nexus", &direct_text, "--events", &events]);
        let mut arguments = vec!["--config", config, "--all", "--output", &written_text];
        for key in &keys {
            arguments.extend(["--set", key]);
        }
        let report = write(&arguments, &report, &[0]);
        assert_eq!(report["unaccounted"], 0, "{name}: {report:#}");
        let (direct, from_topics) = (File::open(&direct).unwrap(), File::open(&written).unwrap());
        let (expected, found) = (datasets(&direct), datasets(&from_topics));
        let has_monitor = |path: &str| {
            let group = path.rsplit_once('/').map_or("/", |(group, _)| group);
            direct.dataset(&format!("{group}/monitor_number")).is_ok()
        };
        for (path, dataset) in &expected {
            if is_excepted(path, has_monitor(path)) {
                continue;
            }
            let other = found.iter().find(|(own, _)| own == path);
            let (_, other) = other.unwrap_or_else(|| panic!("{name}: {path} is missing"));
            if path.ends_with("/integral") {
                // Of an integrating monitor it is a sum of fractions, which the run and the file writer add up in another order.
                let [expected, found] = [dataset, other].map(|dataset| dataset.read_scalar::<f64>().unwrap());
                assert!(
                    (expected - found).abs() <= 1e-12 * expected,
                    "{name}: {path}: {found} is not {expected}"
                );
                continue;
            }
            if let Some(why) = difference(dataset, other) {
                panic!("{name}: {path}: {why}");
            }
            compared += 1;
        }
        for (path, _) in &found {
            let is_ours = path.contains("/evforge_writer/") || path.contains("/event_formation/");
            let is_known = expected.iter().any(|(own, _)| own == path);
            assert!(is_known || is_ours, "{name}: {path} is not in the file of the run");
        }
        // Beyond what does not grow with the run (pixels, histograms, the report): little for the file and each group of events, and
        // 12 bytes an event.
        for (path, datasets) in [(&direct_text, &expected), (&written_text, &found)] {
            let still = datasets.iter().filter(|(_, dataset)| !dataset.is_resizable());
            let still: u64 = still.map(|(_, dataset)| dataset.storage_size()).sum();
            let ids = || datasets.iter().filter(|(path, _)| path.ends_with("/event_id"));
            let event_count: u64 = ids().map(|(_, dataset)| dataset.size() as u64).sum();
            let length = std::fs::metadata(path).unwrap().len();
            let limit = still + 100_000 + 20_000 * ids().count() as u64 + 12 * event_count;
            if length > limit {
                large.push(format!("{path}: {length} bytes for {event_count} events, more than {limit}"));
            }
        }
        drop((direct, from_topics));
        if !["adc-readout", "beam-monitors"].contains(&name) {
            to_reduce.extend([written_text, config.to_owned(), events]);
            to_reduce.extend((name == "multigrid-cncs").then(|| "--mask-across-layers".to_owned()));
            to_reduce.push("--".to_owned());
            reduced += 1;
        }
    }
    // One Python for all: its packages take seconds to import.
    if let Some(python) = python {
        let script = workspace().join("tests/python/test_reduction.py");
        let output = Command::new(python).arg(script).args(to_reduce).output().unwrap();
        let (said, error) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{said}{error}");
        assert_eq!(said.lines().count(), reduced, "one line for each file: {said}{error}");
    }
    assert!(large.is_empty(), "{large:#?}");
    assert!(compared > 22 * 10, "{compared} datasets were compared");
}

//! Several units of one instrument into one file.

use super::support::{kafka, path, run, shipped, simulate, write};
use evforge_testkit::kafka_broker::shared;
use hdf5_metno::File;

#[test]
fn units_of_an_instrument_are_one_file_and_one_that_dies_is_a_gap() {
    let test = "units_of_an_instrument_are_one_file_and_one_that_dies_is_a_gap";
    let Some(broker) = shared(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = shipped("freia");
    let (long, _) = path(folder.path(), "long.pcapng");
    let (short, _) = path(folder.path(), "short.pcapng");
    simulate(&config, 140, &long);
    simulate(&config, 50, &short);
    let (mut events, mut pulses) = (0, Vec::new());
    for (unit, capture) in [("unit_a", &long), ("unit_b", &long), ("unit_c", &short)] {
        let (direct, direct_text) = path(folder.path(), &format!("{unit}.nxs"));
        run(&config, capture, &kafka(&broker, "units", unit), &["--nexus", &direct_text]);
        let file = File::open(&direct).unwrap();
        let own: Vec<i32> =
            file.dataset("entry/instrument/detector/detector_events/event_id").unwrap().read_raw().unwrap();
        events += own.len();
        let own: Vec<u64> = file
            .dataset("entry/instrument/detector/detector_events/event_time_zero")
            .unwrap()
            .read_raw()
            .unwrap();
        pulses.push(own);
    }
    let (written, written_text) = path(folder.path(), "units.nxs");
    let (report, _) = path(folder.path(), "report.json");
    let mut arguments = vec!["--config", config.as_str(), "--all", "--output", &written_text];
    let keys = kafka(&broker, "units", "unit_a");
    for key in &keys {
        arguments.extend(["--set", key]);
    }
    arguments
        .extend(["--source", "unit_a", "--source", "unit_b", "--source", "unit_c", "--source", "unit_d"]);
    // A source that never came, and a gap: the file is not whole.
    let report = write(&arguments, &report, &[3]);
    assert_eq!(report["counters"]["events_written"].as_u64(), Some(events as u64), "{report:#}");
    assert_eq!(report["unaccounted"], 0);
    let file = File::open(&written).unwrap();
    let ids: Vec<i32> =
        file.dataset("entry/instrument/detector/detector_events/event_id").unwrap().read_raw().unwrap();
    assert_eq!(ids.len(), events);
    let never: Vec<_> =
        report["never_came"].as_array().unwrap().iter().map(|one| one["source"].as_str().unwrap()).collect();
    assert!(never.contains(&"unit_d") && !never.contains(&"unit_c"), "{never:?}");
    let gaps = report["gaps"].as_array().unwrap();
    let gap = gaps.iter().find(|gap| gap["source"] == "unit_c").expect("a gap");
    let last = pulses[2].last().unwrap();
    let missed = pulses[0].iter().filter(|pulse| *pulse > last).count() as i64;
    assert!(missed > 80, "{missed}");
    assert_eq!(gap["pulses_missed"].as_i64(), Some(missed), "{gap:#}");
    assert!(gaps.iter().all(|gap| gap["source"] == "unit_c"), "{gaps:#?}");
    // The file says the same.
    let own = file.group("entry/evforge_writer/completeness").unwrap();
    let in_file: Vec<i64> = own.dataset("gaps/pulses_missed").unwrap().read_raw().unwrap();
    assert_eq!(in_file, [missed]);
    let read: Vec<i64> = own.dataset("messages_read").unwrap().read_raw().unwrap();
    assert_eq!(
        read.iter().filter(|read| **read == 0).count(),
        report["never_came"].as_array().unwrap().len()
    );
}

//! Events are read back pulse by pulse: from what was written here, from files of others, and not from damaged ones.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::common::{Run, flat_options};
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_stream::nexus::{EventReader, PulseOrigin, ReadPulse};
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{File, Group};

const SECOND: u64 = 1_000_000_000;
/// 13 September 2020.
const EPOCH: u64 = 1_600_000_000 * SECOND;

fn all(path: &Path) -> Vec<ReadPulse> {
    let mut reader = EventReader::open(path).unwrap();
    let (mut pulses, mut pulse) = (Vec::new(), ReadPulse::default());
    while reader.read(&mut pulse).unwrap() {
        pulses.push(pulse.clone());
    }
    pulses
}

#[test]
fn what_was_written_is_read_with_empty_pulses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut options = flat_options(&path);
    options.pulse_origin = PulseOrigin::Readout;
    let mut run = Run::begin(&options).unwrap();
    let mut expected = Vec::new();
    for number in 0..5000_u64 {
        let mut events = EventBatch::new(100);
        let start = EPOCH + number * SECOND / 14;
        assert!(events.begin_pulse(start));
        let mut pulse = ReadPulse {
            source: "demo".to_owned(),
            time_ns: start as i64,
            frame: None,
            times: Vec::new(),
            pixels: Vec::new(),
        };
        for event in 0..number % 7 {
            let (time, pixel_id) = (1000 * event + number, u32::try_from(event).unwrap() + 1);
            assert!(events.push(Event { time_ns: start + time, pixel_id }));
            pulse.times.push(i32::try_from(time).unwrap());
            pulse.pixels.push(pixel_id as i32);
        }
        run.take(&events).unwrap();
        expected.push(pulse);
    }
    run.finish(&DetectorLedger::default()).unwrap();
    let mut found = all(&path);
    // A detector is called as its group is.
    let source = EventReader::open(&path).unwrap().sources().next().unwrap().0.to_owned();
    found.iter_mut().for_each(|pulse| assert_eq!(pulse.source, source));
    expected.iter_mut().for_each(|pulse| pulse.source.clone_from(&source));
    assert_eq!(found.len(), expected.len());
    assert_eq!(found, expected);
}

fn class(group: &Group, class: &str) {
    let text: VarLenUnicode = class.parse().unwrap();
    group.new_attr::<VarLenUnicode>().create("NX_class").unwrap().write_scalar(&text).unwrap();
}

/// A file as others write them: seconds and microseconds that are no whole numbers, and two groups.
fn foreign(path: &Path, index: &[u64], times: &[f32]) {
    let file = File::create(path).unwrap();
    for (name, first, id) in [("bank1", 0.5_f64, 7_u32), ("bank2", 0.25, 9)] {
        let detector = file.create_group(name).unwrap();
        class(&detector, "NXdetector");
        let events = detector.create_group("events").unwrap();
        class(&events, "NXevent_data");
        let unit = |dataset: &hdf5_metno::Dataset, name: &str, text: &str| {
            let text: VarLenUnicode = text.parse().unwrap();
            dataset.new_attr::<VarLenUnicode>().create(name).unwrap().write_scalar(&text).unwrap();
        };
        let zero =
            events.new_dataset_builder().with_data(&[first, first + 1.0]).create("event_time_zero").unwrap();
        unit(&zero, "units", "s");
        unit(&zero, "offset", "2020-09-13T12:26:40");
        let offset = events.new_dataset_builder().with_data(times).create("event_time_offset").unwrap();
        unit(&offset, "units", "microsecond");
        events.new_dataset_builder().with_data(&vec![id; times.len()]).create("event_id").unwrap();
        events.new_dataset_builder().with_data(index).create("event_index").unwrap();
    }
}

#[test]
fn files_of_others_are_read_in_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.nxs");
    foreign(&path, &[0, 2], &[1.5, 2.0, 30.25]);
    let pulse = |source: &str, after: i64, times: &[i32], pixel: i32| ReadPulse {
        source: source.to_owned(),
        time_ns: EPOCH as i64 + after * 1_000_000,
        frame: None,
        times: times.to_vec(),
        pixels: vec![pixel; times.len()],
    };
    let expected = [
        pulse("bank2", 250, &[1500, 2000], 9),
        pulse("bank1", 500, &[1500, 2000], 7),
        pulse("bank2", 1250, &[30_250], 9),
        pulse("bank1", 1500, &[30_250], 7),
    ];
    assert_eq!(all(&path), expected);
}

#[test]
fn damaged_files_end_with_an_error_that_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.nxs");
    let said = |index: &[u64], times: &[f32]| {
        foreign(&path, index, times);
        let read = || -> Result<(), evforge_stream::nexus::NexusError> {
            let mut reader = EventReader::open(&path)?;
            let mut pulse = ReadPulse::default();
            while reader.read(&mut pulse)? {}
            Ok(())
        };
        read().unwrap_err().to_string()
    };
    let error = said(&[0, 50], &[1.0, 2.0]);
    assert!(error.contains("bank2, pulse 0") && error.contains("0 to 50"), "{error}");
    let error = said(&[2, 1], &[1.0, 2.0]);
    assert!(error.contains("2 to 1"), "{error}");
    let error = said(&[0, u64::MAX], &[1.0, 2.0]);
    assert!(error.contains("event_index"), "{error}");
    let error = said(&[0, 1], &[1e30, 2.0]);
    assert!(error.contains("beyond 32 bits"), "{error}");
    let error = said(&[0], &[1.0]);
    assert!(error.contains("must be as many"), "{error}");
    std::fs::write(&path, b"no HDF5").unwrap();
    assert!(EventReader::open(&path).unwrap_err().to_string().contains("damaged.nxs"));
    File::create(&path).unwrap();
    assert!(EventReader::open(&path).unwrap_err().to_string().contains("NXevent_data"));
    let absent = EventReader::open(&folder.path().join("none.nxs")).unwrap_err().to_string();
    assert!(absent.contains("No such file"), "{absent}");
}

//! Files are followed to their end: every event once, in whatever width it is stored, and what cannot be read is counted by its reason.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use evforge_core::batch_filler::BatchFiller;
use evforge_core::counter::{CounterSet, Law};
use evforge_core::event::EventBatch;
use evforge_core::frame::ProtonCharge;
use evforge_stream::nexus::{EventFollower, FileState, FollowCounters, place_pixels};
use evforge_testkit::patience::patience;
use evforge_testkit::properties::cases;
use hdf5_metno::file::LibraryVersion;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{File, Group, H5Type};
use proptest::prelude::*;

/// 13 September 2020.
const EPOCH: u64 = 1_600_000_000_000_000_000;

/// An event: pulse, time, pixel.
type Row = (u64, u64, u32);

/// All events of a file that is complete, with the counters, whose law holds, and what could not be read.
fn followed(path: &Path) -> (Vec<Row>, FollowCounters, Vec<String>) {
    let mut follower = EventFollower::open(path).unwrap();
    let some_ids = follower.some_ids();
    if let Ok(placed) = place_pixels(follower.content(), None, some_ids) {
        follower.set_pixels(placed.rules);
    }
    let mut rows = Vec::new();
    let mut hand_on = |batch: &EventBatch| {
        for (pulse, range) in batch.by_pulse() {
            let events = batch.times_ns()[range.clone()].iter().zip(&batch.pixel_ids()[range]);
            rows.extend(events.map(|(&time, &pixel)| (pulse.unwrap(), time, pixel)));
        }
    };
    let mut batch = EventBatch::new(7);
    loop {
        let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
        let goes_on = follower.read(3, &mut filler);
        filler.finish();
        let counters = follower.counters();
        assert_eq!(counters.imbalance(Law::Events), 0, "{counters:?}");
        if !goes_on {
            break;
        }
    }
    assert_eq!(follower.look().unwrap(), &FileState::Complete);
    let counters = follower.counters();
    assert_eq!(counters.events_shown, rows.len() as u64);
    (rows, counters, follower.faults())
}

fn attribute(of: &hdf5_metno::Location, name: &str, text: &str) {
    let text: VarLenUnicode = text.parse().unwrap();
    of.new_attr::<VarLenUnicode>().create(name).unwrap().write_scalar(&text).unwrap();
}

fn group(parent: &Group, name: &str, class: &str) -> Group {
    let group = parent.create_group(name).unwrap();
    attribute(&group, "NX_class", class);
    group
}

fn array<T: H5Type>(parent: &Group, name: &str, values: &[T], attributes: &[(&str, &str)]) {
    let set = parent.new_dataset_builder().with_data(values).create(name).unwrap();
    attributes.iter().for_each(|(name, text)| attribute(&set, name, text));
}

/// A group of events with ids, offsets in ns, pulses in ns since 1970, and an index.
fn events<I: H5Type, O: H5Type, X: H5Type>(
    parent: &Group,
    (ids, offsets): (&[I], &[O]),
    unit: &str,
    (zeros, index): (&[i64], &[X]),
) -> Group {
    let events = group(parent, "events", "NXevent_data");
    array(&events, "event_id", ids, &[]);
    array(&events, "event_time_offset", offsets, &[("units", unit)]);
    array(&events, "event_time_zero", zeros, &[("units", "ns")]);
    array(&events, "event_index", index, &[]);
    events
}

const PULSES: [i64; 3] = [EPOCH as i64, EPOCH as i64 + 1000, EPOCH as i64 + 2000];

fn row(pulse: u64, offset: u64, pixel: u32) -> Row {
    (EPOCH + 1000 * pulse, EPOCH + 1000 * pulse + offset, pixel)
}

#[test]
fn every_width_and_unit_gives_the_same_events() {
    let folder = tempfile::tempdir().unwrap();
    let expected = [row(0, 10, 5), row(0, 20, 6), row(2, 30, 7), row(2, 40, 8), row(2, 50, 8)];
    let index = [0_u64, 2, 2];
    let make = |name: &str, fill: &dyn Fn(&Group)| {
        let path = folder.path().join(name);
        fill(&group(&File::create(&path).unwrap(), "entry", "NXentry"));
        followed(&path)
    };
    let narrow = make("narrow.nxs", &|entry| {
        events(entry, (&[5_u32, 6, 7, 8, 8], &[10_i32, 20, 30, 40, 50]), "ns", (&PULSES, &index));
    });
    let wide = make("wide.nxs", &|entry| {
        events(
            entry,
            (&[5_u64, 6, 7, 8, 8], &[0.01_f64, 0.02, 0.03, 0.04, 0.05]),
            "microsecond",
            (&PULSES, &[0_i32, 2, 2]),
        );
    });
    let odd = make("odd.nxs", &|entry| {
        let seconds = [1e-8_f32, 2e-8, 3e-8, 4e-8, 5e-8];
        let made = events(entry, (&[5_i64, 6, 7, 8, 8], &seconds), "s", (&PULSES, &[0_u16, 2, 2]));
        // The same group by another way is the same events.
        entry.link_hard(&made.name(), "again").unwrap();
        entry.link_soft("/entry", "around").unwrap();
    });
    for (rows, counters, faults) in [narrow, wide, odd] {
        assert_eq!((rows.as_slice(), faults.len()), (&expected[..], 0), "{faults:?}");
        assert_eq!((counters.pulses_read, counters.events_read, counters.events_waiting), (3, 5, 0));
    }
}

/// Frames of others: as many as pulses, in whatever width; what is no number, or not of the pulses, takes no events with it.
#[test]
fn frames_of_others_are_read_where_there_is_one_for_each_pulse() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.nxs");
    let read = |fill: &dyn Fn(&Group)| {
        let _ = std::fs::remove_file(&path);
        let entry = group(&File::create(&path).unwrap(), "raw_data_1", "NXentry");
        events(&entry, (&[5_u32, 6, 7], &[10_i32, 20, 30]), "ns", (&PULSES, &[0_u64, 1, 2]));
        fill(&group(&entry, "framelog", "NXcollection"));
        entry.file().unwrap().close().unwrap();
        let (rows, _, faults) = followed(&path);
        assert_eq!(rows, [row(0, 10, 5), row(1, 20, 6), row(2, 30, 7)]);
        let mut follower = EventFollower::open(&path).unwrap();
        let mut frames = Vec::new();
        let mut hand_on = |batch: &EventBatch| frames.extend(batch.by_frame().map(|(_, frame, _)| frame));
        let mut batch = EventBatch::new(100);
        let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
        while follower.read(100, &mut filler) {}
        filler.finish();
        frames.retain(Option::is_some);
        (frames.into_iter().flatten().map(|frame| (frame.period, frame.charge)).collect::<Vec<_>>(), faults)
    };
    let log = |parent: &Group, name: &str| group(parent, name, "NXlog");
    let uah = |uah| Some(ProtonCharge { uah });
    let (frames, faults) = read(&|frames| {
        array(&log(frames, "period_log"), "value", &[1_i16, 2, -7], &[]);
        array(&log(frames, "proton_charge"), "value", &[0.5_f32, f32::NAN, -1.0], &[]);
    });
    assert_eq!((frames, faults.len()), (vec![(Some(0), uah(0.5)), (Some(1), None), (None, None)], 0));
    // A log of changes.
    let (frames, faults) = read(&|frames| array(&log(frames, "period_log"), "value", &[1_i32, 2], &[]));
    assert_eq!((frames.len(), faults.len()), (0, 0));
    let (frames, faults) = read(&|frames| {
        let text = |text: &str| text.parse::<VarLenUnicode>().unwrap();
        array(&log(frames, "period_log"), "value", &["one", "two", "two"].map(text), &[]);
    });
    assert_eq!(frames.len(), 0);
    assert!(faults[0].contains("its frames (framelog) are not shown"), "{faults:?}");
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.nxs");
    let mut number = 0;
    let mut said = |fill: &dyn Fn(&Group)| {
        number += 1;
        let path = folder.path().join(format!("{number}.nxs"));
        let entry = group(&File::create(&path).unwrap(), "entry", "NXentry");
        // One that can be read.
        events(&group(&entry, "good", "NXdetector"), (&[1_i32], &[5_i32]), "ns", (&[EPOCH as i64], &[0_i64]));
        fill(&group(&entry, "bad", "NXdetector"));
        drop(entry);
        let (rows, counters, faults) = followed(&path);
        assert!(rows.contains(&(EPOCH, EPOCH + 5, 1)), "{rows:?}");
        (rows.len() as u64 - 1, counters, faults.join("; "))
    };
    let pulses = &PULSES[..2];
    // Beyond all events, back, and below 0.
    for index in [[0_i64, 9], [1, 0], [0, i64::MIN]] {
        let (shown, counters, faults) =
            said(&|bad| drop(events(bad, (&[1_i32, 2], &[1_i32, 2]), "ns", (pulses, &index))));
        assert!(
            counters.pulses_of_bad_index > 0 && faults.contains("points to no events"),
            "{index:?}: {faults}"
        );
        assert!(shown <= 2);
    }
    let (shown, counters, _) =
        said(&|bad| drop(events(bad, (&[1_i32, 2], &[1_i32, 2]), "ns", (pulses, &[1_i64, 2]))));
    assert_eq!((shown, counters.events_without_pulse), (1, 1));
    let (shown, counters, _) =
        said(&|bad| drop(events(bad, (&[1_i32, 2], &[1_i32, 2]), "ns", (&[-5, 7], &[0_i64, 1]))));
    assert_eq!((shown, counters.events_outside_epoch), (1, 1));
    type Make<'a> = &'a dyn Fn(&Group);
    let cases: [(&str, Make<'_>); 6] = [
        ("must be as many", &|bad| drop(events(bad, (&[1_i32, 2], &[1_i32]), "ns", (pulses, &[0_i64, 1])))),
        ("its unit is \"furlong\"", &|bad| {
            drop(events(bad, (&[1_i32], &[1_i32]), "furlong", (pulses, &[0_i64, 1])))
        }),
        ("expected one dimension", &|bad| {
            let made = events(bad, (&[1_i32], &[1_i32]), "ns", (pulses, &[0_i64, 1]));
            made.unlink("event_id").unwrap();
            made.new_dataset::<i32>().shape((2, 2)).create("event_id").unwrap();
        }),
        ("bytes are stored of it", &|bad| {
            let made = events(bad, (&[1_i32], &[1_i32]), "ns", (pulses, &[0_i64, 1]));
            for name in ["event_id", "event_time_offset"] {
                made.unlink(name).unwrap();
                let set = made.new_dataset::<i32>().shape(1_usize << 40).chunk(1 << 10).create(name).unwrap();
                attribute(&set, "units", "ns");
            }
        }),
        ("event_index", &|bad| {
            let made = events(bad, (&[1_i32], &[1_i32]), "ns", (pulses, &[0_i64, 1]));
            made.unlink("event_index").unwrap();
        }),
        ("detector_number: not read", &|bad| {
            bad.new_dataset::<i32>().shape(1_usize << 30).chunk(1 << 10).create("detector_number").unwrap();
        }),
    ];
    for (words, fill) in cases {
        let (_, _, faults) = said(fill);
        assert!(faults.contains(words) && faults.contains("/entry/bad"), "{words}: {faults}");
    }
    std::fs::write(&path, b"no HDF5").unwrap();
    assert!(EventFollower::open(&path).unwrap_err().to_string().contains("odd.nxs"));
    File::create(&path).unwrap();
    assert!(EventFollower::open(&path).unwrap_err().to_string().contains("no group of class NXevent_data"));
    // Cut short: HDF5 says so, or the events that are left are shown.
    let whole = std::fs::read(folder.path().join("1.nxs")).unwrap();
    for length in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(EventFollower::open(&path).is_err(), "{length}");
    }
}

#[test]
fn banks_are_panels_and_monitors_have_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("banks.nxs");
    let entry = group(&File::create(&path).unwrap(), "entry", "NXentry");
    for (name, first) in [("bank10", 200_i32), ("bank2", 100)] {
        let bank = group(&entry, name, "NXdetector");
        let ids: Vec<i32> = (first..first + 6).collect();
        let numbers = bank.new_dataset::<i32>().shape((2, 3)).create("detector_number").unwrap();
        numbers.write_raw(&ids).unwrap();
        events(&bank, (&[first, first + 5], &[1_i32, 2]), "ns", (&PULSES[..1], &[0_i64]));
    }
    let monitor = group(&entry, "monitor_1", "NXmonitor");
    events(&monitor, (&[0_i32, 0], &[3_i32, 4]), "ns", (&PULSES[..1], &[0_i64]));
    drop((entry, monitor));
    let (mut rows, _, faults) = followed(&path);
    rows.sort_unstable();
    // The bank with the smaller numbers is the first panel; the monitor follows.
    assert_eq!(rows, [row(0, 1, 1), row(0, 1, 7), row(0, 2, 6), row(0, 2, 12), row(0, 3, 13), row(0, 4, 13)]);
    assert!(faults.is_empty(), "{faults:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(20)))]

    /// Whatever the numbers are: no event twice, each in the balance, and no panic.
    #[test]
    fn any_numbers_are_accounted_for(
        ids in proptest::collection::vec(any::<i64>(), 0..20),
        zeros in proptest::collection::vec(prop_oneof![any::<i64>(), 0..9_i64], 1..12),
        index in proptest::collection::vec(prop_oneof![any::<u64>(), 0..21_u64], 1..12),
        offset in any::<i64>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.nxs");
        let pulses = zeros.len().min(index.len());
        let offsets = vec![offset; ids.len()];
        let entry = group(&File::create(&path).unwrap(), "entry", "NXentry");
        events(&entry, (&ids, &offsets), "ns", (&zeros[..pulses], &index[..pulses]));
        drop(entry);
        let (rows, counters, _) = followed(&path);
        prop_assert!(rows.len() <= ids.len() * pulses);
        prop_assert_eq!(counters.pulses_read, pulses as u64);
    }
}

#[test]
fn logs_have_their_newest_value_and_what_is_none_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs.nxs");
    {
        let file = File::create(&path).unwrap();
        let entry = group(&file, "entry", "NXentry");
        let detector = group(&entry, "det", "NXdetector");
        drop(events(&detector, (&[1_i32], &[1_i32]), "ns", (&[EPOCH as i64], &[0_i64])));
        let log = group(&entry, "temperature", "NXlog");
        array(&log, "value", &[4.0, 9.5, 3.0, f64::NAN], &[("units", "K")]);
        array(&log, "time", &[0.0, 0.5, 1.5, 2.5], &[("units", "s"), ("start", "2020-09-13T12:26:40Z")]);
        let turns = group(&entry, "turns", "NXlog");
        array(&turns, "value", &[1_i32, 2], &[]);
        let empty = group(&entry, "empty", "NXlog");
        array::<f64>(&empty, "value", &[], &[]);
        let flat = group(&entry, "flat", "NXlog");
        flat.new_dataset::<f64>().shape((2, 2)).create("value").unwrap();
        group(&group(&entry, "ledger", "NXcollection"), "packets_lost", "NXlog");
        for number in 0..300 {
            let more = group(&entry, &format!("z {number}"), "NXlog");
            array(&more, "value", &[number], &[]);
        }
    }
    let mut follower = EventFollower::open(&path).unwrap();
    let (logs, left_out) = follower.logs();
    let log = |name: &str| logs.iter().find(|log| log.name == name);
    let hot = log("temperature").unwrap();
    assert_eq!((hot.value, hot.unit.as_str(), hot.values), (3.0, "K", 4));
    assert_eq!(hot.seen, Some((3.0, 9.5, 16.5, 3)));
    // Time belongs to the newest row, be its value a number or not.
    assert_eq!(hot.time_ns, Some(EPOCH as i64 + 2_500_000_000));
    let turns = log("turns").unwrap();
    assert_eq!((turns.value, turns.unit.as_str(), turns.time_ns), (2.0, "", None));
    assert!(log("flat").is_none() && log("empty").is_none() && left_out > 0 && logs.len() <= 256);
    assert_eq!(
        follower.logs().0.iter().find(|log| log.name == "temperature").unwrap().seen,
        None,
        "it is told once"
    );
}

/// HDF5 would read what looks damaged for ever, as long as somebody may be writing the file.
#[test]
fn a_damaged_file_that_looks_unfinished_is_refused_or_read_within_moments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.nxs");
    let file = File::with_options()
        .with_fapl(|access| access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110))
        .create(&path)
        .unwrap();
    let entry = group(&file, "entry", "NXentry");
    events(&entry, (&[1_i32, 2], &[1_i32, 2]), "ns", (&PULSES[..2], &[0_i64, 1]));
    file.flush().unwrap();
    drop(entry);
    file.start_swmr().unwrap();
    let whole = std::fs::read(&path).unwrap();
    let headers: Vec<usize> =
        (0..whole.len() - 4).filter(|&place| whole[place..].starts_with(b"OHDR")).collect();
    assert!(headers.len() > 4, "{headers:?}");
    let copy = folder.path().join("damaged.nxs");
    let (answer, answers) = std::sync::mpsc::channel();
    for header in headers {
        let mut damaged = whole.clone();
        damaged[header + 8] ^= 0x55;
        std::fs::write(&copy, &damaged).unwrap();
        let (answer, copy) = (answer.clone(), copy.clone());
        std::thread::spawn(move || answer.send(EventFollower::open(&copy).is_ok()));
        answers.recv_timeout(patience()).unwrap_or_else(|_| {
            eprintln!("a file that is damaged at {header} is still being read after {:?}", patience());
            // HDF5 would wait for that thread before the process ends.
            std::process::abort()
        });
    }
}

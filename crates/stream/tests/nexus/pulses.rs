//! Pulses that the readout tells, from batches into a file and back.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::str::FromStr;

use crate::common::{Run, batch, flat_options, read};
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_stream::nexus::{NexusOptions, PulseOrigin, recover};
use evforge_testkit::properties::cases;
use hdf5_metno::File;
use hdf5_metno::types::FixedUnicode;
use proptest::prelude::*;

const EVENTS: &str = "/entry/instrument/detector/detector_events";
const SECOND: u64 = 1_000_000_000;
/// 13 September 2020.
const EPOCH: u64 = 1_600_000_000 * SECOND;

fn options(path: &Path) -> NexusOptions {
    let mut options = flat_options(path);
    options.pulse_origin = PulseOrigin::Readout;
    options
}

/// A pulse: its start and the events' times after it and pixels.
type Pulse = (u64, Vec<(u64, u32)>);

/// Cuts pulses into batches of at most `capacity` events, handed over after so many pulses as `cuts` say.
fn hand_over(pulses: &[Pulse], capacity: usize, cuts: &[usize], mut deliver: impl FnMut(&EventBatch)) {
    let mut events = EventBatch::new(capacity);
    let mut cuts = cuts.iter().copied().cycle();
    let mut left = cuts.next().unwrap_or(0);
    for (start, offsets) in pulses {
        if left == 0 || !events.begin_pulse(*start) {
            deliver(&events);
            events.clear();
            assert!(events.begin_pulse(*start));
            left = cuts.next().unwrap_or(0);
        } else {
            left -= 1;
        }
        for &(offset, pixel_id) in offsets {
            let event = Event { time_ns: start + offset, pixel_id };
            if !events.push(event) {
                deliver(&events);
                events.clear();
                // The pulse goes on in the next batch.
                assert!(events.begin_pulse(*start) && events.push(event));
            }
        }
    }
    deliver(&events);
}

/// What a group of events says, in the shape of what was handed over.
fn content(path: &Path, group: &str) -> Vec<Pulse> {
    let file = File::open(path).unwrap();
    let events = file.group(group).unwrap();
    let (id, offset) = (read::<i32>(&events, "event_id"), read::<i32>(&events, "event_time_offset"));
    let (zero, index) = (read::<u64>(&events, "event_time_zero"), read::<i64>(&events, "event_index"));
    let total: u64 = events.dataset("total_counts").unwrap().read_scalar().unwrap();
    assert_eq!((total as usize, offset.len()), (id.len(), id.len()));
    let pulse = |(pulse, &start): (usize, &u64)| {
        let end = index.get(pulse + 1).map_or(id.len(), |&end| end as usize);
        let events = (index[pulse] as usize..end).map(|at| (offset[at] as u64, id[at] as u32));
        (start, events.collect())
    };
    zero.iter().enumerate().map(pulse).collect()
}

/// Pulses that go to the group in order, and those that come after a later one. One that is named again right after itself goes on.
fn by_order(pulses: &[Pulse]) -> [Vec<Pulse>; 2] {
    let mut found: [Vec<Pulse>; 2] = Default::default();
    for (start, events) in pulses {
        let is_late = found[0].last().is_some_and(|(newest, _)| start < newest);
        let group = &mut found[usize::from(is_late)];
        match group.last_mut() {
            Some((same, known)) if same == start => known.extend(events),
            _ => group.push((*start, events.clone())),
        }
    }
    found
}

/// The groups of both kinds, of which the first never goes back.
fn both(path: &Path) -> [Vec<Pulse>; 2] {
    let found = ["", "/events_late"].map(|late| content(path, &format!("{EVENTS}{late}")));
    assert!(found[0].is_sorted_by_key(|(start, _)| *start));
    found
}

fn pulses() -> impl Strategy<Value = Vec<Pulse>> {
    let events = prop::collection::vec((0..i32::MAX as u64, 1..49_u32), 0..6);
    // Now and then a clock goes back: a little, or by more than a minute, as one that starts over.
    let step = prop_oneof![8 => 1..3 * 1_000_000_000_i64, 1 => -10..0_i64, 1 => -100 * 1_000_000_000..0_i64];
    prop::collection::vec((step, events), 1..30).prop_map(|pulses| {
        let mut start = EPOCH;
        pulses
            .into_iter()
            .map(|(step, events)| {
                start = start.saturating_add_signed(step);
                (start, events)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    #[test]
    fn pulses_and_events_come_back_from_a_file_that_ended_and_from_one_whose_writer_was_killed(
        pulses in pulses(),
        capacity in 1..20_usize,
        cuts in prop::collection::vec(0..5_usize, 1..6),
        committed in 0..40_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
        let mut writer = Run::begin(&options(&path)).unwrap();
        let (mut all, mut safe): (Vec<Pulse>, Vec<Pulse>) = Default::default();
        let mut batches = 0;
        hand_over(&pulses, capacity, &cuts, |batch| {
            writer.take(batch).unwrap();
            all.extend(batch.by_frame().map(|(start, _, events)| {
                let start = start.unwrap();
                let event = |at: usize| (batch.times_ns()[at] - start, batch.pixel_ids()[at]);
                (start, events.map(event).collect())
            }));
            if batches == committed {
                writer.commit().unwrap();
                safe = all.clone();
            }
            batches += 1;
        });
        std::fs::copy(&path, &copy).unwrap();
        writer.finish(&DetectorLedger::default()).unwrap();
        let counters = writer.writer().counters();
        prop_assert_eq!(counters.events_taken, counters.events + counters.events_outside_pulse);
        prop_assert_eq!(counters.pulses, counters.pulses_told);
        let expected = by_order(&all);
        let count = |pulses: &[Pulse]| pulses.iter().map(|(_, events)| events.len() as u64).sum::<u64>();
        prop_assert_eq!(counters.events, count(&all));
        prop_assert_eq!((counters.events_late, counters.pulses_late as usize), (count(&expected[1]), expected[1].len()));
        let empty = expected.iter().flatten().filter(|(_, events)| events.is_empty()).count();
        prop_assert_eq!(counters.empty_pulses as usize, empty);
        prop_assert_eq!(both(&path), expected);
        recover(&copy).unwrap();
        prop_assert_eq!(both(&copy), by_order(&safe));
    }
}

/// A writer that was killed in a commit: what of late events is behind the last one is cut away, and the totals are those of the rest.
#[test]
fn late_events_behind_the_last_commit_are_cut_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&options(&path)).unwrap();
    let starts = [0, 1, -5, -4, 2].map(|second| EPOCH.saturating_add_signed(second * 1_000_000_000));
    let pulses: Vec<Pulse> = starts.iter().map(|start| (*start, vec![(10, 1), (20, 2)])).collect();
    hand_over(&pulses, 100, &[9], |batch| writer.take(batch).unwrap());
    writer.finish(&DetectorLedger::default()).unwrap();
    assert_eq!(both(&path), by_order(&pulses));
    let file = File::open_rw(&path).unwrap();
    let recording = file.group("/entry/recording").unwrap();
    recording.dataset("committed").unwrap().write_raw(&[4_u64, 2, 2, 1]).unwrap();
    let state = FixedUnicode::<256>::from_str("writing").unwrap();
    recording.dataset("state").unwrap().write_scalar(&state).unwrap();
    drop(recording);
    file.close().unwrap();
    let recovered = recover(&path).unwrap();
    assert_eq!((recovered.events, recovered.pulses), (6, 3));
    assert_eq!((recovered.events_cut, recovered.pulses_cut), (4, 2));
    assert_eq!(both(&path), by_order(&pulses[..3]));
}

#[test]
fn the_file_says_where_its_pulses_come_from_and_when_the_last_one_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&options(&path)).unwrap();
    let mut events = EventBatch::new(1);
    // A monitor in the dark: nothing but pulses.
    assert!(events.begin_pulse(EPOCH) && events.begin_pulse(EPOCH + SECOND));
    writer.take(&events).unwrap();
    writer.commit().unwrap();
    let copy = folder.path().join("copy.nxs");
    std::fs::copy(&path, &copy).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();
    assert_eq!((writer.writer().counters().pulses, writer.writer().counters().empty_pulses), (2, 2));
    recover(&copy).unwrap();
    for path in [&path, &copy] {
        let file = File::open(path).unwrap();
        assert_eq!(crate::common::text(&file, "/entry/recording/pulses"), "the readout");
        assert_eq!(crate::common::text(&file, "/entry/start_time"), "2020-09-13T12:26:40Z");
        assert_eq!(crate::common::text(&file, "/entry/end_time"), "2020-09-13T12:26:41Z");
    }

    let path = folder.path().join("train.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    writer.take(&batch(&[(5, 1)])).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(crate::common::text(&file, "/entry/recording/pulses"), "configured train");
}

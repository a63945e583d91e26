//! Pulses that the readout tells, from batches into a file and back.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::common::{Run, batch, flat_options, read};
use evforge_core::event::{Event, EventBatch};
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_stream::nexus::{NexusOptions, PulseOrigin, recover};
use evforge_testkit::properties::cases;
use hdf5_metno::File;
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

/// What a file says, in the shape of what was handed over.
fn content(path: &Path) -> EventLog {
    let file = File::open(path).unwrap();
    let events = file.group(EVENTS).unwrap();
    let (id, offset) = (read::<i32>(&events, "event_id"), read::<i32>(&events, "event_time_offset"));
    let (zero, index) = (read::<u64>(&events, "event_time_zero"), read::<i64>(&events, "event_index"));
    let mut batch = EventBatch::new(id.len().max(zero.len()));
    for (pulse, &start) in zero.iter().enumerate() {
        assert!(batch.begin_pulse(start));
        let end = index.get(pulse + 1).map_or(id.len(), |&end| end as usize);
        for at in index[pulse] as usize..end {
            assert!(batch.push(Event { time_ns: start + offset[at] as u64, pixel_id: id[at] as u32 }));
        }
    }
    let mut log = EventLog::default();
    log.take(&batch);
    log
}

fn pulses() -> impl Strategy<Value = Vec<Pulse>> {
    let events = prop::collection::vec((0..i32::MAX as u64, 1..49_u32), 0..6);
    prop::collection::vec((1..3 * SECOND, events), 1..30).prop_map(|pulses| {
        let mut start = EPOCH;
        pulses
            .into_iter()
            .map(|(after, events)| {
                start += after;
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
        let (mut all, mut safe) = (EventLog::default(), EventLog::default());
        let mut batches = 0;
        hand_over(&pulses, capacity, &cuts, |batch| {
            writer.take(batch).unwrap();
            all.take(batch);
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
        let empty = all.pulses().iter().filter(|pulse| pulse.events.is_empty()).count();
        prop_assert_eq!(counters.empty_pulses as usize, empty);
        prop_assert_eq!(content(&path), all);
        recover(&copy).unwrap();
        prop_assert_eq!(content(&copy), safe);
    }
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

//! The output of a run: names, files, what it says of its progress, and the series of all outputs.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Feed, batch, counter, flat_options, read, state};
use evforge_core::counter::{CounterInfo, CounterSet, CounterSnapshot};
use evforge_core::event::EventBatch;
use evforge_core::ledger::DetectorLedger;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{Calendar, CalendarOrigin};
use evforge_core::run_state::{OutputCounters, OutputState, RunState};
use evforge_core::time::ManualClock;
use evforge_stream::nexus::{
    ExistingFile, NexusCounters, NexusError, NexusOptions, NexusOutput, PulseOrigin,
};
use evforge_testkit::patience::wait_until;
use hdf5_metno::File;

const EVENTS: &str = "/entry/instrument/detector/detector_events";
const SECOND: u64 = 1_000_000_000;

fn output(options: NexusOptions) -> (NexusOutput, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::starting_at(1_700_000_000 * SECOND));
    (NexusOutput::new(options, Arc::clone(&clock) as _).unwrap(), clock)
}

fn empty() -> Arc<RunState> {
    Arc::new(state(&DetectorLedger::default()))
}

fn take(output: &mut NexusOutput, feed: &mut Feed, events: &EventBatch) {
    for batch in feed.batches(events) {
        // On a busy host what packs may be behind.
        wait_until("the batch is taken", || match output.take(&batch) {
            Ok(Taken::Yes) => true,
            Ok(Taken::NotNow) => false,
            other => panic!("{other:?}"),
        });
    }
}

/// 2023-11-14T22:13:20Z.
const DATE: u64 = 1_700_000_000 * SECOND;

fn text(path: &Path, dataset: &str) -> String {
    crate::common::text(&File::open(path).unwrap(), dataset)
}

/// A capture whose stamps count from no date, as some converters write them.
#[test]
fn a_file_without_a_date_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let (mut run, _) = output(flat_options(&path));
    take(&mut run, &mut Feed::anchored(PulseTrain::european_xfel(), 5 * SECOND, 7), &batch(&[(7, 1)]));
    run.finish(&empty()).unwrap();
    drop(run);
    assert_eq!(text(&path, "/entry/recording/clock"), "none: time of the detector's clock");
    for name in ["/entry/start_time", "/entry/end_time"] {
        assert!(!text(&path, name).contains("00:00:05"), "{name}: {}", text(&path, name));
        assert!(File::open(&path).unwrap().dataset(name).unwrap().attr("note").is_ok(), "{name}");
    }
}

#[test]
fn the_file_is_made_with_the_first_events_and_its_name_is_held_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let (mut run, _) = output(flat_options(&path));
    assert_eq!(run.name(), format!("NeXus file {}", path.display()));
    run.observe(&empty()).unwrap();
    run.poll().unwrap();
    assert!(!path.exists() && folder.path().join("run.nxs.lock").exists());
    let clock = Arc::new(ManualClock::default());
    assert!(matches!(NexusOutput::new(flat_options(&path), clock), Err(NexusError::InUse(_))));
    assert_eq!(run.abandon(), None);
    take(&mut run, &mut Feed::anchored(PulseTrain::european_xfel(), DATE, 7), &batch(&[(7, 1)]));
    assert!(path.exists());
    run.finish(&empty()).unwrap();
    drop(run);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a lock file is left");
    assert_eq!(text(&path, "/entry/recording/clock"), "arrival stamp of the first packet in the capture");
    assert_eq!(text(&path, "/entry/recording/pulses"), "configured train");
    let file = File::open(&path).unwrap();
    assert_eq!(file.attr("file_time").unwrap().ndim(), 0);
    let recording = file.group("/entry/recording").unwrap();
    assert_eq!(recording.dataset("clock_anchor").unwrap().read_scalar::<i64>().unwrap(), DATE as i64);
    assert!(!recording.link_exists("continues"));
    assert!(!file.link_exists("/entry/outputs"));
}

#[test]
fn the_first_batch_says_where_pulses_come_from_and_the_state_dates_an_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("told.nxs");
    let (mut run, _) = output(flat_options(&path));
    let mut told = EventBatch::new(1);
    assert!(told.begin_pulse(SECOND));
    take(&mut run, &mut Feed::new(), &told);
    run.finish(&empty()).unwrap();
    assert_eq!(text(&path, "/entry/recording/pulses"), "the readout");

    let path = folder.path().join("empty.nxs");
    let mut options = flat_options(&path);
    options.pulse_origin = PulseOrigin::Readout;
    let (mut run, _) = output(options);
    let calendar = Some(Calendar { anchor_ns: -9, origin: CalendarOrigin::WallClock });
    run.finish(&Arc::new(RunState { calendar, ..RunState::default() })).unwrap();
    assert_eq!(text(&path, "/entry/recording/pulses"), "the readout");
    assert_eq!(text(&path, "/entry/recording/clock"), "wall clock at the first events");
    assert_eq!(text(&path, "/entry/recording/state"), "complete");
    // 2023-11-14, when the test's clock begins.
    assert_eq!(text(&path, "/entry/end_time"), "2023-11-14T22:13:20Z");
}

#[test]
fn names_that_are_taken_are_told_and_numbers_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let clock = || Arc::new(ManualClock::default());
    let (mut first, _) = output(flat_options(&path));
    take(&mut first, &mut Feed::new(), &batch(&[(1, 1)]));
    first.finish(&empty()).unwrap();
    drop(first);
    let refusal = NexusOutput::new(flat_options(&path), clock()).unwrap_err().to_string();
    assert!(
        refusal.contains("exists already") && refusal.contains("--overwrite or --if-exists number"),
        "{refusal}"
    );
    let mut wrong = flat_options(&folder.path().join("other.nxs"));
    wrong.detector = "a/b".into();
    assert!(NexusOutput::new(wrong, clock()).unwrap_err().to_string().contains("`a/b`"));
    for (existing, expected) in
        [(ExistingFile::Number, folder.path().join("run-1.nxs")), (ExistingFile::Overwrite, path.clone())]
    {
        let mut options = flat_options(&path);
        options.existing = existing;
        let (mut run, _) = output(options);
        assert_eq!(run.paths().collect::<Vec<_>>(), [&*expected]);
        take(&mut run, &mut Feed::new(), &batch(&[(1, 2), (2, 3)]));
        run.finish(&empty()).unwrap();
        let file = File::open(&expected).unwrap();
        assert_eq!(read::<i32>(&file.group(EVENTS).unwrap(), "event_id"), [2, 3]);
    }
}

#[test]
fn progress_says_what_is_safe_what_waits_and_what_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut options = flat_options(&path);
    options.flush_interval = Duration::from_secs(2);
    let (mut run, clock) = output(options);
    let mut events = EventBatch::new(8);
    assert!(events.begin_pulse(100));
    for time_ns in [99, 100, 101, 100 + (1 << 31)] {
        assert!(events.push(evforge_core::event::Event { time_ns, pixel_id: 1 }));
    }
    let mut feed = Feed::new();
    take(&mut run, &mut feed, &events);
    assert_eq!(run.progress(), OutputProgress { committed: 0, pending: 2, left_out: 2, failed: 0 });
    run.poll().unwrap();
    assert_eq!(run.progress().committed, 0, "it is not due");
    clock.advance(Duration::from_secs(2));
    run.poll().unwrap();
    assert_eq!(run.progress(), OutputProgress { committed: 2, pending: 0, left_out: 2, failed: 0 });
    let counters = run.counters();
    assert_eq!(counters.value("events_outside_pulse"), Some(2));
    assert_eq!((counters.value("events_taken"), counters.value("commits")), (Some(4), Some(1)));
    clock.advance(Duration::from_secs(2));
    run.poll().unwrap();
    assert_eq!(run.counters().value("commits"), Some(1), "there was nothing to commit");
    take(&mut run, &mut feed, &events);
    assert!(
        run.abandon().unwrap().contains(&format!("4 events in {}, marked as incomplete", path.display()))
    );
    assert!(text(&path, "/entry/recording/state").starts_with("incomplete"));
    assert_eq!(run.progress(), OutputProgress { committed: 4, pending: 0, left_out: 4, failed: 0 });
}

#[test]
fn a_file_that_is_not_there_any_more_is_a_final_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let (mut run, clock) = output(flat_options(&path));
    take(&mut run, &mut Feed::new(), &batch(&[(1, 1), (2, 1)]));
    run.observe(&empty()).unwrap();
    clock.advance(Duration::from_secs(3600));
    run.poll().unwrap();
    assert_eq!(run.progress().committed, 2);
    std::fs::remove_file(&path).unwrap();
    let error = run.observe(&empty()).unwrap_err();
    assert!(matches!(&error, OutputError::Final(reason) if reason.contains("was removed")), "{error}");
    assert_eq!(run.progress(), OutputProgress { committed: 0, pending: 2, left_out: 0, failed: 0 });
    assert_eq!(run.abandon(), None);
    assert!(!path.exists());
}

#[test]
fn the_counters_of_all_outputs_are_tables_and_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
    let own: Vec<CounterInfo> = NexusCounters::infos().to_vec();
    let options = flat_options(&path).with_outputs(&[("nexus".into(), own), ("csv".into(), Vec::new())]);
    let (mut run, clock) = output(options);
    take(&mut run, &mut Feed::new(), &batch(&[(1, 1)]));
    let observed = |offered: u64, commits: u64| {
        let output = |id: &str, offered, own| OutputState {
            id: id.into(),
            counters: OutputCounters { offered, ..OutputCounters::default() },
            own,
            ..OutputState::default()
        };
        let own = CounterSnapshot::of(&NexusCounters { commits, ..NexusCounters::default() });
        let outputs = vec![output("nexus", offered, own), output("kafka", 5, CounterSnapshot::default())];
        Arc::new(RunState { outputs, ..RunState::default() })
    };
    run.observe(&observed(10, 1)).unwrap();
    clock.advance(Duration::from_secs(3600));
    run.poll().unwrap();
    std::fs::copy(&path, &copy).unwrap();
    run.finish(&observed(20, 2)).unwrap();
    evforge_stream::nexus::recover(&copy).unwrap();
    for (path, rows) in [(&path, 2), (&copy, 1)] {
        let file = File::open(path).unwrap();
        let outputs = file.group("/entry/outputs").unwrap();
        let values = |id, name| counter(&outputs.group(id).unwrap(), name);
        assert_eq!(values("nexus", "offered"), Some([10, 20][..rows].to_vec()));
        assert_eq!(values("nexus", "commits"), Some([1, 2][..rows].to_vec()));
        // An output that is not in the state.
        assert_eq!(values("csv", "offered"), Some(vec![-1; rows]));
        assert!(!outputs.link_exists("kafka") && values("csv", "commits").is_none());
        let ledger = file.group("/entry/ledger").unwrap();
        let times = read::<i64>(&outputs, "nexus/time");
        assert_eq!((times.len(), &times), (rows, &read::<i64>(&ledger, "time")));
        assert_eq!(times[0], 1_700_000_000 * SECOND as i64);
    }
}

#[test]
fn what_it_holds_stays_within_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let options = flat_options(&folder.path().join("run.nxs"));
    let bound = options.memory_bound();
    let (mut run, _) = output(options);
    // With what HDF5 keeps by itself.
    assert!((85 << 20..149 << 20).contains(&bound), "{bound}");
    // Many batches with one event each: what is kept of them is more than the events.
    let mut feed = Feed::new();
    let mut events = EventBatch::new(1);
    for time_ns in 0..400_000 {
        events.clear();
        assert!(events.push(evforge_core::event::Event { time_ns, pixel_id: 1 }));
        take(&mut run, &mut feed, &events);
    }
    let commits = run.counters().value("commits");
    assert!(commits > Some(0), "everything is kept");
    run.finish(&empty()).unwrap();
    assert_eq!(run.progress().committed, 400_000);
}

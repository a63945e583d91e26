//! Files of beam monitors: a histogram for each, and its events with the pulses of all.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::str::FromStr;

use crate::common::{Run, flat_options, python, read};
use evforge_core::beam_monitor::{BeamMonitorData, BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_stream::nexus::{NexusOptions, PulseOrigin, recover};
use hdf5_metno::File;
use hdf5_metno::types::FixedUnicode;
use serde_json::{Value, json};

const EPOCH: u64 = 1_790_000_000_000_000_000;

fn plan(name: &str, kind: BeamMonitorKind, first_pixel: u32, nx: u32, ny: u32) -> BeamMonitorPlan {
    let histogram = TimeOfFlightBins::new(10_000, 71_000_000, 17).unwrap();
    BeamMonitorPlan { name: name.into(), kind, first_pixel, nx, ny, histogram, alongside: false }
}

/// Three monitors with events, of which the last never sends any, and an integrating one: 1 + 12 + 1 pixels.
fn plans() -> Vec<BeamMonitorPlan> {
    vec![
        plan("monitor_0d", BeamMonitorKind::Event0D, 1, 1, 1),
        plan("current", BeamMonitorKind::Integrating, 0, 0, 0),
        plan("monitor_2d", BeamMonitorKind::Event2D, 2, 4, 3),
        plan("dark", BeamMonitorKind::Event0D, 14, 1, 1),
    ]
}

fn options(path: &Path) -> NexusOptions {
    let mut options = flat_options(path);
    options.geometry = LogicalGeometry::flat(14, 1).unwrap();
    options.pulse_origin = PulseOrigin::Readout;
    options.beam_monitors = plans();
    options
}

/// Beam monitors that count what is handed to a writer, as their detector does.
struct Monitors {
    data: Vec<BeamMonitorData>,
    pulses: Vec<u64>,
    events: Vec<Vec<Event>>,
}

impl Monitors {
    fn new() -> Self {
        let data: Vec<BeamMonitorData> = plans().into_iter().map(BeamMonitorData::new).collect();
        Self { events: vec![Vec::new(); data.len()], data, pulses: Vec::new() }
    }

    /// The events of a pulse, in a batch.
    fn pulse(&mut self, number: u64) -> EventBatch {
        let start = EPOCH + number * 71_428_571;
        let mut batch = EventBatch::new(64);
        assert!(batch.begin_pulse(start));
        self.pulses.push(start);
        self.data.iter_mut().for_each(BeamMonitorData::begin_pulse);
        for event in 0..number * 7 % 20 {
            let pixel_id = ((number + event * event) % 13 + 1) as u32;
            let flight = (number * 7_919_993 + event * 3_141_593) % 90_000_000;
            let monitor = if pixel_id == 1 { 0 } else { 2 };
            let event = Event { time_ns: start + flight, pixel_id };
            assert!(batch.push(event));
            self.data[monitor].add(flight, 1);
            self.events[monitor].push(event);
        }
        self.data[1].add(number * 4_000_000, 100 + number);
        batch
    }

    fn ledger(&self) -> DetectorLedger {
        DetectorLedger { beam_monitors: self.data.clone(), ..DetectorLedger::default() }
    }

    /// What a file should say of them.
    fn expected(&self) -> Vec<Value> {
        let describe = |(data, events): (&BeamMonitorData, &Vec<Event>)| {
            let plan = data.plan();
            let has_events = plan.kind != BeamMonitorKind::Integrating;
            let times: Vec<u64> = events.iter().map(|event| event.time_ns).collect();
            let pixels: Vec<u32> = events.iter().map(|event| event.pixel_id).collect();
            json!({
                "name": plan.name,
                "kind": plan.kind.name(),
                "detector_id": if has_events { i64::from(plan.first_pixel) } else { -2 },
                "edges": plan.histogram.edges_ns().collect::<Vec<_>>(),
                "counts": data.counts(),
                "below": data.below(),
                "above": data.above(),
                "readouts": data.readouts(),
                "pulses": data.pulses(),
                "pulse_times": self.pulses,
                "times": has_events.then_some(times),
                "pixels": has_events.then_some(pixels),
            })
        };
        self.data.iter().zip(&self.events).map(describe).collect()
    }
}

fn check_with_python(path: &Path, expected: &[Value], test: &str) {
    let Some(mut command) = python(test) else { return };
    let expectation = path.with_extension("json");
    std::fs::write(&expectation, json!(expected).to_string()).unwrap();
    let output = command.arg("monitors").args([path, &expectation]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn h5py_and_scippnexus_see_every_beam_monitor() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&options(&path)).unwrap();
    let mut monitors = Monitors::new();
    for number in 0..40 {
        writer.take(&monitors.pulse(number)).unwrap();
    }
    writer.finish(&monitors.ledger()).unwrap();
    let counters = writer.writer().counters();
    assert!(counters.events > 300 && counters.events == counters.events_taken, "{counters:?}");
    let expected = monitors.expected();
    assert!(expected[..3].iter().all(|monitor| monitor["above"] != json!(0)), "the test tests something");
    check_with_python(&path, &expected, "h5py_and_scippnexus_see_every_beam_monitor");

    let report: Value =
        serde_json::from_str(&crate::common::text(&File::open(&path).unwrap(), "/entry/recording/report"))
            .unwrap();
    assert_eq!(report["beam_monitors"][1]["total"], json!(monitors.data[1].total()));
}

#[test]
fn a_killed_writer_leaves_the_beam_monitors_of_the_last_commit() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
    let mut writer = Run::begin(&options(&path)).unwrap();
    let mut monitors = Monitors::new();
    for number in 0..15 {
        writer.take(&monitors.pulse(number)).unwrap();
    }
    writer.observe(&monitors.ledger()).unwrap();
    writer.commit().unwrap();
    let expected = monitors.expected();
    let events: usize = monitors.events.iter().map(Vec::len).sum();
    for number in 15..40 {
        writer.take(&monitors.pulse(number)).unwrap();
    }
    std::fs::copy(&path, &copy).unwrap();
    drop(writer);
    let recovered = recover(&copy).unwrap();
    assert_eq!((recovered.events, recovered.pulses), (events as u64, 15));
    check_with_python(&copy, &expected, "a_killed_writer_leaves_the_beam_monitors_of_the_last_commit");
    let again = recover(&copy).unwrap();
    assert!(again.was_whole && again.events == events as u64 && again.pulses == 15);
}

/// What a kill within a commit leaves: events of one group that the commit does not know of yet.
#[test]
fn events_of_a_commit_that_was_not_finished_are_cut_away_in_every_group() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&options(&path)).unwrap();
    let mut monitors = Monitors::new();
    for number in 0..40 {
        writer.take(&monitors.pulse(number)).unwrap();
    }
    writer.finish(&monitors.ledger()).unwrap();
    let keep = [10_u64, 50, 0];
    {
        let file = File::open_rw(&path).unwrap();
        let recording = file.group("/entry/recording").unwrap();
        recording
            .dataset("committed")
            .unwrap()
            .write_raw(&[keep[0], keep[1], keep[2], 20, 0, 0, 0, 0])
            .unwrap();
        // As long as the text is in the file.
        let state = FixedUnicode::<256>::from_str("writing").unwrap();
        recording.dataset("state").unwrap().write_scalar(&state).unwrap();
    }
    let recovered = recover(&path).unwrap();
    let taken: u64 = monitors.events.iter().map(|events| events.len() as u64).sum();
    assert_eq!((recovered.events, recovered.events_cut), (60, taken - 60));
    let file = File::open(&path).unwrap();
    for (name, keep) in [("monitor_0d_events", 10), ("monitor_2d_events", 50), ("dark_events", 0)] {
        let group = file.group(&format!("/entry/{name}")).unwrap();
        let (ids, index) = (read::<i32>(&group, "event_id"), read::<i64>(&group, "event_index"));
        assert_eq!((ids.len(), index.len() as u64), (keep, recovered.pulses), "{name}");
        assert!(index.iter().all(|&start| start <= keep as i64), "{name}");
        assert_eq!(read::<u64>(&group, "event_time_zero").len(), index.len(), "{name}");
    }
}

#[test]
fn events_of_no_monitor_are_counted_and_left_out() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut options = options(&path);
    options.beam_monitors.truncate(3);
    let mut writer = Run::begin(&options).unwrap();
    let mut batch = EventBatch::new(4);
    assert!(batch.begin_pulse(EPOCH));
    for pixel_id in [13, 14, 0, 1] {
        assert!(batch.push(Event { time_ns: EPOCH + 5, pixel_id }));
    }
    writer.take(&batch).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();
    let counters = writer.writer().counters();
    assert_eq!((counters.events, counters.events_outside_monitors, counters.events_taken), (2, 2, 4));
}

#[test]
fn monitors_that_cannot_be_told_apart_are_refused() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let refusal = |change: &dyn Fn(&mut Vec<BeamMonitorPlan>)| {
        let mut options = options(&path);
        change(&mut options.beam_monitors);
        Run::begin(&options).unwrap_err().to_string()
    };
    assert!(refusal(&|plans| plans[1].name = "monitor_0d".into()).contains("another group `monitor_0d`"));
    assert!(refusal(&|plans| plans[1].name = "dark_events".into()).contains("`dark_events`"));
    assert!(refusal(&|plans| plans[1].name = "ledger".into()).contains("`ledger`"));
    assert!(refusal(&|plans| plans[1].name = "a/b".into()).contains("letters, digits"));
    assert!(refusal(&|plans| plans[3].first_pixel = 13).contains("`monitor_2d` and `dark` share pixels"));
    assert!(refusal(&|plans| plans[3].first_pixel = 15).contains("`dark` lie outside"));
}

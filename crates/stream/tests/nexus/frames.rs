//! Frames, which the readout says more of than their time: from batches into a file, and back by all that reads files.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use evforge_core::batch_filler::BatchFiller;
use evforge_core::event::{Event, EventBatch};
use evforge_core::frame::{Frame, FrameState, FrameVeto, ProtonCharge};
use evforge_core::ledger::DetectorLedger;
use evforge_stream::nexus::{
    EventFollower, EventReader, FileState, NexusOptions, PulseOrigin, ReadPulse, recover,
};
use hdf5_metno::File;

use crate::common::{Run, flat_options, read};

const BEGIN: u64 = 1_600_000_000_000_000_000;
const STEP: u64 = 20_000_000;

/// The vetoes of the tests: the first one does not count.
fn vetoes() -> Vec<FrameVeto> {
    let veto = |bit, name: &str, counts| FrameVeto { bit, name: name.to_owned(), counts, frames: 0 };
    vec![veto(0, "overflow", false), veto(1, "SMP", true), veto(16, "external 0", true)]
}

fn options(path: &Path) -> NexusOptions {
    let mut options = flat_options(path);
    options.pulse_origin = PulseOrigin::Readout;
    options.frames = Some(vetoes());
    options
}

fn start(number: u64) -> u64 {
    BEGIN + number * STEP
}

/// The frame of this number: three periods, the vetoes in turn, and a charge but for each fifth.
fn frame(number: u64) -> Frame {
    let vetoes = [0, 1, 2, 1 << 31][number as usize % 4];
    Frame {
        period: (number % 7 != 3).then_some(number as u32 % 3),
        vetoes,
        is_vetoed: vetoes & !1 != 0,
        charge: (number % 5 != 4).then_some(ProtonCharge { uah: 0.25 + number as f64 }),
        state: FrameState::ALL[number as usize % 4],
    }
}

/// As many events as the number says, up to four.
fn fill(batch: &mut EventBatch, number: u64, frame: Frame) {
    assert!(batch.begin_frame(start(number), frame));
    for event in 0..number % 5 {
        assert!(batch.push(Event { time_ns: start(number) + event, pixel_id: event as u32 + 1 }));
    }
}

fn batch_of(numbers: std::ops::Range<u64>) -> EventBatch {
    let mut batch = EventBatch::new(100);
    numbers.for_each(|number| fill(&mut batch, number, frame(number)));
    batch
}

/// Frames and numbers of events of a file, by the reader.
fn read_back(path: &Path) -> Vec<(u64, Option<Frame>, usize)> {
    let mut reader = EventReader::open(path).unwrap();
    let (mut pulse, mut all) = (ReadPulse::default(), Vec::new());
    while reader.read(&mut pulse).unwrap() {
        all.push((pulse.time_ns as u64, pulse.frame, pulse.times.len()));
    }
    all
}

/// The same by the follower.
fn followed(path: &Path) -> Vec<(u64, Option<Frame>, usize)> {
    let mut follower = EventFollower::open(path).unwrap();
    let mut all = Vec::new();
    let mut hand_on = |batch: &EventBatch| {
        all.extend(batch.by_frame().filter_map(|(time, frame, range)| Some((time?, frame, range.len()))));
    };
    let mut batch = EventBatch::new(1000);
    let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
    while follower.read(5, &mut filler) {}
    filler.finish();
    assert_eq!(follower.look().unwrap(), &FileState::Complete);
    assert_eq!(follower.faults(), Vec::<String>::new());
    all
}

fn expected(numbers: std::ops::Range<u64>) -> Vec<(u64, Option<Frame>, usize)> {
    numbers.map(|number| (start(number), Some(frame(number)), number as usize % 5)).collect()
}

/// Raw and good frames, raw and good charge, as the entry says it.
fn totals(path: &Path) -> (u64, u64, f64, f64) {
    let file = File::open(path).unwrap();
    let number = |name: &str| file.dataset(&format!("/entry/{name}")).unwrap().read_scalar::<u64>().unwrap();
    let charge = |name: &str| file.dataset(&format!("/entry/{name}")).unwrap().read_scalar::<f64>().unwrap();
    (number("raw_frames"), number("good_frames"), charge("proton_charge_raw"), charge("proton_charge"))
}

fn totals_of(frames: impl Iterator<Item = Frame>) -> (u64, u64, f64, f64) {
    let mut totals = evforge_core::frame::FrameTotals::default();
    frames.for_each(|frame| totals.add(&frame, 0));
    (totals.raw, totals.good, totals.raw_charge.uah, totals.good_charge.uah)
}

#[test]
fn every_frame_has_its_row_and_readers_give_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut run = Run::begin(&options(&path)).unwrap();
    for begin in [0, 20, 40] {
        run.take(&batch_of(begin..begin + 20)).unwrap();
        run.commit().unwrap();
    }
    run.finish(&DetectorLedger::default()).unwrap();
    assert_eq!(totals(&path), totals_of((0..60).map(frame)));
    assert_eq!(read_back(&path), expected(0..60));
    assert_eq!(followed(&path), expected(0..60));
    assert_eq!(EventReader::open(&path).unwrap().frame_vetoes(), Some(vetoes()));
    assert_eq!(EventFollower::open(&path).unwrap().content().frame_vetoes, Some(vetoes()));
    let file = File::open(&path).unwrap();
    let periods = read::<i32>(&file.group("/entry/framelog/period_log").unwrap(), "value");
    // From 1, as people count; 0 where nobody has said it.
    assert_eq!(periods[..5], [1, 2, 3, 0, 2]);
    let times = read::<i64>(&file.group("/entry/framelog/proton_charge").unwrap(), "time");
    assert_eq!(times, (0..60).map(|number| start(number) as i64).collect::<Vec<_>>());
}

#[test]
fn files_of_other_readouts_have_no_frames_and_frames_that_nobody_announced_are_filed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let options = NexusOptions { frames: None, ..options(&path) };
    let mut run = Run::begin(&options).unwrap();
    let mut batch = EventBatch::new(10);
    assert!(batch.begin_pulse(BEGIN) && batch.push(Event { time_ns: BEGIN, pixel_id: 1 }));
    run.take(&batch).unwrap();
    run.finish(&DetectorLedger::default()).unwrap();
    let members = File::open(&path).unwrap().group("/entry").unwrap().member_names().unwrap();
    for name in ["framelog", "raw_frames", "good_frames", "proton_charge", "proton_charge_raw"] {
        assert!(!members.contains(&name.to_owned()), "{name}");
    }
    assert_eq!(read_back(&path), [(BEGIN, None, 1)]);
    assert_eq!(followed(&path), [(BEGIN, None, 1)]);
}

/// What becomes known of a pulse while it goes on changes its row, whether that is in the file already or not.
#[test]
fn a_pulse_of_which_something_else_is_known_later_keeps_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut run = Run::begin(&options(&path)).unwrap();
    let late = Frame { period: Some(6), vetoes: 2, is_vetoed: true, ..frame(1) };
    run.take(&batch_of(0..2)).unwrap();
    let mut again = EventBatch::new(10);
    fill(&mut again, 1, late);
    run.take(&again).unwrap();
    run.commit().unwrap();
    let good_so_far = totals_of([frame(0), late].into_iter());
    // In the file by now.
    let later = Frame { charge: Some(ProtonCharge { uah: 9.0 }), ..frame(1) };
    again.clear();
    fill(&mut again, 1, later);
    fill(&mut again, 2, frame(2));
    run.take(&again).unwrap();
    let copy = folder.path().join("copy.nxs");
    std::fs::copy(&path, &copy).unwrap();
    run.finish(&DetectorLedger::default()).unwrap();
    assert_eq!(
        read_back(&path),
        [(start(0), Some(frame(0)), 0), (start(1), Some(later), 3), (start(2), Some(frame(2)), 2)]
    );
    assert_eq!(totals(&path), totals_of([frame(0), later, frame(2)].into_iter()));
    // A writer that is killed before the next commit: as it was.
    recover(&copy).unwrap();
    assert_eq!(read_back(&copy), [(start(0), Some(frame(0)), 0), (start(1), Some(late), 2)]);
    assert_eq!(totals(&copy), good_so_far);
}

/// Rows of frames come to the file before the pulses that they belong to: a kill can leave more of them, and never fewer.
#[test]
fn rows_beyond_the_last_commit_are_cut_away_and_the_totals_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
    let mut run = Run::begin(&options(&path)).unwrap();
    run.take(&batch_of(0..12)).unwrap();
    run.commit().unwrap();
    run.take(&batch_of(12..30)).unwrap();
    run.commit().unwrap();
    std::fs::copy(&path, &copy).unwrap();
    run.finish(&DetectorLedger::default()).unwrap();
    // The mark of a commit is the last thing that is written: back to the first one.
    recover(&copy).unwrap();
    assert_eq!(totals(&copy), totals_of((0..30).map(frame)));
    let file = File::open_rw(&copy).unwrap();
    file.dataset("/entry/recording/committed").unwrap().write_raw(&[21_u64, 12, 0, 0]).unwrap();
    let writing: String = "writing".to_owned();
    assert!(write_state(&file, &writing));
    file.close().unwrap();
    let recovered = recover(&copy).unwrap();
    assert_eq!((recovered.pulses, recovered.pulses_cut), (12, 18));
    assert_eq!(read_back(&copy), expected(0..12));
    assert_eq!(totals(&copy), totals_of((0..12).map(frame)));
}

/// Replaces the state that a file says, which has room for it.
fn write_state(file: &File, state: &str) -> bool {
    let dataset = file.dataset("/entry/recording/state").unwrap();
    let text: hdf5_metno::types::FixedUnicode<256> = state.parse().unwrap();
    dataset.write_scalar(&text).is_ok()
}

//! A disk that is full for a while: the output waits, goes on when there is room, and every value is what was sent.
//!
//! The disks are file systems in memory that only a child process can see: this test program again.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Ballast, Feed, flat_options, on_small_disk, python, read, small_disk, state};
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_core::output::{Output, OutputError, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_core::time::ManualClock;
use evforge_stream::nexus::{Compression, DiskSpace, NexusOutput, Shortage, needs_recovery, recover};
use evforge_testkit::properties::cases;
use serde_json::{Value, json};

const EVENTS: &str = "/entry/instrument/detector/detector_events";
/// Nanoseconds between events: a hundred thousand in a pulse of the train.
const SPACING: u64 = 1_000;

fn event(index: u64) -> Event {
    // Most pixels cannot be compressed, so that every commit takes room; they are none of the detector's.
    let random = (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u32;
    let pixel_id = if index.is_multiple_of(4) { random % 48 + 1 } else { random };
    Event { time_ns: index * SPACING, pixel_id }
}

/// An output, what it was sent, and what it said.
struct Sent {
    output: NexusOutput,
    clock: Arc<ManualClock>,
    feed: Feed,
    sent: u64,
    taken: u64,
    /// What it was offered and has not taken.
    refused: Vec<Arc<PulsedBatch>>,
    said: Vec<String>,
}

impl Sent {
    fn new(path: &Path, compression: Compression) -> Self {
        let mut options = flat_options(path);
        options.compression = compression;
        options.chunk_events = 4096;
        // Of these pulses nothing is told; each has its row.
        options.frames = Some(Vec::new());
        options.flush_interval = Duration::from_secs(1);
        let clock = Arc::new(ManualClock::default());
        let output = NexusOutput::new(options, Arc::clone(&clock) as _).unwrap();
        Self { output, clock, feed: Feed::new(), sent: 0, taken: 0, refused: Vec::new(), said: Vec::new() }
    }

    /// Offers what was refused and then `events` more, as a run does; and lets it do what is due.
    fn step(&mut self, events: u64) {
        let mut batch = EventBatch::new(events.max(1) as usize);
        for index in self.sent..self.sent + events {
            assert!(batch.push(event(index)));
        }
        self.sent += events;
        self.refused.extend(self.feed.batches(&batch));
        self.clock.advance(Duration::from_millis(700));
        let polled = self.output.poll();
        self.hear(&polled);
        while let Some(batch) = self.refused.first().cloned() {
            match self.output.take(&batch) {
                Ok(Taken::Yes) => {
                    self.taken += batch.len() as u64;
                    self.refused.remove(0);
                }
                Ok(Taken::NotNow) => break,
                refused => {
                    self.hear(&refused);
                    break;
                }
            }
            self.check();
        }
        let observed = self.output.observe(&self.state());
        self.hear(&observed);
        self.check();
    }

    fn state(&self) -> Arc<RunState> {
        Arc::new(state(&DetectorLedger::default()))
    }

    fn hear<T>(&mut self, result: &Result<T, OutputError>) {
        match result {
            Ok(_) => {}
            Err(OutputError::Retry(reason)) => self.said.push(reason.clone()),
            Err(OutputError::Final(reason)) => panic!("final: {reason}"),
        }
    }

    /// Every event that was taken is somewhere.
    fn check(&self) {
        let progress = self.output.progress();
        assert_eq!(self.taken, progress.committed + progress.pending + progress.left_out, "{progress:?}");
        assert!(progress.pending <= 2 << 20);
    }

    /// Polls until it has said `what`, or has nothing more to say.
    fn poll_until_quiet(&mut self) {
        for _ in 0..20 {
            self.clock.advance(Duration::from_secs(1));
            let polled = self.output.poll();
            self.hear(&polled);
            if polled.is_ok() {
                return;
            }
        }
        panic!("it has room and goes on waiting: {:?}", self.said.last());
    }

    /// Finishes, with room enough.
    fn finish(&mut self) {
        self.step(0);
        for _ in 0..20 {
            let finished = self.output.finish(&self.state());
            self.hear(&finished);
            if finished.is_ok() {
                let progress = self.output.progress();
                assert_eq!((progress.committed, progress.pending), (self.sent, 0));
                return;
            }
        }
        panic!("it cannot be finished: {:?}", self.said.last());
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.output.paths().map(Path::to_owned).collect()
    }
}

/// The events of a file that is closed, after a look at its arrays.
fn content(path: &Path) -> Vec<Event> {
    let file = hdf5_metno::File::open(path).unwrap();
    let events = file.group(EVENTS).unwrap();
    let (id, offset) = (read::<i32>(&events, "event_id"), read::<i32>(&events, "event_time_offset"));
    let (zero, index) = (read::<u64>(&events, "event_time_zero"), read::<i64>(&events, "event_index"));
    assert_eq!((id.len(), zero.len(), index[0]), (offset.len(), index.len(), 0));
    let rows: Vec<i32> = read(&file.group("/entry/framelog/is_good").unwrap(), "value");
    assert_eq!(rows, vec![1; zero.len()]);
    assert_eq!(events.dataset("total_counts").unwrap().read_scalar::<u64>().unwrap(), id.len() as u64);
    let mut all = Vec::with_capacity(id.len());
    for (pulse, &start) in zero.iter().enumerate() {
        let end = index.get(pulse + 1).map_or(id.len(), |&end| end as usize);
        for at in index[pulse] as usize..end {
            all.push(Event { time_ns: start + offset[at] as u64, pixel_id: id[at] as u32 });
        }
    }
    all
}

/// Every event that was sent is in the files, once, in its order.
fn check_events(paths: &[PathBuf], sent: u64) {
    let all: Vec<Event> = paths.iter().flat_map(|path| content(path)).collect();
    assert_eq!(all.len() as u64, sent);
    for (index, found) in all.iter().enumerate() {
        assert_eq!(*found, event(index as u64), "event {index}");
    }
}

/// The same with h5py, and everything else that it looks at.
fn check_with_python(path: &Path, events: Range<u64>, rows: u64, state: &str, test: &str) {
    let Some(mut command) = python(test) else { return };
    let all: Vec<Event> = events.map(event).collect();
    let mut pulses: Vec<u64> = all.iter().map(|event| event.time_ns / 100_000_000 * 100_000_000).collect();
    pulses.dedup();
    let frames = vec![json!([0, 0, true, null, "unknown"]); pulses.len()];
    let expected = json!({
        "shape": [6, 8], "pitch": null, "detector": "detector",
        "times": all.iter().map(|event| event.time_ns).collect::<Vec<_>>(),
        "pixels": all.iter().map(|event| event.pixel_id).collect::<Vec<_>>(),
        "pulses": pulses, "ledger": {"packets_sent": vec![Value::Null; rows as usize], "packets_lost": vec![Value::Null; rows as usize], "unaccounted": vec![0; rows as usize]}, "live_time": Value::Array(Vec::new()), "state": state,
        "frames": frames, "vetoes": Value::Array(Vec::new()),
    });
    // The disk is small.
    let folder = tempfile::tempdir().unwrap();
    let expectation = folder.path().join("expected.json");
    std::fs::write(&expectation, expected.to_string()).unwrap();
    let output = command.arg("whole").arg(path).arg(&expectation).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// No block lies behind the end of the file; the file system may count some of its own to it.
fn check_blocks(path: &Path) {
    let about = std::fs::metadata(path).unwrap();
    let (taken, length) = (about.blocks() * 512, about.len());
    assert!(taken <= length.next_multiple_of(4096) + (16 << 10), "{taken} bytes are taken for {length}");
}

#[test]
fn a_full_disk_is_waited_for_and_no_value_is_lost() {
    let _alone = crate::common::alone();
    on_small_disk("a_full_disk_is_waited_for_and_no_value_is_lost", "full_disk::child_that_waits", "48m");
}

#[test]
fn child_that_waits() {
    let Some(disk) = small_disk() else { return };
    for compression in [Compression::None, Compression::Lzf, Compression::Deflate(1)] {
        let path = disk.join(format!("{compression:?}.nxs"));
        let mut run = Sent::new(&path, compression);
        // The disk is full before the file is there.
        let ballast = Ballast::fill(&disk);
        run.step(500);
        run.step(500);
        assert!(
            run.taken == 0 && run.said.last().unwrap().contains("there is no room for"),
            "{:?}",
            run.said
        );
        assert!(!path.exists());
        drop(ballast);
        for round in 0..6 {
            for _ in 0..5 {
                run.step(777);
            }
            let heard = run.said.len();
            let ballast = Ballast::fill(&disk);
            // Until it has used what it has reserved.
            while run.said.len() == heard {
                run.step(5_000);
                assert!(run.sent < 5_000_000, "it never waits");
            }
            let reason = run.said.last().unwrap().clone();
            assert!(reason.contains(&format!("no room for {}", path.display())), "{reason}");
            assert!(
                reason.contains(" more are needed")
                    && reason.contains("are free; it continues when there is room"),
                "{reason}"
            );
            let before = run.output.progress();
            for _ in 0..round {
                run.step(3_000);
            }
            assert_eq!(run.output.progress().committed, before.committed);
            assert!(needs_recovery(&path).is_err(), "the file was given up");
            drop(ballast);
            run.poll_until_quiet();
            run.step(0);
            assert!(run.refused.is_empty());
            assert!(run.output.progress().committed > before.committed);
        }
        // The end has to wait, too.
        run.step(20_000);
        let ballast = Ballast::fill(&disk);
        // More than what is reserved can hold.
        run.step(60_000);
        let finished = run.output.finish(&run.state());
        run.hear(&finished);
        assert!(finished.is_err(), "it has finished on a full disk");
        drop(ballast);
        run.finish();
        assert_eq!(run.paths(), std::slice::from_ref(&path), "no second file was needed");
        check_blocks(&path);
        check_events(&run.paths(), run.sent);
        let counters = run.output.counters();
        assert_eq!(counters.value("ledger_rows_left_out"), Some(0));
        let rows = counters.value("ledger_rows").unwrap();
        assert!(rows > 50, "{rows}");
        check_with_python(
            &path,
            0..run.sent,
            rows,
            "complete",
            "a_full_disk_is_waited_for_and_no_value_is_lost",
        );
        drop(run);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0, "something is left");
    }
}

/// Says that there is room, whatever there is: what a file system does that gives more than it has.
#[derive(Debug)]
struct Lies;

impl DiskSpace for Lies {
    fn reserve(&self, _file: &File, _range: Range<u64>) -> Result<(), Shortage> {
        Ok(())
    }

    fn has_room(&self, _folder: &Path, _bytes: u64) -> Result<(), Shortage> {
        Ok(())
    }
}

#[test]
fn a_damaged_file_goes_on_in_another_one() {
    let _alone = crate::common::alone();
    on_small_disk("a_damaged_file_goes_on_in_another_one", "full_disk::child_that_is_lied_to", "24m");
}

#[test]
fn child_that_is_lied_to() {
    let Some(disk) = small_disk() else { return };
    let test = "a_damaged_file_goes_on_in_another_one";
    let compressions = [Compression::None, Compression::Lzf, Compression::Deflate(1)];
    // How much is in the file when the disk is full decides where HDF5 is stopped.
    let before = [3_000, 10_001, 70_000];
    let all = (0..9).map(|number| (compressions[number % 3], before[(number + number / 3) % 3]));
    for (compression, before) in all.take(cases(3) as usize) {
        let path = disk.join("run.nxs");
        let mut run = Sent::new(&path, compression);
        run.output = run.output.with_disk_space(Arc::new(Lies));
        let mut parts = 1;
        for _ in 0..3 {
            for _ in 0..4 {
                run.step(before / 4);
            }
            run.poll_until_quiet();
            let heard = run.said.len();
            let ballast = Ballast::fill(&disk);
            while run.said.len() == heard {
                run.step(5_000);
                assert!(run.sent < 5_000_000, "the disk is never full");
            }
            parts += 1;
            let name = format!("run.part{parts}.nxs");
            let reason = &run.said[heard];
            assert!(reason.contains("is damaged: cannot write events"), "{reason}");
            assert!(reason.contains("No space left on device"), "{reason}");
            assert!(reason.contains(&format!("it goes on in {}", disk.join(&name).display())), "{reason}");
            for _ in 0..3 {
                run.step(1_000);
            }
            drop(ballast);
            run.poll_until_quiet();
            run.step(0);
        }
        run.step(20_000);
        run.finish();
        let paths = run.paths();
        assert_eq!(paths.len(), parts, "{:?}", run.said);
        assert_eq!(run.output.counters().value("files_damaged"), Some(parts as u64 - 1));
        check_events(&paths, run.sent);
        let mut from = 0;
        for (number, path) in paths.iter().enumerate() {
            check_blocks(path);
            assert!(!needs_recovery(path).unwrap());
            let file = hdf5_metno::File::open(path).unwrap();
            let state = crate::common::text(&file, "/entry/recording/state");
            let expected = match paths.get(number + 1) {
                Some(next) => format!("it goes on in {}", next.file_name().unwrap().to_string_lossy()),
                None => "complete".to_owned(),
            };
            assert!(state.ends_with(&expected), "{state}");
            assert_eq!(state.starts_with("damaged: "), number + 1 < parts, "{state}");
            let recording = file.group("/entry/recording").unwrap();
            assert_eq!(recording.link_exists("continues"), number > 0);
            if number > 0 {
                let previous = paths[number - 1].file_name().unwrap().to_string_lossy();
                assert_eq!(crate::common::text(&file, "/entry/recording/continues"), previous);
            }
            let events = file.group(EVENTS).unwrap().dataset("event_id").unwrap().size() as u64;
            let rows = file.dataset("/entry/ledger/time").unwrap().size() as u64;
            drop((recording, file));
            let state = if number + 1 < parts { "damaged: " } else { "complete" };
            if before == 10_001 {
                check_with_python(path, from..from + events, rows, state, test);
            }
            from += events;
        }
        drop(run);
        for path in paths {
            std::fs::remove_file(path).unwrap();
        }
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0, "something is left");
    }
}

#[test]
fn what_is_given_up_on_a_full_disk_is_readable_and_says_how_much_is_lost() {
    let _alone = crate::common::alone();
    let test = "what_is_given_up_on_a_full_disk_is_readable_and_says_how_much_is_lost";
    on_small_disk(test, "full_disk::child_that_gives_up", "24m");
}

#[test]
fn child_that_gives_up() {
    let Some(disk) = small_disk() else { return };
    let path = disk.join("run.nxs");
    for (is_lied_to, is_finishing) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut run = Sent::new(&path, Compression::default());
        if is_lied_to {
            run.output = run.output.with_disk_space(Arc::new(Lies));
        }
        run.step(10_000);
        run.poll_until_quiet();
        let ballast = Ballast::fill(&disk);
        // Nothing of it is due before it is committed in the end.
        let mut batch = EventBatch::new(500_000);
        (10_000..510_000).for_each(|index| assert!(batch.push(event(index))));
        for batch in run.feed.batches(&batch) {
            assert_eq!(run.output.take(&batch), Ok(Taken::Yes));
        }
        if is_finishing {
            let finished = run.output.finish(&run.state()).unwrap_err();
            assert!(matches!(finished, OutputError::Retry(_)), "{finished}");
        }
        let note = run.output.abandon().unwrap();
        assert!(note.contains("10000 events in ") && note.contains("500000 later ones are lost"), "{note}");
        let progress = run.output.progress();
        assert_eq!((progress.committed, progress.pending), (10_000, 500_000));
        drop(run);
        if is_lied_to {
            assert!(note.contains(&format!("write --recover {}", path.display())), "{note}");
            assert!(needs_recovery(&path).unwrap());
            drop(ballast);
            assert_eq!(recover(&path).unwrap().events, 10_000);
        } else {
            assert!(!needs_recovery(&path).unwrap());
            drop(ballast);
            let file = hdf5_metno::File::open(&path).unwrap();
            assert!(crate::common::text(&file, "/entry/recording/state").starts_with("incomplete: "));
        }
        check_events(std::slice::from_ref(&path), 10_000);
        check_blocks(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0, "something is left");
    }
}

#[test]
fn events_of_a_file_that_cannot_be_brought_back_are_counted() {
    let _alone = crate::common::alone();
    let test = "events_of_a_file_that_cannot_be_brought_back_are_counted";
    on_small_disk(test, "full_disk::child_whose_file_is_destroyed", "24m");
}

#[test]
fn child_whose_file_is_destroyed() {
    let Some(disk) = small_disk() else { return };
    let path = disk.join("run.nxs");
    let mut run = Sent::new(&path, Compression::default());
    run.output = run.output.with_disk_space(Arc::new(Lies));
    run.step(10_000);
    run.poll_until_quiet();
    let ballast = Ballast::fill(&disk);
    while run.said.is_empty() {
        run.step(5_000);
    }
    let safe = run.output.progress().committed;
    drop(ballast);
    std::fs::write(&path, "no HDF5 file").unwrap();
    run.poll_until_quiet();
    run.step(0);
    run.check();
    let error = run.output.finish(&run.state()).unwrap_err();
    let expected = format!("{safe} of the {safe} events that were safe in {}", path.display());
    assert!(matches!(&error, OutputError::Final(reason) if reason.contains(&expected)), "{error}");
    assert_eq!(run.output.abandon(), None, "the second file is whole");
    let progress = run.output.progress();
    assert_eq!((progress.committed, progress.pending, progress.left_out), (run.sent - safe, 0, safe));
    assert_eq!(run.output.counters().value("events_lost"), Some(safe));
    let second = content(&disk.join("run.part2.nxs"));
    assert!(second.iter().copied().eq((safe..run.sent).map(event)));
}

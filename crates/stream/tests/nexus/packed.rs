//! Event arrays that are compressed in threads: what the chunks are, that threads do not matter, and what recovery makes of them.
#![allow(clippy::unwrap_used)]

use std::fs::File as PlainFile;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Feed, flat_options, read, state};
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_core::output::{Output, OutputError, Taken};
use evforge_core::run_state::RunState;
use evforge_core::time::ManualClock;
use evforge_stream::nexus::{
    Compression, DiskSpace, DiskSync, FileSystemSpace, NexusOptions, NexusOutput, Shortage, recover,
};
use evforge_testkit::patience::wait_until;
use hdf5_metno::File;

const EVENTS: &str = "/entry/instrument/detector/detector_events";
const CHUNK: usize = 2048;

fn event(index: u64) -> Event {
    let random = (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
    Event { time_ns: index * 1000, pixel_id: random % 48 + 1 }
}

fn options(path: &Path, threads: usize) -> NexusOptions {
    let mut options = flat_options(path);
    options.compression = Compression::default();
    options.compression_threads = threads;
    options.chunk_events = CHUNK;
    options.flush_interval = Duration::from_secs(2);
    options
}

struct Written {
    output: NexusOutput,
    clock: Arc<ManualClock>,
    feed: Feed,
    sent: u64,
}

impl Written {
    fn begin(options: NexusOptions) -> Self {
        let clock = Arc::new(ManualClock::default());
        let output = NexusOutput::new(options, Arc::clone(&clock) as _).unwrap();
        Self { output, clock, feed: Feed::new(), sent: 0 }
    }

    /// Takes so many events, and commits them.
    fn step(&mut self, events: u64) {
        let mut batch = EventBatch::new(events.max(1) as usize);
        (self.sent..self.sent + events).for_each(|index| assert!(batch.push(event(index))));
        self.sent += events;
        for batch in self.feed.batches(&batch) {
            assert_eq!(self.output.take(&batch), Ok(Taken::Yes));
        }
        self.clock.advance(Duration::from_secs(3));
        while self.output.progress().committed < self.sent {
            self.output.poll().unwrap();
        }
    }

    fn finish(&mut self) {
        while let Err(error) = self.output.finish(&empty()) {
            assert!(matches!(error, OutputError::Retry(_)), "{error}");
        }
    }
}

fn empty() -> Arc<RunState> {
    Arc::new(state(&DetectorLedger::default()))
}

/// Every chunk of an array: its first value, whether it is plain, and its bytes.
fn chunks(path: &Path, name: &str) -> Vec<(u64, bool, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let file = File::open(path).unwrap();
    let dataset = file.group(EVENTS).unwrap().dataset(name).unwrap();
    (0..dataset.num_chunks().unwrap())
        .map(|index| {
            let info = dataset.chunk_info(index).unwrap();
            let place = info.addr as usize..(info.addr + info.size) as usize;
            (info.offset[0], info.filter_mask == 0b11, bytes[place].to_vec())
        })
        .collect()
}

/// The events of a file are the first that were sent.
fn check(path: &Path) -> u64 {
    let events = File::open(path).unwrap().group(EVENTS).unwrap();
    let (id, offset) = (read::<i32>(&events, "event_id"), read::<i32>(&events, "event_time_offset"));
    assert_eq!(id.len(), offset.len());
    for (index, (&id, &offset)) in id.iter().zip(&offset).enumerate() {
        let expected = event(index as u64);
        assert_eq!(
            (id as u32, offset as u64),
            (expected.pixel_id, expected.time_ns % 100_000_000),
            "event {index}"
        );
    }
    id.len() as u64
}

/// Events per commit that make chunks of all kinds, and go from one to another.
const STEPS: [u64; 14] = [5000, 1, 3000, 2047, 2048, 2049, 100, 100, 3000, 20_000, 1, 1, 0, 700];

#[test]
fn any_number_of_threads_writes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let write = |threads: usize| {
        let path = folder.path().join(format!("{threads}.nxs"));
        let mut run = Written::begin(options(&path, threads));
        STEPS.iter().for_each(|&events| run.step(events));
        run.finish();
        assert_eq!(check(&path), run.sent);
        (
            std::fs::metadata(&path).unwrap().len(),
            ["event_id", "event_time_offset"].map(|name| chunks(&path, name)),
        )
    };
    let alone = write(0);
    assert!(
        alone.1[0].iter().any(|chunk| chunk.1) && alone.1[0].iter().any(|chunk| !chunk.1),
        "one kind only"
    );
    assert!(write(1) == alone && write(3) == alone);
}

#[test]
fn what_is_rare_stays_in_its_place_and_what_is_much_is_packed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rare.nxs");
    let mut run = Written::begin(options(&path, 1));
    run.step(10);
    let begun = std::fs::metadata(&path).unwrap().len();
    (0..200).for_each(|_| run.step(10));
    let grown = std::fs::metadata(&path).unwrap().len() - begun;
    assert_eq!(grown, 0, "a chunk that is not full was moved");
    run.finish();
    let rare = chunks(&path, "event_id");
    assert_eq!(rare.len(), 1);
    assert!(rare[0].1 && rare[0].2.len() == 4 * CHUNK);

    let path = folder.path().join("much.nxs");
    let mut run = Written::begin(options(&path, 1));
    (0..20).for_each(|_| run.step(5 * CHUNK as u64 + 777));
    run.finish();
    let much = chunks(&path, "event_id");
    assert!(much.iter().all(|chunk| !chunk.1 && chunk.2.len() < 2 * CHUNK), "a chunk is plain");
}

#[test]
fn what_a_kill_leaves_between_two_commits_recovers_whatever_the_chunk_at_the_end_is() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
    let mut run = Written::begin(options(&path, 2));
    for events in STEPS {
        run.step(events);
        std::fs::copy(&path, &copy).unwrap();
        let recovered = recover(&copy).unwrap();
        assert_eq!((recovered.events, recovered.events_cut), (run.sent, 0));
        assert_eq!(check(&copy), run.sent);
    }
}

#[test]
fn a_damaged_chunk_is_an_error_and_the_file_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
    let mut run = Written::begin(options(&path, 1));
    run.step(5000);
    std::fs::copy(&path, &copy).unwrap();
    recover(&copy).unwrap();
    let file = File::open(&copy).unwrap();
    let offsets = file.group(EVENTS).unwrap().dataset("event_time_offset").unwrap();
    let last = offsets.chunk_info(offsets.num_chunks().unwrap() - 1).unwrap();
    assert_eq!(last.filter_mask, 0, "it is not packed");
    drop((offsets, file));
    for at in [0, last.size / 2, last.size - 1] {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[(last.addr + at) as usize] ^= 0x55;
        std::fs::write(&copy, &bytes).unwrap();
        let error = recover(&copy).unwrap_err().to_string();
        assert!(error.contains("copy.nxs"), "{error}");
        assert!(std::fs::read(&copy).unwrap() == bytes, "it was changed");
    }
}

/// A disk that takes its time, or fails, when it is asked to keep what was written.
#[derive(Debug, Default)]
struct Disk {
    is_busy: AtomicBool,
    is_broken: AtomicBool,
    asked: AtomicU64,
}

impl DiskSpace for Disk {
    fn reserve(&self, file: &PlainFile, range: Range<u64>) -> Result<(), Shortage> {
        FileSystemSpace.reserve(file, range)
    }

    fn has_room(&self, folder: &Path, bytes: u64) -> Result<(), Shortage> {
        FileSystemSpace.has_room(folder, bytes)
    }

    fn sync(&self, file: &PlainFile) -> io::Result<()> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        // Whoever waits for it fails in the end.
        wait_until("the disk may go on", || !self.is_busy.load(Ordering::SeqCst));
        if self.is_broken.swap(false, Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(5));
        }
        file.sync_data()
    }
}

fn on(disk: &Arc<Disk>, options: NexusOptions) -> Written {
    let mut run = Written::begin(options);
    run.output = run.output.with_disk_space(Arc::clone(disk) as _);
    run
}

/// What the file says is committed, as a follower sees it.
fn told(path: &Path) -> u64 {
    let file = File::open_as(path, hdf5_metno::OpenMode::ReadSWMR).unwrap();
    file.group(EVENTS).unwrap().dataset("total_counts").unwrap().read_scalar().unwrap()
}

#[test]
fn a_disk_that_is_busy_delays_commits_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let disk = Arc::new(Disk::default());
    let mut run = on(&disk, options(&path, 1));
    run.step(1000);
    disk.is_busy.store(true, Ordering::SeqCst);
    for round in 0..20_u64 {
        let mut batch = EventBatch::new(500);
        let from = 1000 + 500 * round;
        (from..from + 500).for_each(|index| assert!(batch.push(event(index))));
        for batch in run.feed.batches(&batch) {
            assert_eq!(run.output.take(&batch), Ok(Taken::Yes));
        }
        run.clock.advance(Duration::from_secs(3));
        run.output.poll().unwrap();
    }
    run.sent = 11_000;
    let progress = run.output.progress();
    assert_eq!((progress.committed, progress.pending), (1000, 10_000));
    assert_eq!(told(&path), 1000, "the file is ahead of the disk");
    assert!(run.output.finish(&empty()).unwrap_err().to_string().contains("has not yet confirmed"));
    disk.is_busy.store(false, Ordering::SeqCst);
    run.finish();
    assert_eq!((check(&path), run.output.progress().committed), (11_000, 11_000));
    let syncs = run.output.counters().value("syncs").unwrap();
    assert!(syncs >= 2 && syncs == run.output.counters().value("commits").unwrap());
}

#[test]
fn a_disk_that_could_not_keep_what_was_written_costs_a_file_and_no_event() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let disk = Arc::new(Disk::default());
    let mut run = on(&disk, options(&path, 1));
    run.step(1000);
    disk.is_broken.store(true, Ordering::SeqCst);
    let mut batch = EventBatch::new(500);
    (1000..1500).for_each(|index| assert!(batch.push(event(index))));
    for batch in run.feed.batches(&batch) {
        assert_eq!(run.output.take(&batch), Ok(Taken::Yes));
    }
    run.clock.advance(Duration::from_secs(3));
    let mut said = String::new();
    while run.output.paths().count() < 2 {
        if let Err(error) = run.output.poll() {
            said = error.to_string();
        }
    }
    assert!(said.contains("cannot bring events to the disk: Input/output error"), "{said}");
    run.sent = 1500;
    run.finish();
    assert_eq!((check(&path), run.output.progress().committed), (1000, 1500));
}

#[test]
fn nobody_asks_the_disk_where_that_is_not_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Disk::default());
    let mut options = options(&folder.path().join("run.nxs"), 1);
    options.sync = DiskSync::None;
    let mut run = on(&disk, options);
    run.step(1000);
    run.finish();
    assert_eq!((disk.asked.load(Ordering::SeqCst), run.output.counters().value("syncs")), (0, Some(0)));
}

/// A disk that remembers the file as it was at each question.
#[derive(Debug, Default)]
struct Remembering {
    path: PathBuf,
    states: Mutex<Vec<Vec<u8>>>,
}

impl DiskSpace for Remembering {
    fn reserve(&self, file: &PlainFile, range: Range<u64>) -> Result<(), Shortage> {
        FileSystemSpace.reserve(file, range)
    }

    fn has_room(&self, folder: &Path, bytes: u64) -> Result<(), Shortage> {
        FileSystemSpace.has_room(folder, bytes)
    }

    fn sync(&self, _: &PlainFile) -> io::Result<()> {
        self.states.lock().unwrap().push(std::fs::read(&self.path)?);
        Ok(())
    }
}

#[test]
fn a_loss_of_power_costs_no_more_than_what_the_disk_had_not_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
    let disk = Arc::new(Remembering { path: path.clone(), ..Remembering::default() });
    let mut run = Written::begin(options(&path, 1));
    run.output = run.output.with_disk_space(Arc::clone(&disk) as _);
    let mut before = 0;
    for events in STEPS {
        run.step(events);
        // What is on the disk for certain has at least the commit before.
        std::fs::write(&copy, disk.states.lock().unwrap().last().unwrap()).unwrap();
        let recovered = recover(&copy).unwrap();
        assert!(recovered.events >= before, "{recovered} but {before} were committed");
        assert_eq!(check(&copy), recovered.events);
        before = run.sent;
    }
    // Between two questions a disk writes in any order. Whatever is there then: what can be read is right, and has at least the
    // last but one commit. A block of an index that was torn is an error.
    let states = disk.states.lock().unwrap();
    let (mut whole, mut torn, mut random) = (0, 0, 1_u64);
    for pair in states.windows(2) {
        std::fs::write(&copy, &pair[0]).unwrap();
        let least = recover(&copy).unwrap().events;
        for _ in 0..20 {
            let mut mixed = pair[1].clone();
            for (new, old) in mixed.chunks_mut(4096).zip(pair[0].chunks(4096)) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if random >> 63 == 0 {
                    new[..old.len()].copy_from_slice(old);
                }
            }
            std::fs::write(&copy, &mixed).unwrap();
            match recover(&copy) {
                Ok(recovered) => {
                    assert!(recovered.events >= least, "{recovered}, {least} were confirmed");
                    assert_eq!(check(&copy), recovered.events);
                    whole += 1;
                }
                Err(error) => {
                    assert!(error.to_string().contains("copy.nxs"), "{error}");
                    torn += 1;
                }
            }
        }
    }
    println!("{whole} files are whole, {torn} are torn");
    assert!(whole > 10 * torn, "{whole} files are whole, {torn} are torn");
}

//! The room that is reserved before every commit: never less than what HDF5 takes then, and given back in the end.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Feed, flat_options, state};
use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::event::{Event, EventBatch};
use evforge_core::frame::FrameVeto;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::live_time::LiveTime;
use evforge_core::output::Output;
use evforge_core::run_state::OutputCounters;
use evforge_core::time::ManualClock;
use evforge_stream::nexus::{
    Compression, DiskSpace, DiskSync, FileSystemSpace, NexusCounters, NexusOptions, NexusOutput, Shortage,
};
use evforge_testkit::properties::cases;
use proptest::prelude::*;

/// Reserves as the real one does, and remembers up to where.
#[derive(Debug, Default)]
struct Remembered {
    ends: Mutex<Vec<u64>>,
}

impl Remembered {
    fn last(&self) -> u64 {
        self.ends.lock().unwrap().last().copied().unwrap_or(0)
    }

    fn count(&self) -> usize {
        self.ends.lock().unwrap().len()
    }
}

impl DiskSpace for Remembered {
    fn reserve(&self, file: &File, range: Range<u64>) -> Result<(), Shortage> {
        self.ends.lock().unwrap().push(range.end);
        FileSystemSpace.reserve(file, range)
    }

    fn has_room(&self, folder: &Path, bytes: u64) -> Result<(), Shortage> {
        FileSystemSpace.has_room(folder, bytes)
    }
}

/// Options of a file with all that a file can have.
fn options(path: &Path, compression: Compression, chunk_events: usize, monitors: u32) -> NexusOptions {
    let mut options = flat_options(path);
    options.flush_interval = Duration::ZERO;
    options.compression = compression;
    options.chunk_events = chunk_events;
    options.vetoes = vec!["prompt pulse".into()];
    options.frames = Some(vec![FrameVeto { bit: 0, name: "SMP".into(), counts: true, frames: 0 }]);
    options.counters = NexusCounters::infos().iter().chain(OutputCounters::infos()).copied().collect();
    options.geometry = LogicalGeometry::flat(48, monitors.max(1)).unwrap();
    options.beam_monitors = (0..monitors)
        .map(|index| BeamMonitorPlan {
            name: format!("monitor_{index}"),
            kind: BeamMonitorKind::Event2D,
            first_pixel: 1 + 48 * index,
            nx: 48,
            ny: 1,
            histogram: TimeOfFlightBins::new(0, 71_000_000, 1000).unwrap(),
            alongside: false,
        })
        .collect();
    let own: Vec<CounterInfo> = NexusCounters::infos().to_vec();
    options.with_outputs(&[("nexus".into(), own.clone()), ("csv".into(), Vec::new())])
}

/// Sources with long live times: the table at the end is long.
fn ledger() -> DetectorLedger {
    let mut live_time = LiveTime::new();
    (0..1500).for_each(|second| live_time.observe(second * 1_000_000_000, true, 1));
    let source = SourceLedger { name: "FEC".into(), live_time, ..SourceLedger::default() };
    DetectorLedger { sources: vec![source; 5], ..DetectorLedger::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    #[test]
    fn the_file_never_grows_beyond_what_was_reserved(
        // Events, nanoseconds between them, and the seed of their pixels.
        steps in prop::collection::vec((0..6000_u64, 1..2_000_000_u64, 1..u64::MAX), 1..40),
        compression in prop::sample::select(vec![Compression::None, Compression::Lzf, Compression::Deflate(1)]),
        chunk_events in prop::sample::select(vec![1024, 1500, 5000, 70_000]),
        monitors in 0..4_u32,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        let space = Arc::new(Remembered::default());
        let mut output = NexusOutput::new(
            options(&path, compression, chunk_events, monitors), Arc::new(ManualClock::default()),
        ).unwrap().with_disk_space(Arc::clone(&space) as Arc<dyn DiskSpace>);
        let mut feed = Feed::new();
        let mut time_ns = 0;
        let state = Arc::new(state(&ledger()));
        let length = || std::fs::metadata(&path).map_or(0, |about| about.len());
        for (events, spacing, seed) in steps {
            let mut batch = EventBatch::new(6000);
            let mut random = seed;
            for _ in 0..events {
                time_ns += spacing;
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let pixel_id = (random % 48) as u32 + 1;
                assert!(batch.push(Event { time_ns, pixel_id }));
            }
            for batch in feed.batches(&batch) {
                output.take(&batch).unwrap();
                prop_assert!(length() <= space.last(), "{} bytes, {} reserved", length(), space.last());
            }
            output.observe(&state).unwrap();
            output.poll().unwrap();
            prop_assert!(length() <= space.last(), "{} bytes, {} reserved", length(), space.last());
        }
        output.finish(&state).unwrap();
        prop_assert!(length() <= space.last(), "{} bytes, {} reserved", length(), space.last());
        let about = std::fs::metadata(&path).unwrap();
        prop_assert!(about.blocks() * 512 <= about.len() + (64 << 10), "{about:?}: blocks behind the end");
    }
}

#[test]
fn a_long_index_and_a_large_detector_have_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let space = Arc::new(Remembered::default());
    let mut options = options(&path, Compression::None, 1024, 0);
    options.geometry = LogicalGeometry::new(500, 400, 3, 1).unwrap();
    options.configuration = "# a comment\n".repeat(50_000);
    // A disk that is slow would put reservations off.
    options.sync = DiskSync::None;
    let clock = Arc::new(ManualClock::default());
    let mut output =
        NexusOutput::new(options, clock).unwrap().with_disk_space(Arc::clone(&space) as Arc<dyn DiskSpace>);
    let mut feed = Feed::new();
    let mut batch = EventBatch::new(100_000);
    let mut time_ns = 0;
    // 6 million events: 5860 chunks of each array, and as many entries in its index.
    for _ in 0..60 {
        batch.clear();
        while batch.push(Event { time_ns, pixel_id: 1 }) {
            time_ns += 997;
        }
        for batch in feed.batches(&batch) {
            let before = space.count();
            output.take(&batch).unwrap();
            output.poll().unwrap();
            assert!(space.count() > before, "nothing was reserved");
            let length = std::fs::metadata(&path).unwrap().len();
            assert!(length <= space.last(), "{length} bytes, {} reserved", space.last());
        }
    }
    output.finish(&Arc::new(state(&ledger()))).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() <= space.last());
}

#[test]
fn compressed_chunks_that_move_have_room() {
    let folder = tempfile::tempdir().unwrap();
    // What is packed here moves only where a commit has more than a chunk.
    for (compression, chunk_events) in [(Compression::Lzf, 200_000), (Compression::Deflate(1), 9_000)] {
        let path = folder.path().join(format!("{compression:?}.nxs"));
        let space = Arc::new(Remembered::default());
        let clock = Arc::new(ManualClock::default());
        let mut output = NexusOutput::new(options(&path, compression, chunk_events, 0), clock)
            .unwrap()
            .with_disk_space(Arc::clone(&space) as Arc<dyn DiskSpace>);
        let mut feed = Feed::new();
        let mut batch = EventBatch::new(10_000);
        let mut random = 1_u64;
        // Every commit moves a chunk that is a little fuller than before, of values that cannot be compressed.
        for step in 0..50 {
            batch.clear();
            while !batch.is_full() {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let time_ns = step * 100_000_000 + (random >> 40);
                assert!(batch.push(Event { time_ns, pixel_id: (random >> 33) as u32 }));
            }
            for batch in feed.batches(&batch) {
                output.take(&batch).unwrap();
                let length = std::fs::metadata(&path).unwrap().len();
                assert!(length <= space.last(), "{length} bytes, {} reserved", space.last());
            }
        }
        output.finish(&Arc::new(state(&ledger()))).unwrap();
        // Four bytes for an id and three for a time, without what was moved.
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length > 500_000 * 7 * 6 / 5, "nothing was moved: {length} bytes");
    }
}

//! Mean values of sampled channels, written as CSV on a thread of their own.
//!
//! The forming thread fills blocks of values, which travel to the writing thread and come back empty. There are
//! never more blocks than were made at the start. If none has come back, a run over a file waits, and a live run
//! drops the values of the block at hand and counts them.

use crate::fan_out::{SinkFailure, SinkOutcome, WhenFull};
use crate::line_file::{Kept, LineFile};
use crate::report::grouped;
use evforge_core::sink::SinkError;
use evforge_detect::adc_readout::{MeanValue, SampleSink};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Mean values of a block.
const BLOCK_VALUES: usize = 1 << 14;
/// Blocks under way: a million values, 17 MB.
const BLOCKS: usize = 64;

/// A CSV file for mean values: `channel,time_ns,mean`, a line for each. It gets its name when it is complete; a
/// run that fails, or a disk that is full, leaves what was written until then, in whole lines, as `<name>.partial`.
#[derive(Debug)]
pub struct SampleFile {
    path: PathBuf,
    file: LineFile,
}

impl SampleFile {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be made: the folder does not exist or cannot be written to.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        let begin = || {
            let mut file = LineFile::create(path)?;
            file.line(|line| line.write_all(b"channel,time_ns,mean\n"))?;
            Ok(file)
        };
        let file = begin().map_err(|error: std::io::Error| {
            format!(
                "the mean values cannot be written to {}: {error} (does the folder exist, and may you write there?)",
                path.display()
            )
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Starts the writing thread: where values go in, and how it is ended.
    pub(crate) fn start(self, when_full: WhenFull) -> std::io::Result<(SampleQueue, SampleWriting)> {
        let (give, filled) = channel();
        let (give_empty, empty) = channel();
        for _ in 1..BLOCKS {
            // The other end is here.
            let _ = give_empty.send(Vec::with_capacity(BLOCK_VALUES));
        }
        let dropped = Arc::new(AtomicU64::new(0));
        let failure = SinkFailure::of(format!("mean values in {}", self.path.display()));
        let told = failure.clone();
        let thread = std::thread::Builder::new()
            .name("samples".into())
            .spawn(move || write(self.file, &filled, &give_empty, &told))?;
        let block = Vec::with_capacity(BLOCK_VALUES);
        let queue = SampleQueue { block, give, empty, when_full, dropped: Arc::clone(&dropped) };
        Ok((queue, SampleWriting { thread, dropped, failure }))
    }
}

/// Where the forming thread puts mean values. The last ones are handed over when it is dropped.
#[derive(Debug)]
pub(crate) struct SampleQueue {
    block: Vec<MeanValue>,
    give: Sender<Vec<MeanValue>>,
    empty: Receiver<Vec<MeanValue>>,
    when_full: WhenFull,
    dropped: Arc<AtomicU64>,
}

impl SampleQueue {
    /// Hands the block over, if there is an empty one in its place.
    fn hand_over(&mut self) {
        let next = match self.when_full {
            WhenFull::Wait => self.empty.recv().ok(),
            WhenFull::Drop => self.empty.try_recv().ok(),
        };
        let values = self.block.len() as u64;
        let handed_over =
            next.is_some_and(|next| self.give.send(std::mem::replace(&mut self.block, next)).is_ok());
        if !handed_over {
            self.dropped.fetch_add(values, Ordering::Relaxed);
            self.block.clear();
        }
    }
}

impl SampleSink for SampleQueue {
    fn take(&mut self, value: MeanValue) {
        self.block.push(value);
        if self.block.len() == BLOCK_VALUES {
            self.hand_over();
        }
    }
}

impl Drop for SampleQueue {
    fn drop(&mut self) {
        let block = std::mem::take(&mut self.block);
        let values = block.len() as u64;
        if self.give.send(block).is_err() {
            self.dropped.fetch_add(values, Ordering::Relaxed);
        }
    }
}

/// What the writing thread leaves.
struct Written {
    file: LineFile,
    taken: u64,
    missed: u64,
}

/// The writing thread of a run.
pub(crate) struct SampleWriting {
    thread: JoinHandle<Written>,
    dropped: Arc<AtomicU64>,
    failure: SinkFailure,
}

impl SampleWriting {
    /// Where it is told that writing has failed.
    pub(crate) fn failure(&self) -> SinkFailure {
        self.failure.clone()
    }

    /// Waits for the last values, after the queue is gone: `complete` if the input came to its end, otherwise
    /// nothing is left that looks whole.
    pub(crate) fn end(self, complete: bool) -> SinkOutcome {
        let Self { thread, dropped, failure } = self;
        let mut outcome = SinkOutcome { name: failure.sink().to_owned(), ..SinkOutcome::default() };
        match thread.join() {
            Err(_) => failure.set("its thread panicked: please report this"),
            Ok(Written { mut file, taken, missed }) => {
                (outcome.taken, outcome.missed) = (taken, missed);
                if complete
                    && failure.get().is_none()
                    && let Err(error) = file.finish()
                {
                    failure.set(&error.to_string());
                }
                if !complete || failure.get().is_some() {
                    outcome.note = Some(keep(&mut file, failure.sink()));
                }
            }
        }
        outcome.dropped = dropped.load(Ordering::Relaxed);
        outcome.failure = failure.get().map(str::to_owned);
        outcome
    }
}

/// Keeps what is there of a file, and says what that is.
fn keep(file: &mut LineFile, name: &str) -> String {
    match file.keep_partial() {
        Ok(Kept { path, lines }) => {
            let values = grouped(lines.saturating_sub(1));
            format!("{values} mean values are in {}, which is incomplete", path.display())
        }
        Err(error) => format!("nothing is left of the {name}: {error}"),
    }
}

/// Writes blocks until no more can come.
fn write(
    file: LineFile,
    filled: &Receiver<Vec<MeanValue>>,
    empty: &Sender<Vec<MeanValue>>,
    failure: &SinkFailure,
) -> Written {
    let mut written = Written { file, taken: 0, missed: 0 };
    while let Ok(mut block) = filled.recv() {
        let values = block.len() as u64;
        if failure.get().is_none()
            && let Err(error) = write_block(&mut written.file, &block)
        {
            failure.set(&error.to_string());
        }
        let counter = if failure.get().is_none() { &mut written.taken } else { &mut written.missed };
        *counter += values;
        block.clear();
        // At the end nobody fills blocks any more.
        let _ = empty.send(block);
    }
    written
}

fn write_block(file: &mut LineFile, block: &[MeanValue]) -> std::io::Result<()> {
    file.check()?;
    for MeanValue { channel, time_ns, value } in block {
        file.line(|line| writeln!(line, "{channel},{time_ns},{value}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(queue: &mut SampleQueue, values: usize) {
        for index in 0..values {
            queue.take(MeanValue { channel: 3, time_ns: index as u64, value: 7 });
        }
    }

    #[test]
    fn all_values_are_written_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("means.csv");
        let (mut queue, writing) = SampleFile::create(&path).unwrap().start(WhenFull::Wait).unwrap();
        let values = 3 * BLOCK_VALUES + 5;
        put(&mut queue, values);
        drop(queue);
        let outcome = writing.end(true);
        assert_eq!((outcome.taken, outcome.dropped, outcome.missed), (values as u64, 0, 0));
        assert_eq!((outcome.failure, outcome.note), (None, None));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("channel,time_ns,mean\n3,0,7\n3,1,7\n"));
        assert_eq!(text.lines().count(), values + 1);
    }

    #[test]
    fn a_failed_input_leaves_nothing_that_looks_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("means.csv");
        let (mut queue, writing) = SampleFile::create(&path).unwrap().start(WhenFull::Wait).unwrap();
        put(&mut queue, 2);
        drop(queue);
        let outcome = writing.end(false);
        assert!(outcome.note.unwrap().contains("means.csv.partial"));
        assert!(!path.exists());
        assert!(SampleFile::create(&folder.path().join("none/means.csv")).is_err());
    }

    #[test]
    fn a_file_that_was_removed_fails_and_says_so_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("means.csv");
        let (mut queue, writing) = SampleFile::create(&path).unwrap().start(WhenFull::Wait).unwrap();
        std::fs::remove_file(std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path())
            .unwrap();
        let failure = writing.failure();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let mut values = 0;
        while failure.get().is_none() {
            assert!(std::time::Instant::now() < end, "nobody is told");
            put(&mut queue, BLOCK_VALUES);
            values += BLOCK_VALUES as u64;
        }
        drop(queue);
        let outcome = writing.end(true);
        assert_eq!((outcome.taken, outcome.missed), (0, values));
        assert!(outcome.failure.unwrap().contains("was removed"));
        assert!(outcome.note.unwrap().contains("nothing is left"));
    }

    /// A writing thread that never gives a block back.
    #[test]
    fn live_values_that_find_no_room_are_dropped_and_counted() {
        let (give, filled) = channel();
        let (give_empty, empty) = channel();
        let _ = give_empty.send(Vec::with_capacity(BLOCK_VALUES));
        let dropped = Arc::new(AtomicU64::new(0));
        let block = Vec::with_capacity(BLOCK_VALUES);
        let mut queue =
            SampleQueue { block, give, empty, when_full: WhenFull::Drop, dropped: Arc::clone(&dropped) };
        put(&mut queue, 3 * BLOCK_VALUES + 1);
        assert_eq!(dropped.load(Ordering::Relaxed), 2 * BLOCK_VALUES as u64);
        drop(queue);
        assert_eq!(filled.iter().map(|block| block.len()).collect::<Vec<_>>(), [BLOCK_VALUES, 1]);
    }
}

//! Mean values of sampled channels, written as CSV on a thread of their own.
//!
//! The forming thread fills blocks of values, which travel to the writing thread and come back empty. There are
//! never more blocks than were made at the start. If none has come back, a run over a file waits, and a live run
//! drops the values of the block at hand and counts them.

use crate::fan_out::{SinkOutcome, WhenFull};
use evforge_core::sink::SinkError;
use evforge_detect::adc_readout::{MeanValue, SampleSink};
use evforge_net::staged_file::StagedFile;
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
/// run that fails leaves `<name>.partial` or nothing.
#[derive(Debug)]
pub struct SampleFile {
    path: PathBuf,
    file: StagedFile,
}

impl SampleFile {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be made: the folder does not exist or cannot be written to.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        let begin = || {
            let mut file = StagedFile::create(path)?;
            file.write_all(b"channel,time_ns,mean\n")?;
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
        let name = format!("mean values in {}", self.path.display());
        let thread = std::thread::Builder::new()
            .name("samples".into())
            .spawn(move || write(self.file, &filled, &give_empty))?;
        let block = Vec::with_capacity(BLOCK_VALUES);
        let queue = SampleQueue { block, give, empty, when_full, dropped: Arc::clone(&dropped) };
        Ok((queue, SampleWriting { name, thread, dropped }))
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
    file: StagedFile,
    taken: u64,
    missed: u64,
    failure: Option<String>,
}

/// The writing thread of a run.
pub(crate) struct SampleWriting {
    name: String,
    thread: JoinHandle<Written>,
    dropped: Arc<AtomicU64>,
}

impl SampleWriting {
    /// Waits for the last values, after the queue is gone: `complete` if the input came to its end, otherwise
    /// nothing is left that looks whole.
    pub(crate) fn end(self, complete: bool) -> SinkOutcome {
        let Self { name, thread, dropped } = self;
        let (taken, missed, failure, note) = match thread.join() {
            Err(_) => (0, 0, Some("its thread panicked: please report this".to_owned()), None),
            Ok(Written { taken, missed, failure: Some(failure), .. }) => (taken, missed, Some(failure), None),
            Ok(Written { mut file, taken, missed, failure: None }) if complete => {
                (taken, missed, file.finish().err().map(|error| error.to_string()), None)
            }
            Ok(Written { mut file, taken, missed, .. }) => {
                let partial = file.finish_partial().ok();
                let note =
                    partial.map(|path| format!("the mean values up to there are in {}", path.display()));
                (taken, missed, None, note)
            }
        };
        let dropped = dropped.load(Ordering::Relaxed);
        SinkOutcome { name, taken, dropped, missed, pulses_lost: 0, failure, note, latency: None }
    }
}

/// Writes blocks until no more can come.
fn write(file: StagedFile, filled: &Receiver<Vec<MeanValue>>, empty: &Sender<Vec<MeanValue>>) -> Written {
    let mut written = Written { file, taken: 0, missed: 0, failure: None };
    while let Ok(mut block) = filled.recv() {
        let values = block.len() as u64;
        if written.failure.is_none() {
            written.failure = write_block(&mut written.file, &block).err().map(|error| error.to_string());
        }
        let counter = if written.failure.is_none() { &mut written.taken } else { &mut written.missed };
        *counter += values;
        block.clear();
        // At the end nobody fills blocks any more.
        let _ = empty.send(block);
    }
    written
}

fn write_block(file: &mut StagedFile, block: &[MeanValue]) -> std::io::Result<()> {
    for MeanValue { channel, time_ns, value } in block {
        writeln!(file, "{channel},{time_ns},{value}")?;
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

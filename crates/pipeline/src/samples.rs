//! Averaged waveforms of sampled channels, written as CSV on a thread of their own.
//!
//! The forming thread fills blocks of values, which travel to the writing thread and come back empty. There are
//! never more blocks than were made at the start. If none has come back, a run over a file waits, and a live run
//! drops the values of the block at hand and counts them.

use crate::report::grouped;
use evforge_core::run_state::OutputState;
use evforge_core::whole_file::not_writable;
use evforge_detect::adc_readout::{MeanValue, SampleSink};
use evforge_outputs::line_file::{Kept, LineFile};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// Averaged waveforms of a block.
const BLOCK_VALUES: usize = 1 << 14;
/// Blocks under way: a million values, 17 MB.
const BLOCKS: usize = 64;

/// What to do with values that come while all blocks are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenBehind {
    /// Wait for a block: for input that waits as well.
    Wait,
    /// Drop the values of the block at hand and count them: for live input.
    Drop,
}

/// Counts and failure of the file, for all who watch it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleWatch {
    name: Arc<str>,
    failure: Arc<OnceLock<String>>,
    dropped: Arc<AtomicU64>,
    taken: Arc<AtomicU64>,
    missed: Arc<AtomicU64>,
}

impl SampleWatch {
    fn of(name: String) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// It has failed. The first reason counts.
    fn fail(&self, why: &str) {
        self.failure.get_or_init(|| why.to_owned());
    }

    fn has_failed(&self) -> bool {
        self.failure.get().is_some()
    }

    /// The file as people see the outputs of a run. What it counts are averaged waveforms.
    fn state(&self) -> OutputState {
        let mut state = OutputState {
            id: "samples".to_owned(),
            name: self.name.to_string(),
            failure: self.failure.get().cloned(),
            ..OutputState::default()
        };
        let counters = &mut state.counters;
        counters.dropped = self.dropped.load(Ordering::Relaxed);
        counters.accepted = self.taken.load(Ordering::Relaxed);
        counters.committed = counters.accepted;
        counters.missed = self.missed.load(Ordering::Relaxed);
        counters.offered = counters.dropped + counters.accepted + counters.missed;
        state
    }
}

/// A CSV file for averaged waveforms: `channel,time_ns,mean`, a line for each. It gets its name when it is complete; a
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
    pub fn create(path: &Path) -> Result<Self, String> {
        let begin = || {
            let mut file = LineFile::create(path)?;
            file.line(|line| line.write_all(b"channel,time_ns,mean\n"))?;
            Ok(file)
        };
        let file = begin().map_err(|error| not_writable("the averaged waveforms", path, &error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Starts the writing thread: where values go in, and how it is ended.
    pub(crate) fn start(self, when_full: WhenBehind) -> std::io::Result<(SampleQueue, SampleWriting)> {
        let (give, filled) = channel();
        let (give_empty, empty) = channel();
        for _ in 1..BLOCKS {
            // The other end is here.
            let _ = give_empty.send(Vec::with_capacity(BLOCK_VALUES));
        }
        let watch = SampleWatch::of(format!("averaged waveforms in {}", self.path.display()));
        let told = watch.clone();
        let thread = std::thread::Builder::new()
            .name("samples".into())
            .spawn(move || write(self.file, &filled, &give_empty, &told))?;
        let block = Vec::with_capacity(BLOCK_VALUES);
        let queue = SampleQueue { block, give, empty, when_full, dropped: Arc::clone(&watch.dropped) };
        Ok((queue, SampleWriting { thread, watch }))
    }
}

/// Where the forming thread puts averaged waveforms. The last ones are handed over when it is dropped.
#[derive(Debug)]
pub(crate) struct SampleQueue {
    block: Vec<MeanValue>,
    give: Sender<Vec<MeanValue>>,
    empty: Receiver<Vec<MeanValue>>,
    when_full: WhenBehind,
    dropped: Arc<AtomicU64>,
}

impl SampleQueue {
    /// Hands the block over, if there is an empty one in its place.
    fn hand_over(&mut self) {
        let next = match self.when_full {
            WhenBehind::Wait => self.empty.recv().ok(),
            WhenBehind::Drop => self.empty.try_recv().ok(),
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

/// The writing thread of a run.
pub(crate) struct SampleWriting {
    thread: JoinHandle<LineFile>,
    watch: SampleWatch,
}

impl SampleWriting {
    /// The file at this moment.
    pub(crate) fn state(&self) -> OutputState {
        self.watch.state()
    }

    /// Waits for the last values, after the queue is gone: `complete` if the input came to its end, otherwise
    /// nothing is left that looks whole.
    pub(crate) fn end(self, complete: bool) -> OutputState {
        let Self { thread, watch } = self;
        let mut note = None;
        match thread.join() {
            Err(_) => watch.fail("its thread panicked: please report this"),
            Ok(mut file) => {
                if complete
                    && !watch.has_failed()
                    && let Err(error) = file.finish()
                {
                    watch.fail(&error.to_string());
                }
                if !complete || watch.has_failed() {
                    note = Some(keep(&mut file, &watch.name));
                }
            }
        }
        OutputState { note, ..watch.state() }
    }
}

/// Keeps what is there of a file and returns what that is.
fn keep(file: &mut LineFile, name: &str) -> String {
    match file.keep_partial() {
        Ok(Kept { path, lines }) => {
            let values = grouped(lines.saturating_sub(1));
            format!("{values} averages are in {}, which is incomplete", path.display())
        }
        Err(error) => format!("nothing is left of the {name}: {error}"),
    }
}

/// Writes blocks until no more can come.
fn write(
    mut file: LineFile,
    filled: &Receiver<Vec<MeanValue>>,
    empty: &Sender<Vec<MeanValue>>,
    watch: &SampleWatch,
) -> LineFile {
    while let Ok(mut block) = filled.recv() {
        let values = block.len() as u64;
        if !watch.has_failed()
            && let Err(error) = write_block(&mut file, &block)
        {
            watch.fail(&error.to_string());
        }
        let counter = if watch.has_failed() { &watch.missed } else { &watch.taken };
        counter.fetch_add(values, Ordering::Relaxed);
        block.clear();
        // At the end nobody fills blocks any more.
        let _ = empty.send(block);
    }
    file
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
    use evforge_testkit::patience::wait_until;

    fn put(queue: &mut SampleQueue, values: usize) {
        for index in 0..values {
            queue.take(MeanValue { channel: 3, time_ns: index as u64, value: 7 });
        }
    }

    #[test]
    fn all_values_are_written_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("means.csv");
        let (mut queue, writing) = SampleFile::create(&path).unwrap().start(WhenBehind::Wait).unwrap();
        let values = 3 * BLOCK_VALUES + 5;
        put(&mut queue, values);
        drop(queue);
        let outcome = writing.end(true);
        assert_eq!(
            (outcome.counters.accepted, outcome.counters.dropped, outcome.counters.missed),
            (values as u64, 0, 0)
        );
        assert_eq!((outcome.failure, outcome.note), (None, None));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("channel,time_ns,mean\n3,0,7\n3,1,7\n"));
        assert_eq!(text.lines().count(), values + 1);
    }

    #[test]
    fn a_failed_input_leaves_nothing_that_looks_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("means.csv");
        let (mut queue, writing) = SampleFile::create(&path).unwrap().start(WhenBehind::Wait).unwrap();
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
        let (mut queue, writing) = SampleFile::create(&path).unwrap().start(WhenBehind::Wait).unwrap();
        std::fs::remove_file(std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path())
            .unwrap();
        let mut values = 0;
        wait_until("the failure", || {
            put(&mut queue, BLOCK_VALUES);
            values += BLOCK_VALUES as u64;
            writing.state().failure.is_some()
        });
        drop(queue);
        let outcome = writing.end(true);
        assert_eq!((outcome.counters.accepted, outcome.counters.missed), (0, values));
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
            SampleQueue { block, give, empty, when_full: WhenBehind::Drop, dropped: Arc::clone(&dropped) };
        put(&mut queue, 3 * BLOCK_VALUES + 1);
        assert_eq!(dropped.load(Ordering::Relaxed), 2 * BLOCK_VALUES as u64);
        drop(queue);
        assert_eq!(filled.iter().map(|block| block.len()).collect::<Vec<_>>(), [BLOCK_VALUES, 1]);
    }
}

//! Trains that come over TCP: each read straight into the memory of a train, one after the other in its stream.

use super::assembled::{AssembledTrain, IncompleteCause, TrainOutcome};
use super::buffer::TrainBuffer;
use super::closing::{closed, judge, report};
use super::counters::AssemblyCounters;
use super::open_train::OpenTrain;
use super::settings::{AssemblySettings, TrainContent};
use super::sources::TrainSource;
use super::stream_sources::{StreamSource, StreamSources};
use super::tally;
use super::train_numbers::NumberFault;
use evforge_core::settings::SettingsError;
use evforge_core::sync::{Condvar, Mutex, MutexGuard};
use evforge_wire::train::StreamHeader;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[cfg(all(test, loom))]
mod models;

/// Longest wait for a buffer before whoever waits is asked if it still wants one.
const LOOK: Duration = Duration::from_millis(20);

/// What is counted of streams, apart from their trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamTally {
    /// Trains that are missing in the sequence of a sender, between two that came.
    pub skipped: u64,
    /// Trains in the sequence of a sender before its first one that came here.
    pub before: u64,
    /// Times at which no buffer was free for a train, and its connection waited.
    pub waits: u64,
    /// How long connections waited, all together.
    pub waited: Duration,
}

/// The memory and the checks of trains from several connections, each read by a thread of its own.
///
/// It keeps the checks and the counters of [`Assembly`](super::Assembly), but for packets, of which there are none. A connection for whose
/// train no buffer is free waits: then it reads nothing, and TCP holds its sender back. `sources` is the number of connections, and
/// `buffers` are for all of them.
#[derive(Debug)]
pub struct StreamAssembly {
    settings: AssemblySettings,
    bytes: AtomicU64,
    shared: Mutex<Shared>,
    freed: Condvar,
}

#[derive(Debug)]
struct Shared {
    free: Vec<TrainBuffer>,
    sources: StreamSources,
    counters: AssemblyCounters,
    tally: StreamTally,
}

/// A train that is being read.
#[derive(Debug)]
pub struct StreamedTrain {
    open: OpenTrain,
    source: StreamSource,
    number: u64,
    there: usize,
    bytes: usize,
}

impl StreamedTrain {
    /// The memory for what is left of it.
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        &mut self.open.buffer.bytes[self.there..self.bytes]
    }

    /// So many more bytes are in that memory.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.there = self.bytes.min(self.there + bytes);
    }
}

impl StreamAssembly {
    /// With all its memory: [`AssemblySettings::memory`].
    ///
    /// # Errors
    /// The key whose value is impossible.
    pub fn new(settings: AssemblySettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let shared = Shared {
            free: TrainBuffer::all(&settings)?,
            sources: StreamSources::new(settings),
            counters: AssemblyCounters::default(),
            tally: StreamTally::default(),
        };
        Ok(Self { settings, bytes: AtomicU64::new(0), shared: Mutex::new(shared), freed: Condvar::new() })
    }

    /// What it was made with.
    pub const fn settings(&self) -> &AssemblySettings {
        &self.settings
    }

    /// The counts so far, and what is open at this moment.
    pub fn counters(&self) -> AssemblyCounters {
        let shared = self.shared();
        let [known, forgotten] = shared.sources.counts();
        AssemblyCounters {
            bytes_received: self.bytes(),
            sources_known: known,
            sources_forgotten: forgotten,
            buffers_free: shared.free.len() as u64,
            ..shared.counters
        }
    }

    /// What is counted of streams.
    pub fn tally(&self) -> StreamTally {
        self.shared().tally
    }

    /// Bytes of all streams so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts bytes of a stream.
    pub(crate) fn note(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Takes back the memory of a train. False, and the memory is freed, if it is not one of this assembly.
    pub fn give_back(&self, mut buffer: TrainBuffer) -> bool {
        let mut shared = self.shared();
        let is_ours = buffer.fits(&self.settings) && shared.free.len() < self.settings.buffers;
        if is_ours {
            buffer.presence.clear();
            shared.free.push(buffer);
            drop(shared);
            self.freed.notify_one();
        }
        is_ours
    }

    /// A connection says in its first header whose it is.
    pub(crate) fn enter(&self, header: &StreamHeader) {
        self.shared().sources.enter(source_of(header));
    }

    /// The connection with this header has ended.
    pub(crate) fn leave(&self, header: &StreamHeader) {
        self.shared().sources.leave(source_of(header));
    }

    /// Opens an announced train that fits a buffer, once one is free; none if `wants` says so before. `wants` is asked again and again.
    pub(crate) fn open(
        &self,
        header: &StreamHeader,
        now_ns: u64,
        mut wants: impl FnMut() -> bool,
    ) -> Option<StreamedTrain> {
        let source = source_of(header);
        let mut shared = self.shared();
        let Shared { sources, tally, .. } = &mut *shared;
        let line = sources.line(source);
        match line.next {
            None => tally.before += header.sequence,
            // In another connection of the sender a later one may have come already.
            Some(next) => tally.skipped += header.sequence.saturating_sub(next),
        }
        line.next = line.next.max(Some(header.sequence.saturating_add(1)));
        let (mut begun, mut waited) = (None, Duration::ZERO);
        let buffer = loop {
            if let Some(buffer) = shared.free.pop() {
                break Some(buffer);
            }
            if !wants() {
                break None;
            }
            if begun.is_none() {
                shared.tally.waits += 1;
            }
            let since = *begun.get_or_insert_with(Instant::now);
            shared = self.freed.wait_timeout(shared, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            waited = since.elapsed();
        };
        shared.tally.waited += waited;
        let Some(buffer) = buffer else {
            shared.counters.trains_without_buffer += 1;
            return None;
        };
        shared.counters.trains_opened += 1;
        shared.counters.trains_open += 1;
        let bytes = usize::try_from(header.bytes).unwrap_or(usize::MAX).min(self.settings.largest_train);
        // Modulo 2^32, as frames are.
        let open = OpenTrain::announced_with(bytes, header.sequence as u32, now_ns, buffer);
        Some(StreamedTrain { open, source, number: header.train, there: 0, bytes })
    }

    /// Closes a train; without a cause it is whole. It has its bytes if they are handed on.
    pub(crate) fn close(
        &self,
        train: StreamedTrain,
        now_ns: u64,
        cause: Option<IncompleteCause>,
    ) -> AssembledTrain {
        let StreamedTrain { mut open, source, number, there, bytes } = train;
        let AssemblySettings { data_bytes, content, incomplete, .. } = self.settings;
        open.fill(there, data_bytes, now_ns);
        let extent = open.extent(data_bytes, content);
        let mut shared = self.shared();
        let Shared { sources, counters, .. } = &mut *shared;
        let is_of_images = matches!(content, TrainContent::Images(_));
        let outcome = match cause {
            Some(cause) => TrainOutcome::Incomplete(cause),
            None if is_of_images && open.number(content, data_bytes).is_some_and(|own| own != number) => {
                TrainOutcome::WrongNumber(NumberFault::NotAnnounced)
            }
            None => judge(counters, content, sources.line(source).numbers.as_mut(), &open, bytes),
        };
        let name = TrainSource::Module(source.module.into());
        let report = report(&self.settings, name, &open, &extent, outcome);
        counters.trains_open -= 1;
        counters.bytes_used += there as u64;
        let is_handed_on = tally::streamed(counters, &report, incomplete);
        drop(shared);
        // Zeros for holes are written without the lock.
        let (train, buffer) = closed(&self.settings, report, &extent, open.buffer, is_handed_on);
        if let Some(buffer) = buffer {
            self.give_back(buffer);
        }
        train
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn source_of(header: &StreamHeader) -> StreamSource {
    StreamSource { sender: header.sender, module: header.module }
}

//! The thread that writes what is in the queue, and what it tells while it works.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evforge_core::packet::PacketSlab;

use super::full_disk::FullDisk;
use super::inlet::{Filled, SharedCounts};
use super::writer::{Finished, RecordingWriter};

/// Longest wait for packets before the recording thread writes what it has.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often it is tried again to write to a disk that was full.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// What the recording thread tells while it works.
#[derive(Debug, Default)]
pub(super) struct SharedState {
    failed: AtomicBool,
    /// The disk is full.
    waits: AtomicBool,
    written: AtomicU64,
    not_written: AtomicU64,
    /// Packets that are missing because the disk is full, or was.
    missing: AtomicU64,
    /// What is wrong, or was, in words.
    problem: Mutex<Option<String>>,
}

impl SharedState {
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// What is wrong, or was, with the number of packets that are concerned.
    pub(super) fn alarm(&self, inlets: &[Arc<SharedCounts>]) -> Option<String> {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let not_written = value(&self.not_written);
        if self.waits.load(Ordering::Relaxed) {
            let gone = value(&self.written) + not_written;
            let counts = inlets.iter().map(|inlet| inlet.snapshot());
            let handed: u64 = counts.map(|counts| counts.received.saturating_sub(counts.dropped)).sum();
            let (wait, missing) = (handed.saturating_sub(gone), value(&self.missing));
            return Some(format!(
                "{problem} {wait} packets wait for space, {missing} are missing already because there was none."
            ));
        }
        match not_written {
            0 => Some(problem),
            _ => Some(format!("{problem} {not_written} packets have not been written.")),
        }
    }

    fn tell(&self, writer: &RecordingWriter, disk: &FullDisk, lost: u64) {
        self.failed.store(writer.failure().is_some(), Ordering::Relaxed);
        self.waits.store(writer.is_waiting(), Ordering::Relaxed);
        self.written.store(writer.written(), Ordering::Relaxed);
        self.not_written.store(writer.not_written(), Ordering::Relaxed);
        self.missing.store(disk.missing(lost), Ordering::Relaxed);
        if let Some(problem) = writer.problem().or(disk.told()) {
            let mut told = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
            if told.as_deref() != Some(problem) {
                *told = Some(problem.to_owned());
            }
        }
    }
}

/// What the recording thread has.
pub(super) struct RecordingThread {
    writer: RecordingWriter,
    /// Of each inlet: the address that its packets were sent to, and where its slabs go when they have been written.
    homes: Vec<(IpAddr, SyncSender<PacketSlab>)>,
    counts: Vec<Arc<SharedCounts>>,
    /// Slabs that have not been written yet.
    waiting: Arc<AtomicUsize>,
    /// Inlets that are in use.
    inlets: Arc<AtomicUsize>,
    state: Arc<SharedState>,
    disk: FullDisk,
}

impl RecordingThread {
    pub(super) fn new(
        writer: RecordingWriter,
        homes: Vec<(IpAddr, SyncSender<PacketSlab>)>,
        counts: Vec<Arc<SharedCounts>>,
        waiting: Arc<AtomicUsize>,
        inlets: Arc<AtomicUsize>,
        state: Arc<SharedState>,
    ) -> Self {
        Self { writer, homes, counts, waiting, inlets, state, disk: FullDisk::default() }
    }

    /// Writes slabs until all inlets are gone.
    pub(super) fn run(mut self, take: &Receiver<Filled>) -> Finished {
        loop {
            match take.recv_timeout(PATIENCE) {
                Ok(filled) => self.take(filled),
                Err(RecvTimeoutError::Timeout) => self.writer.idle(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tell();
            self.await_space();
        }
        let Self { writer, counts, disk, .. } = self;
        let mut finished = writer.finish();
        let told = disk.finish(dropped(&counts) + finished.not_written);
        finished.interruption = match (finished.interruption.take(), told) {
            (Some(first), Some(told)) => Some(format!("{first} {told}")),
            (first, told) => first.or(told),
        };
        finished
    }

    fn take(&mut self, Filled { inlet, mut slab }: Filled) {
        let Some(&(destination, _)) = self.homes.get(inlet) else { return };
        let mut next = 0;
        loop {
            next = self.writer.write(&slab.batch(), next, destination);
            if next == slab.len() {
                break;
            }
            self.tell();
            self.await_space();
        }
        slab.clear();
        if let Some((_, home)) = self.homes.get(inlet) {
            // Fails only if the inlet is gone, and needs no slabs any more.
            let _ = home.try_send(slab);
        }
        self.waiting.fetch_sub(1, Ordering::Release);
        self.disk.slab_written(self.lost());
    }

    /// Waits while the disk is full. When all inlets are gone, that is the end of the recording.
    fn await_space(&mut self) {
        while self.writer.is_waiting() {
            match self.inlets.load(Ordering::Acquire) {
                0 => self.writer.give_up(),
                _ => {
                    std::thread::sleep(RETRY_INTERVAL);
                    self.writer.idle();
                }
            }
            self.tell();
        }
    }

    fn tell(&mut self) {
        let lost = self.lost();
        // A wait that ends with the recording goes on to its end.
        let waits = self.writer.is_waiting() || self.writer.failure().is_some() && self.disk.is_waiting();
        self.disk.follow(waits, lost, self.waiting.load(Ordering::Acquire));
        self.state.tell(&self.writer, &self.disk, lost);
    }

    /// Packets that have been lost up to now, in the queue or behind it.
    fn lost(&self) -> u64 {
        dropped(&self.counts) + self.writer.not_written()
    }
}

fn dropped(counts: &[Arc<SharedCounts>]) -> u64 {
    counts.iter().map(|counts| counts.snapshot().dropped).sum()
}

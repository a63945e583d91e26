//! The queue of slabs between those who receive and the one who writes.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use evforge_core::packet::{PacketBatch, PacketSlab};

use super::report::{InletCounts, RecordCounters, Recording};
use super::thread::{RecordingThread, SharedState};
use super::writer::{Finished, RecordingWriter};

/// How much may wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordQueue {
    /// Slabs of each inlet that can wait, at least 1; two more are in use.
    pub slabs: usize,
    /// Most packets in a slab.
    pub packets_per_slab: usize,
    /// Bytes of a slab.
    pub bytes_per_slab: usize,
}

impl RecordQueue {
    /// Bytes of a slab where nothing else is asked for.
    const SLAB: usize = 4 << 20;

    /// A queue of about `bytes` bytes for each inlet: slabs of 4 MiB, at least two of them.
    pub fn of_bytes(bytes: usize) -> Self {
        Self { slabs: (bytes / Self::SLAB).max(2), packets_per_slab: 16_384, bytes_per_slab: Self::SLAB }
    }

    fn slab(&self) -> PacketSlab {
        PacketSlab::new(self.packets_per_slab, self.bytes_per_slab)
    }
}

/// A full slab on its way to the disk.
pub(super) struct Filled {
    pub(super) inlet: usize,
    pub(super) slab: PacketSlab,
}

/// What an inlet tells while it is in use. Only the inlet writes it.
#[derive(Debug, Default)]
pub(super) struct SharedCounts {
    received: AtomicU64,
    received_bytes: AtomicU64,
    dropped: AtomicU64,
    dropped_bytes: AtomicU64,
    dropped_slabs: AtomicU64,
}

impl SharedCounts {
    pub(super) fn snapshot(&self) -> InletCounts {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        InletCounts {
            received: value(&self.received),
            received_bytes: value(&self.received_bytes),
            dropped: value(&self.dropped),
            dropped_bytes: value(&self.dropped_bytes),
            dropped_slabs: value(&self.dropped_slabs),
        }
    }
}

/// A recording under way: the thread that writes.
#[derive(Debug)]
pub struct Recorder {
    thread: JoinHandle<Finished>,
    counts: Vec<Arc<SharedCounts>>,
    state: Arc<SharedState>,
}

/// Where packets are handed to the recorder. It never waits.
#[derive(Debug)]
pub struct RecordInlet {
    number: usize,
    current: PacketSlab,
    /// Packets of the current slab that have been counted.
    counted: usize,
    /// Payload bytes of the current slab.
    bytes: u64,
    give: SyncSender<Filled>,
    home: Receiver<PacketSlab>,
    /// Slabs of all inlets that have not been written yet.
    waiting: Arc<AtomicUsize>,
    /// Inlets that are in use.
    inlets: Arc<AtomicUsize>,
    counts: Arc<SharedCounts>,
}

impl std::fmt::Debug for Filled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filled").field("inlet", &self.inlet).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Starts the thread that writes, with an inlet for each of `destinations`: the addresses that the packets handed
    /// over there were sent to.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn start(
        writer: RecordingWriter,
        destinations: &[IpAddr],
        queue: RecordQueue,
    ) -> io::Result<(Self, Vec<RecordInlet>)> {
        // A place for every slab there is, so that giving one never waits.
        let of_inlet = queue.slabs.max(1) + 1;
        let (give, take) = sync_channel::<Filled>((of_inlet + 1) * destinations.len());
        let (waiting, state) = (Arc::new(AtomicUsize::new(0)), Arc::new(SharedState::default()));
        let in_use = Arc::new(AtomicUsize::new(destinations.len()));
        let (mut inlets, mut homes, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for (number, &destination) in destinations.iter().enumerate() {
            let (bring_home, home) = sync_channel::<PacketSlab>(of_inlet + 1);
            for _ in 0..of_inlet {
                // There is a place for each.
                let _ = bring_home.try_send(queue.slab());
            }
            let shared = Arc::new(SharedCounts::default());
            counts.push(Arc::clone(&shared));
            homes.push((destination, bring_home));
            inlets.push(RecordInlet {
                number,
                current: queue.slab(),
                counted: 0,
                bytes: 0,
                give: give.clone(),
                home,
                waiting: Arc::clone(&waiting),
                inlets: Arc::clone(&in_use),
                counts: shared,
            });
        }
        let work = RecordingThread::new(writer, homes, counts.clone(), waiting, in_use, Arc::clone(&state));
        let thread = std::thread::Builder::new().name("record".into()).spawn(move || work.run(&take))?;
        Ok((Self { thread, counts, state }, inlets))
    }

    /// What has been handed over and dropped at each inlet up to now.
    pub fn inlets(&self) -> Vec<InletCounts> {
        self.counts.iter().map(|counts| counts.snapshot()).collect()
    }

    /// True if writing has failed: nothing more will be written.
    pub fn has_failed(&self) -> bool {
        self.state.has_failed()
    }

    /// What is wrong with the recording, or was, in words; none as long as every packet that was not dropped has been
    /// written, and the disk has not been full.
    pub fn alarm(&self) -> Option<String> {
        self.state.alarm(&self.counts)
    }

    /// Waits until everything has been written. All inlets must have been dropped, or this waits for that.
    pub fn end(self) -> Recording {
        let finished = match self.thread.join() {
            Ok(finished) => finished,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let inlets: Vec<InletCounts> = self.counts.iter().map(|counts| counts.snapshot()).collect();
        let sum = |field: fn(&InletCounts) -> u64| inlets.iter().map(field).sum();
        let counters = RecordCounters {
            record_received: sum(|inlet| inlet.received),
            record_received_bytes: sum(|inlet| inlet.received_bytes),
            record_written: finished.written.packets,
            record_written_bytes: finished.written.bytes,
            record_dropped: sum(|inlet| inlet.dropped),
            record_dropped_bytes: sum(|inlet| inlet.dropped_bytes),
            record_dropped_slabs: sum(|inlet| inlet.dropped_slabs),
            record_not_written: finished.not_written,
            record_files: finished.files.len() as u64,
            record_file_bytes: finished.files.iter().map(|file| file.file_bytes).sum(),
        };
        Recording {
            counters,
            inlets,
            files: finished.files,
            failure: finished.failure,
            interruption: finished.interruption,
        }
    }
}

impl RecordInlet {
    /// The slab to receive into: empty, or with room for at least `bytes` bytes. If it has none and no empty slab has
    /// come back, all its packets are dropped, and counted.
    pub fn slab_with_room(&mut self, bytes: usize) -> &mut PacketSlab {
        if !self.current.is_empty() && !self.current.has_room_for(bytes) && !self.hand_over() {
            self.drop_current();
        }
        &mut self.current
    }

    /// To be called after packets have been put into the slab: counts them, and hands them over at once if the
    /// recording thread has nothing to do. Otherwise the slab is filled further: a disk that is behind gets fuller
    /// slabs, not more of them.
    pub fn commit(&mut self) {
        self.count_new();
        if self.counted > 0 && self.waiting.load(Ordering::Acquire) == 0 {
            self.hand_over();
        }
    }

    /// Hands over copies of packets.
    pub fn copy(&mut self, batch: &PacketBatch<'_>) {
        for packet in batch.iter() {
            let slab = self.slab_with_room(packet.bytes.len());
            // Cannot fail: there is room.
            slab.push(packet.bytes, packet.original_length as usize, packet.origin);
        }
        self.commit();
    }

    /// What has been handed over and dropped up to now.
    pub fn counts(&self) -> InletCounts {
        self.counts.snapshot()
    }

    fn count_new(&mut self) {
        let new = self.current.len() - self.counted;
        let bytes: usize =
            self.current.batch().iter().skip(self.counted).map(|packet| packet.bytes.len()).sum();
        self.counted = self.current.len();
        self.bytes += bytes as u64;
        self.counts.received.fetch_add(new as u64, Ordering::Relaxed);
        self.counts.received_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Exchanges the current slab for an empty one; false if there is none.
    fn hand_over(&mut self) -> bool {
        let Ok(empty) = self.home.try_recv() else { return false };
        self.count_new();
        self.give(empty);
        true
    }

    fn give(&mut self, next: PacketSlab) {
        let slab = std::mem::replace(&mut self.current, next);
        (self.counted, self.bytes) = (0, 0);
        self.waiting.fetch_add(1, Ordering::AcqRel);
        // There is a place for every slab; the thread that takes them lives until all inlets are gone.
        let _ = self.give.try_send(Filled { inlet: self.number, slab });
    }

    fn drop_current(&mut self) {
        self.count_new();
        self.counts.dropped.fetch_add(self.counted as u64, Ordering::Relaxed);
        self.counts.dropped_bytes.fetch_add(self.bytes, Ordering::Relaxed);
        self.counts.dropped_slabs.fetch_add(1, Ordering::Relaxed);
        self.current.clear();
        (self.counted, self.bytes) = (0, 0);
    }
}

impl Drop for RecordInlet {
    /// Hands over what is left.
    fn drop(&mut self) {
        self.count_new();
        if self.counted > 0 {
            self.give(PacketSlab::new(1, 0));
        }
        self.inlets.fetch_sub(1, Ordering::Release);
    }
}

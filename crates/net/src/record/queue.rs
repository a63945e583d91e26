//! The queue of slabs between those who receive and the one who writes.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use evforge_core::get_size2::GetSize;
use evforge_core::packet::PacketSlab;

use super::inlet::{Filled, RecordInlet, SharedCounts};
use super::report::{InletCounts, RecordCounters, Recording};
use super::thread::{RecordingThread, SharedState};
use super::writer::{Finished, MOST_BUFFERED, RecordingWriter};

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

    /// Most memory of one inlet, and of what writes, in bytes.
    pub fn memory_bound(&self) -> usize {
        (self.slabs.max(1) + 2) * self.slab().get_heap_size() + MOST_BUFFERED
    }

    fn slab(&self) -> PacketSlab {
        PacketSlab::new(self.packets_per_slab, self.bytes_per_slab)
    }
}

/// A recording under way: the thread that writes.
#[derive(Debug)]
pub struct Recorder {
    thread: JoinHandle<Finished>,
    counts: Vec<Arc<SharedCounts>>,
    state: Arc<SharedState>,
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

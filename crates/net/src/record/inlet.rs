//! Where packets are handed to the recorder.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use evforge_core::packet::{PacketBatch, PacketSlab};

use super::report::InletCounts;

/// A full slab on its way to the disk.
pub(super) struct Filled {
    pub(super) inlet: usize,
    pub(super) slab: PacketSlab,
}

impl std::fmt::Debug for Filled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filled").field("inlet", &self.inlet).finish_non_exhaustive()
    }
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

/// Where packets are handed to the recorder. It never waits.
#[derive(Debug)]
pub struct RecordInlet {
    pub(super) number: usize,
    pub(super) current: PacketSlab,
    /// Packets of the current slab that have been counted.
    pub(super) counted: usize,
    /// Payload bytes of the current slab.
    pub(super) bytes: u64,
    pub(super) give: SyncSender<Filled>,
    pub(super) home: Receiver<PacketSlab>,
    /// Slabs of all inlets that have not been written yet.
    pub(super) waiting: Arc<AtomicUsize>,
    /// Inlets that are in use.
    pub(super) inlets: Arc<AtomicUsize>,
    pub(super) counts: Arc<SharedCounts>,
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

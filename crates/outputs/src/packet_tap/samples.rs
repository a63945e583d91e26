//! The output's side: takes packets.

use evforge_core::packet::{PacketBatch, PacketSlab};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::Duration;

/// Packets for an output, in the order in which they came in. To be used from any one thread. Dropping it ends the subscription.
#[derive(Debug)]
pub struct PacketSamples {
    filled: Receiver<PacketSlab>,
    home: SyncSender<PacketSlab>,
    waiting: Arc<AtomicUsize>,
    has_ended: bool,
}

impl PacketSamples {
    pub(super) fn new(
        filled: Receiver<PacketSlab>,
        home: SyncSender<PacketSlab>,
        waiting: Arc<AtomicUsize>,
    ) -> Self {
        Self { filled, home, waiting, has_ended: false }
    }

    /// The next packets, if there are any. Never waits.
    pub fn take(&mut self) -> Option<SampledPackets> {
        match self.filled.try_recv() {
            Ok(slab) => Some(self.taken(slab)),
            Err(error) => {
                self.has_ended |= error == TryRecvError::Disconnected;
                None
            }
        }
    }

    /// The same, for a thread that does nothing else: waits for them so long.
    pub fn take_within(&mut self, patience: Duration) -> Option<SampledPackets> {
        match self.filled.recv_timeout(patience) {
            Ok(slab) => Some(self.taken(slab)),
            Err(error) => {
                self.has_ended |= error == RecvTimeoutError::Disconnected;
                None
            }
        }
    }

    /// True if the input has ended and the last packets have been taken: found out by taking in vain.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn taken(&self, slab: PacketSlab) -> SampledPackets {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        SampledPackets { slab: Some(slab), home: self.home.clone() }
    }
}

/// Packets that have been taken. Their memory goes back to the run, to be filled again, when this is dropped.
#[derive(Debug)]
pub struct SampledPackets {
    slab: Option<PacketSlab>,
    home: SyncSender<PacketSlab>,
}

impl SampledPackets {
    /// The packets.
    pub fn batch(&self) -> PacketBatch<'_> {
        self.slab.as_ref().map(PacketSlab::batch).unwrap_or_default()
    }
}

impl Drop for SampledPackets {
    fn drop(&mut self) {
        if let Some(mut slab) = self.slab.take() {
            slab.clear();
            // There is a place for every slab. A run that is over needs none.
            let _ = self.home.try_send(slab);
        }
    }
}

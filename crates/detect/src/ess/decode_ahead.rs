//! Reads the records of the next packets on several threads, before their turn comes.
//!
//! What the records of a packet are depends on its own bytes only: hits wait here, packet by packet, until sequence, clock and
//! pulses have been looked at in the order in which the packets came.

use super::front::Front;
use super::stage::ReadoutStage;
use crate::workers::{OfOneWorker, Workers};
use evforge_core::packet::PacketBatch;
use std::sync::Arc;

/// Packets that are decoded together: their hits fit a second-level cache.
const PACKETS: usize = 64;
/// With fewer packets than this, waking up other threads takes longer than the work.
const WORTH_WAKING: usize = 8;
/// Pieces of work for each thread: who is quick takes another.
const PIECES: usize = 4;

/// A packet.
#[derive(Debug, Default, get_size2::GetSize)]
struct Slot<D> {
    decoded: D,
    is_sound: bool,
}

/// Packets that have been decoded. See the [module documentation](self).
#[derive(Debug, get_size2::GetSize)]
pub(super) struct DecodeAhead<D> {
    #[get_size(ignore)]
    workers: Arc<dyn Workers>,
    slots: Vec<OfOneWorker<Slot<D>>>,
    /// Their numbers in the batch.
    first: usize,
    end: usize,
    /// Of which batch, and how far it has been taken.
    batch: Option<Batch>,
    taken: usize,
}

/// What a batch is known by while its packets are taken in several calls, as batches of events fill up: where its first
/// packet lies, and how many there are.
type Batch = (usize, usize);

fn known_by(packets: &PacketBatch<'_>) -> Option<Batch> {
    packets.get(0).map(|first| (first.bytes.as_ptr() as usize, packets.len()))
}

impl<D: Default + Send> DecodeAhead<D> {
    /// For these threads; `room` makes room for a packet.
    pub(super) fn new(workers: Arc<dyn Workers>, room: impl Fn() -> D) -> Self {
        let slot = |_| OfOneWorker::new(Slot { decoded: room(), is_sound: false });
        let slots = (0..PACKETS).map(slot).collect();
        Self { workers, slots, first: 0, end: 0, batch: None, taken: 0 }
    }

    /// The threads that decode.
    pub(super) fn workers(&self) -> &Arc<dyn Workers> {
        &self.workers
    }

    /// Packets of this batch are taken, from number `from` on. What was decoded of it stays, if it goes on from where it
    /// [stopped](DecodeAhead::stop).
    pub(super) fn begin(&mut self, packets: &PacketBatch<'_>, from: usize) {
        let batch = known_by(packets);
        if from == 0 || from != self.taken || batch != self.batch {
            self.forget();
        }
        self.batch = batch;
    }

    /// The packets before this number have been taken.
    pub(super) fn stop(&mut self, taken: usize) {
        self.taken = taken;
    }

    /// Forgets what was decoded: it is of another batch, or what it depends on has changed.
    pub(super) fn forget(&mut self) {
        (self.first, self.end, self.batch) = (0, 0, None);
    }

    /// What packet `number` of the batch was decoded to, if it was. Decodes it and those behind it if that is worth while.
    #[inline]
    pub(super) fn packet<T, S>(
        &mut self,
        number: usize,
        packets: &PacketBatch<'_>,
        front: &Front,
        stage: &S,
    ) -> Option<&mut D>
    where
        S: ReadoutStage<T, Decoded = D> + Sync,
    {
        if number >= self.end {
            if !stage.can_decode_ahead() || packets.len() - number < WORTH_WAKING {
                return None;
            }
            self.decode(number, packets, front, stage);
        }
        let slot = self.slots.get_mut(number - self.first)?.get_mut();
        slot.is_sound.then_some(&mut slot.decoded)
    }

    fn decode<T, S>(&mut self, first: usize, packets: &PacketBatch<'_>, front: &Front, stage: &S)
    where
        S: ReadoutStage<T, Decoded = D> + Sync,
    {
        let count = (packets.len() - first).min(PACKETS);
        let pieces = PIECES * self.workers.count();
        let slots = &self.slots;
        self.workers.run(pieces, &|piece| {
            for place in piece * count / pieces..(piece + 1) * count / pieces {
                let (Some(slot), Some(packet)) = (slots.get(place), packets.get(first + place)) else {
                    continue;
                };
                let mut slot = slot.lock();
                let Slot { decoded, is_sound } = &mut *slot;
                let read = front.sound(packet.bytes).and_then(|packet| {
                    stage.decode(&packet, &stage.parse(packet.payload).ok()?, decoded);
                    Some(())
                });
                *is_sound = read.is_some();
            }
        });
        (self.first, self.end) = (first, first + count);
    }
}

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
#[derive(Debug, Default)]
struct Slot<D> {
    decoded: D,
    is_sound: bool,
}

/// Packets that have been decoded. See the [module documentation](self).
#[derive(Debug)]
pub(super) struct DecodeAhead<D> {
    workers: Arc<dyn Workers>,
    slots: Vec<OfOneWorker<Slot<D>>>,
    /// Their numbers in the batch.
    first: usize,
    end: usize,
}

impl<D: Default + Send> DecodeAhead<D> {
    pub(super) fn new(workers: Arc<dyn Workers>) -> Self {
        Self { workers, slots: (0..PACKETS).map(|_| OfOneWorker::default()).collect(), first: 0, end: 0 }
    }

    /// The threads that decode.
    pub(super) fn workers(&self) -> &Arc<dyn Workers> {
        &self.workers
    }

    /// Memory in bytes; `of_a_packet` is that of what is decoded.
    pub(super) fn memory_bound(of_a_packet: usize) -> usize {
        PACKETS * (of_a_packet + size_of::<OfOneWorker<Slot<D>>>())
    }

    /// Forgets the packets of another batch.
    pub(super) fn forget(&mut self) {
        (self.first, self.end) = (0, 0);
    }

    /// What packet `number` of the batch was decoded to, if it was. Decodes it and those behind it if that is worth while.
    #[inline]
    pub(super) fn packet<T, S>(
        &mut self,
        number: usize,
        packets: &PacketBatch<'_>,
        front: &Front,
        stage: &S,
    ) -> Option<&D>
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
        slot.is_sound.then_some(&slot.decoded)
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
                let payload = front.payload(packet.bytes).and_then(|payload| stage.parse(payload).ok());
                *is_sound = payload.is_some_and(|payload| {
                    stage.decode(&payload, decoded);
                    true
                });
            }
        });
        (self.first, self.end) = (first, first + count);
    }
}

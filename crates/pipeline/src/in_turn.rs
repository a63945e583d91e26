//! Receiving and forming in turn, in one thread.
//!
//! What comes is formed where it lies as long as forming keeps up. When more comes than that, it goes behind what waits
//! in memory already, and between two pieces of what waits the kernel is asked for more: so that its buffer is emptied
//! every one or two milliseconds, however far forming is behind. Nothing is dropped here: when the memory is full, the
//! kernel's buffer fills.

use crate::forming::Forming;
use crate::live_watch::{LiveObserver, Watch};
use crate::packet_queue::{are_few, copy, piece, pieces, receive_slab};
use evforge_config::InputSettings;
use evforge_core::packet::{PacketBatch, PacketSlab};
use evforge_net::session::{LARGEST_PIECE, PacketHandler, PacketReceiver, ReceiveState};
use std::collections::VecDeque;

/// Packets that wait in memory until those before them have been formed.
struct Waiting {
    filled: VecDeque<PacketSlab>,
    empty: Vec<PacketSlab>,
}

impl Waiting {
    fn new(input: &InputSettings) -> Self {
        let pieces = pieces(input);
        let empty = (0..pieces).map(|_| piece()).collect();
        Self { filled: VecDeque::with_capacity(pieces), empty }
    }

    /// Puts packets from number `next` on behind those that wait, as many as there is memory for: the number of the
    /// first one for which there is none.
    fn push(&mut self, packets: &PacketBatch<'_>, mut next: usize) -> usize {
        if let Some(last) = self.filled.back_mut() {
            next = copy(packets, next, last);
        }
        while next < packets.len()
            && let Some(mut piece) = self.empty.pop()
        {
            next = copy(packets, next, &mut piece);
            self.filled.push_back(piece);
        }
        next
    }

    /// Has `take` take what has been received, or what has waited longest, or nothing: then there is memory, and the
    /// kernel has `more`.
    fn take(&mut self, received: &PacketSlab, more: bool, mut take: impl FnMut(&PacketSlab)) {
        let packets = received.batch();
        if !more && self.filled.is_empty() && are_few(&packets) {
            return take(received);
        }
        let mut next = self.push(&packets, 0);
        while next < packets.len() {
            self.take_next(&mut take);
            next = self.push(&packets, next);
        }
        // The kernel's buffer is emptied first, as long as there is memory.
        if !more || self.empty.is_empty() {
            self.take_next(take);
        }
    }

    fn take_next(&mut self, take: impl FnOnce(&PacketSlab)) {
        if let Some(mut piece) = self.filled.pop_front() {
            take(&piece);
            piece.clear();
            self.empty.push(piece);
        }
    }
}

/// Forms events in the thread that receives.
pub(crate) struct InTurn<'a, 'f, 'o, O> {
    received: PacketSlab,
    waiting: Waiting,
    forming: &'a mut Forming<'f>,
    watch: &'a mut Watch<'o, O>,
}

impl<'a, 'f, 'o, O: LiveObserver> InTurn<'a, 'f, 'o, O> {
    pub(crate) fn new(
        input: &InputSettings,
        forming: &'a mut Forming<'f>,
        watch: &'a mut Watch<'o, O>,
    ) -> Self {
        Self { received: receive_slab(input), waiting: Waiting::new(input), forming, watch }
    }

    /// Forms what still waits when receiving has ended.
    pub(crate) fn end(mut self) {
        while !self.waiting.filled.is_empty() {
            self.waiting.take_next(|slab| self.forming.take(slab));
        }
    }
}

impl<O: LiveObserver> PacketHandler for InTurn<'_, '_, '_, O> {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        self.received.clear();
        &mut self.received
    }

    fn received(&mut self, _packets: usize, receiver: &dyn PacketReceiver) {
        // A full slab: the kernel has more.
        let more = !self.received.is_empty() && !self.received.has_room_for(LARGEST_PIECE);
        self.waiting.take(&self.received, more, |slab| self.forming.take(slab));
        self.watch.publish_in_time(self.forming);
        self.watch.show_in_time(self.forming, || ReceiveState::of(receiver, 0));
    }

    fn has_work(&self) -> bool {
        !self.waiting.filled.is_empty()
    }

    fn wants_end(&self) -> bool {
        self.watch.wants_stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::packet::PacketOrigin;
    use evforge_core::quantity::ByteSize;

    /// So many packets, numbered on from `next`.
    fn received(packets: usize, next: &mut u32) -> PacketSlab {
        let mut slab = PacketSlab::new(4096, 16 << 20);
        for _ in 0..packets {
            let mut bytes = [0; 9000];
            bytes[..4].copy_from_slice(&next.to_le_bytes());
            assert!(slab.push(&bytes, 9000, PacketOrigin::default()));
            *next += 1;
        }
        slab
    }

    /// Appends the numbers of the packets.
    fn note(taken: &mut Vec<u32>, slab: &PacketSlab) {
        let numbers =
            slab.batch().iter().map(|packet| u32::from_le_bytes(packet.bytes[..4].try_into().unwrap()));
        taken.extend(numbers);
    }

    fn waiting(bytes: u64) -> Waiting {
        Waiting::new(&InputSettings { queue: ByteSize { bytes }, ..InputSettings::default() })
    }

    #[test]
    fn what_comes_is_taken_at_once_as_long_as_nothing_waits() {
        let (mut waiting, mut next, mut taken) = (waiting(4 << 20), 0, Vec::new());
        for packets in [0, 1, 50, 3] {
            let before = taken.len();
            waiting.take(&received(packets, &mut next), false, |slab| note(&mut taken, slab));
            assert_eq!(taken.len(), before + packets);
            assert!(waiting.filled.is_empty());
        }
    }

    #[test]
    fn while_the_kernel_has_more_packets_wait_and_their_order_stays() {
        let (mut waiting, mut next, mut taken) = (waiting(4 << 20), 0, Vec::new());
        waiting.take(&received(100, &mut next), true, |slab| note(&mut taken, slab));
        waiting.take(&received(100, &mut next), true, |slab| note(&mut taken, slab));
        assert_eq!(taken.len(), 0);
        // A piece at a time when the kernel has no more.
        waiting.take(&received(5, &mut next), false, |slab| note(&mut taken, slab));
        assert_eq!(taken.len(), (512 << 10) / 9000);
        // More than there is memory for: as much is formed as must be.
        waiting.take(&received(1500, &mut next), true, |slab| note(&mut taken, slab));
        assert!(taken.len() > 1000 && waiting.empty.len() <= 1, "{} taken", taken.len());
        while !waiting.filled.is_empty() {
            waiting.take(&received(0, &mut next), false, |slab| note(&mut taken, slab));
        }
        assert_eq!(taken, Vec::from_iter(0..next));
    }
}

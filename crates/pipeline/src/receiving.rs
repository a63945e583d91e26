//! What a receiving thread does with packets that another one forms events from.
//!
//! Slabs travel to the forming thread through one queue and come back through a queue of each receiving thread, to be filled
//! again. Receiving never waits: if no slab has come back and the current one is full, packets are received into a
//! spare one, dropped, and counted as lost in our own queue.
//!
//! All packets of a source come through one socket, so one thread receives them, in their order; how sources interleave
//! does not change the events.

use evforge_config::InputSettings;
use evforge_core::packet::PacketSlab;
use evforge_net::session::{LARGEST_PIECE, PATIENCE, PacketHandler, PacketReceiver};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A slab for what the kernel hands over at once: with UDP_GRO its pieces are large.
pub(crate) fn new_slab(input: &InputSettings) -> PacketSlab {
    const LARGEST_PIECES: usize = 8 << 20;
    let bytes = usize::try_from(input.bytes_per_slab.bytes).unwrap_or(usize::MAX);
    PacketSlab::new(input.packets_per_slab.max(4096), bytes.max(LARGEST_PIECES))
}

/// The forming thread's ends of the queues.
pub(crate) struct FilledSlabs {
    take_filled: Receiver<(usize, PacketSlab)>,
    /// Of each thread.
    give_empty: Vec<SyncSender<PacketSlab>>,
}

/// The queues of this many receiving threads, with all slabs.
pub(crate) fn queues(threads: usize, input: &InputSettings) -> (FilledSlabs, Vec<ReceivingSide>) {
    // A place for every slab there is: those that go round, and the one of each thread that is being filled.
    let (give_filled, take_filled) = sync_channel(threads * (InputSettings::SLABS + 1));
    let mut filled = FilledSlabs { take_filled, give_empty: Vec::new() };
    let mut sides = Vec::new();
    for number in 0..threads {
        let (give_empty, take_empty) = sync_channel(InputSettings::SLABS + 1);
        for _ in 0..InputSettings::SLABS {
            // There is a place for each.
            let _ = give_empty.try_send(new_slab(input));
        }
        filled.give_empty.push(give_empty);
        sides.push(ReceivingSide {
            number,
            take_empty,
            give_filled: give_filled.clone(),
            current: new_slab(input),
            spare: new_slab(input),
            is_spare: false,
            own_queue: 0,
        });
    }
    (filled, sides)
}

impl FilledSlabs {
    /// Waits for a slab, and has `take` take its packets. Not for long: none may come.
    pub(crate) fn take_next(&self, take: impl FnOnce(&PacketSlab)) {
        if let Ok((from, slab)) = self.take_filled.recv_timeout(PATIENCE) {
            take(&slab);
            // There is a place for every slab; a thread that has ended needs none.
            let _ = self.give_empty[from].send(slab);
        }
    }

    /// Has `take` take what is left when the threads have ended.
    pub(crate) fn take_rest(self, sides: Vec<ReceivingSide>, mut take: impl FnMut(&PacketSlab)) {
        self.take_filled.try_iter().for_each(|(_, slab)| take(&slab));
        sides.iter().for_each(|side| take(&side.current));
    }
}

/// A receiving thread's ends of the queues.
pub(crate) struct ReceivingSide {
    number: usize,
    take_empty: Receiver<PacketSlab>,
    give_filled: SyncSender<(usize, PacketSlab)>,
    /// Filled until an empty slab comes back in its place: a forming thread that is behind gets fuller slabs,
    /// not more of them.
    current: PacketSlab,
    /// Where packets go when the current slab is full: they are dropped.
    spare: PacketSlab,
    /// True if the spare slab is being filled.
    is_spare: bool,
    own_queue: u64,
}

impl PacketHandler for ReceivingSide {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        if !self.current.is_empty()
            && let Ok(mut empty) = self.take_empty.try_recv()
        {
            empty.clear();
            // Fails only if the forming thread has panicked: it outlives this one, and has a place for every slab.
            let _ = self.give_filled.send((self.number, std::mem::replace(&mut self.current, empty)));
        }
        self.is_spare = !self.current.has_room_for(LARGEST_PIECE);
        if !self.is_spare {
            return &mut self.current;
        }
        self.spare.clear();
        &mut self.spare
    }

    fn received(&mut self, packets: usize, _receiver: &dyn PacketReceiver) {
        if self.is_spare {
            self.own_queue += packets as u64;
        }
    }

    fn dropped(&self) -> u64 {
        self.own_queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::packet::PacketOrigin;
    use evforge_net::receiver_group::ReceiverGroup;
    use std::time::Duration;

    /// Receives a slab's worth of packets, as full as a slab may be that is received into.
    fn fill(side: &mut ReceivingSide, receiver: &ReceiverGroup) -> u64 {
        let slab = side.slab_to_fill();
        let mut packets = 0;
        while slab.has_room_for(LARGEST_PIECE) {
            slab.push(&[1; 9000], 9000, PacketOrigin::default());
            packets += 1;
        }
        side.received(packets, receiver);
        packets as u64
    }

    #[test]
    fn what_is_not_taken_is_dropped_and_counted_and_the_rest_comes_in_order() {
        let receiver = ReceiverGroup::spread(Vec::new(), 1, Duration::ZERO).remove(0);
        let (filled, mut sides) = queues(1, &InputSettings::default());
        let side = &mut sides[0];
        // The slabs that go round and the one that is being filled are filled; then there is the spare one only.
        let mut received: Vec<u64> = (0..=InputSettings::SLABS).map(|_| fill(side, &receiver)).collect();
        assert_eq!(side.dropped(), 0);
        let lost = fill(side, &receiver) + fill(side, &receiver);
        assert_eq!(side.dropped(), lost);
        // A slab that has come back is filled next.
        let mut taken = Vec::new();
        filled.take_next(|slab| taken.push(slab.len() as u64));
        received.push(fill(side, &receiver));
        assert_eq!(side.dropped(), lost);
        filled.take_rest(sides, |slab| taken.push(slab.len() as u64));
        assert_eq!(taken, received);
    }
}

//! What a receiving thread does with packets that another one forms events from.
//!
//! Packets travel to the forming thread in pieces ([`crate::packet_queue`]), through one queue, and the pieces come back
//! through a queue of each receiving thread, to be filled again. While half of them are free they travel as they are, so that
//! events do not wait; then only when they are full. Receiving never waits: packets for which no piece has room are
//! dropped, and counted as lost in our own queue.
//!
//! All packets of a source come through one socket, so one thread receives them, in their order; how sources interleave
//! does not change the events.

use crate::packet_queue::{copy, piece, pieces, receive_slab};
use evforge_config::InputSettings;
use evforge_core::packet::PacketSlab;
use evforge_net::session::{PATIENCE, PacketHandler, PacketReceiver};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The forming thread's ends of the queues.
pub(crate) struct FilledPieces {
    take_filled: Receiver<(usize, PacketSlab)>,
    /// Of each thread.
    give_empty: Vec<SyncSender<PacketSlab>>,
}

/// The queues of this many receiving threads, with all pieces.
pub(crate) fn queues(threads: usize, input: &InputSettings) -> (FilledPieces, Vec<ReceivingSide>) {
    let pieces = pieces(input);
    // A place for every piece there is: those that go round, and the one of each thread that is being filled.
    let (give_filled, take_filled) = sync_channel(threads * (pieces + 1));
    let mut filled = FilledPieces { take_filled, give_empty: Vec::new() };
    let mut sides = Vec::new();
    for number in 0..threads {
        let (give_empty, take_empty) = sync_channel(pieces + 1);
        filled.give_empty.push(give_empty);
        sides.push(ReceivingSide {
            number,
            take_empty,
            empty: (0..pieces).map(|_| piece()).collect(),
            eager_from: pieces / 2,
            give_filled: give_filled.clone(),
            received: receive_slab(input),
            current: piece(),
            own_queue: 0,
        });
    }
    (filled, sides)
}

impl FilledPieces {
    /// Waits for a piece, and has `take` take its packets. Not for long: none may come.
    pub(crate) fn take_next(&self, take: impl FnOnce(&PacketSlab)) {
        if let Ok((from, piece)) = self.take_filled.recv_timeout(PATIENCE) {
            take(&piece);
            // There is a place for every piece; a thread that has ended needs none.
            let _ = self.give_empty[from].send(piece);
        }
    }

    /// Has `take` take what is left when the threads have ended.
    pub(crate) fn take_rest(self, sides: Vec<ReceivingSide>, mut take: impl FnMut(&PacketSlab)) {
        self.take_filled.try_iter().for_each(|(_, piece)| take(&piece));
        sides.iter().for_each(|side| take(&side.current));
    }
}

/// A receiving thread's ends of the queues.
pub(crate) struct ReceivingSide {
    number: usize,
    take_empty: Receiver<PacketSlab>,
    /// Pieces that have come back.
    empty: Vec<PacketSlab>,
    /// As long as so many are empty, a piece travels before it is full.
    eager_from: usize,
    give_filled: SyncSender<(usize, PacketSlab)>,
    received: PacketSlab,
    /// Behind all that has been handed over.
    current: PacketSlab,
    own_queue: u64,
}

impl ReceivingSide {
    /// Hands the current piece over, if there is an empty one to go on with.
    fn hand_over(&mut self) -> bool {
        let Some(empty) = self.empty.pop() else {
            return false;
        };
        // Fails only if the forming thread has panicked: it outlives this one, and has a place for every piece.
        let _ = self.give_filled.send((self.number, std::mem::replace(&mut self.current, empty)));
        true
    }
}

impl PacketHandler for ReceivingSide {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        self.received.clear();
        &mut self.received
    }

    fn received(&mut self, _packets: usize, _receiver: &dyn PacketReceiver) {
        self.empty.extend(self.take_empty.try_iter().map(|mut piece| {
            piece.clear();
            piece
        }));
        let mut next = 0;
        loop {
            next = copy(&self.received.batch(), next, &mut self.current);
            if next == self.received.len() {
                break;
            }
            if !self.hand_over() {
                self.own_queue += (self.received.len() - next) as u64;
                break;
            }
        }
        if !self.current.is_empty() && self.empty.len() >= self.eager_from {
            self.hand_over();
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
    use evforge_core::quantity::ByteSize;
    use evforge_net::receiver_group::ReceiverGroup;
    use std::time::Duration;

    /// Receives so many packets of 9000 bytes.
    fn receive(side: &mut ReceivingSide, receiver: &ReceiverGroup, packets: usize) {
        let slab = side.slab_to_fill();
        for _ in 0..packets {
            assert!(slab.push(&[1; 9000], 9000, PacketOrigin::default()));
        }
        side.received(packets, receiver);
    }

    #[test]
    fn what_is_not_taken_is_dropped_and_counted_and_the_rest_comes_in_order() {
        let receiver = ReceiverGroup::spread(Vec::new(), 1, Duration::ZERO).remove(0);
        let input = InputSettings { queue: ByteSize { bytes: 4 << 20 }, ..InputSettings::default() };
        let (filled, mut sides) = queues(1, &input);
        let side = &mut sides[0];
        let pieces = pieces(&input);
        let in_a_piece = (512 << 10) / 9000;
        // Half of the pieces travel as they are, with one packet each; the others only when they are full.
        let eager = pieces - pieces / 2 + 1;
        let room = eager + (pieces - eager + 1) * in_a_piece;
        (0..eager).for_each(|_| receive(side, &receiver, 1));
        receive(side, &receiver, room - eager);
        assert_eq!(side.dropped(), 0);
        receive(side, &receiver, 7);
        assert_eq!(side.dropped(), 7);
        // A piece that has come back is filled next.
        let mut taken = 0;
        filled.take_next(|slab| taken += slab.len());
        receive(side, &receiver, in_a_piece + 2);
        assert_eq!(side.dropped(), 9);
        filled.take_rest(sides, |slab| taken += slab.len());
        assert_eq!(taken, room + in_a_piece);
    }
}

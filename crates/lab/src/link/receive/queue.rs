//! The queue from the thread that receives to the worker of a link: pieces of memory full of packets, which come back to be
//! filled again.
//!
//! Packets are copied close together into a piece, as what a receiver fills is mostly empty. While half of the pieces are free
//! they travel as they are, so that a worker is busy at once; then only when they are full. Filling never waits: for what no
//! piece has room there is a `false`. Nothing is allocated once the queue is there, and neither side takes a lock or calls the
//! system for a packet (only a piece may wake a worker that sleeps).

use evforge_core::get_size2::GetSize;
use evforge_core::packet::{Packet, PacketSlab};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Bytes of packets in a piece.
const PIECE_BYTES: usize = 512 << 10;
/// Packets in a piece.
const PIECE_PACKETS: usize = 1024;
/// Pieces of a queue at least: two that are worked on or full, and two to fill.
const FEWEST_PIECES: usize = 4;

/// The end of the thread that receives.
pub(super) struct Filling {
    current: PacketSlab,
    /// Pieces that have come back.
    empty: Vec<PacketSlab>,
    /// As long as so many are empty, a piece travels before it is full.
    eager_from: usize,
    give_filled: SyncSender<PacketSlab>,
    take_empty: Receiver<PacketSlab>,
    is_closed: bool,
}

/// The worker's end.
pub(super) struct Filled {
    take_filled: Receiver<PacketSlab>,
    give_empty: SyncSender<PacketSlab>,
}

/// Whether there is more to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There may be.
    Open,
    /// The other end is gone, and all its pieces have been taken.
    Ended,
}

/// A queue whose pieces take about so many bytes.
pub(super) fn queue(bytes: usize) -> (Filling, Filled) {
    let current = piece();
    let pieces = (bytes / current.get_heap_size()).max(FEWEST_PIECES);
    // A place for every piece there is: those that go round, and the one that is being filled.
    let (give_filled, take_filled) = sync_channel(pieces + 1);
    let (give_empty, take_empty) = sync_channel(pieces + 1);
    let empty = (0..pieces).map(|_| piece()).collect();
    let eager_from = pieces / 2;
    let filling = Filling { current, empty, eager_from, give_filled, take_empty, is_closed: false };
    (filling, Filled { take_filled, give_empty })
}

fn piece() -> PacketSlab {
    PacketSlab::new(PIECE_PACKETS, PIECE_BYTES)
}

impl Filling {
    /// Puts a packet behind the others. False if there is no room for it.
    #[inline]
    pub(super) fn push(&mut self, packet: &Packet<'_>) -> bool {
        self.put(packet) || (self.hand_over() && self.put(packet))
    }

    /// Hands over what there is if enough pieces are empty. To be called after every attempt to receive.
    pub(super) fn hand_over_early(&mut self) {
        self.take_back();
        if !self.current.is_empty() && self.empty.len() >= self.eager_from {
            self.hand_over();
        }
    }

    /// Hands over all that is left. The worker ends when it has taken it.
    pub(super) fn finish(self) {
        // There is a place for every piece, or the worker has gone, which whoever joins it learns.
        let _ = self.give_filled.send(self.current);
    }

    /// True if the worker has gone.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    #[inline]
    fn put(&mut self, packet: &Packet<'_>) -> bool {
        self.current.push(packet.bytes, packet.original_length as usize, packet.origin)
    }

    /// Hands the current piece over, if there is an empty one to go on with.
    fn hand_over(&mut self) -> bool {
        self.take_back();
        let Some(empty) = self.empty.pop() else { return false };
        self.is_closed |= self.give_filled.send(std::mem::replace(&mut self.current, empty)).is_err();
        true
    }

    fn take_back(&mut self) {
        self.empty.extend(self.take_empty.try_iter());
    }
}

impl Filled {
    /// Has `take` take the packets of the next piece. Waits for it, but no longer than `patience`.
    pub(super) fn take_next(&self, patience: Duration, take: impl FnOnce(&PacketSlab)) -> Next {
        match self.take_filled.recv_timeout(patience) {
            Ok(mut piece) => {
                take(&piece);
                piece.clear();
                // There is a place for every piece; who has ended needs none.
                let _ = self.give_empty.send(piece);
                Next::Open
            }
            Err(RecvTimeoutError::Timeout) => Next::Open,
            Err(RecvTimeoutError::Disconnected) => Next::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::packet::PacketOrigin;

    fn packet(bytes: &[u8]) -> Packet<'_> {
        let original_length = bytes.len() as u32;
        Packet { bytes, original_length, origin: PacketOrigin::default() }
    }

    /// Sizes of the packets in the next piece.
    fn next(filled: &Filled) -> (Vec<usize>, Next) {
        let mut sizes = Vec::new();
        let next = filled.take_next(Duration::ZERO, |slab| {
            sizes.extend(slab.batch().iter().map(|packet| packet.bytes.len()));
        });
        (sizes, next)
    }

    #[test]
    fn packets_come_in_their_order_and_early_while_half_of_the_pieces_are_empty() {
        let (mut filling, filled) = queue(0);
        for size in 1..=4 {
            assert!(filling.push(&packet(&vec![0; size])));
            filling.hand_over_early();
        }
        // Three pieces have travelled as they were, the fourth waits to be full.
        assert_eq!(next(&filled).0, [1]);
        assert_eq!(next(&filled).0, [2]);
        assert_eq!(next(&filled).0, [3]);
        assert_eq!(next(&filled), (vec![], Next::Open));
        // Those that have come back are filled again.
        filling.hand_over_early();
        assert_eq!(next(&filled).0, [4]);
        assert!(filling.push(&packet(&[0; 5])));
        filling.finish();
        assert_eq!(next(&filled), (vec![5], Next::Open));
        assert_eq!(next(&filled), (vec![], Next::Ended));
    }

    #[test]
    fn what_finds_no_room_is_refused_and_nothing_else() {
        let (mut filling, filled) = queue(0);
        let bytes = [0; 9000];
        let in_a_piece = PIECE_BYTES / bytes.len();
        let room = (FEWEST_PIECES + 1) * in_a_piece;
        let taken = (0..room + 7).filter(|_| filling.push(&packet(&bytes))).count();
        assert_eq!(taken, room);
        // One piece comes back: there is room for as many as are in it.
        assert_eq!(next(&filled).0.len(), in_a_piece);
        let taken = (0..room).filter(|_| filling.push(&packet(&bytes))).count();
        assert_eq!(taken, in_a_piece);
        filling.finish();
        let mut left = 0;
        while let (sizes, Next::Open) = next(&filled) {
            left += sizes.len();
        }
        assert_eq!(left, room);
    }

    #[test]
    fn a_worker_that_has_gone_is_noticed() {
        let (mut filling, filled) = queue(0);
        drop(filled);
        assert!(filling.push(&packet(&[1])) && !filling.is_closed());
        filling.hand_over_early();
        assert!(filling.is_closed());
    }
}

//! Datagrams that came in one piece with others when the slab had no room for all of them.

use evforge_core::packet::{PacketOrigin, PacketSlab, SlabSpace};

/// A run of datagrams in one piece of memory, all but the last `segment` bytes long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Where its bytes begin.
    pub(super) start: usize,
    /// Bytes that are there.
    pub(super) held: usize,
    /// Bytes it had on the wire.
    pub(super) length: usize,
    pub(super) segment: usize,
    pub(super) origin: PacketOrigin,
}

/// One datagram of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) original_length: usize,
}

impl Piece {
    /// The first datagram, and what is left after it.
    pub(super) fn split(mut self) -> (Part, Option<Self>) {
        let original_length = self.segment.min(self.length);
        let part = Part { start: self.start, length: original_length.min(self.held), original_length };
        self.start += part.length;
        self.held -= part.length;
        self.length -= original_length;
        // An empty datagram has no bytes that could be left.
        (part, (self.length > 0 && original_length > 0).then_some(self))
    }
}

/// Keeps pieces, with their bytes, for the next slab.
#[derive(Debug)]
pub(super) struct Leftover {
    memory: Vec<u8>,
    pieces: Vec<Piece>,
    next: usize,
}

impl Leftover {
    /// For at most `pieces` pieces with at most `bytes` bytes together.
    pub(super) fn new(pieces: usize, bytes: usize) -> Self {
        Self { memory: Vec::with_capacity(bytes), pieces: Vec::with_capacity(pieces), next: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == self.pieces.len()
    }

    /// Copies a piece whose bytes lie in `space`.
    pub(super) fn keep(&mut self, piece: Piece, space: &mut SlabSpace<'_>) {
        let start = self.memory.len();
        self.memory.extend_from_slice(&space.memory()[piece.start..piece.start + piece.held]);
        self.pieces.push(Piece { start, ..piece });
    }

    /// Moves as much as fits into the slab, oldest first.
    pub(super) fn deliver(&mut self, slab: &mut PacketSlab) {
        while let Some(piece) = self.pieces.get_mut(self.next) {
            let (part, rest) = piece.split();
            let bytes = &self.memory[part.start..part.start + part.length];
            if !slab.push(bytes, part.original_length, piece.origin) {
                return;
            }
            match rest {
                Some(rest) => *piece = rest,
                None => self.next += 1,
            }
        }
        self.memory.clear();
        self.pieces.clear();
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(piece: Piece) -> Vec<(usize, usize, usize)> {
        let mut found = Vec::new();
        let mut rest = Some(piece);
        while let Some(piece) = rest {
            let (part, left) = piece.split();
            found.push((part.start, part.length, part.original_length));
            rest = left;
        }
        found
    }

    #[test]
    fn a_piece_is_split_into_its_datagrams() {
        let piece = Piece { start: 100, held: 25, length: 25, segment: 10, origin: PacketOrigin::default() };
        assert_eq!(parts(piece), [(100, 10, 10), (110, 10, 10), (120, 5, 5)]);
        assert_eq!(parts(Piece { held: 12, ..piece }), [(100, 10, 10), (110, 2, 10), (112, 0, 5)]);
        assert_eq!(parts(Piece { held: 20, length: 20, ..piece }), [(100, 10, 10), (110, 10, 10)]);
        assert_eq!(parts(Piece { held: 0, length: 0, segment: 0, ..piece }), [(100, 0, 0)]);
        assert_eq!(parts(Piece { held: 3, length: 9, segment: 9, ..piece }), [(100, 3, 9)]);
    }

    #[test]
    fn what_did_not_fit_comes_first_next_time_and_in_order() {
        let mut source = PacketSlab::new(1, 0);
        let mut space = source.space();
        space.memory()[..10].copy_from_slice(b"aabbccddee");
        let piece = Piece { start: 0, held: 7, length: 7, segment: 2, origin: PacketOrigin::default() };
        let mut leftover = Leftover::new(2, 100);
        leftover.keep(piece, &mut space);
        leftover.keep(Piece { start: 8, held: 2, length: 2, ..piece }, &mut space);
        let mut seen = Vec::new();
        let mut slab = PacketSlab::new(2, 0);
        while !leftover.is_empty() {
            slab.clear();
            leftover.deliver(&mut slab);
            seen.extend(slab.batch().iter().map(|packet| packet.bytes.to_vec()));
        }
        assert_eq!(seen, [&b"aa"[..], b"bb", b"cc", b"d", b"ee"]);
    }
}

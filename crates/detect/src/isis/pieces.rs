//! Memory in which the events of open frames wait: taken once, and lent in pieces.

use super::decode::EventKey;
use super::settings::PIECE;

/// Pieces of memory of [`PIECE`] events each.
#[derive(Debug, get_size2::GetSize)]
pub struct Pieces {
    keys: Vec<EventKey>,
    free: Vec<u32>,
}

/// The events of a frame: which pieces they are in.
#[derive(Debug, get_size2::GetSize)]
pub struct Held {
    pieces: Vec<u32>,
    /// Events in the last of them.
    in_last: usize,
}

impl Pieces {
    /// Memory for at most so many events.
    pub fn new(events: usize) -> Self {
        let pieces = events / PIECE;
        Self { keys: vec![0; pieces * PIECE], free: (0..pieces as u32).rev().collect() }
    }

    /// No events, with room for the list of all pieces.
    pub fn hold(&self) -> Held {
        Held { pieces: Vec::with_capacity(self.keys.len() / PIECE), in_last: PIECE }
    }

    /// Pieces that nobody has.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Room at the end of what is held: at most `most` places, and at least one; none if all pieces are lent. Say how much was
    /// used with [`Held::grow`].
    #[inline]
    pub fn room(&mut self, held: &mut Held, most: usize) -> Option<&mut [EventKey]> {
        if held.in_last == PIECE {
            held.pieces.push(self.free.pop()?);
            held.in_last = 0;
        }
        let begin = *held.pieces.last()? as usize * PIECE;
        self.keys.get_mut(begin + held.in_last..(begin + PIECE).min(begin + held.in_last + most))
    }

    /// Moves all that is held to the end of `to`, and takes the pieces back.
    pub fn empty(&mut self, held: &mut Held, to: &mut Vec<EventKey>) {
        let last = held.pieces.len().saturating_sub(1);
        for (number, &piece) in held.pieces.iter().enumerate() {
            let begin = piece as usize * PIECE;
            let used = if number == last { held.in_last } else { PIECE };
            to.extend_from_slice(&self.keys[begin..begin + used]);
        }
        self.free.append(&mut held.pieces);
        held.in_last = PIECE;
    }
}

impl Held {
    /// So many places of the room were used.
    #[inline]
    pub fn grow(&mut self, events: usize) {
        self.in_last = (self.in_last + events).min(PIECE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_comes_back_in_order_and_its_memory_is_lent_again() {
        let mut pieces = Pieces::new(3 * PIECE + 5);
        let mut frames = [pieces.hold(), pieces.hold()];
        for round in 0..PIECE as u64 {
            for (number, held) in frames.iter_mut().enumerate() {
                let room = pieces.room(held, 1).unwrap();
                room[0] = 10 * round + number as u64;
                held.grow(1);
            }
        }
        assert_eq!(pieces.free(), 1);
        assert_eq!(pieces.room(&mut frames[0], 9 * PIECE).unwrap().len(), PIECE);
        assert!(pieces.room(&mut frames[1], 1).is_none());
        let mut out = Vec::new();
        pieces.empty(&mut frames[0], &mut out);
        assert_eq!(
            (out.len(), out[0], out[PIECE - 1], pieces.free()),
            (PIECE, 0, 10 * (PIECE as u64 - 1), 2)
        );
        assert!(pieces.room(&mut frames[1], 1).is_some());
    }
}

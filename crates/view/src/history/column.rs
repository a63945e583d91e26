//! Values of a series at places that are used again and again, in little memory.
//!
//! Most counters stand still most of the time: a piece of 120 values that are all the same takes no memory of its own.

/// Values in a piece.
pub(super) const PIECE: usize = 120;

/// Pieces are equal bit by bit, so that 0 and -0 are two values.
#[derive(Clone, Debug, Default)]
enum Piece {
    /// Nothing was told in all of it.
    #[default]
    Gap,
    /// The same in all of it.
    Same(f32),
    /// What is no number is a gap.
    Values(Box<[f32; PIECE]>),
}

impl Piece {
    fn get(&self, at: usize) -> f32 {
        match self {
            Self::Gap => f32::NAN,
            Self::Same(value) => *value,
            Self::Values(values) => values[at],
        }
    }

    fn set(&mut self, at: usize, value: f32) {
        if self.get(at).to_bits() == value.to_bits() {
            return;
        }
        let before = self.get(0);
        match self {
            Self::Values(values) => values[at] = value,
            _ => {
                let mut values = Box::new([before; PIECE]);
                values[at] = value;
                *self = Self::Values(values);
            }
        }
    }

    /// Frees the memory of values that are all the same.
    fn close(&mut self) {
        let Self::Values(values) = self else { return };
        let first = values[0];
        if values.iter().all(|value| value.to_bits() == first.to_bits()) {
            *self = if first.is_nan() { Self::Gap } else { Self::Same(first) };
        }
    }
}

/// A ring of values, at first all gaps.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pieces: Box<[Piece]>,
}

impl Column {
    /// `length` is a multiple of [`PIECE`].
    pub(super) fn new(length: usize) -> Self {
        Self { pieces: vec![Piece::Gap; length / PIECE].into_boxed_slice() }
    }

    fn length(&self) -> usize {
        self.pieces.len() * PIECE
    }

    /// The value of a time (in steps since the epoch); no number is a gap.
    pub(super) fn get(&self, time: u64) -> f32 {
        let place = (time % self.length() as u64) as usize;
        self.pieces[place / PIECE].get(place % PIECE)
    }

    pub(super) fn set(&mut self, time: u64, value: f32) {
        let place = (time % self.length() as u64) as usize;
        self.pieces[place / PIECE].set(place % PIECE, value);
    }

    /// Goes on from the newest time to a later one: the times in between, and the later one, are gaps; they take the places of
    /// the oldest.
    pub(super) fn advance(&mut self, newest: u64, later: u64) {
        let length = self.length() as u64;
        let mut time = (newest + 1).max(later.saturating_sub(length - 1));
        let piece_of = |time: u64| (time % length) as usize / PIECE;
        if piece_of(time) != piece_of(newest) || later - newest >= length {
            self.pieces[piece_of(newest)].close();
        }
        while time <= later {
            let begins = time.is_multiple_of(PIECE as u64);
            if begins && time + PIECE as u64 - 1 <= later {
                self.pieces[piece_of(time)] = Piece::Gap;
                time += PIECE as u64;
            } else {
                self.set(time, f32::NAN);
                time += 1;
            }
        }
    }

    /// Memory that it takes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let values =
            |piece: &Piece| if matches!(piece, Piece::Values(_)) { PIECE * size_of::<f32>() } else { 0 };
        self.pieces.iter().map(|piece| size_of::<Piece>() + values(piece)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// A ring is a map that forgets what is old.
        #[test]
        fn a_ring_is_a_map_of_the_newest(
            start in 0_u64..10_000,
            steps in prop::collection::vec((1_u64..500, prop::option::of(-2_i8..3)), 1..60),
        ) {
            let length = 3 * PIECE as u64;
            let mut column = Column::new(length as usize);
            let mut known: BTreeMap<u64, f32> = BTreeMap::new();
            let mut newest = start;
            for (step, value) in steps {
                // Most steps are those of a clock, some are silences.
                let step = if step > 300 { step } else { 1 };
                column.advance(newest, newest + step);
                newest += step;
                if let Some(value) = value {
                    column.set(newest, f32::from(value));
                    known.insert(newest, f32::from(value));
                }
            }
            for time in (newest + 1).saturating_sub(length)..=newest {
                let expected = known.get(&time).copied().filter(|_| time > start);
                let found = column.get(time);
                prop_assert_eq!((!found.is_nan()).then_some(found), expected, "at {} of {}", time, newest);
            }
        }
    }

    #[test]
    fn what_stands_still_takes_no_memory() {
        let mut column = Column::new(2 * PIECE);
        let empty = column.bytes();
        for time in 1..=5 * PIECE as u64 {
            column.advance(time - 1, time);
            column.set(time, 7.0);
        }
        // The piece that is written, and nothing else.
        assert!(column.bytes() <= empty + PIECE * size_of::<f32>(), "{} of {empty}", column.bytes());
        assert_eq!((column.get(5 * PIECE as u64), column.get(4 * PIECE as u64)), (7.0, 7.0));
    }
}

//! Orders of identifiers other than counting.
//!
//! "Also a pseudo random ordering can be used as long as the receiver can determine the expected counter value"
//! (XDP paper, footnote 1). An order here is a permutation of all numbers of the identifier's width, chosen by
//! a seed: the sender sends `permutation(counter)`, and the receiver undoes it. It knows the counter of *every*
//! packet, also after a loss, without having followed the sequence.

use super::IdentifierWidth;
use std::fmt;
use std::str::FromStr;

/// A permutation of all numbers of 16, 32 or 64 bits, chosen by a seed.
///
/// Each step can be undone: two rounds of a multiplication by an odd number (modulo 2^bits), an addition, and
/// the exclusive or of the upper half into the lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scramble {
    bits: u32,
    rounds: [Round; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    factor: u64,
    inverse: u64,
    offset: u64,
}

impl Scramble {
    /// The permutation of this width that belongs to `seed`.
    pub fn new(width: IdentifierWidth, seed: u64) -> Self {
        let mut state = seed;
        // SplitMix64, whose outputs for successive states are well mixed.
        let mut next = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        };
        let rounds = std::array::from_fn(|_| {
            let factor = next() | 1;
            Round { factor, inverse: inverse_of_odd(factor), offset: next() }
        });
        Self { bits: width.bits(), rounds }
    }

    /// The number in the place of `index`; bits of `index` above the width are ignored.
    #[inline]
    pub fn apply(&self, index: u64) -> u64 {
        self.rounds.iter().fold(index & self.mask(), |number, round| {
            let number = number.wrapping_mul(round.factor).wrapping_add(round.offset) & self.mask();
            number ^ (number >> (self.bits / 2))
        })
    }

    /// The index whose number is `number`: the reverse of [`Scramble::apply`].
    #[inline]
    pub fn undo(&self, number: u64) -> u64 {
        self.rounds.iter().rev().fold(number & self.mask(), |number, round| {
            // The upper half is untouched, so that doing it again undoes it.
            let number = number ^ (number >> (self.bits / 2));
            number.wrapping_sub(round.offset).wrapping_mul(round.inverse) & self.mask()
        })
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

/// The number whose product with the odd number `factor` is 1 modulo 2^64.
fn inverse_of_odd(factor: u64) -> u64 {
    // Newton's method: an odd number is its own inverse modulo 8, and each step doubles the right bits.
    (0..5).fold(factor, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse))))
}

/// In which order numbers come: the identifiers of a stream, or the words of a test pattern. As text: `counting`,
/// `random` (seed 0) or `random:SEED`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    #[default]
    Counting,
    /// Pseudo-random, by this seed: each of the 2^bits numbers once before any comes again.
    Random(u64),
}

impl Order {
    /// The permutation of this order; none for counting.
    pub fn scramble(self, width: IdentifierWidth) -> Option<Scramble> {
        match self {
            Self::Counting => None,
            Self::Random(seed) => Some(Scramble::new(width, seed)),
        }
    }
}

/// A text is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no order: expected counting, random or random:SEED, as in random:42")]
pub struct OrderError(String);

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counting => f.write_str("counting"),
            Self::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

impl FromStr for Order {
    type Err = OrderError;

    fn from_str(text: &str) -> Result<Self, OrderError> {
        match text.trim() {
            "counting" => Ok(Self::Counting),
            "random" => Ok(Self::Random(0)),
            other => other
                .strip_prefix("random:")
                .and_then(|seed| seed.parse().ok())
                .map(Self::Random)
                .ok_or_else(|| OrderError(text.to_owned())),
        }
    }
}

//! The test pattern that data generators send and the receiver expects.

use super::histogram::WORDS;
use evforge_wire::drop::{IdentifierWidth, Order, Scramble};

/// All 65 536 words in the order in which a data generator sends them, again and again.
///
/// Whatever the order, each word occurs once in every 131 072 bytes, so that a histogram of whole turns is flat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPattern {
    order: Order,
    /// The words as sent, upper byte first, twice: any payload of up to one turn is one piece of it.
    bytes: Vec<u8>,
    /// Which word is in which place.
    words: Vec<u16>,
}

impl WordPattern {
    /// The pattern of this order: words that count up from 0, or a permutation of them chosen by a seed.
    pub fn new(order: Order) -> Self {
        let scramble = order.scramble(IdentifierWidth::Two);
        // A permutation of 16 bits gives 16 bits.
        let word = |place: u64| scramble.map_or(place, |scramble: Scramble| scramble.apply(place)) as u16;
        let words: Vec<u16> = (0..WORDS as u64).map(word).collect();
        let turn: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        Self { order, bytes: turn.repeat(2), words }
    }

    /// The order it was made of.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The words in their order.
    pub fn words(&self) -> &[u16] {
        &self.words
    }

    /// `length` bytes (at most one turn, 131 072) of the pattern from byte `offset` on.
    ///
    /// # Panics
    /// If `length` is more than a turn.
    #[inline]
    pub fn payload(&self, offset: u64, length: usize) -> &[u8] {
        let start = (offset % (2 * WORDS as u64)) as usize;
        &self.bytes[start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::super::WordHistogram;
    use super::*;

    #[test]
    fn each_turn_of_a_pattern_has_every_word_once() {
        for order in [Order::Counting, Order::Random(7)] {
            let pattern = WordPattern::new(order);
            let mut histogram = WordHistogram::default();
            for start in (0..131_072).step_by(2048) {
                histogram.count(pattern.payload(3 * 131_072 + start, 2048));
            }
            assert!(histogram.counts().iter().all(|&count| count == 1), "{order}");
        }
        assert_eq!(WordPattern::new(Order::Counting).payload(131_070, 4), [0xFF, 0xFF, 0, 0]);
        assert_ne!(WordPattern::new(Order::Random(1)), WordPattern::new(Order::Random(2)));
    }
}

//! Images of which every byte is known: from the number of the train, of the image, and its place.

use std::ops::Range;

/// Bytes of a word.
const WORD: usize = 8;
/// From one word of an image to the next. Odd, so that no two words of an image are the same, and without small bytes, so that every
/// byte of a word changes from word to word.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The counter pattern of an image: words of 64 bits, little-endian, each above the one before by a constant; the first is made of
/// train and image. A piece that comes from another place, image or train shows in every word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterPattern {
    first: u64,
}

/// Where an image is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternFault {
    /// The first wrong byte, from the beginning of the image.
    pub at: usize,
    /// What should be there.
    pub expected: u8,
    /// What is there.
    pub found: u8,
    /// Wrong bytes of the image.
    pub wrong: usize,
}

impl CounterPattern {
    /// The pattern of this image, counted from 0, of the train with this number.
    #[inline]
    pub const fn new(train: u64, image: u64) -> Self {
        Self { first: mix(mix(train).wrapping_add(image)) }
    }

    #[inline]
    fn word(self, number: usize) -> u64 {
        self.first.wrapping_add((number as u64).wrapping_mul(STEP))
    }

    /// Writes the piece of the image that begins at byte `offset`.
    #[inline]
    pub fn fill(self, offset: usize, out: &mut [u8]) {
        let (mut number, start) = (offset / WORD, offset % WORD);
        let mut out = out;
        if start > 0 {
            let (head, rest) = out.split_at_mut(out.len().min(WORD - start));
            head.copy_from_slice(&self.word(number).to_le_bytes()[start..start + head.len()]);
            (out, number) = (rest, number + 1);
        }
        let (words, tail) = out.as_chunks_mut::<WORD>();
        let mut value = self.word(number);
        for word in &mut *words {
            *word = value.to_le_bytes();
            value = value.wrapping_add(STEP);
        }
        tail.copy_from_slice(&value.to_le_bytes()[..tail.len()]);
    }

    /// Checks a piece of the image that begins at byte `offset`; none if every byte is right.
    #[inline]
    pub fn check(self, offset: usize, piece: &[u8]) -> Option<PatternFault> {
        let (number, start) = (offset / WORD, offset % WORD);
        let (head, rest) = piece.split_at(if start > 0 { piece.len().min(WORD - start) } else { 0 });
        let (words, tail) = rest.as_chunks::<WORD>();
        let first = number + usize::from(start > 0);
        let mut value = self.word(first);
        let mut differences = 0;
        for &word in words {
            differences |= u64::from_le_bytes(word) ^ value;
            value = value.wrapping_add(STEP);
        }
        let is_head_right = head == &self.word(number).to_le_bytes()[start..start + head.len()];
        if differences == 0 && is_head_right && tail == &value.to_le_bytes()[..tail.len()] {
            return None;
        }
        self.look(offset, piece)
    }

    /// Byte by byte: what is wrong with a piece.
    #[cold]
    fn look(self, offset: usize, piece: &[u8]) -> Option<PatternFault> {
        let mut fault: Option<PatternFault> = None;
        for (at, &found) in (offset..).zip(piece) {
            let expected = self.word(at / WORD).to_le_bytes()[at % WORD];
            if expected != found {
                let first = PatternFault { at, expected, found, wrong: 0 };
                fault.get_or_insert(first).wrong += 1;
            }
        }
        fault
    }
}

/// Writes a piece of the images of a train, which lie one behind the other.
///
/// # Panics
/// If `image_bytes` is 0.
#[inline]
pub(super) fn fill_images(train: u64, image_bytes: usize, offset: usize, out: &mut [u8]) {
    for (image, place, piece) in pieces(image_bytes, offset, out.len()) {
        CounterPattern::new(train, image).fill(place, &mut out[piece]);
    }
}

/// The pieces of images that a range of bytes has: number of the image, where in it, where in the range.
#[inline]
pub(super) fn pieces(
    image_bytes: usize,
    offset: usize,
    bytes: usize,
) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done;
        let place = at % image_bytes;
        let length = (image_bytes - place).min(bytes - done);
        let piece = done..done + length;
        done += length;
        (length > 0).then_some(((at / image_bytes) as u64, place, piece))
    })
}

/// Spreads every bit of a number over all bits.
pub(super) const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(STEP);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_follow_one_another_by_the_step() {
        let mut image = [0; 24];
        CounterPattern::new(7, 3).fill(0, &mut image);
        let words: Vec<_> = image.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
        assert_eq!(words[0], mix(mix(7) + 3));
        assert_eq!(words[1].wrapping_sub(words[0]), 0x9E37_79B9_7F4A_7C15);
        assert_eq!(words[2].wrapping_sub(words[1]), 0x9E37_79B9_7F4A_7C15);
    }

    proptest! {
        /// A piece that begins anywhere is the piece of the whole.
        #[test]
        fn pieces_are_those_of_the_whole(
            train: u64, image_bytes in 1..200_usize, start in 0..400_usize, length in 0..300_usize,
        ) {
            let mut whole = vec![0; 800];
            fill_images(train, image_bytes, 0, &mut whole);
            let mut piece = vec![0; length];
            fill_images(train, image_bytes, start, &mut piece);
            prop_assert_eq!(&piece, &whole[start..start + length]);
            for (image, place, range) in pieces(image_bytes, start, length) {
                let pattern = CounterPattern::new(train, image);
                prop_assert_eq!(pattern.check(place, &piece[range]), None);
            }
        }

        /// Any wrong byte is found, wherever a piece begins.
        #[test]
        fn a_wrong_byte_is_found(
            train: u64, offset in 0..40_usize, length in 1..100_usize, at: prop::sample::Index, flip in 1..=255_u8,
        ) {
            let pattern = CounterPattern::new(train, 5);
            let mut piece = vec![0; length];
            pattern.fill(offset, &mut piece);
            let at = at.index(length);
            piece[at] ^= flip;
            let fault = pattern.check(offset, &piece).expect("a wrong byte");
            prop_assert_eq!((fault.at, fault.wrong), (offset + at, 1));
            prop_assert_eq!((fault.found, fault.expected), (piece[at], piece[at] ^ flip));
        }

        /// A piece of another train, image or place is wrong in every word.
        #[test]
        fn a_piece_from_elsewhere_is_wrong_in_every_word(train: u64, image in 0..1000_u64, by in 1..1000_usize) {
            let mut piece = vec![0; 800];
            CounterPattern::new(train, image).fill(0, &mut piece);
            let next = CounterPattern::new(train.wrapping_add(1), image);
            let (other, moved) = (CounterPattern::new(train, image + 1), CounterPattern::new(train, image));
            for (number, word) in piece.chunks(8).enumerate() {
                let at = 8 * number;
                prop_assert!(next.check(at, word).is_some());
                prop_assert!(other.check(at, word).is_some());
                prop_assert!(moved.check(at + 8 * by, word).is_some());
            }
        }
    }
}

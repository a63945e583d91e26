//! Sorts keys by time: a radix sort, whose cost does not depend on how the times are spread.
//!
//! The times of the hits that are closed together span some 20 to 35 bits. They are dealt
//! out by one digit after the other, lowest first; two or three digits of up to 13 bits do. There is nothing
//! for the processor to guess, so this takes a third of the time of a sort by comparisons.
//!
//! Keys that are nearly in order, as those of a single module are, are put right by moving the few that are not.
//! Digits are the smaller the fewer keys there are, because going through all values of a digit costs as well.
//!
//! Hits of equal time keep the order in which they came. That order means nothing: all that is computed from
//! hits of equal time are sums, minima and maxima.

use crate::hit::{Hit, TimeKey};
use crate::memory::room_for;

/// Keys up to which comparisons are faster.
const FEW: usize = 64;
/// Bits of a digit at most: its counts fit the first-level cache.
const DIGIT_BITS: u32 = 13;
/// Bits of a digit at least.
const FEWEST_DIGIT_BITS: u32 = 6;
/// Values of a digit.
const VALUES: usize = 1 << DIGIT_BITS;

/// For each value of a digit, how many keys have it, or where the next of them goes.
type Places = [u32; VALUES];

/// Sorts keys by time; keeps its working memory between calls.
#[derive(Debug, get_size2::GetSize)]
pub struct TimeSort {
    places: Box<[Places; 2]>,
    /// Room for keys; as long as the most that were sorted so far.
    other: Vec<TimeKey>,
    /// Low bits of the time since the first key that are not looked at.
    decimation: u32,
}

impl TimeSort {
    /// Working memory for `capacity` keys.
    pub fn new(capacity: usize) -> Self {
        let key = TimeKey::new(Hit { time: 1, strip: 1, adc: 1 }, 0);
        Self { places: Box::new([[0; VALUES]; 2]), other: room_for(key, capacity), decimation: 0 }
    }

    /// Leaves this many low bits of the times out of account: keys whose times since the first key differ in these
    /// bits only keep their order.
    pub fn with_decimation(mut self, bits: u32) -> Self {
        self.decimation = bits;
        self
    }

    /// True if all bits of the times count.
    pub fn is_exact(&self) -> bool {
        self.decimation == 0
    }

    /// Sorts `keys` by time.
    pub fn sort(&mut self, keys: &mut [TimeKey]) {
        let decimation = self.decimation;
        if keys.len() <= FEW || keys.len() > self.other.capacity() {
            let first = keys.iter().map(|key| key.time()).min().unwrap_or(0);
            keys.sort_by_key(|key| (key.time() - first) >> decimation);
            return;
        }
        if decimation == 0 && put_right(keys, TimeKey::time) {
            return;
        }
        let (mut first, mut last) = (u64::MAX, 0);
        for key in keys.iter() {
            first = first.min(key.time());
            last = last.max(key.time());
        }
        let bits = (u64::BITS - ((last - first) >> decimation).leading_zeros()).max(1);
        let most_bits = keys.len().ilog2().clamp(FEWEST_DIGIT_BITS, DIGIT_BITS);
        let digits = bits.div_ceil(most_bits);
        let digit_bits = bits.div_ceil(digits);
        if self.other.len() < keys.len() {
            self.other.resize(keys.len(), keys[0]);
        }
        let other = &mut self.other[..keys.len()];
        let digit = |number| Digit::new(first, decimation + number * digit_bits, digit_bits);
        if digits == 2 {
            // So it mostly is: one look at all keys serves both.
            let both = [digit(0), digit(1)];
            count_both(both, keys, &mut self.places);
            let [low, high] = &mut *self.places;
            both[0].deal(keys, other, low);
            both[1].deal(other, keys, high);
            return;
        }
        let (mut from, mut to) = (&mut *keys, other);
        for digit in (0..digits).map(digit) {
            digit.count(from, &mut self.places[0]);
            digit.deal(from, to, &mut self.places[0]);
            std::mem::swap(&mut from, &mut to);
        }
        if digits % 2 == 1 {
            // The sorted keys are in the other memory.
            to.copy_from_slice(from);
        }
    }
}

/// Moves keys that are out of the order of `part` to where they belong, as long as they are few and near. False, with keys
/// that are still the same but in another order, if that would take long.
pub fn put_right<P: Ord>(keys: &mut [TimeKey], part: impl Fn(TimeKey) -> P) -> bool {
    let mut moved = 0;
    for index in 1..keys.len() {
        let key = keys[index];
        if part(keys[index - 1]) <= part(key) {
            continue;
        }
        let mut place = index;
        while place > 0 && part(keys[place - 1]) > part(key) {
            keys[place] = keys[place - 1];
            place -= 1;
        }
        keys[place] = key;
        moved += index - place;
        if moved > index + FEW {
            return false;
        }
    }
    true
}

/// A digit of keys: `bits` bits at `shift` of their time since `first`.
#[derive(Clone, Copy)]
struct Digit {
    first: u64,
    shift: u32,
    mask: usize,
}

impl Digit {
    fn new(first: u64, shift: u32, bits: u32) -> Self {
        Self { first, shift, mask: ((1_usize << bits) - 1) & (VALUES - 1) }
    }

    #[inline(always)]
    fn of(self, key: TimeKey) -> usize {
        // The second mask changes nothing; it shows the compiler that the index is in range.
        ((key.time() - self.first) >> self.shift) as usize & self.mask & (VALUES - 1)
    }

    /// Counts the keys of each value.
    #[inline]
    fn count(self, keys: &[TimeKey], places: &mut Places) {
        places[..=self.mask].fill(0);
        for &key in keys {
            places[self.of(key)] += 1;
        }
    }

    /// Deals keys out by this digit, of which `places` has the counts, keeping their order otherwise.
    #[inline]
    fn deal(self, from: &[TimeKey], to: &mut [TimeKey], places: &mut Places) {
        let mut place = 0;
        for count in &mut places[..=self.mask] {
            place += std::mem::replace(count, place);
        }
        for &key in from {
            let place = &mut places[self.of(key)];
            to[*place as usize] = key;
            *place += 1;
        }
    }
}

/// Counts the keys of each value of two digits.
fn count_both([low, high]: [Digit; 2], keys: &[TimeKey], [low_places, high_places]: &mut [Places; 2]) {
    low_places[..=low.mask].fill(0);
    high_places[..=high.mask].fill(0);
    for &key in keys {
        low_places[low.of(key)] += 1;
        high_places[high.of(key)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_sorted_whatever_their_spread(
            times in proptest::collection::vec((0..1_u64 << 41, 0..41_u32, 0..8000_u16), 0..400),
            decimation in 0..30_u32,
        ) {
            let keys: Vec<_> = times
                .into_iter()
                .map(|(time, shift, strip)| TimeKey::new(Hit { time: time >> shift, strip, adc: strip % 7 }, 0))
                .collect();
            for decimation in [0, decimation] {
                let first = keys.iter().map(|key| key.time()).min().unwrap_or(0);
                let mut expected = keys.clone();
                expected.sort_by_key(|key| (key.time() - first) >> decimation);
                let mut sorted = keys.clone();
                TimeSort::new(400).with_decimation(decimation).sort(&mut sorted);
                prop_assert_eq!(&sorted, &expected);
                let mut sorted = keys.clone();
                TimeSort::new(10).with_decimation(decimation).sort(&mut sorted);
                prop_assert_eq!(&sorted, &expected, "without enough working memory");
            }
        }
    }
}

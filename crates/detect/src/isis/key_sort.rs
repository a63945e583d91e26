//! The events of a frame into the order of time of flight and id.
//!
//! Frames of many events are sorted by the digits of their times of flight, 11 bits at a time, and then the few that have the same
//! time by their ids.

use super::decode::EventKey;

/// Events up to which comparisons are faster.
const FEW: usize = 1024;
/// Bits of a digit.
const DIGIT: u32 = 11;
const VALUES: usize = 1 << DIGIT;
/// Digits of a time of flight of 31 bits.
const DIGITS: usize = 3;
/// The time of flight is above the id.
const TIME_SHIFT: u32 = 32;

/// Sorts keys; keeps its working memory.
#[derive(Debug, get_size2::GetSize)]
pub struct KeySort {
    other: Vec<EventKey>,
    counts: Box<[[u32; VALUES]; DIGITS]>,
}

impl KeySort {
    /// For at most so many keys.
    pub fn new(most: usize) -> Self {
        Self { other: vec![0; most], counts: Box::new([[0; VALUES]; DIGITS]) }
    }

    /// Sorts keys.
    pub fn sort(&mut self, keys: &mut [EventKey]) {
        if keys.len() <= FEW || keys.len() > self.other.len() || keys.is_sorted() {
            keys.sort_unstable();
            return;
        }
        let other = &mut self.other[..keys.len()];
        self.counts.iter_mut().for_each(|counts| counts.fill(0));
        for &key in keys.iter() {
            for (digit, counts) in self.counts.iter_mut().enumerate() {
                counts[value(key, digit)] += 1;
            }
        }
        let (mut from, mut to) = (&mut *keys, other);
        let mut is_in_other = false;
        for (digit, counts) in self.counts.iter_mut().enumerate() {
            // All have the same: nothing moves.
            if from.first().is_some_and(|&key| counts[value(key, digit)] as usize == from.len()) {
                continue;
            }
            let mut begin = 0;
            for count in counts.iter_mut() {
                begin += std::mem::replace(count, begin);
            }
            for &key in from.iter() {
                let place = &mut counts[value(key, digit)];
                to[*place as usize] = key;
                *place += 1;
            }
            (from, to) = (to, from);
            is_in_other = !is_in_other;
        }
        if is_in_other {
            to.copy_from_slice(from);
            from = to;
        }
        order_ids(from);
    }
}

#[inline(always)]
fn value(key: EventKey, digit: usize) -> usize {
    (key >> (TIME_SHIFT + DIGIT * digit as u32)) as usize & (VALUES - 1)
}

/// Puts keys with the same time into the order of their ids.
fn order_ids(keys: &mut [EventKey]) {
    let mut begin = 0;
    while begin + 1 < keys.len() {
        if keys[begin + 1] >= keys[begin] {
            begin += 1;
            continue;
        }
        // The whole run of that time, the part before the step included.
        let time = keys[begin] >> TIME_SHIFT;
        let is_same = |key: &EventKey| key >> TIME_SHIFT == time;
        let from = begin - keys[..begin].iter().rev().take_while(|key| is_same(key)).count();
        let end = begin + keys[begin..].iter().take_while(|key| is_same(key)).count();
        keys[from..end].sort_unstable();
        begin = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_testkit::properties::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(16)))]
        #[test]
        fn keys_are_in_order_whatever_they_are(
            seeds in prop::collection::vec((any::<u32>(), any::<u32>()), 1..40), times in 0..31_u32, ids in 0..32_u32,
            repeats in 1..200_usize,
        ) {
            let mut keys: Vec<EventKey> = (0..repeats)
                .flat_map(|round| seeds.iter().map(move |&(time, id)| {
                    let mixed = |value: u32| value.wrapping_mul(2 * round as u32 + 1).rotate_left(round as u32 % 32);
                    u64::from(mixed(time) >> 1 >> times) << 32 | u64::from(mixed(id) >> ids)
                }))
                .collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            KeySort::new(8000).sort(&mut keys);
            prop_assert_eq!(keys, expected);
        }
    }
}

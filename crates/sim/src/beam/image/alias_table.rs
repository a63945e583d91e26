//! Draws one of many things by their weights, each time as fast: an alias table (M. D. Vose, "A linear algorithm for
//! generating random numbers with a given distribution", IEEE Trans. Softw. Eng. 17 (1991) 972).
//!
//! `WeightedAliasIndex` of `rand_distr` does the same, but its tables and a list of the pixels are three places in memory.
//! Pictures of millions of pixels do not fit into a processor's cache; then a draw takes as long as the memory that it
//! touches, and this one touches a single place.

use rand::Rng;
use rand::rngs::SmallRng;

/// A table of weights.
#[derive(Clone, Debug)]
pub(super) struct AliasTable {
    entries: Vec<Entry>,
}

/// All entries are drawn equally often.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// How often it stands for itself, in parts of 2³².
    itself: u32,
    /// What it stands for otherwise.
    other: u32,
}

impl AliasTable {
    /// A table of these weights; none if they are not finite and at least 0, or all 0, or more than 2³² of them.
    pub(super) fn new(weights: &[f32]) -> Option<Self> {
        let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        let count = u32::try_from(weights.len()).ok()?;
        if !(sum > 0.0 && sum.is_finite()) || weights.iter().any(|weight| *weight < 0.0) {
            return None;
        }
        let scale = f64::from(count) / sum;
        // What an entry has, in entries: those with less than one are filled up by those with more.
        let mut has: Vec<f64> = weights.iter().map(|weight| f64::from(*weight) * scale).collect();
        let (mut poor, mut rich): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|index| has[*index as usize] < 1.0);
        // Rounding may leave entries over at the end. They stand for themselves, or for the richest if they have nothing.
        let richest = (0..count).max_by(|a, b| has[*a as usize].total_cmp(&has[*b as usize]))?;
        let mut entries: Vec<Entry> = (0..count)
            .map(|index| if has[index as usize] > 0.0 { index } else { richest })
            .map(|other| Entry { itself: 0, other })
            .collect();
        while let (Some(small), Some(&large)) = (poor.pop(), rich.last()) {
            let share = has[small as usize];
            entries[small as usize] = Entry { itself: (share * 4_294_967_296.0) as u32, other: large };
            has[large as usize] -= 1.0 - share;
            if has[large as usize] < 1.0 {
                rich.pop();
                poor.push(large);
            }
        }
        Some(Self { entries })
    }

    /// Draws an index.
    #[inline]
    pub(super) fn draw(&self, random: &mut SmallRng) -> u32 {
        // The whole part of a random number of entries says which one, the fraction which of its two.
        let number = u128::from(random.next_u64()) * self.entries.len() as u128;
        let (index, fraction) = ((number >> 64) as usize, (number as u64 >> 32) as u32);
        let entry = self.entries[index];
        if fraction < entry.itself { index as u32 } else { entry.other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use proptest::prelude::*;

    #[test]
    fn weights_that_cannot_be_drawn_make_no_table() {
        for weights in [&[][..], &[0.0, 0.0], &[-1.0, 2.0], &[f32::NAN], &[f32::INFINITY]] {
            assert!(AliasTable::new(weights).is_none(), "{weights:?}");
        }
    }

    #[test]
    fn what_has_no_weight_is_never_drawn() {
        // Weights of very different size, so that rounding has something to do.
        let weights: Vec<f32> = (0..1000_u16)
            .map(|index| if index % 3 == 0 { 0.0 } else { 1.1_f32.powi(i32::from(index % 200)) })
            .collect();
        let table = AliasTable::new(&weights).unwrap();
        for (index, entry) in table.entries.iter().enumerate() {
            assert!(weights[entry.other as usize] > 0.0, "{index}: {entry:?}");
            assert!(entry.itself == 0 || weights[index] > 0.0, "{index}: {entry:?}");
        }
        let mut random = stream(1, Stream::Faults);
        assert!((0..100_000).all(|_| weights[table.draw(&mut random) as usize] > 0.0));
    }

    proptest! {
        #[test]
        fn the_entries_together_have_the_weights(weights in prop::collection::vec(0.0..100.0_f32, 1..300)) {
            let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            prop_assume!(sum > 0.0);
            let table = AliasTable::new(&weights).expect("weights above 0");
            let mut has = vec![0.0; weights.len()];
            for (index, entry) in table.entries.iter().enumerate() {
                let itself = f64::from(entry.itself) / 4_294_967_296.0;
                has[index] += itself;
                has[entry.other as usize] += 1.0 - itself;
            }
            for (has, weight) in has.iter().zip(&weights) {
                let expected = f64::from(*weight) / sum * weights.len() as f64;
                prop_assert!((has - expected).abs() < 1e-6, "{} instead of {}", has, expected);
            }
        }
    }
}

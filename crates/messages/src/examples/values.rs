//! Values of a seed.

use crate::{Column, Element, Encoder, TOO_LATE_NS};

/// Values that follow from a seed (SplitMix64), and where messages go.
pub(super) struct Values {
    state: u64,
    pub(super) encoder: Encoder,
    pub(super) made: Vec<(&'static str, Vec<u8>)>,
}

impl Values {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed, encoder: Encoder::new(), made: Vec::new() }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap_or(1)).unwrap_or(0)
    }

    pub(super) fn time(&mut self) -> i64 {
        i64::try_from(self.next() % TOO_LATE_NS.unsigned_abs()).unwrap_or(0)
    }

    pub(super) fn times(&mut self, count: usize) -> Vec<i64> {
        (0..count).map(|_| self.time()).collect()
    }

    pub(super) fn column<T: Element>(&mut self, count: usize) -> Vec<T> {
        let bytes: Vec<u8> = (0..count * size_of::<T>()).map(|_| self.next().to_le_bytes()[0]).collect();
        Column::from_le_bytes(&bytes).to_vec()
    }

    /// Floating-point numbers without those that are not equal to themselves.
    pub(super) fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.below(1 << 20) as f64 / 16.0 - 100.0).collect()
    }

    pub(super) fn text(&mut self) -> String {
        let letters = ["a", "B", "7", ":", "_", "µ", "\"", "\n", "\u{1b}", "→"];
        let count = self.below(12);
        (0..count).map(|_| letters[self.below(letters.len())]).collect()
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Where pulses begin: ascending from 0, within the events.
    pub(super) fn index(&mut self, pulses: usize, events: usize) -> Vec<i32> {
        let mut index: Vec<i32> =
            (0..pulses).map(|_| i32::try_from(self.below(events + 1)).unwrap_or(0)).collect();
        index.sort_unstable();
        index.first_mut().into_iter().for_each(|first| *first = 0);
        index
    }
}

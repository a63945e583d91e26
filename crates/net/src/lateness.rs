//! How late things happened: how often, how much on average, and below what nearly all of them stayed.

use std::fmt;
use std::time::Duration;

/// Parts of each doubling: a value is known to about 3 %.
const PARTS: u64 = 32;
const BUCKETS: usize = 61 * PARTS as usize;

/// Counts delays in classes that become wider as the delays become longer. Counting neither allocates nor fails.
#[derive(Clone)]
pub struct Lateness {
    classes: Box<[u64; BUCKETS]>,
    count: u64,
    total: u128,
    largest: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { classes: Box::new([0; BUCKETS]), count: 0, total: 0, largest: 0 }
    }
}

impl fmt::Debug for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lateness")
            .field("count", &self.count)
            .field("largest", &self.largest)
            .finish_non_exhaustive()
    }
}

impl Lateness {
    /// Counts one delay, in nanoseconds.
    pub fn add(&mut self, nanoseconds: u64) {
        self.add_many(nanoseconds, 1);
    }

    /// Counts one delay, in nanoseconds, this many times.
    pub fn add_many(&mut self, nanoseconds: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.classes[class(nanoseconds)] += times;
        self.count += times;
        self.total += u128::from(nanoseconds) * u128::from(times);
        self.largest = self.largest.max(nanoseconds);
    }

    /// Counts all that another one has counted.
    pub fn add_all(&mut self, other: &Self) {
        self.classes.iter_mut().zip(other.classes.iter()).for_each(|(own, others)| *own += others);
        self.count += other.count;
        self.total += other.total;
        self.largest = self.largest.max(other.largest);
    }

    /// How many have been counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest one; 0 if there was none.
    pub fn largest(&self) -> Duration {
        Duration::from_nanos(self.largest)
    }

    /// The mean; 0 if there was none.
    pub fn mean(&self) -> Duration {
        let mean = self.total.checked_div(u128::from(self.count)).unwrap_or(0);
        // Not above the largest, which is a u64.
        Duration::from_nanos(mean as u64)
    }

    /// What the given share (0 to 1) of them did not exceed, to about 3 % and never below; 0 if there was none.
    pub fn below(&self, share: f64) -> Duration {
        let wanted = (share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return Duration::from_nanos(end_of(class).min(self.largest));
            }
        }
        Duration::ZERO
    }
}

/// The class of a value: values below 32 have one each, then each doubling has 32.
fn class(value: u64) -> usize {
    let shift = (63 - (value | (PARTS - 1)).leading_zeros()).saturating_sub(PARTS.ilog2());
    // The parts of a doubling begin at its half: below it are those of all the doublings before.
    (u64::from(shift) * PARTS + (value >> shift)) as usize
}

/// The largest value of a class.
fn end_of(class: usize) -> u64 {
    let class = class as u64;
    if class < 2 * PARTS {
        return class;
    }
    let shift = class / PARTS - 1;
    let first = class - shift * PARTS;
    ((u128::from(first + 1) << shift) - 1) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_counted_is_nothing_late() {
        let lateness = Lateness::default();
        assert_eq!((lateness.mean(), lateness.largest(), lateness.below(0.99)), Default::default());
    }

    #[test]
    fn the_share_is_that_of_the_values() {
        let mut lateness = Lateness::default();
        (0..99).for_each(|_| lateness.add(1000));
        lateness.add(1_000_000);
        let at_99 = lateness.below(0.99).as_nanos();
        assert!((1000..1035).contains(&at_99), "{at_99}");
        assert_eq!(lateness.below(1.0), Duration::from_nanos(1_000_000));
        assert_eq!((lateness.mean(), lateness.count()), (Duration::from_nanos(10_990), 100));
    }

    proptest! {
        #[test]
        fn classes_are_narrow_and_in_order(value: u64, shift in 0..64_u32) {
            let value = value >> shift;
            let class = class(value);
            prop_assert!(class < BUCKETS);
            prop_assert!(end_of(class) >= value);
            prop_assert!(end_of(class) - value <= value / PARTS);
            prop_assert!(class == 0 || end_of(class - 1) < value);
        }
    }

    #[test]
    fn counted_in_two_parts_is_counted_in_one() {
        let (mut first, mut second, mut all) =
            (Lateness::default(), Lateness::default(), Lateness::default());
        for value in [0, 31, 32, 5000, 70_000, u64::MAX] {
            if value % 2 == 0 {
                first.add(value)
            } else {
                second.add(value)
            }
            all.add(value);
        }
        first.add_all(&second);
        assert_eq!(first.classes, all.classes);
        assert_eq!((first.count(), first.mean(), first.largest()), (all.count(), all.mean(), all.largest()));
    }
}

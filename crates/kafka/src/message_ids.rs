//! The numbers of a source's messages: what is missing, what came twice.
//!
//! In a partition the order of messages is settled, and a source may have several. A number is judged by those before it:
//!
//! | number | against the newest one |
//! |---|---|
//! | the next | as it should be |
//! | further ahead | those between are missing, until they come |
//! | one of the newest, with the same bytes | the message came twice |
//! | one of those that were missing | late |
//! | before the first one, and ahead, or the first, in its partition | another partition was read earlier: those between are missing |
//! | any other | the producer has started over |
//!
//! A number that is far from all before it (by more than [`CONFIRM`]) counts only when the next one of its partition is near it: a damaged
//! message has such a number, too. Until then, and for ever if none is, its message is *unconfirmed*, and nothing is missing for it.
//!
//! A source that gives all its messages the number 0 (ISIS's converter) has none.

use evforge_core::sequence::CONFIRM;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Numbers that are remembered with their bytes.
const REMEMBERED: usize = 64;
/// Gaps that are remembered one by one; what is missing in further ones is counted. Where the messages of a source are in several
/// partitions there may be thousands for a while.
const GAPS: usize = 256;

/// What a number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is to be written.
    New,
    /// It has been here, with the same bytes.
    Duplicate,
}

/// Numbers that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The number before.
    pub after: i64,
    /// The number behind.
    pub before: i64,
    /// How many are missing between them.
    pub missing: u64,
    /// Times of the messages before and behind, nanoseconds since 1970.
    pub from_ns: i64,
    /// See `from_ns`.
    pub to_ns: i64,
}

/// Numbers that are missing in more gaps than are remembered: how many, and between which numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Elsewhere {
    after: i64,
    before: i64,
    missing: u64,
}

/// A number that is far from all others, until the next one of its partition says whether it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    partition: usize,
    id: i64,
    time_ns: i64,
}

/// The numbers of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageIds {
    /// The first number.
    pub first: Option<i64>,
    /// The newest one.
    pub newest: Option<i64>,
    /// Numbers that have not come.
    pub missing: u64,
    /// Messages that came twice.
    pub duplicated: u64,
    /// Messages whose number had been missing.
    pub late: u64,
    /// How often counting has started over.
    pub restarts: u64,
    /// Messages whose number is far from all others, and which no near one has followed so far.
    #[serde(default)]
    pub unconfirmed: u64,
    /// What is missing where, the oldest first.
    pub gaps: Vec<Gap>,
    /// What is missing in gaps that are not remembered.
    #[serde(default)]
    elsewhere: Option<Elsewhere>,
    /// The time of the newest number.
    newest_ns: i64,
    /// The time of the first number.
    #[serde(default)]
    first_ns: i64,
    /// The newest number of each partition, since the producer has started over.
    #[serde(default)]
    newest_in: Vec<(usize, i64)>,
    /// Of each partition a number that waits for the next one.
    #[serde(default)]
    waiting: Vec<Waiting>,
    /// Number and checksum of the newest messages.
    recent: VecDeque<(i64, u32)>,
}

impl MessageIds {
    /// Takes note of a message: its partition, its number, a checksum of its bytes, its time.
    pub fn take(&mut self, partition: usize, id: i64, checksum: u32, time_ns: i64) -> Arrival {
        if self.recent.contains(&(id, checksum)) {
            self.duplicated += 1;
            return Arrival::Duplicate;
        }
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back((id, checksum));
        let message = Waiting { partition, id, time_ns };
        let place = self.waiting.iter().position(|waiting| waiting.partition == partition);
        if let Some(waiting) = place.map(|place| self.waiting.swap_remove(place))
            && is_near(id, waiting.id)
        {
            self.unconfirmed -= 1;
            self.count(waiting);
        }
        if self.is_credible(partition, id) {
            self.count(message);
        } else {
            self.unconfirmed += 1;
            self.waiting.push(message);
        }
        Arrival::New
    }

    /// Whether a number counts without another one that follows it.
    fn is_credible(&self, partition: usize, id: i64) -> bool {
        let Some(newest) = self.newest else { return true };
        let is_near_its_partition =
            || self.newest_in.iter().any(|&(known, newest)| known == partition && is_near(id, newest));
        is_near(id, newest)
            || self.first.is_some_and(|first| is_near(id, first))
            || is_near_its_partition()
            || self.is_missing(id)
    }

    /// Counts a number.
    fn count(&mut self, Waiting { partition, id, time_ns }: Waiting) {
        let (Some(newest), Some(first)) = (self.newest, self.first) else {
            (self.first, self.newest) = (Some(id), Some(id));
            (self.first_ns, self.newest_ns) = (time_ns, time_ns);
            self.newest_in.push((partition, id));
            return;
        };
        if id == 0 && newest == 0 {
            return;
        }
        let is_ahead = self.is_ahead_in(partition, id);
        if id > newest {
            self.lack(newest, id, self.newest_ns, time_ns);
        } else if self.fill(id, time_ns) {
            return;
        } else if is_ahead && id < first {
            self.lack(id, first, time_ns, self.first_ns);
            (self.first, self.first_ns) = (Some(id), time_ns);
            return;
        } else {
            self.restarts += 1;
            self.newest_in.clear();
            self.newest_in.push((partition, id));
        }
        (self.newest, self.newest_ns) = (Some(id), time_ns);
    }

    /// Whether a number is the first of its partition, or ahead of those before it there; it is the newest one then.
    fn is_ahead_in(&mut self, partition: usize, id: i64) -> bool {
        match self.newest_in.iter_mut().find(|(known, _)| *known == partition) {
            Some((_, newest)) => {
                let is_ahead = id > *newest;
                *newest = id.max(*newest);
                is_ahead
            }
            None => {
                self.newest_in.push((partition, id));
                true
            }
        }
    }

    /// Takes note of the numbers between two that have come: they have not.
    fn lack(&mut self, after: i64, before: i64, from_ns: i64, to_ns: i64) {
        let missing = before.abs_diff(after) - 1;
        if missing == 0 {
            return;
        }
        self.missing = self.missing.saturating_add(missing);
        if self.gaps.len() < GAPS {
            self.gaps.push(Gap { after, before, missing, from_ns, to_ns });
            return;
        }
        let so_far = self.elsewhere.unwrap_or(Elsewhere { after, before, missing: 0 });
        self.elsewhere = Some(Elsewhere {
            after: so_far.after.min(after),
            before: so_far.before.max(before),
            missing: so_far.missing.saturating_add(missing),
        });
    }

    /// Whether a number is among those that are missing, or may be.
    fn is_missing(&self, id: i64) -> bool {
        let elsewhere = self.elsewhere.map(|elsewhere| (elsewhere.after, elsewhere.before));
        let gaps = self.gaps.iter().map(|gap| (gap.after, gap.before));
        gaps.chain(elsewhere).any(|(after, before)| after < id && id < before)
    }

    /// Where a jump was the last number of its partition: nobody knows whether those between are missing.
    pub fn unsettled(&self) -> impl Iterator<Item = Gap> + '_ {
        self.waiting.iter().map(|waiting| Gap {
            after: self.newest.unwrap_or(waiting.id),
            before: waiting.id,
            missing: 0,
            from_ns: self.newest_ns,
            to_ns: waiting.time_ns,
        })
    }

    /// Messages that were lost. One whose number is refuted by the next one stands for one of those that are missing.
    pub fn lost(&self) -> u64 {
        self.missing.saturating_sub(self.unconfirmed - self.waiting.len() as u64)
    }

    /// Takes a number out of the gap that it was missing in. False if it was missing in none.
    fn fill(&mut self, id: i64, time_ns: i64) -> bool {
        let Some(place) = self.gaps.iter().position(|gap| gap.after < id && id < gap.before) else {
            return self.fill_elsewhere(id);
        };
        let gap = self.gaps.remove(place);
        let halves = [
            Gap { before: id, missing: id.abs_diff(gap.after) - 1, to_ns: time_ns, ..gap },
            Gap { after: id, missing: gap.before.abs_diff(id) - 1, from_ns: time_ns, ..gap },
        ];
        for half in halves.into_iter().rev().filter(|half| half.missing > 0) {
            self.gaps.insert(place, half);
        }
        self.missing -= 1;
        self.late += 1;
        true
    }

    fn fill_elsewhere(&mut self, id: i64) -> bool {
        let Some(Elsewhere { after, before, missing }) = &mut self.elsewhere else { return false };
        if id <= *after || id >= *before {
            return false;
        }
        *missing -= 1;
        if *missing == 0 {
            self.elsewhere = None;
        }
        self.missing -= 1;
        self.late += 1;
        true
    }

    /// True if the source numbers its messages, as far as that is known.
    pub fn is_numbered(&self) -> bool {
        self.newest.is_some_and(|newest| newest != 0 || self.first != Some(0))
    }
}

/// Whether neighbours of one message may have the other number: some may be missing between them.
fn is_near(id: i64, other: i64) -> bool {
    id.abs_diff(other) <= CONFIRM
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(ids: &[i64]) -> MessageIds {
        let mut all = MessageIds::default();
        for (time, id) in ids.iter().enumerate() {
            all.take(0, *id, time as u32, time as i64);
        }
        all
    }

    #[test]
    fn what_is_missing_is_known_by_its_place_and_its_time() {
        let ids = of(&[5, 6, 10, 11]);
        assert_eq!((ids.missing, ids.late, ids.restarts), (3, 0, 0));
        assert_eq!(ids.gaps, [Gap { after: 6, before: 10, missing: 3, from_ns: 1, to_ns: 2 }]);
        let late = of(&[5, 6, 10, 8, 11]);
        assert_eq!((late.missing, late.late, late.gaps.len()), (2, 1, 2));
        assert!(of(&[5, 7, 6]).gaps.is_empty());
    }

    #[test]
    fn a_message_that_comes_twice_is_known_by_its_bytes() {
        let mut ids = MessageIds::default();
        assert_eq!(ids.take(0, 1, 7, 0), Arrival::New);
        assert_eq!(ids.take(0, 2, 8, 1), Arrival::New);
        assert_eq!(ids.take(0, 2, 8, 1), Arrival::Duplicate);
        assert_eq!(ids.take(0, 1, 7, 0), Arrival::Duplicate);
        assert_eq!(ids.take(0, 1, 9, 2), Arrival::New);
        assert_eq!((ids.duplicated, ids.restarts, ids.missing), (2, 1, 0));
    }

    #[test]
    fn zeros_are_no_numbers() {
        let ids = of(&[0, 0, 0, 0]);
        assert!(!ids.is_numbered());
        assert_eq!((ids.missing, ids.restarts, ids.duplicated), (0, 0, 0));
        assert!(of(&[1]).is_numbered());
    }

    #[test]
    fn one_damaged_number_is_one_message_unconfirmed_and_none_lost() {
        for damaged in [2_248_146_953, -7_000, i64::MAX, i64::MIN] {
            let ids = of(&[5000, 5001, damaged, 5003, 5004]);
            assert_eq!((ids.unconfirmed, ids.missing, ids.lost(), ids.restarts), (1, 1, 0, 0), "{damaged}");
            assert_eq!((ids.newest, ids.gaps.len()), (Some(5004), 1));
        }
        // Two that are far from each other, too, and one at the end, of which nobody knows.
        let ids = of(&[5000, 5001, 90_000, 3, 5004, 80_000]);
        assert_eq!((ids.unconfirmed, ids.missing, ids.lost(), ids.newest), (3, 2, 0, Some(5004)));
    }

    #[test]
    fn numbers_that_jump_count_once_the_next_one_of_the_partition_follows() {
        let ids = of(&[1, 2, 100_000]);
        assert_eq!((ids.missing, ids.unconfirmed), (0, 1));
        assert_eq!(ids.unsettled().map(|gap| (gap.after, gap.before)).collect::<Vec<_>>(), [(2, 100_000)]);
        let ids = of(&[1, 2, 100_000, 100_002]);
        assert_eq!(ids.unsettled().count(), 0);
        assert_eq!((ids.missing, ids.lost(), ids.unconfirmed, ids.restarts), (99_998, 99_998, 0, 0));
        assert_eq!(ids.gaps[0], Gap { after: 2, before: 100_000, missing: 99_997, from_ns: 1, to_ns: 2 });
        let again = of(&[100_000, 100_001, 1, 2, 3]);
        assert_eq!((again.restarts, again.unconfirmed, again.missing), (1, 0, 0));
        // Two partitions far apart, a message of each in turn.
        let mut apart = MessageIds::default();
        for step in 0..4 {
            apart.take(0, 1 + step, 1, step);
            apart.take(1, 50_001 + step, 2, step);
        }
        assert_eq!((apart.missing, apart.unconfirmed, apart.restarts), (50_000 - 4, 0, 0));
    }

    /// Several partitions that are read one after the other, a pulse in each in turn.
    #[test]
    fn more_gaps_than_are_remembered_are_counted_and_filled() {
        let of_partition = |partition: i64| (0..9000_i64).filter(move |id| id / 3 % 3 == partition);
        let of_partitions = |order: [i64; 3]| {
            let mut all = MessageIds::default();
            for partition in order {
                for id in of_partition(partition).filter(|id| *id == 0 || id % 1000 > 0) {
                    all.take(partition as usize, id, id as u32, id);
                }
            }
            all
        };
        // The partition with the first number is read last, and in the middle.
        for order in [[1, 2, 0], [2, 0, 1]] {
            let ids = of_partitions(order);
            assert_eq!((ids.first, ids.missing, ids.restarts), (Some(0), 8, 0), "{order:?}");
        }
        let ids = of_partitions([0, 1, 2]);
        let placed: u64 = ids.gaps.iter().map(|gap| gap.missing).sum();
        let elsewhere = ids.elsewhere.map_or(0, |other| other.missing);
        assert_eq!((ids.missing, ids.restarts, placed + elsewhere), (8, 0, 8));
        let lost: Vec<i64> = (0..4000).filter(|id| id % 4 != 3).collect();
        let ids = of(&lost);
        assert_eq!((ids.missing, ids.restarts, ids.gaps.len()), (999, 0, GAPS));
        // A producer that starts over is known all the same.
        let again: Vec<i64> = lost.into_iter().chain(0..10).collect();
        assert_eq!(of(&again).restarts, 1);
    }

    proptest! {
        #[test]
        fn extremes_neither_overflow_nor_panic(ids in proptest::collection::vec(
            prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -3..3_i64], 0..100)
        ) {
            let all = of(&ids);
            prop_assert!(all.gaps.iter().all(|gap| gap.missing > 0));
        }

        /// Any order of numbers that were all sent ends without anything missing.
        #[test]
        fn what_comes_in_the_end_is_not_missing(mut order in Just((1..40_i64).collect::<Vec<_>>()).prop_shuffle()) {
            // The first and the last are where they belong: nothing is known of numbers before the first.
            order.insert(0, 0);
            order.push(40);
            // A zero first is a number here, because others follow.
            let all = of(&order);
            prop_assert_eq!((all.missing, all.restarts), (0, 0));
            prop_assert!(all.gaps.is_empty());
        }
    }
}

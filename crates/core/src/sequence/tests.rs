//! What the numbers of a stream say, against what was done to it.

use super::*;
use proptest::prelude::*;

fn observe_all(bits: u32, numbers: &[u64]) -> SequenceTracker {
    let mut tracker = SequenceTracker::new(bits);
    for &number in numbers {
        tracker.observe(number);
        assert_eq!(tracker.counts().imbalance(), 0, "after {number} of {numbers:?}");
    }
    tracker
}

#[test]
fn a_gap_is_lost_until_it_turns_up() {
    let mut tracker = observe_all(32, &[u64::from(u32::MAX) - 1, 2]);
    assert_eq!(tracker.counts().lost, 3);
    assert_eq!(tracker.gaps(), [Gap { first: u64::from(u32::MAX), count: 3, noticed_ns: 0 }]);
    assert_eq!(tracker.observe(0), Arrival::Reordered);
    assert_eq!(tracker.observe(0), Arrival::Duplicated);
    assert_eq!(tracker.observe(u64::from(u32::MAX)), Arrival::Reordered);
    assert_eq!(tracker.observe(1), Arrival::Reordered);
    let counts = tracker.counts();
    assert_eq!((counts.sent, counts.lost, counts.reordered, counts.duplicated), (5, 0, 3, 1));
    assert_eq!(counts.imbalance(), 0);
}

#[test]
fn a_packet_before_the_first_one_counts_as_sent() {
    let counts = observe_all(16, &[10, 7, 8]).counts();
    assert_eq!((counts.sent, counts.received, counts.lost, counts.reordered), (4, 3, 1, 2));
}

#[test]
fn a_far_jump_is_a_restart_and_nothing_is_lost() {
    let counts = observe_all(32, &[5, 6, 3_000_000_000, 3_000_000_001, 0, 1]).counts();
    assert_eq!((counts.restarts, counts.lost, counts.sent), (2, 0, 6));
}

#[test]
fn a_sender_that_starts_over_is_not_taken_for_duplicates_for_long() {
    let numbers: Vec<u64> = (0..100).chain(0..100).collect();
    let counts = observe_all(32, &numbers).counts();
    assert_eq!((counts.duplicated, counts.restarts, counts.lost), (15, 1, 0));
}

#[test]
fn packets_that_all_come_twice_are_no_restart() {
    for apart in [0, 3, 40] {
        let copies = (0..100).map(|n: u64| n.checked_sub(apart));
        let numbers: Vec<u64> =
            (0..100).zip(copies).flat_map(|(n, copy)| [Some(n), copy]).flatten().collect();
        let counts = observe_all(32, &numbers).counts();
        assert_eq!((counts.duplicated, counts.restarts, counts.sent), (100 - apart, 0, 100));
    }
}

#[test]
fn many_gaps_are_counted_and_the_first_ones_named() {
    let numbers: Vec<u64> = (0..200).map(|n| 2 * n).collect();
    let tracker = observe_all(32, &numbers);
    assert_eq!(tracker.gaps().len(), REMEMBERED_GAPS);
    assert_eq!(tracker.gaps_forgotten(), 199 - REMEMBERED_GAPS as u64);
}

proptest! {
    #[test]
    fn the_law_holds_for_any_numbers(bits in 2..=64_u32,
                                     numbers in proptest::collection::vec(any::<u64>(), 0..200)) {
        observe_all(bits, &numbers);
    }

    #[test]
    fn the_law_holds_near_one_another(bits in 2..=64_u32, start: u64,
                                      steps in proptest::collection::vec(0..40_u64, 0..300)) {
        let numbers: Vec<u64> = steps.iter().map(|step| start.wrapping_add(*step)).collect();
        observe_all(bits, &numbers);
    }

    /// Against the truth: drop, duplicate and swap packets of a known stream.
    #[test]
    fn losses_and_duplicates_are_those_that_were_made(
        bits in 12..=64_u32, start: u64,
        fate in proptest::collection::vec(0..10_u8, 2..400),
    ) {
        let mut arrivals = vec![start];
        let (mut dropped, mut doubled) = (0, 0);
        for (index, fate) in fate.iter().enumerate() {
            let number = start.wrapping_add(index as u64 + 1);
            match fate {
                0 => dropped += 1,
                1 => { arrivals.extend([number, number]); doubled += 1; }
                2 => arrivals.insert(arrivals.len() - 1, number),
                _ => arrivals.push(number),
            }
        }
        arrivals.push(start.wrapping_add(fate.len() as u64 + 1));
        let counts = observe_all(bits, &arrivals).counts();
        prop_assert_eq!(counts.lost, dropped);
        prop_assert_eq!(counts.duplicated, doubled);
        prop_assert_eq!(counts.sent, fate.len() as u64 + 2);
    }
}

/// The numbers of a stream without a fault.
fn stream(start: u64, packets: u64) -> Vec<u64> {
    (0..packets).map(|n| start.wrapping_add(n)).collect()
}

#[test]
fn one_damaged_number_is_one_unconfirmed_packet_and_nothing_lost() {
    let mut numbers = stream(7, 56);
    numbers[30] ^= 1 << 16;
    let tracker = observe_all(32, &numbers);
    let expected = SequenceCounts { sent: 56, received: 56, unconfirmed: 1, ..Default::default() };
    assert_eq!((tracker.counts(), tracker.gaps()), (expected, [].as_slice()));
}

#[test]
fn a_jump_is_unconfirmed_until_the_next_number_follows_it() {
    let mut tracker = observe_all(32, &stream(0, 10));
    assert_eq!(tracker.observe(5_010), Arrival::Unconfirmed);
    let waiting = tracker.counts();
    assert_eq!((waiting.sent, waiting.received, waiting.lost, waiting.unconfirmed), (11, 11, 0, 1));
    assert_eq!((waiting.imbalance(), tracker.gaps()), (0, [].as_slice()));
    assert_eq!(tracker.observe(5_011), Arrival::InOrder);
    let confirmed = tracker.counts();
    assert_eq!((confirmed.sent, confirmed.lost, confirmed.unconfirmed), (5_012, 5_000, 0));
    assert_eq!((confirmed.imbalance(), tracker.gaps()[0].first, tracker.gaps()[0].count), (0, 10, 5_000));
}

#[test]
fn the_limit_is_a_matter_of_configuration() {
    for (confirm, unconfirmed) in [(1, 1), (4, 1), (5, 0), (1024, 0)] {
        let mut tracker = SequenceTracker::new(32);
        tracker.confirm_above(confirm);
        for number in [1, 2, 7] {
            tracker.observe(number);
        }
        assert_eq!(tracker.counts().unconfirmed, unconfirmed, "limit {confirm}");
        assert_eq!(tracker.counts().lost, if unconfirmed == 1 { 0 } else { 4 });
    }
}

#[test]
fn loss_and_disorder_behind_an_outage_do_not_hide_it() {
    let outage = 100_000;
    for behind in [[0, 1, 2, 3], [0, 2, 1, 3], [1, 0, 2, 3], [3, 2, 1, 0], [0, 0, 1, 1]] {
        let last = *behind.iter().max().unwrap();
        let landed = behind.map(|n| 10 + outage + n);
        let counts = observe_all(32, &[stream(0, 10), landed.to_vec()].concat()).counts();
        assert_eq!((counts.lost, counts.unconfirmed, counts.restarts), (outage, 0, 0), "{behind:?}");
        assert_eq!(counts.sent, 10 + outage + last + 1, "{behind:?}");
    }
    // The packet behind the first one is lost, too.
    let counts = observe_all(32, &[stream(0, 10), vec![50_000, 50_007]].concat()).counts();
    assert_eq!((counts.lost, counts.unconfirmed), (50_000 - 10 + 6, 0));
}

#[test]
fn copies_and_stragglers_neither_confirm_nor_refute() {
    // 8 comes late, and every packet twice.
    let before = [0, 1, 2, 3, 4, 5, 6, 7, 9];
    let mut tracker = observe_all(32, &before);
    for (number, arrival) in [
        (70_000, Arrival::Unconfirmed),
        (70_000, Arrival::Duplicated),
        (9, Arrival::Duplicated),
        (8, Arrival::Reordered),
    ] {
        assert_eq!(tracker.observe(number), arrival);
        assert_eq!((tracker.counts().unconfirmed, tracker.counts().imbalance()), (1, 0));
    }
    let mut refuted = tracker.clone();
    refuted.observe(11);
    assert_eq!((refuted.counts().lost, refuted.counts().unconfirmed), (0, 1));
    tracker.observe(70_001);
    assert_eq!((tracker.counts().lost, tracker.counts().unconfirmed), (69_990, 0));
}

#[test]
fn several_damaged_numbers_in_a_row_stand_for_as_many_packets() {
    let mut numbers = stream(1_000, 40);
    for (at, bit) in [(10, 20), (11, 13), (12, 31), (20, 15)] {
        numbers[at] ^= 1 << bit;
    }
    // And one is lost as well.
    numbers.remove(13);
    let counts = observe_all(32, &numbers).counts();
    assert_eq!((counts.sent, counts.lost, counts.unconfirmed, counts.restarts), (40, 1, 4, 0));
}

#[test]
fn the_number_for_which_a_damaged_one_stood_may_turn_up_after_all() {
    // A copy of 4 was damaged, and 6 came before 5.
    let counts = observe_all(32, &[1, 2, 3, 4, 4 | 1 << 22, 6, 5, 7]).counts();
    assert_eq!((counts.sent, counts.received, counts.lost, counts.unconfirmed), (8, 8, 0, 1));
}

#[test]
fn what_is_missing_around_a_damaged_number_was_lost_since_the_last_one_that_counts() {
    const SECOND: u64 = 1_000_000_000;
    let mut tracker = SequenceTracker::new(32);
    tracker.observe_at(0, 100 * SECOND);
    tracker.observe_at(1 << 18, 102 * SECOND);
    tracker.observe_at(402, 104 * SECOND);
    assert_eq!((tracker.counts().unconfirmed, tracker.counts().lost), (1, 400));
    let lost: Vec<i32> = tracker.live_time().bins().iter().map(|bin| bin.lost).collect();
    assert_eq!(lost, [100, 100, 100, 100, 0]);
}

#[test]
fn a_damaged_number_changes_no_live_fraction_and_an_outage_is_shared_out_over_its_time() {
    const SECOND: u64 = 1_000_000_000;
    let mut numbers = stream(0, 10);
    numbers[5] |= 1 << 18;
    let mut tracker = SequenceTracker::new(32);
    for (number, second) in numbers.iter().zip(100..) {
        tracker.observe_at(*number, second * SECOND);
        assert_eq!(tracker.live_time().live_fraction(), Some(1.0));
    }
    // Silent from 109.0 s to 113.0 s, and the jump is confirmed two seconds later.
    tracker.observe_at(4_010, 113 * SECOND);
    assert_eq!(tracker.live_time().live_fraction(), Some(1.0), "not confirmed");
    tracker.observe_at(4_011, 115 * SECOND);
    let lost: Vec<i32> = tracker.live_time().bins().iter().map(|bin| bin.lost).collect();
    assert_eq!(lost[9..], [1_000, 1_000, 1_000, 1_000, 0, 0, 0]);
    assert_eq!(tracker.gaps()[0].noticed_ns, 113 * SECOND);
}

proptest! {
    /// The fault of a single bit, wherever it is.
    #[test]
    fn one_flipped_bit_claims_no_more_than_it_can(
        width in 16..=64_u32, start: u64, packets in 3..6_000_u64, at: prop::sample::Index, bit in 0..64_u32,
    ) {
        let bit = bit % width;
        let mut numbers = stream(start, packets);
        let at = at.index(numbers.len());
        numbers[at] ^= 1 << bit;
        let counts = observe_all(width, &numbers).counts();
        prop_assert_eq!(counts.received, packets);
        prop_assert_eq!(counts.restarts, 0);
        if 1_u64 << bit > 4096 {
            prop_assert_eq!(counts.unconfirmed, 1);
        }
        if counts.unconfirmed == 1 {
            prop_assert_eq!((counts.sent, counts.lost), (packets, 0));
            prop_assert_eq!((counts.reordered, counts.duplicated), (0, 0));
        } else {
            // Near or known: taken for another packet of the stream.
            prop_assert!(counts.lost <= CONFIRM);
            prop_assert!(counts.lost + counts.duplicated + counts.reordered > 0);
            if at > LATE_START as usize && at as u64 + CONFIRM < packets {
                prop_assert!(counts.lost <= 16, "{:?}", counts);
            }
        }
    }

    /// Whatever the size of an outage: counted once the second packet behind it has come, and a restart if it cannot be one.
    #[test]
    fn outages_are_counted_when_they_are_confirmed(
        width in 16..=64_u32, start: u64, before in 2..5_000_u64, size in 1_u64..1 << 21,
    ) {
        let largest = (1_u64 << (width - 2)).min(1 << 20) - 1;
        let size = size % (largest + largest / 2);
        let mut numbers = stream(start, before);
        numbers.extend(stream(start.wrapping_add(before + size), 2));
        let counts = observe_all(width, &numbers).counts();
        prop_assert_eq!(counts.unconfirmed, 0);
        if size <= largest {
            prop_assert_eq!((counts.sent, counts.lost, counts.restarts), (before + size + 2, size, 0));
        } else {
            prop_assert_eq!((counts.sent, counts.lost, counts.restarts), (before + 2, 0, 1));
        }
    }

    /// What is unconfirmed is never more than what jumped, and what was lost never more than what the numbers leave out.
    #[test]
    fn counts_stay_in_their_bounds(width in 2..=64_u32, confirm in 1..2_000_u64,
                                   numbers in proptest::collection::vec((any::<u64>(), 0..3_u8), 0..300)) {
        let mut tracker = SequenceTracker::new(width);
        tracker.confirm_above(confirm);
        let mut number = 0_u64;
        for (step, kind) in numbers {
            number = match kind {
                0 => number.wrapping_add(1),
                1 => number.wrapping_add(step % 3_000).wrapping_sub(1_000),
                _ => step,
            };
            let before = tracker.counts();
            let arrival = tracker.observe(number);
            let counts = tracker.counts();
            prop_assert_eq!(counts.imbalance(), 0);
            prop_assert_eq!(counts.received, before.received + 1);
            prop_assert!(counts.unconfirmed + counts.duplicated + counts.reordered <= counts.received);
            prop_assert!(counts.lost <= counts.sent);
            if arrival == Arrival::Unconfirmed {
                prop_assert!(counts.unconfirmed >= 1);
            }
        }
    }
}

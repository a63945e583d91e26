//! Sequence arithmetic over wrapping packet numbers: lost, reordered and duplicated told apart.
//!
//! A sender numbers its packets with a counter of some width that wraps. [`SequenceTracker`] follows the
//! numbers of **one** source and keeps the law
//!
//! ```text
//! sent + duplicated = received + lost
//! ```
//!
//! where each of the four is counted for itself and none is computed from the others.
//!
//! * A number just ahead is the next packet; one further ahead opens a *gap*: the numbers between are lost
//!   until they turn up.
//! * A number behind that has not been seen is *reordered*: it closes (part of) a gap.
//! * A number behind that has been seen is *duplicated*; a long run of such numbers, each one after the
//!   other and without a new one between them, is a sender that has started over.
//! * A number too far ahead or behind is neither: the sender has started over. That is a *restart*, counted
//!   for itself, and nothing is reported lost for it.

use crate::live_time::LiveTime;

/// How far behind the newest number a packet is still recognised as reordered or duplicated.
const HISTORY: u64 = 4096;
const WORDS: usize = (HISTORY / 64) as usize;

/// Duplicates that follow one another, without a gap and without a new number between them, until they are taken for a
/// restart. A port mirrored twice sends every packet twice for ever, but new ones in between.
const RUN_OF_A_RESTART: u32 = 16;

/// How many gaps are remembered by number, for the report.
pub const REMEMBERED_GAPS: usize = 64;

/// What one packet number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The first packet, or the one that was due.
    InOrder,
    /// So many numbers (≥ 1) were skipped just before this packet.
    AfterGap(u64),
    /// Late: it had been counted as lost, or precedes the first packet seen.
    Reordered,
    /// This number has been here before.
    Duplicated,
    /// The number is out of any relation to the previous ones: the sender started over.
    Restarted,
}

/// A run of numbers that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// First number missing.
    pub first: u64,
    /// How many are missing from there on (numbers that turned up later may lie inside).
    pub count: u64,
    /// When the packet behind the gap arrived, on the clock of the arrivals; 0 if that is not known.
    pub noticed_ns: u64,
}

/// Counts of one source's sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceCounts {
    /// Packets that the numbers say were sent, between the first and the last number seen.
    pub sent: u64,
    /// Packets seen, duplicates included.
    pub received: u64,
    /// Numbers that have not been seen.
    pub lost: u64,
    /// Packets seen after a packet with a higher number.
    pub reordered: u64,
    /// Packets whose number had been seen before.
    pub duplicated: u64,
    /// How often the numbering started over.
    pub restarts: u64,
}

impl SequenceCounts {
    /// What the law `sent + duplicated = received + lost` leaves over: 0 unless something is wrong.
    pub fn imbalance(&self) -> i128 {
        i128::from(self.sent) + i128::from(self.duplicated)
            - i128::from(self.received)
            - i128::from(self.lost)
    }
}

/// Follows the packet numbers of one source.
#[derive(Clone, Debug)]
pub struct SequenceTracker {
    mask: u64,
    largest_gap: u64,
    history: u64,
    /// Newest number, once there is one.
    head: Option<u64>,
    /// Numbers from the oldest one seen since the last restart up to `head`.
    span: u64,
    /// Ring of bits: number `n` was seen if bit `n % HISTORY` is set, for the last `history` numbers.
    seen: [u64; WORDS],
    /// Number of the latest duplicate, and how many came in a row up to it.
    duplicate_run: (u64, u32),
    counts: SequenceCounts,
    live: LiveTime,
    /// Of the packet that is being observed, if it is known.
    arrival_ns: u64,
    gaps: [Gap; REMEMBERED_GAPS],
    gap_count: usize,
    gaps_forgotten: u64,
}

impl SequenceTracker {
    /// For numbers of `bits` bits (2 to 64). A jump ahead of more than a quarter of the range, or of more
    /// than 2^20 packets, counts as a restart and not as loss.
    ///
    /// # Panics
    /// If `bits` is below 2 or above 64: the width of a field is known when the program is written.
    pub fn new(bits: u32) -> Self {
        assert!((2..=64).contains(&bits), "a sequence number has 2 to 64 bits, not {bits}");
        let quarter = 1_u64 << (bits - 2);
        Self {
            mask: u64::MAX >> (64 - bits),
            largest_gap: quarter.min(1 << 20),
            history: quarter.min(HISTORY),
            head: None,
            span: 0,
            seen: [0; WORDS],
            duplicate_run: (0, 0),
            counts: SequenceCounts::default(),
            live: LiveTime::new(),
            arrival_ns: 0,
            gaps: [Gap { first: 0, count: 0, noticed_ns: 0 }; REMEMBERED_GAPS],
            gap_count: 0,
            gaps_forgotten: 0,
        }
    }

    /// Takes the number of the next packet, which arrived at `arrival_ns`, for [`SequenceTracker::live_time`] too.
    #[inline]
    pub fn observe_at(&mut self, number: u64, arrival_ns: u64) -> Arrival {
        let lost = self.counts.lost;
        self.arrival_ns = arrival_ns;
        let arrival = self.observe(number);
        let change = self.counts.lost.wrapping_sub(lost).cast_signed();
        self.live.observe(arrival_ns, arrival != Arrival::Duplicated, change);
        arrival
    }

    /// Memory of a tracker in bytes, beside itself.
    pub fn memory_bound() -> usize {
        LiveTime::memory_bound()
    }

    /// Received and lost packets over time, as far as [`SequenceTracker::observe_at`] was told of them.
    pub fn live_time(&self) -> &LiveTime {
        &self.live
    }

    /// Takes the number of the next packet (bits above the width are ignored).
    #[inline]
    pub fn observe(&mut self, number: u64) -> Arrival {
        let number = number & self.mask;
        self.counts.received += 1;
        let Some(head) = self.head else {
            self.start_over(number);
            return Arrival::InOrder;
        };
        let ahead = number.wrapping_sub(head) & self.mask;
        if ahead == 1 {
            self.advance(number, 1);
            return Arrival::InOrder;
        }
        if (2..=self.largest_gap).contains(&ahead) {
            self.note_gap(head.wrapping_add(1) & self.mask, ahead - 1);
            self.counts.lost += ahead - 1;
            self.advance(number, ahead);
            return Arrival::AfterGap(ahead - 1);
        }
        let behind = head.wrapping_sub(number) & self.mask;
        if behind >= self.history {
            self.counts.restarts += 1;
            self.start_over(number);
            return Arrival::Restarted;
        }
        if behind >= self.span {
            // Older than the first number seen: what lies between was sent as well.
            let added = behind - self.span + 1;
            self.counts.sent += added;
            self.counts.lost += added - 1;
            if added > 1 {
                self.note_gap(number.wrapping_add(1) & self.mask, added - 1);
            }
            self.span = behind + 1;
            self.mark(number);
            self.counts.reordered += 1;
            return Arrival::Reordered;
        }
        if self.is_marked(number) {
            let (last, run) = self.duplicate_run;
            let follows = number.wrapping_sub(last) & self.mask == 1;
            self.duplicate_run = (number, if follows { run + 1 } else { 1 });
            if self.duplicate_run.1 == RUN_OF_A_RESTART {
                self.counts.restarts += 1;
                self.start_over(number);
                return Arrival::Restarted;
            }
            self.counts.duplicated += 1;
            return Arrival::Duplicated;
        }
        self.mark(number);
        self.close_gap(number);
        self.counts.lost -= 1;
        self.counts.reordered += 1;
        Arrival::Reordered
    }

    /// The counts so far.
    pub fn counts(&self) -> SequenceCounts {
        self.counts
    }

    /// The first [`REMEMBERED_GAPS`] gaps that are still open, oldest first.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps[..self.gap_count]
    }

    /// How many gaps came after the list was full.
    pub fn gaps_forgotten(&self) -> u64 {
        self.gaps_forgotten
    }

    fn start_over(&mut self, number: u64) {
        self.head = Some(number);
        self.duplicate_run = (0, 0);
        self.span = 1;
        self.seen = [0; WORDS];
        self.mark(number);
        self.counts.sent += 1;
    }

    fn advance(&mut self, number: u64, steps: u64) {
        if steps > self.history {
            self.seen = [0; WORDS];
        } else {
            for back in 0..steps {
                self.unmark(number.wrapping_sub(back));
            }
        }
        self.head = Some(number);
        self.duplicate_run = (0, 0);
        self.span = self.span.saturating_add(steps);
        self.counts.sent += steps;
        self.mark(number);
    }

    fn note_gap(&mut self, first: u64, count: u64) {
        match self.gaps.get_mut(self.gap_count) {
            Some(free) => {
                *free = Gap { first, count, noticed_ns: self.arrival_ns };
                self.gap_count += 1;
            }
            None => self.gaps_forgotten += 1,
        }
    }

    /// Takes `number` out of the remembered gaps; a number in the middle stays covered by its gap.
    fn close_gap(&mut self, number: u64) {
        let known = &self.gaps[..self.gap_count];
        let Some(at) = known.iter().position(|g| (number.wrapping_sub(g.first) & self.mask) < g.count) else {
            return;
        };
        let gap = &mut self.gaps[at];
        let inside = number.wrapping_sub(gap.first) & self.mask;
        if inside == 0 {
            gap.first = gap.first.wrapping_add(1) & self.mask;
            gap.count -= 1;
        } else if inside == gap.count - 1 {
            gap.count -= 1;
        }
        if gap.count == 0 {
            self.gaps.copy_within(at + 1..self.gap_count, at);
            self.gap_count -= 1;
        }
    }

    fn place(number: u64) -> (usize, u64) {
        let bit = number % HISTORY;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    fn mark(&mut self, number: u64) {
        let (word, bit) = Self::place(number);
        self.seen[word] |= bit;
    }

    fn unmark(&mut self, number: u64) {
        let (word, bit) = Self::place(number);
        self.seen[word] &= !bit;
    }

    fn is_marked(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        self.seen[word] & bit != 0
    }
}

#[cfg(test)]
mod tests {
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
        let counts = observe_all(32, &[5, 6, 3_000_000_000, 3_000_000_001, 0]).counts();
        assert_eq!((counts.restarts, counts.lost, counts.sent), (2, 0, 5));
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
}

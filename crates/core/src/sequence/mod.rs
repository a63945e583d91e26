//! Sequence arithmetic over wrapping packet numbers: lost, reordered, duplicated and damaged numbers told apart.
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
//! * A number just ahead is the next packet; one a little further ahead opens a *gap*: the numbers between are lost
//!   until they turn up.
//! * A number behind that has not been seen is *reordered*: it closes (part of) a gap.
//! * A number behind that has been seen is *duplicated*; a long run of such numbers, each one after the
//!   other and without a new one between them, is a sender that has started over.
//! * Any other number is a **jump**, and one packet alone proves none: a flipped bit in its number looks the same. A jump counts
//!   only when the next number follows it. Until then, and for ever if none does, the packet is *unconfirmed*. A confirmed
//!   jump ahead is a gap; one that is too far ahead, or back, is a *restart*: the sender has started over, and nothing is
//!   reported lost for it.
//!
//! What jumps and what follows:
//!
//! | number | against the newest number that counts |
//! |---|---|
//! | near | ahead of it by at most `confirm` ([`CONFIRM`], [`SequenceTracker::confirm_above`]) and a quarter of the range |
//! | known | behind it, in the history of the last 4096 numbers, with at most 16 numbers between it and the first one seen |
//! | a jump | anything else |
//! | follows a jump | ahead of *its* number by at most `confirm`, or behind by as much: neighbours may be lost or reordered |
//!
//! While a jump waits, a near number refutes it, another number far from both takes its place, and repetitions and stragglers
//! (known numbers) decide nothing. The first number of all is no better than any other: if the second packet jumps and
//! the third follows it, the first is the one that is unconfirmed.
//!
//! An unconfirmed packet was sent and received, and is counted as both. Its true number is missing in the sequence: so it
//! *stands for* one of the numbers missing between its neighbours, which is then not lost. A damaged number thus ends as
//! one unconfirmed packet and nothing lost. (A damaged number that is near or known cannot be told from
//! a right one: it is taken for one, and its true number for lost.)

mod gaps;
#[cfg(test)]
mod tests;

pub use gaps::{Gap, REMEMBERED_GAPS};

use crate::live_time::LiveTime;
use gaps::Gaps;

/// How far behind the newest number a packet is still recognised as reordered or duplicated.
const HISTORY: u64 = 4096;
const WORDS: usize = (HISTORY / 64) as usize;

/// Largest jump ahead that counts as loss once it is confirmed; a larger one is a restart.
const LARGEST_GAP: u64 = 1 << 20;

/// Duplicates that follow one another, without a gap and without a new number between them, until they are taken for a
/// restart. A port mirrored twice sends every packet twice for ever, but new ones in between.
const RUN_OF_A_RESTART: u32 = 16;

/// Numbers that may be missing between a straggler and the first number seen, without being confirmed by the next one.
const LATE_START: u64 = 16;

/// Packets that a number may be ahead without being confirmed by the next one, unless something else is configured.
pub const CONFIRM: u64 = 1024;

/// What one packet number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The first packet, or the one that was due.
    InOrder,
    /// This many numbers (≥ 1) were skipped just before this packet.
    AfterGap(u64),
    /// Late: it had been counted as lost, or precedes the first packet seen.
    Reordered,
    /// This number has been here before.
    Duplicated,
    /// The number is far from all others. It counts when the next one follows it.
    Unconfirmed,
    /// A run of numbers that had all been seen: the sender started over.
    Restarted,
}

/// Counts of one source's sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceCounts {
    /// Packets that the numbers say were sent, between the first and the last number seen, and those that are unconfirmed.
    pub sent: u64,
    /// Packets seen, duplicates and those that are unconfirmed included.
    pub received: u64,
    /// Numbers that have not been seen, less those for which an unconfirmed packet stands.
    pub lost: u64,
    /// Packets seen after a packet with a higher number.
    pub reordered: u64,
    /// Packets whose number had been seen before.
    pub duplicated: u64,
    /// Packets whose number is far from all others, and which no next number has followed (so far).
    pub unconfirmed: u64,
    /// How often the numbering started over.
    pub restarts: u64,
}

impl SequenceCounts {
    /// Adds those of another sequence, or of another part of the same, in which no number of this part is.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
        self.reordered += other.reordered;
        self.duplicated += other.duplicated;
        self.unconfirmed += other.unconfirmed;
        self.restarts += other.restarts;
    }

    /// What the law `sent + duplicated = received + lost` leaves over: 0 unless something is wrong.
    pub fn imbalance(&self) -> i128 {
        i128::from(self.sent) + i128::from(self.duplicated)
            - i128::from(self.received)
            - i128::from(self.lost)
    }
}

/// A packet whose number is far from all others, until the next number says whether it counts.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// Newest number that counts.
    head: u64,
    /// When the packet before arrived.
    left_ns: u64,
    /// Its own number, and when it arrived.
    number: u64,
    landed_ns: u64,
    /// Unconfirmed packets since `head`, this one not included.
    standing: u64,
}

/// Follows the packet numbers of one source. See the [module documentation](self).
// What the packet that is due needs comes first: of hundreds of sources, little more than that stays in the caches.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct SequenceTracker {
    mask: u64,
    history: u64,
    /// Newest number that counts; none before the first packet, and none while a jump waits, which then has it. So the packet
    /// that is due asks for no jump.
    head: Option<u64>,
    /// Numbers from the oldest one seen since the last restart up to the newest one.
    span: u64,
    /// Number of the latest duplicate, and how many came in a row up to it.
    duplicate_run: (u64, u32),
    counts: SequenceCounts,
    live: LiveTime,
    /// Ring of bits: number `n` was seen if bit `n % HISTORY` is set, for the last `history` numbers.
    seen: [u64; WORDS],
    largest_gap: u64,
    /// Largest step ahead that needs no confirmation.
    near: u64,
    jump: Option<Jump>,
    /// Lost packets that `live` has been told of.
    told: u64,
    /// Of the packet that is being observed, if it is known.
    arrival_ns: u64,
    gaps: Box<Gaps>,
}

impl SequenceTracker {
    /// For numbers of `bits` bits (2 to 64). A confirmed jump ahead of more than a quarter of the range, or of more
    /// than 2^20 packets, counts as a restart and not as loss.
    ///
    /// # Panics
    /// If `bits` is below 2 or above 64: the width of a field is known when the program is written.
    pub fn new(bits: u32) -> Self {
        assert!((2..=64).contains(&bits), "a sequence number has 2 to 64 bits, not {bits}");
        let quarter = 1_u64 << (bits - 2);
        let mask = u64::MAX >> (64 - bits);
        let largest_gap = quarter.min(LARGEST_GAP);
        Self {
            mask,
            largest_gap,
            history: quarter.min(HISTORY),
            near: largest_gap.min(CONFIRM),
            head: None,
            jump: None,
            span: 0,
            seen: [0; WORDS],
            duplicate_run: (0, 0),
            counts: SequenceCounts::default(),
            live: LiveTime::new(),
            told: 0,
            arrival_ns: 0,
            gaps: Box::new(Gaps::new(mask)),
        }
    }

    /// Sets another limit than [`CONFIRM`]: a number more than this many packets (at least 1) ahead must be followed by the next.
    pub fn confirm_above(&mut self, packets: u64) {
        self.near = self.largest_gap.min(packets.max(1));
    }

    /// Takes the number of the next packet, which arrived at `arrival_ns`, for [`SequenceTracker::live_time`] too.
    #[inline]
    pub fn observe_at(&mut self, number: u64, arrival_ns: u64) -> Arrival {
        if self.is_due(number) {
            self.live.observe(arrival_ns, true, 0);
            return Arrival::InOrder;
        }
        self.arrival_ns = arrival_ns;
        let arrival = self.observe_elsewhere(number);
        let change = self.counts.lost.wrapping_sub(self.told).cast_signed();
        self.told = self.counts.lost;
        self.live.observe(arrival_ns, arrival != Arrival::Duplicated, change);
        arrival
    }

    /// Memory of a tracker in bytes, not counting itself.
    pub fn memory_bound() -> usize {
        LiveTime::memory_bound() + size_of::<Gaps>()
    }

    /// Received and lost packets over time, as far as [`SequenceTracker::observe_at`] was told of them.
    pub fn live_time(&self) -> &LiveTime {
        &self.live
    }

    /// Takes the number of the next packet (bits above the width are ignored).
    #[inline]
    pub fn observe(&mut self, number: u64) -> Arrival {
        if self.is_due(number) {
            return Arrival::InOrder;
        }
        self.observe_elsewhere(number)
    }

    /// The counts so far. A packet that waits for the next number to confirm it is among those unconfirmed.
    pub fn counts(&self) -> SequenceCounts {
        self.counts
    }

    /// The first [`REMEMBERED_GAPS`] gaps that are still open, oldest first.
    pub fn gaps(&self) -> &[Gap] {
        self.gaps.list()
    }

    /// How many gaps came after the list was full.
    pub fn gaps_forgotten(&self) -> u64 {
        self.gaps.forgotten()
    }

    /// Takes the packet that is due; false, and nothing done, if it is another.
    #[inline]
    fn is_due(&mut self, number: u64) -> bool {
        let number = number & self.mask;
        let is_due = self.head.is_some_and(|head| self.ahead(number, head) == 1);
        if is_due {
            self.counts.received += 1;
            self.advance(number, 1);
        }
        is_due
    }

    fn observe_elsewhere(&mut self, number: u64) -> Arrival {
        let number = number & self.mask;
        self.counts.received += 1;
        match (self.head, self.jump.take()) {
            (_, Some(jump)) => self.take_after_jump(jump, number),
            (Some(head), None) => self.take(head, number, 0),
            (None, None) => {
                self.start_over(number);
                Arrival::InOrder
            }
        }
    }

    /// Takes a number when no jump waits. This many unconfirmed packets came since `head`.
    fn take(&mut self, head: u64, number: u64, standing: u64) -> Arrival {
        if self.is_near(number, head) {
            return self.go_ahead(head, number, standing);
        }
        if self.is_known(number, head) {
            return self.look_back(head, number);
        }
        let left_ns = self.live.last_arrival_ns().unwrap_or_default();
        self.wait(Jump { head, left_ns, number, landed_ns: self.arrival_ns, standing })
    }

    #[cold]
    fn take_after_jump(&mut self, jump: Jump, number: u64) -> Arrival {
        if number == jump.number {
            // A copy of the packet says nothing of its number.
            self.jump = Some(jump);
            self.counts.duplicated += 1;
            return Arrival::Duplicated;
        }
        if self.is_near(number, jump.head) {
            self.head = Some(jump.head);
            // What was lost was lost since the last number that counts.
            self.live.count_losses_from(jump.left_ns);
            return self.go_ahead(jump.head, number, jump.standing + 1);
        }
        if self.follows(number, jump.number) {
            let head = self.confirm(&jump);
            return self.take(head, number, 0);
        }
        if self.is_known(number, jump.head) {
            self.head = Some(jump.head);
            let arrival = self.look_back(jump.head, number);
            if arrival != Arrival::Restarted {
                self.head = None;
                self.jump = Some(jump);
            }
            return arrival;
        }
        self.wait(Jump { number, landed_ns: self.arrival_ns, standing: jump.standing + 1, ..jump })
    }

    /// Has a packet wait for the number that confirms its own. It was sent, and is unconfirmed.
    fn wait(&mut self, jump: Jump) -> Arrival {
        self.head = None;
        self.jump = Some(jump);
        self.counts.sent += 1;
        self.counts.unconfirmed += 1;
        Arrival::Unconfirmed
    }

    /// Counts a jump whose number the next one follows, and returns the newest number that counts then.
    fn confirm(&mut self, jump: &Jump) -> u64 {
        let &Jump { head, number, landed_ns, .. } = jump;
        self.counts.sent -= 1;
        self.counts.unconfirmed -= 1;
        let now = std::mem::replace(&mut self.arrival_ns, landed_ns);
        let behind = self.ahead(head, number);
        self.head = Some(head);
        if self.is_in_history(behind) && self.before_first(behind) <= self.near {
            self.take_older(number, behind);
        } else if self.span == 1 {
            // Two numbers against the first one, which nothing has ever followed.
            self.counts.unconfirmed += 1;
            self.start_over(number);
        } else if self.ahead(number, head) <= self.largest_gap {
            self.go_ahead(head, number, jump.standing);
        } else {
            self.counts.restarts += 1;
            self.start_over(number);
        }
        // They were lost before the jump landed.
        let lost = self.counts.lost.wrapping_sub(self.told).cast_signed();
        self.told = self.counts.lost;
        self.live.lose_between(lost, jump.left_ns, landed_ns);
        self.arrival_ns = now;
        self.head.unwrap_or(number)
    }

    /// Takes a number ahead. Unconfirmed packets (`standing`) stand for as many of those that are missing before it.
    fn go_ahead(&mut self, head: u64, number: u64, standing: u64) -> Arrival {
        let steps = self.ahead(number, head);
        let missing = steps - 1;
        let lost = missing.saturating_sub(standing);
        self.advance(number, steps);
        // Those that stand for a number have been counted as sent.
        self.counts.sent -= missing - lost;
        if lost == 0 {
            return Arrival::InOrder;
        }
        self.counts.lost += lost;
        self.note_gap(head.wrapping_add(1), missing);
        Arrival::AfterGap(lost)
    }

    /// Takes a known number: a straggler or a repetition.
    fn look_back(&mut self, head: u64, number: u64) -> Arrival {
        let behind = self.ahead(head, number);
        if behind >= self.span {
            self.take_older(number, behind);
            return Arrival::Reordered;
        }
        if self.is_marked(number) {
            return self.repeat(number);
        }
        self.mark(number);
        self.gaps.close(number);
        if self.counts.lost > 0 {
            self.counts.lost -= 1;
        } else {
            // An unconfirmed packet stood for it, which it now turns out not to have been.
            self.counts.sent += 1;
        }
        self.counts.reordered += 1;
        Arrival::Reordered
    }

    /// Takes a number older than the first one seen: what lies between was sent as well.
    fn take_older(&mut self, number: u64, behind: u64) {
        let missing = self.before_first(behind);
        self.counts.sent += missing + 1;
        self.counts.lost += missing;
        if missing > 0 {
            self.note_gap(number.wrapping_add(1), missing);
        }
        self.span = behind + 1;
        self.mark(number);
        self.counts.reordered += 1;
    }

    /// Takes a number that has been seen.
    fn repeat(&mut self, number: u64) -> Arrival {
        let (last, run) = self.duplicate_run;
        let follows = self.ahead(number, last) == 1;
        self.duplicate_run = (number, if follows { run + 1 } else { 1 });
        if self.duplicate_run.1 < RUN_OF_A_RESTART {
            self.counts.duplicated += 1;
            return Arrival::Duplicated;
        }
        self.counts.restarts += 1;
        self.start_over(number);
        // The one before it has been seen, too: this number has been confirmed.
        self.mark(last);
        self.span = 2;
        Arrival::Restarted
    }

    fn start_over(&mut self, number: u64) {
        self.head = Some(number);
        self.duplicate_run = (0, 0);
        self.span = 1;
        self.seen = [0; WORDS];
        self.mark(number);
        self.counts.sent += 1;
    }

    #[inline]
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
        self.gaps.note(Gap { first: first & self.mask, count, noticed_ns: self.arrival_ns });
    }

    /// By how much `number` is ahead of `other`.
    #[inline]
    fn ahead(&self, number: u64, other: u64) -> u64 {
        number.wrapping_sub(other) & self.mask
    }

    fn is_near(&self, number: u64, head: u64) -> bool {
        (1..=self.near).contains(&self.ahead(number, head))
    }

    fn is_known(&self, number: u64, head: u64) -> bool {
        let behind = self.ahead(head, number);
        self.is_in_history(behind) && self.before_first(behind) <= self.near.min(LATE_START)
    }

    fn is_in_history(&self, behind: u64) -> bool {
        behind < self.history
    }

    /// How many numbers lie between the first one seen and an older one.
    fn before_first(&self, behind: u64) -> u64 {
        behind.saturating_sub(self.span)
    }

    fn follows(&self, number: u64, jump: u64) -> bool {
        let behind = self.ahead(jump, number);
        self.is_near(number, jump) || (behind <= self.near && self.is_in_history(behind))
    }

    fn place(number: u64) -> (usize, u64) {
        let bit = number % HISTORY;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    #[inline]
    fn mark(&mut self, number: u64) {
        let (word, bit) = Self::place(number);
        self.seen[word] |= bit;
    }

    #[inline]
    fn unmark(&mut self, number: u64) {
        let (word, bit) = Self::place(number);
        self.seen[word] &= !bit;
    }

    fn is_marked(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        self.seen[word] & bit != 0
    }
}

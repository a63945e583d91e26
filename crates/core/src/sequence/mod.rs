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
//! * A number behind whose packet **cannot be the old one** is a jump: see below.
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
//! | a jump | anything else, and a known number that cannot be the old one |
//! | follows a jump | ahead of *its* number by at most `confirm`, or behind by as much: neighbours may be lost or reordered |
//!
//! While a jump waits, a near number refutes it, another number far from both takes its place, and repetitions and stragglers
//! (known numbers) decide nothing. The first number of all is no better than any other: if the second packet jumps and
//! the third follows it, the first is the one that is unconfirmed.
//!
//! A known number cannot be the old one, as far as its [`Stamp`] tells:
//!
//! * It has been seen, and its packet had another content.
//! * It is before the first one seen, or contents are not known, and the time in its header is later than those of the last 64 packets or more, or it comes after a pause
//!   of a second, unless its header time is one of those.
//!
//! An unconfirmed packet was sent and received, and is counted as both. Its true number is missing in the sequence: so it
//! *stands for* one of the numbers missing between its neighbours, which is then not lost. A damaged number thus ends as
//! one unconfirmed packet and nothing lost. (A damaged number that is near or known cannot be told from
//! a right one: it is taken for one, and its true number for lost.)

mod evidence;
mod gaps;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod tests;

pub use evidence::Stamp;
pub use gaps::{Gap, REMEMBERED_GAPS, REMEMBERED_RESTARTS, Restart};

use crate::live_time::LiveTime;
use evidence::{Place, Times};
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

/// As [`LATE_START`], if the next number confirms it and no header time says that it is older.
const LATEST_START: u64 = 64;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
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
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Jump {
    /// Newest number that counts.
    head: u64,
    /// When the packet before arrived.
    left_ns: u64,
    /// Its own number, and what else it said.
    number: u64,
    stamp: Stamp,
    /// Its number is known, or was before the first one, and it cannot be the old packet of that number.
    is_anew: bool,
    /// Its header time is no later than that of others.
    is_older: bool,
    /// Unconfirmed packets since `head`, this one not included.
    standing: u64,
}

/// Follows the packet numbers of one source. See the [module documentation](self).
// What the packet that is due needs comes first: of hundreds of sources, little more than that stays in the caches.
#[derive(Clone, Debug, get_size2::GetSize)]
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
    /// Of the packet that is being observed.
    stamp: Stamp,
    times: Times,
    /// Contents by number, as `seen`; none of senders whose packets' contents are not looked at.
    contents: Option<Box<[u16; HISTORY as usize]>>,
    /// Ring of bits: number `n` was seen if bit `n % HISTORY` is set, for the last `history` numbers.
    seen: [u64; WORDS],
    largest_gap: u64,
    /// Largest step ahead that needs no confirmation.
    near: u64,
    jump: Option<Jump>,
    /// Lost packets that `live` has been told of.
    told: u64,
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
            stamp: Stamp::default(),
            times: Times::new(64),
            contents: None,
            told: 0,
            gaps: Box::new(Gaps::new(mask)),
        }
    }

    /// As [`SequenceTracker::new`], for [`SequenceTracker::observe_packet`]: for packets with header times of `time_bits` bits.
    pub fn of_packets(bits: u32, time_bits: u32) -> Self {
        Self {
            times: Times::new(time_bits),
            contents: Some(Box::new([0; HISTORY as usize])),
            ..Self::new(bits)
        }
    }

    /// Sets another limit than [`CONFIRM`]: a number more than this many packets (at least 1) ahead must be followed by the next.
    pub fn confirm_above(&mut self, packets: u64) {
        self.near = self.largest_gap.min(packets.max(1));
    }

    /// Takes the number of the next packet, which arrived at `arrival_ns`, for [`SequenceTracker::live_time`] too.
    #[inline]
    pub fn observe_at(&mut self, number: u64, arrival_ns: u64) -> Arrival {
        self.observe_packet(number, Stamp { arrival_ns, ..Stamp::default() })
    }

    /// Takes the number of the next packet, and what else it says.
    #[inline]
    pub fn observe_packet(&mut self, number: u64, stamp: Stamp) -> Arrival {
        self.stamp = stamp;
        if self.is_due(number) {
            self.live.observe(stamp.arrival_ns, true, 0);
            return Arrival::InOrder;
        }
        let arrival = self.observe_elsewhere(number);
        let change = self.counts.lost.wrapping_sub(self.told).cast_signed();
        self.told = self.counts.lost;
        self.live.observe(stamp.arrival_ns, arrival != Arrival::Duplicated, change);
        arrival
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

    /// Takes the number of the next packet, with the time in its header.
    #[inline]
    pub fn observe_sent(&mut self, number: u64, sent: u64) -> Arrival {
        self.stamp.sent = Some(sent);
        self.observe(number)
    }

    /// The counts so far. A packet that waits for the next number to confirm it is among those unconfirmed.
    pub fn counts(&self) -> SequenceCounts {
        self.counts
    }

    /// The first [`REMEMBERED_GAPS`] gaps that are still open, oldest first.
    pub fn gaps(&self) -> &[Gap] {
        self.gaps.list()
    }

    /// The first [`REMEMBERED_RESTARTS`] restarts of the numbering.
    pub fn restarts(&self) -> &[Restart] {
        self.gaps.restarts()
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
        let left_ns = self.live.last_arrival_ns().unwrap_or_default();
        let is_anew = self.is_anew(number, head, left_ns);
        if self.is_known(number, head) && !is_anew {
            return self.look_back(head, number);
        }
        self.wait(Jump {
            head,
            left_ns,
            number,
            stamp: self.stamp,
            is_anew,
            is_older: self.is_older(),
            standing,
        })
    }

    /// True if a number behind `head` cannot be that of an old packet which is late, or of a copy, after nothing had come since `left_ns`.
    fn is_anew(&self, number: u64, head: u64, left_ns: u64) -> bool {
        let behind = self.ahead(head, number);
        if !self.is_in_history(behind) {
            return false;
        }
        if behind < self.span && self.contents.is_some() {
            // A number that is missing is late: its clock may have been set meanwhile. A sender that starts over there comes to numbers
            // that are not missing.
            if !self.is_marked(number) {
                return false;
            }
            if let Some(is_copy) = self.is_copy(number) {
                return !is_copy;
            }
        }
        match self.times.place(self.stamp.sent) {
            Place::Later => true,
            Place::Within => false,
            // A clock that has started over with the numbers, or none.
            Place::Earlier | Place::Unknown => self.stamp.is_after_pause(left_ns),
        }
    }

    /// True if its header time says that a packet is older than others.
    fn is_older(&self) -> bool {
        match self.times.place(self.stamp.sent) {
            Place::Within => true,
            Place::Earlier => self.stamp.arrival_ns != 0,
            Place::Later | Place::Unknown => false,
        }
    }

    /// Whether it is a copy of the packet that has been seen with its number; none if that is not known.
    fn is_copy(&self, number: u64) -> Option<bool> {
        let contents = self.contents.as_ref()?;
        self.stamp.is_copy_of(contents[(number % HISTORY) as usize])
    }

    #[cold]
    fn take_after_jump(&mut self, jump: Jump, number: u64) -> Arrival {
        if number == jump.number && self.stamp.is_copy_of(jump.stamp.content) != Some(false) {
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
        let is_anew = self.is_anew(number, jump.head, jump.left_ns);
        let is_old = self.is_known(number, jump.head) && !is_anew;
        // What is a straggler itself does not confirm that another one was none.
        if self.follows(number, jump.number) && !(jump.is_anew && is_old) {
            let head = self.confirm(&jump);
            return self.take(head, number, 0);
        }
        if is_old {
            self.head = Some(jump.head);
            let arrival = self.look_back(jump.head, number);
            if arrival != Arrival::Restarted {
                self.head = None;
                self.jump = Some(jump);
            }
            return arrival;
        }
        let (is_older, standing) = (self.is_older(), jump.standing + 1);
        self.wait(Jump { number, stamp: self.stamp, is_anew, is_older, standing, ..jump })
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
        let &Jump { head, number, stamp, .. } = jump;
        self.counts.sent -= 1;
        self.counts.unconfirmed -= 1;
        let now = std::mem::replace(&mut self.stamp, stamp);
        let behind = self.ahead(head, number);
        let latest_start = if jump.is_older { self.near } else { self.near.min(LATEST_START) };
        self.head = Some(head);
        if self.is_in_history(behind) && self.before_first(behind) <= latest_start && !jump.is_anew {
            self.take_older(number, behind);
        } else if self.span == 1 {
            // Two numbers against the first one, which nothing has ever followed.
            self.counts.unconfirmed += 1;
            self.start_over(number);
        } else if (1..=self.largest_gap).contains(&self.ahead(number, head)) {
            self.go_ahead(head, number, jump.standing);
        } else {
            self.note_restart(head, number);
            self.start_over(number);
        }
        // They were lost before the jump landed.
        let lost = self.counts.lost.wrapping_sub(self.told).cast_signed();
        self.told = self.counts.lost;
        self.live.lose_between(lost, jump.left_ns, stamp.arrival_ns);
        self.stamp = now;
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
            return self.repeat(head, number);
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
    fn repeat(&mut self, head: u64, number: u64) -> Arrival {
        let (last, run) = self.duplicate_run;
        let follows = self.ahead(number, last) == 1;
        self.duplicate_run = (number, if follows { run + 1 } else { 1 });
        if self.duplicate_run.1 < RUN_OF_A_RESTART {
            self.counts.duplicated += 1;
            return Arrival::Duplicated;
        }
        self.note_restart(head, number.wrapping_sub(u64::from(RUN_OF_A_RESTART - 1)));
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
        self.times.clear();
        self.note_time();
        self.mark(number);
        self.counts.sent += 1;
    }

    #[inline]
    fn note_time(&mut self) {
        if let Some(time) = self.stamp.sent {
            self.times.note(time);
        }
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
        self.note_time();
        self.mark(number);
    }

    #[cold]
    fn note_restart(&mut self, last: u64, first: u64) {
        self.counts.restarts += 1;
        let (last, first) = (last & self.mask, first & self.mask);
        self.gaps.note_restart(Restart { at_ns: self.stamp.arrival_ns, last, first });
    }

    fn note_gap(&mut self, first: u64, count: u64) {
        self.gaps.note(Gap { first: first & self.mask, count, noticed_ns: self.stamp.arrival_ns });
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
        if let Some(contents) = &mut self.contents {
            contents[(number % HISTORY) as usize] = self.stamp.content;
        }
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

//! Random histories of a sender and its network, against what the tracker makes of them: restarts, loss, copies, disorder, clocks that
//! step.
//!
//! `make test` plays some thousands; `EVFORGE_SOAK=1000000` as many as that.

use super::*;

const SECOND: u64 = 1_000_000_000;

/// The generator SplitMix64: the same histories on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// What a sender's restart shows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// Header times go on.
    HeaderTimes,
    /// The sender was silent for a second or more; header times start over, or there are none.
    Pause,
    /// Both.
    Both,
}

/// What was sent and what arrived.
struct History {
    arrived: Vec<(u64, Stamp)>,
    sent: u64,
    lost: u64,
    copies: u64,
    restarts: u64,
}

/// A history with up to `restarts` restarts; with header times or without.
fn history(dice: &mut Dice, restarts: u64) -> History {
    let sign = [Sign::HeaderTimes, Sign::Pause, Sign::Both][dice.below(3) as usize];
    let has_times = sign != Sign::Pause || dice.one_in(2);
    let mut now = 1_700_000_000 * SECOND + dice.below(SECOND);
    // The clock of the headers may be elsewhere, and slower: several packets have the same time.
    let (tick, mut clock_offset) = ([1, 71_428, 71_428_571][dice.below(3) as usize], dice.below(1 << 40));
    let spacing = [2_000, 50_000, 3_000_000][dice.below(3) as usize];
    let (loss, copy, disorder) = (1 + dice.below(60), 1 + dice.below(60), dice.below(65));
    let mut number = dice.below(1 << 32);
    let mut history = History { arrived: Vec::new(), sent: 0, lost: 0, copies: 0, restarts };
    let mut under_way: Vec<(u64, u64, Stamp)> = Vec::new();
    for start in 0..=restarts {
        let packets = 200 + dice.below(2_500);
        for packet in 0..packets {
            now += 1 + dice.below(2 * spacing);
            if dice.one_in(700) {
                // Clocks are set, forth and back.
                clock_offset = clock_offset.wrapping_add(dice.below(10 * SECOND)).wrapping_sub(5 * SECOND);
            }
            let sent = has_times.then(|| now.wrapping_add(clock_offset) / tick);
            let stamp = Stamp { arrival_ns: 0, sent, content: (dice.roll() as u16).max(1) };
            history.sent += 1;
            // What is lost before the first packet or behind the last one of a start, no number shows.
            let is_inside = packet > 0 && packet + 1 < packets;
            if is_inside && dice.one_in(loss * 4) {
                history.lost += 1;
            } else {
                // Late by some packets: not those at the edges, nor those around them.
                let is_late = packet > 100 && packet + 100 < packets && disorder > 0 && dice.one_in(5);
                let by = if is_late { dice.below(disorder) } else { 0 };
                let place = history.sent + by;
                under_way.push((place, number, stamp));
                if dice.one_in(copy * 4) {
                    history.copies += 1;
                    under_way.push((place + if is_late { dice.below(8) } else { 0 }, number, stamp));
                }
            }
            number = (number + 1) & u64::from(u32::MAX);
        }
        // What is under way arrives before the sender sends again.
        under_way.sort_by_key(|(place, ..)| *place);
        let first = now - (under_way.len() as u64).min(now);
        for (at, (_, number, stamp)) in under_way.drain(..).enumerate() {
            history.arrived.push((number, Stamp { arrival_ns: first + at as u64, ..stamp }));
        }
        if start < restarts {
            now += match sign {
                Sign::HeaderTimes => 80_000_000 + dice.below(SECOND / 2),
                Sign::Pause | Sign::Both => SECOND + 100_000_000 + dice.below(20 * SECOND),
            };
            if sign == Sign::Pause {
                clock_offset = 0_u64.wrapping_sub(now);
            }
            let back = 1 + dice.below(packets);
            number = match dice.below(4) {
                0 => 0,
                1 => dice.below(1 << 32),
                _ => number.wrapping_sub(back),
            } & u64::from(u32::MAX);
        }
    }
    history
}

/// The counts, and how many packets are not used.
fn counts_of(history: &History) -> (SequenceCounts, u64) {
    let mut tracker = SequenceTracker::of_packets(32, 64);
    let mut thrown_away = 0;
    for &(number, stamp) in &history.arrived {
        thrown_away += u64::from(tracker.observe_packet(number, stamp) == Arrival::Duplicated);
    }
    assert_eq!(tracker.counts().imbalance(), 0);
    (tracker.counts(), thrown_away)
}

fn histories() -> u64 {
    std::env::var("EVFORGE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

#[test]
fn no_disorder_or_copy_is_taken_for_a_restart() {
    let mut dice = Dice(1);
    let mut exact = 0;
    for index in 0..histories() {
        let history = history(&mut dice, 0);
        let (counts, thrown_away) = counts_of(&history);
        assert_eq!(counts.restarts, 0, "history {index}: {counts:?}");
        assert!(thrown_away <= history.copies, "history {index}: {counts:?}");
        // A clock that is set twice while a packet is under way can make one of them unconfirmed.
        let found = (counts.sent, counts.lost, thrown_away, counts.unconfirmed);
        exact += u64::from(found == (history.sent, history.lost, history.copies, 0));
    }
    assert!(exact * 1_000 >= histories() * 999, "{exact} of {} histories", histories());
}

#[test]
fn restarts_are_found_and_nothing_is_lost_by_them() {
    let mut dice = Dice(2);
    let (mut made, mut found, mut exact) = (0, 0, 0);
    for index in 0..histories() {
        let restarts = 1 + dice.below(3);
        let history = history(&mut dice, restarts);
        let (counts, thrown_away) = counts_of(&history);
        made += history.restarts;
        found += counts.restarts.min(history.restarts);
        assert!(counts.restarts <= history.restarts, "history {index}: {counts:?}");
        // A restart at a number that was missing begins as a late packet.
        let is_close = (0..=4 * restarts).contains(&history.lost.abs_diff(counts.lost));
        exact += u64::from(is_close && thrown_away == history.copies);
    }
    // What remains: numbers that go on a little ahead of the last one look like a loss.
    assert!(found * 1_000 >= made * 999, "{found} of {made} restarts");
    assert!(exact * 1_000 >= histories() * 995, "{exact} of {} histories", histories());
}

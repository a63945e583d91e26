//! The watermark is that of all clocks; sources that are silent for long lose nothing.

use super::*;
use crate::hit::Hit;
use evforge_testkit::properties::cases;
use proptest::prelude::*;

const RULES: ClockRules =
    ClockRules { window: 10, forward_jump: 100, restart: 1000, source_lag: 200, packet_hits: 8 };

struct Nowhere;

impl AcceptedHits for Nowhere {
    fn accept(&mut self, _: usize, _: u32, _: Hit) {}
}

/// The watermark as it is defined: over all clocks, whichever has changed.
fn plain(
    line: &SourceClocks<Hit>,
    is_expected: &[bool],
    before: DataTime,
    is_opening: &mut bool,
) -> DataTime {
    let counted = line.clocks.iter().zip(is_expected);
    let counted = counted.filter(|(clock, expected)| **expected || clock.front().is_some());
    let slowest = counted.map(|(clock, _)| clock.watermark().unwrap_or((0, 0))).min().unwrap_or((0, 0));
    let leader = line.clocks.iter().filter(|clock| clock.front().is_some());
    let patience = leader.max_by_key(|clock| clock.front()).and_then(|clock| {
        let (epoch, front) = clock.front()?;
        (front - clock.epoch_start().min(front) > RULES.source_lag).then(|| (epoch, front - RULES.source_lag))
    });
    let newest = line.clocks.iter().filter_map(|clock| Some((clock.front()?, clock.epoch_start()))).max();
    *is_opening &= newest
        .is_none_or(|((epoch, front), start)| epoch == 0 && front.saturating_sub(start) <= RULES.source_lag);
    if *is_opening {
        return before;
    }
    before.max(slowest).max(patience.unwrap_or((0, 0)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn the_watermark_is_that_of_all_clocks_whichever_has_changed(
        is_expected in prop::collection::vec(any::<bool>(), 1..20),
        packets in prop::collection::vec(
            (0..30_usize, 0..200_u32, any::<bool>(), prop::collection::vec((-40..60_i64, 0..25_u32), 0..6)),
            1..150,
        ),
    ) {
        let sources = is_expected.len();
        let mut line = SourceClocks::<Hit>::new(sources, &RULES).expecting(|source| is_expected[source]);
        let (mut now, mut expected) = (5000_i64, (0, 0));
        let mut is_opening = !is_expected.iter().all(|&expected| expected);
        for (source, kind, is_all_closed, offsets) in packets {
            now += 7;
            let hits = offsets.iter().map(|&(offset, wild)| {
                let time = match wild {
                    0 => now + 50_000,
                    1 => now / 10,
                    2 => now + 150,
                    3 => 3000,
                    _ => now + offset,
                };
                Hit { time: time.max(0) as u64, strip: 0, adc: 0 }
            });
            if kind < 20 {
                let mut several = line.begin_packet_of_several();
                for (number, hit) in hits.enumerate() {
                    if let Some(clock) = several.clock(source + number) {
                        clock.judge(0, hit, &mut Nowhere);
                    }
                }
            } else if let Some(clock) = line.begin_packet(source % (sources + 1)) {
                hits.for_each(|hit| clock.judge(0, hit, &mut Nowhere));
            }
            // Sometimes time restarts for all, sometimes what would follow a packet is missing.
            now = if kind == 199 { 10 } else { now };
            if kind != 198 {
                expected = plain(&line, &is_expected, expected, &mut is_opening);
                prop_assert_eq!(line.follow(&mut Nowhere, |_| true), expected);
            }
            if kind == 197 {
                let leader = line.clocks.iter().filter_map(SourceClock::watermark).max().unwrap_or((0, 0));
                let closed = if is_all_closed { expected } else { (0, now as u64 / 2) };
                let past = (0, now as u64 + 5);
                let was_opening = closed >= expected && std::mem::take(&mut is_opening);
                if was_opening {
                    expected = plain(&line, &is_expected, expected, &mut is_opening);
                }
                if closed >= expected {
                    expected = if leader > closed { leader } else { (past.0, past.1 + 1) }.max(expected);
                }
                prop_assert_eq!(line.force(closed, Some(past), &mut Nowhere, |_| true), expected);
            }
        }
        line.follow(&mut Nowhere, |_| true);
        prop_assert_eq!(line.newest(), line.clocks.iter().filter_map(SourceClock::front).max());
    }
}

/// Accepted hits in these tests: (epoch, time). Those of the leader are not kept.
#[derive(Default)]
struct Line(Vec<DataTime>);

impl AcceptedHits for Line {
    fn accept(&mut self, plane: usize, epoch: u32, hit: Hit) {
        if plane != LEADER {
            self.0.push((epoch, hit.time));
        }
    }
}

/// The leading source, and the plane of its hits.
const LEADER: usize = 0;

/// Two sources, of which the first leads; what follows is what the second does.
struct Pair {
    line: SourceClocks<Hit>,
    accepted: Line,
}

impl Pair {
    /// Both have come to 100.
    fn new() -> Self {
        let mut pair = Self { line: SourceClocks::new(2, &RULES), accepted: Line::default() };
        for source in [0, 1] {
            pair.packet(source, &[99, 100]);
        }
        pair.accepted.0.clear();
        pair
    }

    fn packet(&mut self, source: usize, times: &[u64]) -> DataTime {
        self.packet_with_room(source, times, true)
    }

    fn packet_with_room(&mut self, source: usize, times: &[u64], has_room: bool) -> DataTime {
        let clock = self.line.begin_packet(source).expect("a source");
        for &time in times {
            clock.judge(source, Hit { time, strip: 0, adc: 0 }, &mut self.accepted);
        }
        self.line.follow(&mut self.accepted, |_| has_room)
    }

    /// The leader goes there in steps that it may make.
    fn lead_to(&mut self, time: u64) -> DataTime {
        let front = self.line.newest().map_or(0, |(_, front)| front);
        for at in (front + 50..time).step_by(50).chain([time, time]) {
            self.packet(LEADER, &[at]);
        }
        self.line.watermark()
    }

    fn counts(&self) -> (u64, u64) {
        let counts = self.line.clock_counts();
        (counts.late, counts.refuted)
    }
}

#[test]
fn a_hit_of_a_source_that_was_silent_is_accepted_when_the_others_have_come_to_it() {
    let mut pair = Pair::new();
    pair.lead_to(1011);
    pair.packet(1, &[1003, 1007]);
    assert_eq!(pair.accepted.0, [], "a jump of 900 with a forward jump of 100");
    assert_eq!(pair.lead_to(1203), (0, 1003));
    assert_eq!(pair.accepted.0, [], "not before its time is closed");
    assert_eq!(pair.lead_to(1204), (0, 1004));
    assert_eq!(pair.accepted.0, [(0, 1003)]);
    pair.lead_to(2000);
    assert_eq!(pair.accepted.0, [(0, 1003), (0, 1007)]);
    // And the next one, again alone.
    pair.packet(1, &[2001]);
    pair.lead_to(3000);
    assert_eq!(pair.accepted.0.last(), Some(&(0, 2001)));
    assert_eq!((pair.counts(), pair.line.held()), ((0, 0), 0));
}

#[test]
fn a_wild_stamp_ahead_of_all_is_refuted_and_holds_nobody_up() {
    let mut pair = Pair::new();
    pair.lead_to(1000);
    pair.packet(1, &[900_000]);
    assert_eq!(pair.lead_to(2000), (0, 1800));
    pair.packet(1, &[2001]);
    assert_eq!((pair.accepted.0.len(), pair.counts()), (0, (0, 1)));
    pair.lead_to(3000);
    assert_eq!((&pair.accepted.0[..], pair.counts()), (&[(0, 2001)][..], (0, 1)));
}

/// An output queue that no configuration lists begins later than the others: nothing of its beginning is late.
#[test]
fn a_source_that_nobody_expects_is_waited_for_at_the_beginning() {
    for is_expected in [false, true] {
        let mut line = SourceClocks::<Hit>::new(3, &RULES).expecting(|source| source == 0 || is_expected);
        let mut packet = |source: usize, times: &[u64]| {
            let clock = line.begin_packet(source).expect("a source");
            for &time in times {
                clock.judge(0, Hit { time, strip: 0, adc: 0 }, &mut Nowhere);
            }
            line.follow(&mut Nowhere, |_| true)
        };
        assert_eq!(packet(0, &[5_000, 5_001, 5_050, 5_100, 5_150]), (0, 0));
        packet(1, &[5_003, 5_004, 5_040, 5_080, 5_120, 5_160]);
        // The third one never comes: after the lag nobody waits for it.
        packet(0, &[5_190, 5_240, 5_240]);
        assert_eq!(packet(1, &[5_200, 5_241, 5_241]), if is_expected { (0, 5_041) } else { (0, 5_230) });
        assert_eq!(line.clock_counts().late, 0);
    }
}

#[test]
fn a_wild_stamp_that_the_others_come_to_is_an_event_of_its_own_and_takes_the_front_nowhere() {
    let mut pair = Pair::new();
    pair.lead_to(1000);
    pair.packet(1, &[1100]);
    assert_eq!(pair.lead_to(1301), (0, 1101));
    assert_eq!(pair.accepted.0, [(0, 1100)]);
    // The source is where it was: its own line goes on, late as it is.
    pair.packet(1, &[105, 106]);
    assert_eq!(pair.line.clock(1).and_then(|clock| clock.front()), Some((0, 106)));
    assert_eq!((pair.counts(), pair.line.clock_counts().restarts), ((2, 0), 0));
}

#[test]
fn a_wild_stamp_behind_costs_nothing_that_waits() {
    let mut pair = Pair::new();
    pair.lead_to(5000);
    pair.packet(1, &[5000]);
    pair.packet(1, &[5001]);
    pair.lead_to(9000);
    pair.packet(1, &[9001]);
    pair.packet(1, &[3]);
    pair.packet(1, &[9100]);
    pair.lead_to(9500);
    assert_eq!(pair.accepted.0, [(0, 5000), (0, 5001), (0, 9001), (0, 9100)]);
    assert_eq!((pair.counts(), pair.line.clock_counts().restarts), ((0, 1), 0));
}

#[test]
fn a_source_whose_clock_restarts_with_those_of_the_others_follows_with_its_first_hit() {
    let mut pair = Pair::new();
    pair.lead_to(5000);
    pair.packet(1, &[5000]);
    pair.packet(1, &[5001]);
    pair.packet(1, &[5202]);
    // Wild, and the end of the epoch is no reason to believe it.
    pair.packet(1, &[5203, 700_000]);
    pair.lead_to(5020);
    pair.packet(LEADER, &[10]);
    pair.packet(LEADER, &[11]);
    pair.packet(1, &[12]);
    pair.accepted.0.clear();
    assert_eq!(pair.lead_to(213), (1, 13));
    assert_eq!(pair.accepted.0, [(1, 12)]);
    assert_eq!(pair.line.clock_counts().restarts, 2);
}

#[test]
fn time_waits_while_there_is_no_room_for_what_is_in_quarantine() {
    let mut pair = Pair::new();
    pair.lead_to(1000);
    pair.packet(1, &[1003]);
    pair.lead_to(1200);
    assert_eq!(pair.packet_with_room(LEADER, &[1250, 1251], false), (0, 1003));
    assert_eq!(pair.accepted.0, []);
    assert_eq!(pair.packet(LEADER, &[1252]), (0, 1052));
    assert_eq!((&pair.accepted.0[..], pair.counts()), (&[(0, 1003)][..], (0, 0)));
    // If time must not stand still, what has no room is late.
    pair.packet(1, &[1500]);
    let latest = Some((0, 1600));
    let Pair { line, accepted } = &mut pair;
    assert_eq!(line.force((0, 1052), latest, accepted, |_| false), (0, 1242));
    assert_eq!(line.force((0, 1242), latest, accepted, |_| false), (0, 1500));
    assert_eq!(line.force((0, 1500), latest, accepted, |_| false), (0, 1601));
    // What no source reaches any more is not closed by force.
    assert_eq!((line.force((0, 1600), latest, accepted, |_| false), line.forced_closings()), ((0, 1601), 3));
    pair.packet(LEADER, &[1260]);
    assert_eq!((pair.counts().0, pair.line.held()), (2, 0));
}

/// A packet of a source as it is sent.
#[derive(Clone, Debug)]
struct Sent {
    source: usize,
    at: u64,
    true_hits: Vec<u64>,
    wild: Option<(bool, u64)>,
}

impl Sent {
    fn times(&self) -> Vec<u64> {
        let mut times = self.true_hits.clone();
        if let Some((is_first, time)) = self.wild {
            times.insert(if is_first { 0 } else { times.len() }, time);
        }
        times
    }
}

/// Sources of which each sends more rarely than the one before, and wild stamps in some of their packets.
fn stream(gaps: &[(u64, u8)]) -> Vec<Sent> {
    let mut packets = Vec::new();
    for source in 0..6 {
        let (mut at, mut clean) = (20_000, 2);
        for &(gap, wild) in gaps.iter().cycle().skip(source).take(4000 >> (2 * source)) {
            at += 1 + gap * 4_u64.pow(source as u32) / 8;
            let is_wild = clean == 0 && wild < 8;
            clean = if is_wild { 1 } else { clean.max(1) - 1 };
            let stamp = match wild / 2 {
                0 => at + 1_000_000 + gap,
                1 => at / 10,
                2 => at + 250,
                _ => at + 60,
            };
            let wild = is_wild.then_some((wild % 2 == 0, stamp));
            packets.push(Sent { source, at, true_hits: vec![at - 5, at, at - 2], wild });
        }
        // Everyone is there at the end, and nothing is left open.
        let end = 20_000 + 4000 * 45;
        for at in (0..20).map(|number| end + 20 * number) {
            packets.push(Sent { source, at, true_hits: vec![at], wild: None });
        }
    }
    packets
}

/// What of the packets is accepted if each is late by one of `delays`, in order of time.
fn accepted(packets: &[Sent], delays: &[u64]) -> (Vec<DataTime>, ClockCounts) {
    let mut due = [0; 6];
    let mut keys = Vec::new();
    for (packet, delay) in packets.iter().zip(delays.iter().cycle()) {
        // Packets of a source stay in order.
        due[packet.source] = due[packet.source].max(packet.at + delay);
        keys.push(due[packet.source]);
    }
    let mut order: Vec<usize> = (0..packets.len()).collect();
    order.sort_by_key(|&index| keys[index]);
    let (mut line, mut into) = (SourceClocks::<Hit>::new(6, &RULES), Line::default());
    for packet in order.into_iter().map(|index| &packets[index]) {
        let clock = line.begin_packet(packet.source).expect("a source");
        for time in packet.times() {
            clock.judge(1, Hit { time, strip: 0, adc: 0 }, &mut into);
        }
        line.follow(&mut into, |_| true);
    }
    assert!(!line.release(&mut into, (0, 0), |_| true));
    into.0.sort_unstable();
    (into.0, line.clock_counts())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn silent_sources_and_wild_stamps_cost_no_hit_however_packets_interleave(
        gaps in prop::collection::vec((0..60_u64, 0..100_u8), 40..200),
        delays in prop::collection::vec(0..60_u64, 1..30),
    ) {
        let packets = stream(&gaps);
        let (one, counts) = accepted(&packets, &[0]);
        let (other, other_counts) = accepted(&packets, &delays);
        prop_assert_eq!((counts.late, counts.restarts), (0, 0));
        prop_assert_eq!((other_counts.late, other_counts.restarts), (0, 0));
        let mut rest = one.iter();
        let mut expected: Vec<_> = packets.iter().flat_map(|packet| &packet.true_hits).collect();
        expected.sort_unstable();
        for &&time in &expected {
            prop_assert!(rest.any(|&at| at == (0, time)), "{time} is lost");
        }
        prop_assert_eq!(one, other);
    }
}

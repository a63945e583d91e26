use super::*;
use crate::producer::test_support::{batches, frame_batches};
use proptest::prelude::*;

/// What was packed, as numbers.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    pulses: Vec<(usize, i64)>,
    /// What was said of frames: how many messages were before, number, period.
    frames: Vec<(usize, u64, Option<u32>)>,
    messages: Vec<(usize, EventColumns)>,
}

impl Packed for Seen {
    fn pulse(&mut self, source: usize, unix_ns: i64, frame: Option<(u64, &Frame)>, _: &mut KafkaCounters) {
        let before = self.messages.len();
        self.frames.extend(frame.map(|(number, frame)| (before, number, frame.period)));
        self.pulses.push((source, unix_ns));
    }
    fn events(&mut self, source: usize, events: &EventColumns, _: &mut KafkaCounters) {
        let events = EventColumns { arrival_ns: None, ..events.clone() };
        self.messages.push((source, events));
    }
}

fn rules(sources: Sources, events: usize, pulses: usize) -> PackingRules {
    PackingRules {
        sources,
        limits: MessageLimits { events, pulses, time: Duration::from_secs(1) },
        geometry: LogicalGeometry::flat(10, 10).expect("100 pixels"),
        vetoed: Vetoed::Marked,
        empty_pulses: false,
        announced: Announced::Frames,
    }
}

/// Packs events (time in ms, pixel), which come in batches of at most this many.
fn pack(rules: PackingRules, events: &[(u64, u32)], batch: usize) -> (Seen, KafkaCounters) {
    let (mut seen, mut counters) = (Seen::default(), KafkaCounters::default());
    let mut packer = Packer::new(rules);
    for batch in batches(events, batch) {
        packer.take(&batch);
        let mut left = batch.len() as u64;
        assert_eq!(packer.events_left(), left);
        while packer.has_batch() {
            packer.step(Duration::ZERO, &mut seen, &mut counters);
            assert!(packer.events_left() <= left);
            left = packer.events_left();
        }
        assert_eq!(left, 0);
    }
    packer.close_all(&mut seen, &mut counters);
    assert_eq!(packer.events_open(), 0);
    (seen, counters)
}

/// All events that were packed: reference time, time of flight, pixel.
fn flat(seen: &Seen) -> Vec<(i64, i32, u32)> {
    let mut events = Vec::new();
    for (_, message) in &seen.messages {
        for (index, (&offset, &pixel)) in message.times_of_flight.iter().zip(&message.pixels).enumerate() {
            let pulse = message.reference_indices.partition_point(|&first| first as usize <= index) - 1;
            events.push((message.reference_times[pulse], offset, pixel));
        }
    }
    events
}

// Pulses of the train for tests begin every 100 ms; the calendar begins at 5 s.
const PULSE: i64 = 100_000_000;
const BEGIN: i64 = 5_000_000_000;

#[test]
fn a_message_ends_with_its_pulse_or_when_it_is_full() {
    let events = [(1, 1), (2, 2), (3, 3), (150, 4), (350, 5)];
    let (seen, counters) = pack(rules(Sources::one("a"), 2, 1), &events, 100);
    let lengths: Vec<_> = seen.messages.iter().map(|(_, message)| message.len()).collect();
    assert_eq!(lengths, [2, 1, 1, 1]);
    assert_eq!((counters.closed_by_events, counters.closed_by_pulse, counters.closed_at_end), (1, 2, 1));
    assert!(seen.messages.iter().all(|(_, message)| message.reference_indices == [0]));
    assert_eq!(flat(&seen)[3], (BEGIN + PULSE, 50_000_000, 4));
}

#[test]
fn several_pulses_share_a_message_and_empty_ones_are_sent_if_asked() {
    let events = [(1, 1), (150, 2), (350, 3)];
    let (seen, _) = pack(rules(Sources::one("a"), 100, 2), &events, 100);
    let pulses: Vec<_> = seen.messages.iter().map(|(_, message)| message.reference_indices.clone()).collect();
    assert_eq!(pulses, [vec![0, 1], vec![0]]);
    let with_empty = PackingRules { empty_pulses: true, ..rules(Sources::one("a"), 100, 1) };
    let (seen, counters) = pack(with_empty.clone(), &events, 100);
    let lengths: Vec<_> = seen.messages.iter().map(|(_, message)| message.len()).collect();
    assert_eq!((lengths, counters.empty_pulses_sent), (vec![1, 1, 0, 1], 1));
    let announced = PackingRules { announced: Announced::Always, ..with_empty };
    assert_eq!(pack(announced, &events, 100).0.pulses.len(), 4);
}

#[test]
fn frames_are_announced_and_have_messages_of_their_own() {
    // Two frames, the second named again because a board says something else, a third without events.
    let frames = [(0, Some(1), 3), (100, Some(2), 1), (100, Some(5), 2), (200, Some(1), 0)];
    let pack = |rules: PackingRules| {
        let (mut seen, mut counters) = (Seen::default(), KafkaCounters::default());
        let mut packer = Packer::new(rules);
        for batch in frame_batches(&frames, 2) {
            packer.take(&batch);
            while packer.has_batch() {
                packer.step(Duration::ZERO, &mut seen, &mut counters);
            }
        }
        packer.close_all(&mut seen, &mut counters);
        seen
    };
    // However many pulses a message may have: what is announced has its own.
    let seen = pack(rules(Sources::one("a"), 2, 7));
    assert_eq!(seen.frames, [(0, 0, Some(1)), (2, 1, Some(2)), (3, 1, Some(5)), (4, 2, Some(1))]);
    let messages = seen.messages.iter();
    let messages: Vec<_> = messages.map(|(_, of)| (of.frame, of.reference_times.len(), of.len())).collect();
    assert_eq!(messages, [(Some(0), 1, 2), (Some(0), 1, 1), (Some(1), 1, 1), (Some(1), 1, 2)]);
    let unannounced = PackingRules { announced: Announced::Never, ..rules(Sources::one("a"), 100, 7) };
    let seen = pack(unannounced);
    assert_eq!((seen.pulses.len(), seen.messages.len(), seen.messages[0].1.len()), (0, 1, 6));
}

#[test]
fn each_source_has_its_events_and_pixels_of_none_are_counted() {
    let sources = Sources::ranges(&[("a".into(), 1..=10), ("b".into(), 11..=20)]).unwrap();
    let events = [(1, 1), (2, 11), (3, 2), (4, 99)];
    let (seen, counters) = pack(rules(sources, 100, 1), &events, 100);
    let pixels: Vec<_> =
        seen.messages.iter().map(|(source, message)| (*source, message.pixels.clone())).collect();
    assert_eq!(pixels, [(0, vec![1, 2]), (1, vec![11])]);
    assert_eq!(counters.events_outside_sources, 1);
}

#[test]
fn a_message_that_nothing_follows_is_closed_after_a_while() {
    let (mut seen, mut counters) = (Seen::default(), KafkaCounters::default());
    let mut packer = Packer::new(rules(Sources::one("a"), 100, 1));
    for batch in batches(&[(1, 1)], 100) {
        packer.take(&batch);
        packer.step(Duration::from_secs(7), &mut seen, &mut counters);
    }
    packer.close_old(Duration::from_millis(7_900), &mut seen, &mut counters);
    assert!(seen.messages.is_empty());
    packer.close_old(Duration::from_secs(8), &mut seen, &mut counters);
    packer.close_old(Duration::from_secs(20), &mut seen, &mut counters);
    assert_eq!((seen.messages.len(), counters.closed_by_time), (1, 1));
    // The pulse goes on: it is named again.
    for batch in batches(&[(1, 1)], 100) {
        packer.take(&batch);
        packer.step(Duration::from_secs(21), &mut seen, &mut counters);
    }
    packer.close_all(&mut seen, &mut counters);
    assert_eq!(seen.messages[0], seen.messages[1]);
}

proptest! {
    #[test]
    fn messages_are_the_same_however_the_events_are_batched(
        mut events in prop::collection::vec((0_u64..1000, 0_u32..110), 0..200),
        sizes in (1_usize..50, 1_usize..50), most in 1_usize..20, pulses in 1_usize..4, empty: bool, split: bool,
    ) {
        events.sort_unstable();
        let banks = [("a".to_owned(), 1..=40), ("b".to_owned(), 41..=90)];
        let sources = if split { Sources::ranges(&banks).unwrap() } else { Sources::one("a") };
        let rules = PackingRules { empty_pulses: empty, announced: Announced::Always, ..rules(sources, most, pulses) };
        let (seen, counters) = pack(rules.clone(), &events, sizes.0);
        prop_assert_eq!(&seen, &pack(rules, &events, sizes.1).0);
        let left_out = counters.events_outside_sources + counters.events_outside_pulse + counters.events_outside_epoch;
        prop_assert_eq!(flat(&seen).len() as u64 + left_out, events.len() as u64);
        if !split {
            let expected = events.iter().map(|&(time, pixel)| (BEGIN + time as i64 * 1_000_000, pixel));
            let found = flat(&seen).into_iter().map(|(pulse, offset, pixel)| (pulse + i64::from(offset), pixel));
            prop_assert!(found.eq(expected));
        }
    }
}

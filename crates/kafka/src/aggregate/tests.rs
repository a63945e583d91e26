//! Messages by hand, and any messages in any order.

use super::*;
use evforge_core::counter::{CounterSet, Law};
use evforge_messages::{Encoder, Ev44, F144, Pu00};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The time that frames begin with, in nanoseconds since 1970.
const BEGIN: i64 = 1_787_229_296_000_000_000;
/// From frame to frame.
const PERIOD: i64 = 20_000_000;
const NOW: i64 = BEGIN + 1_000_000_000;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn rules() -> AggregateRules {
    AggregateRules {
        tolerance_ns: 10,
        expiry: ms(500),
        out_of_order_ns: 0,
        most_frames: 200,
        most_bytes: 1 << 28,
        keeps_without_metadata: true,
    }
}

fn starts(partitions: i32) -> Vec<PartitionStart> {
    (0..partitions).map(|partition| PartitionStart { partition, ..PartitionStart::default() }).collect()
}

fn pu00(time: i64, vetoes: Option<u32>, period: Option<u32>, charge: Option<f32>) -> Vec<u8> {
    Pu00 {
        source_name: "board",
        message_id: 0,
        reference_time: time,
        vetos: vetoes,
        period_number: period,
        proton_charge: charge,
    }
    .encode(&mut Encoder::new())
    .to_vec()
}

fn ev44(times: &[i64], events: &[(i32, i32)]) -> Vec<u8> {
    let (flights, pixels): (Vec<i32>, Vec<i32>) = events.iter().copied().unzip();
    let first = vec![0; times.len()];
    Ev44 {
        source_name: "board",
        message_id: 0,
        reference_time: times.into(),
        reference_time_index: first.as_slice().into(),
        time_of_flight: flights.as_slice().into(),
        pixel_id: pixels.as_slice().into(),
    }
    .encode(&mut Encoder::new())
    .to_vec()
}

/// A topic that is read: messages get their offsets here.
struct Read {
    aggregator: Aggregator,
    offsets: BTreeMap<i32, i64>,
    frames: Vec<AggregatedFrame>,
}

impl Read {
    fn new(rules: AggregateRules, partitions: i32) -> Self {
        let aggregator = Aggregator::new(rules, &starts(partitions));
        Self { aggregator, offsets: BTreeMap::new(), frames: Vec::new() }
    }

    fn take(&mut self, partition: i32, payload: &[u8], now: Duration) {
        let offset = self.offsets.entry(partition).or_default();
        let message =
            RawMessage { partition, offset: *offset, time_ms: Some(now.as_millis() as i64), payload };
        *offset += 1;
        self.aggregator.take(&message, now, NOW);
    }

    /// What has left, which is sent.
    fn look(&mut self, now: Duration) -> usize {
        self.aggregator.look(now);
        self.send()
    }

    fn send(&mut self) -> usize {
        let ready = self.aggregator.take_ready();
        self.aggregator.sent(&ready, 0, 0);
        self.frames.extend(ready.iter().cloned());
        ready.len()
    }

    fn close(&mut self) {
        self.aggregator.close();
        self.send();
        self.check();
        assert_eq!(self.aggregator.counters().frames_waiting, 0);
    }

    fn check(&self) {
        let counters = self.aggregator.counters();
        assert_eq!(counters.imbalance(Law::Packets), 0, "{counters:?}");
        assert_eq!(counters.imbalance(Law::Events), 0, "{counters:?}");
    }
}

#[test]
fn boards_are_put_together_and_the_last_period_and_charge_win() {
    let mut read = Read::new(rules(), 2);
    read.take(0, &ev44(&[BEGIN + 4], &[(30, 7), (10, 9)]), ms(1));
    read.take(1, &pu00(BEGIN, Some(1), Some(0), Some(0.5)), ms(2));
    read.take(1, &ev44(&[BEGIN], &[(10, 8)]), ms(3));
    read.take(0, &pu00(BEGIN - 6, Some(4), Some(3), None), ms(4));
    assert_eq!(read.look(ms(4)), 0);
    read.close();
    let events = vec![(10, 8), (10, 9), (30, 7)];
    let (vetoes, period, charge) = (Some(5), Some(3), Some(0.5));
    assert_eq!(read.frames, [AggregatedFrame { reference_ns: BEGIN - 6, vetoes, period, charge, events }]);
    assert_eq!(read.aggregator.counters().frames_at_end, 1);
}

#[test]
fn a_frame_leaves_once_all_partitions_have_gone_on_and_what_comes_then_is_late() {
    let mut read = Read::new(AggregateRules { out_of_order_ns: PERIOD, ..rules() }, 2);
    for partition in [0, 1] {
        read.take(partition, &ev44(&[BEGIN], &[(1, 1)]), ms(1));
    }
    read.take(0, &ev44(&[BEGIN + 2 * PERIOD], &[]), ms(2));
    read.take(1, &ev44(&[BEGIN + PERIOD], &[]), ms(2));
    assert_eq!(read.look(ms(2)), 0, "one of a board may still be behind");
    read.take(1, &ev44(&[BEGIN + 2 * PERIOD], &[]), ms(3));
    assert_eq!(read.look(ms(3)), 1);
    assert_eq!((read.frames[0].reference_ns, read.frames[0].events.len()), (BEGIN, 2));
    // Whether it has period and charge, or events: no second frame.
    read.take(0, &ev44(&[BEGIN + 10], &[(2, 2), (3, 3)]), ms(4));
    read.take(0, &pu00(BEGIN - 10, None, Some(1), Some(1.0)), ms(4));
    read.close();
    let counters = read.aggregator.counters();
    assert_eq!((counters.messages_late, counters.events_late, counters.frames_sent), (2, 2, 3));
    assert_eq!((counters.frames_passed, counters.frames_at_end), (1, 2));
}

#[test]
fn a_frame_leaves_when_its_time_is_up_though_a_partition_is_idle() {
    let mut read = Read::new(rules(), 2);
    read.take(0, &ev44(&[BEGIN], &[(1, 1)]), ms(1000));
    for (partition, is_at_end) in [(0, true), (1, true)] {
        read.aggregator.set_at_end(partition, is_at_end);
    }
    assert_eq!((read.look(ms(1499)), read.look(ms(1500))), (0, 1));
    assert_eq!(read.aggregator.counters().frames_expired, 1);
    read.close();
}

#[test]
fn frames_beyond_those_that_may_wait_leave_early_the_oldest_first() {
    let mut read = Read::new(AggregateRules { most_frames: 3, ..rules() }, 2);
    for frame in 0..5 {
        read.take(0, &ev44(&[BEGIN + frame * PERIOD], &[(1, 1)]), ms(1));
    }
    assert_eq!(read.send(), 2);
    assert_eq!((read.frames[0].reference_ns, read.frames[1].reference_ns), (BEGIN, BEGIN + PERIOD));
    let mut bytes = Read::new(AggregateRules { most_bytes: 20_000, ..rules() }, 2);
    for frame in 0..5 {
        bytes.take(0, &ev44(&[BEGIN + frame * PERIOD], &[(1, 1); 1000]), ms(1));
    }
    assert_eq!(bytes.aggregator.counters().frames_early, 3);
    bytes.close();
    read.close();
    assert_eq!(read.aggregator.counters().frames_early, 2);
}

#[test]
fn frames_without_period_or_charge_are_counted_and_dropped_if_that_is_asked_for() {
    for keeps_without_metadata in [true, false] {
        let mut read = Read::new(AggregateRules { keeps_without_metadata, ..rules() }, 1);
        read.take(0, &ev44(&[BEGIN], &[(1, 1)]), ms(1));
        read.take(0, &pu00(BEGIN + PERIOD, Some(0), Some(1), None), ms(1));
        read.take(0, &pu00(BEGIN + 2 * PERIOD, None, Some(1), Some(0.1)), ms(1));
        read.close();
        let counters = read.aggregator.counters();
        assert_eq!(counters.frames_without_metadata, 2);
        let dropped = if keeps_without_metadata { (0, 0, 3) } else { (2, 1, 1) };
        assert_eq!(
            (counters.frames_dropped, counters.events_without_metadata, read.frames.len() as u64),
            dropped
        );
    }
}

#[test]
fn what_is_no_message_of_a_frame_is_counted_by_its_reason() {
    let mut read = Read::new(rules(), 1);
    let mut encoder = Encoder::new();
    let no_pixels = Ev44 {
        source_name: "board",
        reference_time: (&[BEGIN]).into(),
        reference_time_index: (&[0]).into(),
        time_of_flight: (&[1, 2]).into(),
        ..Ev44::default()
    };
    let other =
        F144 { source_name: "log", timestamp: BEGIN, value: 1.5.into() }.encode(&mut encoder).to_vec();
    let all = [
        b"garbage".to_vec(),
        other,
        ev44(&[BEGIN, BEGIN + PERIOD], &[(1, 1)]),
        ev44(&[], &[]),
        no_pixels.encode(&mut encoder).to_vec(),
        ev44(&[0], &[(1, 1)]),
        pu00(NOW + 60_000_000_001, None, None, None),
        pu00(BEGIN, None, None, Some(f32::NAN)),
    ];
    all.iter().for_each(|payload| read.take(0, payload, ms(1)));
    read.close();
    let counters = read.aggregator.counters();
    let refused = (counters.messages_refused, counters.messages_of_other_schemas, counters.charges_refused);
    assert_eq!((refused, read.aggregator.refused().total()), ((1, 1, 1), 1));
    assert_eq!((counters.messages_of_several_pulses, counters.messages_without_pixels), (2, 1));
    assert_eq!((counters.messages_without_time, counters.messages_of_the_future), (1, 1));
    assert_eq!((counters.events_read, counters.events_refused, counters.frames_sent), (4, 4, 1));
}

#[test]
fn frames_that_hold_up_more_than_can_be_committed_leave() {
    let mut read = Read::new(AggregateRules { most_frames: 1000, ..rules() }, 1);
    for frame in 0..400 {
        // Every second frame is complete at once: it comes from before the others, which its partition has passed.
        read.take(0, &ev44(&[BEGIN + frame * PERIOD], &[]), ms(1));
        read.take(0, b"garbage", ms(1));
    }
    let left = read.look(ms(1));
    // All but the newest have been passed.
    assert_eq!(left, 399);
    let mut held = Read::new(AggregateRules { most_frames: 1000, out_of_order_ns: 1 << 40, ..rules() }, 1);
    for frame in 0..400 {
        held.take(0, &ev44(&[BEGIN + frame * PERIOD], &[]), ms(1));
        held.take(0, b"garbage", ms(1));
    }
    assert_eq!(held.look(ms(1)), 250);
    let positions = held.aggregator.positions();
    assert!(positions[0].metadata.len() < 2000, "{positions:?}");
    held.close();
    read.close();
}

/// Any messages of some frames in some partitions: frame, nanoseconds from its time, partition, period, charge, events.
fn any_messages() -> impl Strategy<Value = Vec<(i64, i64, i32, Vec<u8>)>> {
    let events = prop::collection::vec((0..5_i32, 0..5_i32), 0..4);
    let one = (0..6_i64, 0..8_i64, 0..3_i32, prop::option::of(0..9_u32), any::<bool>(), events);
    let message =
        |(frame, jitter, partition, period, is_pulse, events): (_, _, _, Option<u32>, bool, Vec<_>)| {
            let time = BEGIN + frame * PERIOD + jitter;
            let payload = match is_pulse {
                true => {
                    pu00(time, period.map(|period| 1 << period), period, period.map(|period| period as f32))
                }
                false => ev44(&[time], &events),
            };
            (frame, jitter, partition, payload)
        };
    prop::collection::vec(one.prop_map(message), 0..40)
}

proptest! {
    #[test]
    fn any_interleaving_of_partitions_gives_the_same_frames(
        messages in any_messages(), order in prop::collection::vec(0..3_i32, 0..80)
    ) {
        let by_partition = |partition| messages.iter().filter(move |message| message.2 == partition);
        // One partition after the other, and as `order` says.
        let mut apart = Read::new(rules(), 3);
        let mut mixed = Read::new(rules(), 3);
        let mut rest: Vec<_> = (0..3).map(|partition| by_partition(partition).peekable()).collect();
        for partition in 0..3 {
            by_partition(partition).for_each(|(.., payload)| apart.take(partition, payload, ms(1)));
        }
        for partition in order.into_iter().chain([2, 0, 1].into_iter().flat_map(|last| [last; 40])) {
            if let Some((.., payload)) = rest[partition as usize].next() {
                mixed.take(partition, payload, ms(1));
            }
        }
        apart.close();
        mixed.close();
        prop_assert_eq!(&apart.frames, &mixed.frames);
        let frames: std::collections::BTreeSet<i64> = messages.iter().map(|message| message.0).collect();
        prop_assert_eq!(frames.len(), apart.frames.len());
    }

    /// Committed and begun again after any message, with or without what was sent: no message is lost, none is taken twice.
    #[test]
    fn a_restart_at_any_moment_loses_and_doubles_nothing(
        messages in any_messages(), kills in prop::collection::vec(1..20_usize, 1..6)
    ) {
        let mut read = Read::new(rules(), 3);
        let mut topic: BTreeMap<i32, Vec<&[u8]>> = BTreeMap::new();
        messages.iter().for_each(|(.., partition, payload)| topic.entry(*partition).or_default().push(payload));
        let mut committed = starts(3);
        let (mut sent, mut late) = (Vec::<AggregatedFrame>::new(), 0);
        for (run, &length) in kills.iter().chain([&1000]).enumerate() {
            let mut places: BTreeMap<i32, i64> =
                committed.iter().map(|start| (start.partition, start.offset)).collect();
            read.aggregator = Aggregator::new(AggregateRules { most_frames: 2, ..rules() }, &committed);
            sent.iter().for_each(|frame| read.aggregator.left_before(frame.reference_ns));
            for step in 0..length {
                let partition = (step + run) as i32 % 3;
                let place = places.entry(partition).or_default();
                let Some(payload) = topic.get(&partition).and_then(|all| all.get(*place as usize)) else { continue };
                let message = RawMessage { partition, offset: *place, time_ms: Some(1), payload };
                *place += 1;
                read.aggregator.take(&message, ms(1), NOW);
                // Now and then what is ready is sent, and the offsets with it.
                if step % 4 == 3 {
                    let ready = read.aggregator.take_ready();
                    committed = read.aggregator.positions();
                    read.aggregator.sent(&ready, 0, 0);
                    late += read.aggregator.counters().events_late;
                    read.aggregator.counters_mut().events_late = 0;
                    sent.extend(ready);
                }
            }
            if length == 1000 {
                read.aggregator.close();
                let ready = read.aggregator.take_ready();
                late += read.aggregator.counters().events_late;
                sent.extend(ready);
            }
        }
        let written: usize = messages
            .iter()
            .filter_map(|(.., payload)| match evforge_messages::decode(payload) {
                Ok(evforge_messages::Message::Ev44(events)) => Some(events.events()),
                _ => None,
            })
            .sum();
        let found: usize = sent.iter().map(|frame| frame.events.len()).sum();
        prop_assert_eq!(found as u64 + late, written as u64);
        let times: std::collections::BTreeSet<i64> =
            sent.iter().map(|frame| (frame.reference_ns - BEGIN) / PERIOD).collect();
        prop_assert_eq!(times.len(), sent.len(), "no frame twice");
    }

    #[test]
    fn any_bytes_are_counted_and_harm_nothing(
        all in prop::collection::vec((0..3_i32, prop::collection::vec(any::<u8>(), 0..200), 0..3_usize, any::<usize>()), 0..40)
    ) {
        let mut read = Read::new(rules(), 2);
        let good = [ev44(&[BEGIN], &[(1, 2); 5]), pu00(BEGIN, Some(1), Some(2), Some(3.0))];
        for (partition, bytes, which, place) in &all {
            let mut payload = good.get(*which).unwrap_or(bytes).clone();
            // A message that is damaged at one place.
            if let Some((length, byte)) = Some(payload.len()).filter(|length| *length > 0).zip(bytes.first()) {
                payload[place % length] = *byte;
            }
            read.take(*partition, &payload, ms(1));
            read.check();
        }
        read.close();
        prop_assert_eq!(read.aggregator.counters().messages_read, all.len() as u64);
    }
}

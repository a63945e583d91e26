use super::test_support::{PULSE, record, taken};
use super::*;
use evforge_messages::{Encoder, Ev42, Ev44};
use proptest::prelude::*;

fn ev44(source: &str, message_id: i64, pixels: &[i32]) -> Record {
    let flights: Vec<i32> = (0..pixels.len() as i32).map(|event| 1000 * event).collect();
    let pulse = [PULSE + message_id];
    let message = Ev44 {
        source_name: source,
        message_id,
        reference_time: (&pulse).into(),
        reference_time_index: (&[0]).into(),
        time_of_flight: (&flights).into(),
        pixel_id: pixels.into(),
    };
    record(message.encode(&mut Encoder::default()))
}

#[test]
fn a_message_counts_once_and_what_is_missing_is_lost() {
    let mut topics = EventTopics::of(MonitorPixels::default());
    let messages = [1, 2, 2, 5].map(|id| ev44("det", id, &[7, 8, id as i32]));
    let pixels = taken(&mut topics, TopicRole::Events, &messages);
    assert_eq!(pixels, [7, 8, 1, 7, 8, 2, 7, 8, 5]);
    let counters = topics.counters();
    let counted = (
        counters.messages_read,
        counters.messages_of_events,
        counters.messages_duplicated,
        counters.messages_lost,
    );
    assert_eq!(counted, (4, 3, 1, 2));
    let source = &topics.sources()[0];
    assert_eq!((source.name.as_str(), source.packets.sent, source.packets.lost), ("det", Some(5), 2));
    assert_eq!((source.gaps[0].first, source.gaps[0].count), (3, 2));
}

#[test]
fn numbers_as_far_apart_as_there_are_numbers_are_balanced() {
    let mut topics = EventTopics::of(MonitorPixels::default());
    // The last one shows that the jump is none of a damaged message.
    let messages = [i64::MIN, i64::MAX, i64::MAX - 1].map(|message_id| {
        let message = Ev44 { source_name: "det", message_id, ..Ev44::default() };
        record(message.encode(&mut Encoder::default()))
    });
    taken(&mut topics, TopicRole::Events, &messages);
    let packets = topics.sources()[0].packets;
    assert_eq!((packets.received, packets.lost, packets.imbalance()), (3, u64::MAX - 3, 0));
}

#[test]
fn what_is_no_event_is_counted_by_reason() {
    let mut topics = EventTopics::of(MonitorPixels::default());
    let ev42 = Ev42 {
        source_name: Some("old"),
        pulse_time: PULSE as u64,
        time_of_flight: (&[5_u32, u32::MAX]).into(),
        detector_id: (&[1_u32, 2]).into(),
        ..Ev42::default()
    };
    let ev42 = record(ev42.encode(&mut Encoder::default()));
    let messages = [record(b"x"), record(b"1234abcd5678efgh"), ev42];
    assert_eq!(taken(&mut topics, TopicRole::Events, &messages), [1, 2]);
    let counters = topics.counters();
    assert_eq!((counters.messages_refused, counters.messages_of_events), (2, 1));
    assert_eq!((topics.refused().messages_too_short, topics.refused().messages_of_unknown_schema), (1, 1));
    assert!(topics.first_refused().is_some_and(|why| why.contains("too few")));
    // Numbers that are all 0 are none.
    assert_eq!(topics.sources()[0].packets.sent, None);
}

#[test]
fn monitors_without_pixels_have_one() {
    let plan = evforge_core::beam_monitor::BeamMonitorPlan {
        name: "cave".to_owned(),
        kind: evforge_core::beam_monitor::BeamMonitorKind::Event0D,
        first_pixel: 101,
        nx: 1,
        ny: 1,
        histogram: Default::default(),
        alongside: true,
    };
    let without_pixels = |source: &str| {
        let message = Ev44 {
            source_name: source,
            message_id: 1,
            reference_time: (&[PULSE]).into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: (&[1, 2]).into(),
            ..Ev44::default()
        };
        record(message.encode(&mut Encoder::default()))
    };
    let messages = [without_pixels("cave"), without_pixels("other"), ev44("third", 1, &[101, 5])];
    let mut topics = EventTopics::of(MonitorPixels::new([&plan], None));
    assert_eq!(taken(&mut topics, TopicRole::Monitors, &messages), [101, 101, 101]);
    assert_eq!(topics.counters().events_of_unknown_monitors, 3);
    let mut topics = EventTopics::of(MonitorPixels::new([&plan], Some(102)));
    assert_eq!(taken(&mut topics, TopicRole::Monitors, &messages), [101, 101, 102, 102, 101, 102]);
}

#[test]
fn frames_belong_to_the_events_behind_them_in_their_partition() {
    let mut topics = EventTopics::of(MonitorPixels::default());
    let mut encoder = Encoder::default();
    let mut pu00 = |partition: i32, id: i64, state: Option<&str>| {
        let message = evforge_messages::Pu00 {
            source_name: "det",
            message_id: id,
            reference_time: PULSE + id,
            vetos: Some(1 << partition),
            period_number: Some(partition as u32),
            proton_charge: Some(0.25),
        };
        let header = state.map(|state| ("frame-state".into(), Some(state.as_bytes().to_vec())));
        Record { partition, headers: header.into_iter().collect(), ..record(message.encode(&mut encoder)) }
    };
    let events = |partition: i32, id: i64, of: i64| {
        let pulse = [PULSE + of];
        let message = Ev44 {
            source_name: "det",
            message_id: id,
            reference_time: (&pulse).into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: (&[1, 2]).into(),
            pixel_id: (&[1, 2]).into(),
        };
        Record { partition, ..record(message.encode(&mut Encoder::default())) }
    };
    let vetoes =
        evforge_messages::Vc00 { timestamp: PULSE, vetoes: !2, veto_names: vec!["SMP", "fifo", "TS2"] };
    let vetoes = record(vetoes.encode(&mut Encoder::default()));
    assert_eq!(topics.frames(), None);
    let records = [
        vetoes,
        pu00(0, 1, Some("complete")),
        pu00(1, 2, Some("no state")),
        events(0, 3, 1),
        // Of another pulse than the pu00 before it there.
        events(1, 4, 1),
        events(1, 5, 2),
        pu00(0, 6, None),
    ];
    let mut seen = Vec::new();
    let mut hand_on = |batch: &evforge_core::event::EventBatch| {
        let frames = batch.by_frame().map(|(time, frame, events)| {
            (time.map(|time| time as i64 - PULSE), frame.and_then(|frame| frame.period), events.len())
        });
        seen.extend(frames);
    };
    let mut batch = evforge_core::event::EventBatch::new(100);
    let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
    records.iter().for_each(|record| topics.take((0, TopicRole::Events), record, &mut filler));
    filler.finish();
    let expected = [
        (Some(1), Some(0), 0),
        (Some(2), Some(1), 0),
        (Some(1), Some(0), 2),
        (Some(1), None, 2),
        (Some(2), Some(1), 2),
        (Some(6), Some(0), 0),
    ];
    assert_eq!(seen, expected);
    let ledger = topics.frames().unwrap();
    assert_eq!(
        (ledger.all.raw, ledger.all.good, ledger.all.raw_events, ledger.all.good_events),
        (3, 1, 4, 2)
    );
    assert_eq!((ledger.states, ledger.periods.len()), ([2, 1, 0, 0], 2));
    let vetoes: Vec<_> =
        ledger.vetoes.iter().map(|veto| (veto.name.as_str(), veto.counts, veto.frames)).collect();
    assert_eq!(vetoes, [("SMP", true, 2), ("fifo", false, 1), ("TS2", true, 0)]);
    // The same rule for the values.
    let (_, note) = topics.notes().pulses().next().unwrap();
    assert_eq!((note.pulses, note.pulses_good), (3, Some(1)));
}

#[test]
fn values_are_noted() {
    let mut topics = EventTopics::of(MonitorPixels::default());
    let mut encoder = Encoder::default();
    let value = |time: i64, value: f64| evforge_messages::F144 {
        source_name: "T",
        timestamp: time,
        value: value.into(),
    };
    let pulse = |id: i64| evforge_messages::Pu00 {
        source_name: "isis",
        message_id: id,
        reference_time: PULSE,
        proton_charge: Some(0.25),
        ..Default::default()
    };
    let messages = [
        record(value(PULSE, 4.0).encode(&mut encoder)),
        record(value(PULSE - 1, 3.0).encode(&mut encoder)),
        record(pulse(1).encode(&mut encoder)),
        record(pulse(2).encode(&mut encoder)),
        record(pulse(2).encode(&mut encoder)),
    ];
    assert!(taken(&mut topics, TopicRole::Logs, &messages).is_empty());
    let note = |name: &str| topics.notes().get(name).map(|note| (note.value, note.messages));
    assert_eq!(note("T"), Some((Some(4.0), 2)));
    assert_eq!(
        (note("isis/proton_charge"), note("isis/pulses")),
        (Some((Some(0.5), 2)), Some((Some(2.0), 2)))
    );
    assert_eq!((topics.counters().messages_noted, topics.counters().messages_duplicated), (4, 1));
}

proptest! {
    /// Messages with a byte changed, and whatever else: each is accounted for.
    #[test]
    fn every_message_is_used_or_counted(
        damages in proptest::collection::vec((0..4_i64, any::<usize>(), any::<u8>()), 1..40),
        noise in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut topics = EventTopics::of(MonitorPixels::default());
        let damaged = damages.into_iter().map(|(id, place, by)| {
            let mut record = ev44("det", id, &[1, 2, 3]);
            let place = place % record.payload.len();
            record.payload[place] ^= by;
            record
        });
        let records: Vec<Record> = damaged.chain([record(&noise)]).collect();
        taken(&mut topics, TopicRole::Events, &records);
        prop_assert_eq!(topics.counters().messages_read, records.len() as u64);
    }
}

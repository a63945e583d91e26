use super::*;
use crate::producer::packer::{Announced, MessageLimits, Packer, PackingRules, Vetoed};
use crate::producer::sources::Sources;
use crate::producer::test_support::frame_batches;
use crate::sending::record::OwnedRecord;
use crate::sending::test_support::MemoryTransport;
use evforge_core::geometry::LogicalGeometry;
use evforge_messages::{Message, decode};

/// What is in the topic after two frames with 3 and 0 events, of messages with 2 events at most.
fn sent(key: Option<MessageKey>, time: Option<MessageTime>, before: &LastIds) -> Vec<OwnedRecord> {
    let names = ["isis".to_owned()];
    let rules = MessageRules {
        topic: "events".into(),
        partition: None,
        schema: EventSchema::Ev44,
        key,
        time,
        vetoes: Vec::new(),
    };
    let mut packer = Packer::new(PackingRules {
        sources: Sources::one("isis"),
        limits: MessageLimits { events: 2, pulses: 1, time: Duration::from_secs(1) },
        pixels: LogicalGeometry::flat(10, 10).expect("100 pixels").into(),
        vetoed: Vetoed::Unmarked,
        empty_pulses: false,
        announced: Announced::Frames,
    });
    let transport = MemoryTransport::new(100);
    let mut maker = MessageMaker::new(rules, &names, before);
    let mut sender = Sender::new(Box::new(transport.clone()), None, LastIds::default());
    let mut counters = KafkaCounters::default();
    let now = Duration::ZERO;
    for batch in frame_batches(&[(0, Some(1), 3), (20, None, 0)], 10) {
        packer.take(&batch);
        while packer.has_batch() {
            let mut outlet = Outlet { maker: &mut maker, sender: &mut sender, now, unix_ns: 77_000_000 };
            packer.step(now, &mut outlet, &mut counters);
        }
    }
    let mut outlet = Outlet { maker: &mut maker, sender: &mut sender, now, unix_ns: 77_000_000 };
    packer.close_all(&mut outlet, &mut counters);
    sender.pump(Duration::ZERO, now, 0, &mut counters).expect("a broker");
    assert_eq!((counters.metadata_messages, counters.event_messages), (2, 2));
    transport.broker().topic.clone()
}

#[test]
fn a_frame_is_a_pu00_and_its_events_numbered_as_one_and_on_one_partition() {
    let mut before = LastIds::default();
    before.add("isis", 40, None);
    let topic = sent(None, None, &before);
    let mut ids = Vec::new();
    for record in &topic {
        match decode(&record.payload).expect("a message") {
            Message::Pu00(pulse) => {
                ids.push(("pu00", pulse.message_id));
                assert_eq!((pulse.vetos, pulse.proton_charge), (Some(2), Some(0.5)));
                let period = (pulse.reference_time == 5_000_000_000).then_some(1);
                assert_eq!(pulse.period_number, period);
                assert_eq!(record.headers, [("frame-state".into(), Some(b"complete".to_vec()))]);
            }
            Message::Ev44(events) => {
                ids.push(("ev44", events.message_id));
                assert_eq!(events.reference_time.to_vec(), [5_000_000_000]);
                assert!(record.headers.is_empty());
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(ids, [("pu00", 41), ("ev44", 42), ("ev44", 43), ("pu00", 44)]);
    let keys: Vec<_> = topic.iter().map(|record| record.key.clone().expect("a key")).collect();
    let key = |number: u64| number.to_be_bytes().to_vec();
    assert_eq!(keys, [key(0), key(0), key(0), key(1)]);
    let times: Vec<_> = topic.iter().map(|record| record.timestamp_ms).collect();
    assert_eq!(times, [5000, 5000, 5000, 5020]);
}

#[test]
fn another_key_or_time_is_taken_where_it_is_asked_for() {
    let topic = sent(Some(MessageKey::Source), Some(MessageTime::WallClock), &LastIds::default());
    let is_so = |record: &OwnedRecord| record.key.as_deref() == Some(b"isis") && record.timestamp_ms == 77;
    assert!(topic.iter().all(is_so));
    let topic = sent(Some(MessageKey::Pulse), None, &LastIds::default());
    assert_eq!(topic[1].key.as_deref(), Some(&5_000_000_000_u64.to_be_bytes()[..]));
}

//! The tools with a real broker: what is sent is found, shown and sent again, and garbage is counted.

use evforge_kafka::client::{Brokers, Cause, ClientSettings, Deadline};
use evforge_kafka::tools::forward::{LogLine, ValueType, forward};
use evforge_kafka::tools::replay::{FilePulse, PulseReplay, ReplaySettings, replay_topic};
use evforge_kafka::tools::survey::{Sample, survey};
use evforge_kafka::tools::test_image::{TestImage, send_image};
use evforge_kafka::tools::{Delivery, Outgoing, Sender};
use evforge_kafka::topic::{Begin, Next, Record, TopicReader, Until};
use evforge_messages::{Encoder, Ev44, Message, RefusedReason, Schema};
use evforge_testkit::kafka_broker::{Broker, Topic, is_possible, shared};
use evforge_testkit::patience::patience;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

static RUN: AtomicBool = AtomicBool::new(false);
/// 2020-01-31T08:44:33.162000001Z
const T: i64 = 1_580_460_273_162_000_001;

fn settings(broker: &str) -> ClientSettings {
    ClientSettings::new(broker.parse::<Brokers>().expect("an address"))
}

fn opening() -> Deadline {
    Deadline::from(patience())
}

fn read_all(here: &ClientSettings, topic: &str, begin: Begin) -> Vec<Record> {
    let mut reader = TopicReader::open(here, topic, begin, Until::Present, &opening()).expect("a topic");
    let mut records = Vec::new();
    loop {
        match reader.next(patience()).expect("messages") {
            Next::Message(record) => records.push(record),
            Next::Changed(change) => panic!("{change}"),
            Next::Idle => panic!("{topic} does not end"),
            Next::End => return records,
        }
    }
}

fn finish(sender: Sender) -> Delivery {
    let delivery = sender.finish(patience(), &RUN);
    assert!(delivery.is_complete() && delivery.failed.is_empty() && delivery.pending == 0, "{delivery:?}");
    delivery
}

fn pulse(number: i64, events: i32, encoder: &mut Encoder) -> Vec<u8> {
    let (times, pixels): (Vec<i32>, Vec<i32>) = (0..events).map(|event| (event * 10, event + 1)).unzip();
    let reference_time = [T + number * 71_428_571];
    Ev44 {
        source_name: "freia",
        message_id: number,
        reference_time: reference_time.as_slice().into(),
        reference_time_index: (&[0]).into(),
        time_of_flight: times.as_slice().into(),
        pixel_id: pixels.as_slice().into(),
    }
    .encode(encoder)
    .to_vec()
}

#[test]
fn a_topic_with_garbage_in_it_is_surveyed_read_and_replayed() {
    let Some(broker) = shared("a_topic_with_garbage_in_it_is_surveyed_read_and_replayed") else { return };
    let [mixed, again] = [("mixed", 3), ("again", 2)].map(|(name, partitions)| {
        let large = ("max.message.bytes".to_owned(), "20000000".to_owned());
        broker.create(&Topic { partitions, settings: vec![large], ..Topic::new(name) })
    });
    let (here, mut encoder) = (settings(broker.address()), Encoder::new());
    let mut sender = Sender::open(&here, &mixed, &opening()).unwrap();
    assert!(sender.largest() > 19_000_000);
    let send = |sender: &mut Sender, payload: &[u8], partition| {
        let headers = [("from".into(), Some(b"here".to_vec())), ("none".into(), None)];
        let message =
            Outgoing { payload, partition: Some(partition), headers: &headers, ..Outgoing::default() };
        assert!(sender.send(&message, &RUN).expect("it is sent"));
    };
    for number in 0..30 {
        send(&mut sender, &pulse(1000 + number, 5, &mut encoder), i32::try_from(number).unwrap());
    }
    for garbage in [&b""[..], b"short", b"................................", &[0xff; 100]] {
        send(&mut sender, garbage, 0);
    }
    let whole = pulse(1, 1000, &mut encoder);
    send(&mut sender, &whole[..whole.len() / 2], 1);
    // 10 MB of an event message, and of nothing.
    send(&mut sender, &pulse(2000, 1_250_000, &mut encoder), 2);
    send(&mut sender, &vec![0x55; 10_000_000], 2);
    let sent = finish(sender).sent;
    assert_eq!(sent, 37);

    let sample = Sample { messages: 100, within: patience() };
    let findings = survey(&here, &mixed, sample, &Arc::default()).unwrap();
    assert_eq!((findings.kept(), findings.messages, findings.is_cut), (37, 37, false));
    assert_eq!(findings.refused.total(), 6, "{findings:?}");
    assert_eq!(findings.refused.of(RefusedReason::TooShort), 2);
    assert!(findings.largest >= 10_000_000);
    let source = findings.sources[&(Schema::Ev44, Some("freia".to_owned()))];
    assert_eq!(source.messages, 31);
    assert!(source.last_time_ns.is_some_and(|time| time > T));
    // A smaller sample has the newest of each partition.
    let few = survey(&here, &mixed, Sample { messages: 2, within: patience() }, &Arc::default()).unwrap();
    assert_eq!((few.messages, few.kept()), (6, 37));
    assert!(survey(&here, &mixed, sample, &Arc::new(AtomicBool::new(true))).unwrap().is_cut);

    let all = read_all(&here, &mixed, Begin::Oldest);
    assert_eq!(all.len(), 37);
    assert!(all.is_sorted_by_key(|record| record.time_ms), "not in the order of time");
    assert_eq!(read_all(&here, &mixed, Begin::Last(1)).len(), 3);
    assert_eq!(read_all(&here, &mixed, Begin::Newest).len(), 0);
    assert_eq!(read_all(&here, &mixed, Begin::Since(all[0].time_ms.unwrap())).len(), 37);
    assert_eq!(read_all(&here, &mixed, Begin::Since(4_000_000_000_000)).len(), 0);
    let beyond =
        TopicReader::open(&here, &mixed, Begin::Offset(5000), Until::Present, &opening()).err().unwrap();
    assert!(beyond.message.contains("has no message 5000"), "{beyond}");
    let absent = TopicReader::open(&here, &broker.name("mixd"), Begin::Oldest, Until::Present, &opening())
        .err()
        .unwrap();
    assert_eq!(absent.cause, Cause::UnknownTopic);

    let mut reader = TopicReader::open(&here, &mixed, Begin::Oldest, Until::Present, &opening()).unwrap();
    let mut sender = Sender::open(&here, &again, &opening()).unwrap();
    let replay = ReplaySettings { speed: None, new_times: Some(T + 1_000_000_000_000) };
    let report = replay_topic(&mut reader, &mut sender, &replay, &RUN).unwrap();
    assert_eq!((report.read, report.renewed, report.unchanged, report.refused.total()), (37, 31, 0, 6));
    finish(sender);
    let again = read_all(&here, &again, Begin::Oldest);
    let mut numbers = Vec::new();
    for record in &again {
        let Ok(Message::Ev44(message)) = record.decode() else { panic!("no ev44") };
        assert_eq!(message.pixel_id.first(), Some(1));
        assert!(message.time_ns().is_some_and(|time| time > T + 900_000_000_000));
        numbers.push(message.message_id);
        assert_eq!(record.headers[0], ("from".into(), Some(b"here".to_vec())));
        assert_eq!(record.headers[1], ("none".into(), None));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=31).collect::<Vec<i64>>());
}

/// What [`Message::time_ns`] tells of an ev44.
trait Time {
    fn time_ns(&self) -> Option<i64>;
}

impl Time for Ev44<'_> {
    fn time_ns(&self) -> Option<i64> {
        self.reference_time.first()
    }
}

/// What is fetched while the reader is still being made is read as well.
#[test]
fn every_reader_gets_the_first_messages() {
    let Some(broker) = shared("every_reader_gets_the_first_messages") else { return };
    let topic = broker.create_topic("first", 3);
    let here = settings(broker.address());
    let mut sender = Sender::open(&here, &topic, &opening()).unwrap();
    for number in 0..300_u32 {
        let payload = number.to_le_bytes();
        let message = Outgoing { payload: &payload, partition: Some(number as i32), ..Outgoing::default() };
        assert!(sender.send(&message, &RUN).unwrap());
    }
    finish(sender);
    for _ in 0..20 {
        assert_eq!(read_all(&here, &topic, Begin::Oldest).len(), 300);
    }
}

#[test]
fn pulses_keep_their_distances_and_fit_the_topic() {
    let Some(broker) = shared("pulses_keep_their_distances_and_fit_the_topic") else { return };
    let small = vec![("max.message.bytes".to_owned(), "20000".to_owned())];
    let topic = broker.create(&Topic { settings: small, ..Topic::new("events") });
    let here = settings(broker.address());
    let mut sender = Sender::open(&here, &topic, &opening()).unwrap();
    let settings = ReplaySettings { speed: Some(2.0), new_times: None };
    let mut replay = PulseReplay::new(&mut sender, settings);
    let (times, pixels): (Vec<i32>, Vec<i32>) = (0..6000).map(|event| (event, event % 100 + 1)).unzip();
    let begin = Instant::now();
    for number in 0..11 {
        let pulse =
            FilePulse { source: "gem", time_ns: T + number * 100_000_000, times: &times, pixels: &pixels };
        assert!(replay.send(&pulse, &RUN).unwrap());
    }
    let took = begin.elapsed();
    let report = replay.finish();
    // A second of pulses in half of one, in real time.
    assert!(took >= Duration::from_millis(500), "{took:?}");
    assert_eq!((report.read, report.events), (11, 66_000));
    finish(sender);
    let records = read_all(&here, &topic, Begin::Oldest);
    assert_eq!(records.len() as u64, report.renewed);
    let (mut found, mut pulses) = (Vec::new(), Vec::new());
    for (number, record) in (1..).zip(&records) {
        assert!(record.payload.len() < 20_000);
        let Ok(Message::Ev44(message)) = record.decode() else { panic!("no ev44") };
        assert_eq!(message.message_id, number);
        pulses.extend(message.time_ns());
        found.extend(message.time_of_flight.iter());
    }
    pulses.dedup();
    assert_eq!(pulses, (0..11).map(|number| T + number * 100_000_000).collect::<Vec<_>>());
    assert_eq!(found, times.repeat(11));
}

#[test]
fn values_and_test_images_arrive_and_a_dead_broker_is_no_success() {
    const NAME: &str = "values_and_test_images_arrive_and_a_dead_broker_is_no_success";
    if !is_possible(NAME) {
        return;
    }
    let mut broker = Broker::start();
    broker.create_topic("logs", 1);
    broker.create_topic("image", 1);
    let here = settings(&broker.address());
    let (mut sender, mut encoder) = (Sender::open(&here, "logs", &opening()).unwrap(), Encoder::new());
    for line in ["T 4.2", "p 1,2,3 2026-11-23T00:00:00Z"] {
        let line = LogLine::parse(line, ValueType::Double).unwrap().unwrap();
        assert!(forward(&line, T, &mut sender, &mut encoder, &RUN).unwrap());
    }
    finish(sender);
    let lines: Vec<String> = read_all(&here, "logs", Begin::Oldest)
        .iter()
        .map(|record| record.decode().expect("f144").to_string())
        .collect();
    assert!(lines[0].starts_with("f144 T 2020-01-31T08:44:33.162000001Z 4.2"), "{lines:?}");
    assert!(lines[1].contains("2026-11-23T00:00:00"), "{lines:?}");

    let image = TestImage {
        width: 32,
        height: 24,
        first_pixel: 1,
        source: "test".to_owned(),
        events: 100,
        period_ns: 10_000_000,
        pulses: Some(20),
    };
    let lit = image.pixels().unwrap();
    let mut sender = Sender::open(&here, "image", &opening()).unwrap();
    assert_eq!(send_image(&image, &lit, T, &mut sender, &RUN).unwrap(), 20);
    finish(sender);
    let mut pixels: Vec<i32> = Vec::new();
    for record in read_all(&here, "image", Begin::Oldest) {
        let Ok(Message::Ev44(message)) = record.decode() else { panic!("no ev44") };
        pixels.extend(message.pixel_id.iter());
    }
    pixels.sort_unstable();
    pixels.dedup();
    assert_eq!(pixels, lit);

    let mut sender = Sender::open(&here, "logs", &opening()).unwrap();
    broker.kill();
    let line = LogLine::parse("T 4.2", ValueType::Double).unwrap().unwrap();
    assert!(forward(&line, T, &mut sender, &mut encoder, &RUN).unwrap());
    let delivery = sender.finish(Duration::from_secs(1), &RUN);
    assert_eq!((delivery.sent, delivery.acknowledged, delivery.pending), (1, 0, 1));
    assert!(!delivery.is_complete());
}

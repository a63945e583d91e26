//! `evforge kafka aggregate` with a real broker: messages of several boards in several partitions, killed and begun again.

use crate::common::kafka::TopicEnd;
use crate::common::{PROGRAM, send_signal, text, workspace};
use crate::consumers::{OLD, consumer, found};
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_kafka::topic::{Begin, Next, Record, TopicReader, Until};
use evforge_messages::{Encoder, Ev44, Message, Pu00};
use evforge_testkit::kafka_broker::{Broker, SharedBroker, is_possible, shared};
use evforge_testkit::patience::{patience, wait_until};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, TopicPartitionList};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

static RUN: AtomicBool = AtomicBool::new(false);
const BEGIN: i64 = 1_780_000_000_000_000_000;
const PERIOD: i64 = 20_000_000;
const PARTITIONS: i32 = 3;

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A frame with what is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Frame {
    vetoes: Option<u32>,
    period: Option<u32>,
    charge: Option<f32>,
    events: Vec<(i32, i32)>,
}

/// Frames by their number.
type Frames = BTreeMap<i64, Frame>;

/// Topics of a broker: of what boards send, and of frames.
struct Topics {
    brokers: String,
    raw: String,
    events: String,
}

impl Topics {
    fn shared(broker: &SharedBroker) -> Self {
        let (raw, events) = (broker.create_topic("raw", PARTITIONS as u32), broker.create_topic("events", 2));
        Self { brokers: broker.address().to_owned(), raw, events }
    }

    fn own(broker: &Broker) -> Self {
        broker.create_topic("raw", PARTITIONS as u32);
        broker.create_topic("events", 2);
        Self { brokers: broker.address(), raw: "raw".to_owned(), events: "events".to_owned() }
    }

    fn sender(&self) -> Sender {
        Sender::open(&settings(&self.brokers), &self.raw, &Deadline::from(patience())).expect("a broker")
    }

    /// What has been sent on.
    fn sent(&self) -> Vec<Record> {
        read(&self.brokers, &self.events)
    }

    /// The frames that have been sent on, once transactions have ended: brokers end one in each partition for itself, a moment after its
    /// sender has heard of it.
    fn frames_sent(&self) -> Frames {
        let ends = |isolation: &str| -> Option<Vec<i64>> {
            let consumer: BaseConsumer = ClientConfig::new()
                .set("bootstrap.servers", &self.brokers)
                .set("group.id", "evforge-tests")
                .set("isolation.level", isolation)
                .create()
                .expect("a consumer");
            let end = |partition| consumer.fetch_watermarks(&self.events, partition, Duration::from_secs(10));
            (0..2).map(|partition| end(partition).ok().map(|(_, high)| high)).collect()
        };
        wait_until("no transaction is open", || {
            ends("read_uncommitted").is_some_and(|all| ends("read_committed") == Some(all))
        });
        frames_of(&self.sent())
    }
}

pub(crate) fn settings(brokers: &str) -> ClientSettings {
    ClientSettings::new(brokers.parse::<Brokers>().expect("an address"))
}

fn pulse(time: i64, vetoes: u32, period: Option<u32>, charge: Option<f32>) -> Vec<u8> {
    Pu00 {
        source_name: "control",
        message_id: 0,
        reference_time: time,
        vetos: Some(vetoes),
        period_number: period,
        proton_charge: charge,
    }
    .encode(&mut Encoder::new())
    .to_vec()
}

fn events(time: i64, events: &[(i32, i32)]) -> Vec<u8> {
    let (times, pixels): (Vec<i32>, Vec<i32>) = events.iter().copied().unzip();
    Ev44 {
        source_name: "board",
        message_id: 0,
        reference_time: (&[time]).into(),
        reference_time_index: (&[0]).into(),
        time_of_flight: times.as_slice().into(),
        pixel_id: pixels.as_slice().into(),
    }
    .encode(&mut Encoder::new())
    .to_vec()
}

/// Sends a frame as boards do: a pu00 and up to three ev44, each in any partition, with times that differ by some nanoseconds.
fn send(sender: &mut Sender, number: i64, random: &mut Numbers) -> Frame {
    let begin = BEGIN + number * PERIOD;
    let mut put = |payload: &[u8], random: &mut Numbers| {
        let partition = Some(random.below(PARTITIONS as u64) as i32);
        assert!(
            sender.send(&Outgoing { payload, partition, ..Outgoing::default() }, &RUN).expect("a broker")
        );
    };
    let mut frame = Frame::default();
    // Sent first by the frame's own time: which of the boards it is does not matter.
    let (vetoes, period, charge) = (1 << random.below(8), random.below(4) as u32, number as f32 * 0.001);
    put(&pulse(begin, vetoes, Some(period), Some(charge)), random);
    (frame.vetoes, frame.period, frame.charge) = (Some(vetoes), Some(period), Some(charge));
    for _ in 0..random.below(4) {
        let count = random.below(30);
        let of_board: Vec<_> =
            (0..count).map(|_| (random.below(19_000_000) as i32, random.below(5000) as i32 + 1)).collect();
        put(&events(begin + random.below(10) as i64, &of_board), random);
        frame.events.extend(of_board);
    }
    frame.events.sort_unstable();
    frame
}

/// A machine that is busy may be slow to send all of a frame: no time is up here.
fn start(topics: &Topics, options: &[&str]) -> Child {
    Command::new(PROGRAM)
        .args(["kafka", "aggregate", &topics.raw, "--to", &topics.events, "--quiet", "--max-events", "25"])
        .args(["--expiry", "1h"])
        .args(options)
        .env("EVFORGE_KAFKA_BROKERS", &topics.brokers)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Runs it to the end of what is there: status, report.
fn to_the_end(topics: &Topics, folder: &Path) -> (Option<i32>, Value) {
    let report = folder.join("report.json");
    let path = report.display().to_string();
    let child = start(topics, &["--until-end", "--overwrite", "--report", &path]);
    let output = child.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    let json = std::fs::read(&report).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code(), serde_json::from_slice(&json).expect("JSON"))
}

/// All messages of a topic.
pub(crate) fn read(brokers: &str, topic: &str) -> Vec<Record> {
    let deadline = Deadline::from(patience());
    let mut reader = TopicReader::open(&settings(brokers), topic, Begin::Oldest, Until::Present, &deadline)
        .expect("a topic");
    let mut records = Vec::new();
    loop {
        match reader.next(patience()).expect("messages") {
            Next::Message(record) => records.push(record),
            Next::End => return records,
            Next::Changed(change) => panic!("{change}"),
            Next::Idle => panic!("nothing comes"),
        }
    }
}

/// The frames of a topic; what consumers rely on holds for each message.
fn frames_of(records: &[Record]) -> Frames {
    let (mut frames, mut ids) = (Frames::new(), Vec::new());
    let mut current: BTreeMap<i32, (i64, Option<Vec<u8>>)> = BTreeMap::new();
    for record in records {
        match record.decode().expect("a message") {
            Message::Pu00(pulse) => {
                ids.push(pulse.message_id);
                let number = (pulse.reference_time - BEGIN) / PERIOD;
                let frame = Frame {
                    vetoes: pulse.vetos,
                    period: pulse.period_number,
                    charge: pulse.proton_charge,
                    events: Vec::new(),
                };
                assert_eq!(record.time_ms, Some(pulse.reference_time / 1_000_000));
                assert_eq!(frames.insert(number, frame), None, "frame {number} came twice");
                current.insert(record.partition, (pulse.reference_time, record.key.clone()));
            }
            Message::Ev44(events) => {
                ids.push(events.message_id);
                let (time, key) = &current[&record.partition];
                assert_eq!(events.reference_time.to_vec(), [*time], "after its pu00, on its partition");
                assert_eq!((key, key.as_ref().map(Vec::len)), (&record.key, Some(8)));
                assert!((1..=25).contains(&events.events()));
                let frame = frames.get_mut(&((time - BEGIN) / PERIOD)).expect("a frame");
                frame.events.extend(events.time_of_flight.iter().zip(events.pixel_id.iter()));
            }
            other => panic!("{other}"),
        }
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=ids.len() as i64).collect::<Vec<_>>(), "numbers without a gap");
    frames
}

/// The tool of ISIS itself, with the message library of ISIS, reads pu00 and events of the topic, among what transactions leave there.
fn saluki_reads(topics: &Topics) {
    let test = "frames_are_put_together_once_however_often_it_is_killed (saluki)";
    let Some(mut saluki) = consumer(test, OLD) else { return };
    // That of the environment knows no pu00.
    let libraries = std::fs::read_dir(workspace().join(".venv/lib")).into_iter().flatten();
    let folder = |library: std::io::Result<std::fs::DirEntry>| {
        Some(library.ok()?.path().join("site-packages/streaming_data_types")).filter(|path| path.exists())
    };
    let Some(library) = libraries.filter_map(folder).next() else {
        evforge_testkit::skip(test, ".venv is not there: `make test-tools` makes it");
        return;
    };
    let alone = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(library, alone.path().join("streaming_data_types")).expect("a link");
    saluki.env("PYTHONPATH", alone.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    // It prints arrays whole: the first frames say as much as all.
    let records = topics.sent();
    let first: Vec<&Record> = records.iter().filter(|record| record.partition == 0).take(200).collect();
    let mut wanted = Vec::new();
    for record in &first {
        if let Ok(Message::Ev44(of_frame)) = record.decode() {
            let pulse = of_frame.reference_time.first().expect("one pulse");
            let events = of_frame.time_of_flight.iter().zip(of_frame.pixel_id.iter());
            wanted.extend(events.map(|(time, pixel)| format!("{pulse},{time},{pixel}")));
        }
    }
    wanted.sort_unstable();
    assert!(wanted.len() > 100, "{} events", wanted.len());
    let number = first.len().to_string();
    assert_eq!(found(&mut saluki, &["saluki", &topics.brokers, &topics.events, &number]), wanted);
}

#[test]
fn frames_are_put_together_once_however_often_it_is_killed() {
    let Some(broker) = shared("frames_are_put_together_once_however_often_it_is_killed") else { return };
    let topics = Topics::shared(&broker);
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut expected = Frames::new();
    let mut sender = topics.sender();
    let mut sent = TopicEnd::new(&topics.brokers, &topics.events);
    // Killed at once, or when it has sent so many messages, while more come.
    for messages in [0, 1, 10, 100, 0, 40] {
        let killed_at = sent.messages() + messages;
        let mut child = start(&topics, &[]);
        wait_until(format_args!("{messages} more messages"), || {
            for _ in 0..random.below(8) {
                let number = expected.len() as i64;
                expected.insert(number, send(&mut sender, number, &mut random));
            }
            sender.poll(Duration::from_millis(random.below(20)));
            sent.messages() >= killed_at
        });
        child.kill().expect("SIGKILL");
        child.wait().expect("its end");
    }
    assert!(sender.finish(patience(), &RUN).is_complete());
    let (status, report) = to_the_end(&topics, folder.path());
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(topics.frames_sent(), expected);
    assert!(expected.len() > 50, "{} frames", expected.len());

    saluki_reads(&topics);

    // Nothing is new. Then messages that are late, one of no use, and a frame that is new.
    let (status, _) = to_the_end(&topics, folder.path());
    assert_eq!(status, Some(4));
    let mut sender = topics.sender();
    // Of the newest frames it is known that they have left; of old ones, that nobody knows.
    let late = |number: i64| events(BEGIN + number * PERIOD + 3, &[(1, 1), (2, 2)]);
    for payload in [&late(expected.len() as i64 - 2)[..], &late(0), b"garbage"] {
        assert!(sender.send(&Outgoing { payload, ..Outgoing::default() }, &RUN).expect("a broker"));
    }
    let number = expected.len() as i64;
    expected.insert(number, send(&mut sender, number, &mut random));
    assert!(sender.finish(patience(), &RUN).is_complete());
    let (status, report) = to_the_end(&topics, folder.path());
    assert_eq!(status, Some(3), "{report}");
    let counters = &report["counters"];
    let count = |name: &str| counters[name].as_u64().expect("a number");
    assert!(
        count("messages_late") >= 1 && count("messages_late") + count("messages_too_old") == 2,
        "{report}"
    );
    assert_eq!(count("events_late") + count("events_too_old"), 4, "{report}");
    assert_eq!((&counters["messages_refused"], &counters["frames_sent"]), (&1.into(), &1.into()), "{report}");
    assert_eq!(topics.frames_sent(), expected);
}

/// Says how many messages have been read, by what goes with the committed offsets.
fn messages_read(topics: &Topics) -> impl Fn() -> i64 {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &topics.brokers)
        .set("group.id", format!("evforge-aggregate-{}", topics.events))
        .create()
        .expect("a consumer");
    let mut asked = TopicPartitionList::new();
    asked.add_partition_range(&topics.raw, 0, PARTITIONS - 1);
    move || {
        let committed = consumer.committed_offsets(asked.clone(), Duration::from_secs(10));
        let until = |text: &str| text.split(' ').nth(1).and_then(|until| until.parse::<i64>().ok());
        let of = |committed: TopicPartitionList| {
            committed.elements().iter().filter_map(|element| until(element.metadata())).sum()
        };
        committed.map_or(0, of)
    }
}

#[test]
fn what_waits_is_sent_at_sigterm() {
    let Some(broker) = shared("what_waits_is_sent_at_sigterm") else { return };
    let topics = Topics::shared(&broker);
    let mut sender = topics.sender();
    let mut random = Numbers(7);
    let expected: Frames = (0..5).map(|number| (number, send(&mut sender, number, &mut random))).collect();
    assert!(sender.finish(patience(), &RUN).is_complete());
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    // The frames wait for an hour: only the signal has them sent, once they are read.
    let child =
        start(&topics, &["--out-of-order", "1h", "--for", "1h", "--report", &report.display().to_string()]);
    let written = read(&topics.brokers, &topics.raw).len() as i64;
    let read = messages_read(&topics);
    wait_until("all messages are read", || read() == written);
    assert!(topics.sent().is_empty());
    end(child);
    assert_eq!(topics.frames_sent(), expected);
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!(report["counters"]["frames_at_end"], 5, "{report}");
}

/// Ends it as a service manager does.
fn end(child: Child) {
    send_signal(child.id(), "TERM");
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_broker_that_goes_away_and_a_second_instance_do_no_harm() {
    const NAME: &str = "a_broker_that_goes_away_and_a_second_instance_do_no_harm";
    if !is_possible(NAME) {
        return;
    }
    let mut broker = Broker::start();
    let topics = Topics::own(&broker);
    let mut sender = topics.sender();
    let mut random = Numbers(99);
    let mut expected = Frames::new();
    let mut more = |sender: &mut Sender, expected: &mut Frames, frames: usize| {
        for _ in 0..frames {
            let number = expected.len() as i64;
            expected.insert(number, send(sender, number, &mut random));
            sender.poll(Duration::from_millis(2));
        }
    };
    let wait = |frames: usize| {
        // Partitions are read one after the other: what is between is there later.
        let is_pulse = |record: &&Record| matches!(record.decode(), Ok(Message::Pu00(_)));
        wait_until(format_args!("{frames} frames"), || {
            topics.sent().iter().filter(is_pulse).count() >= frames
        });
    };
    let mut first = start(&topics, &[]);
    more(&mut sender, &mut expected, 50);
    wait(20);
    more(&mut sender, &mut expected, 50);
    broker.kill();
    // It is away for as long as it takes to begin, some seconds.
    broker.restart();
    more(&mut sender, &mut expected, 50);
    wait(120);
    // The second one takes over, and the first one says so.
    let second = start(&topics, &[]);
    more(&mut sender, &mut expected, 50);
    wait_until("the first one ends", || {
        more(&mut sender, &mut expected, 1);
        sender.poll(Duration::from_millis(50));
        first.try_wait().expect("a state").is_some()
    });
    let output = first.wait_with_output().expect("its end");
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("another instance has begun"), "{said}");
    // These are the second one's, once it has looked at what there is.
    more(&mut sender, &mut expected, 50);
    assert!(sender.finish(patience(), &RUN).is_complete());
    wait(expected.len() - 20);
    end(second);
    assert_eq!(topics.frames_sent(), expected);
}

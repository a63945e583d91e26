//! `evforge kafka aggregate` with a real broker: messages of several boards in several partitions, killed and begun again.

use crate::common::{PROGRAM, text, workspace};
use crate::consumers::{OLD, consumer, found};
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Begin, Next, Outgoing, Record, Sender, TopicReader, Until};
use evforge_messages::{Encoder, Ev44, Message, Pu00};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, TopicPartitionList};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

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

fn settings(broker: &Broker) -> ClientSettings {
    ClientSettings::new(broker.address().parse::<Brokers>().expect("an address"))
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

fn start(broker: &Broker, options: &[&str]) -> Child {
    Command::new(PROGRAM)
        .args(["kafka", "aggregate", "raw", "--to", "events", "--quiet", "--max-events", "25"])
        .args(options)
        .env("EVFORGE_KAFKA_BROKERS", broker.address())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Runs it to the end of what is there: status, report.
fn to_the_end(broker: &Broker, folder: &Path) -> (Option<i32>, Value) {
    let report = folder.join("report.json");
    let path = report.display().to_string();
    let child = start(broker, &["--until-end", "--overwrite", "--report", &path]);
    let output = child.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    let json = std::fs::read(&report).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code(), serde_json::from_slice(&json).expect("JSON"))
}

fn read(broker: &Broker, topic: &str) -> Vec<Record> {
    let mut reader =
        TopicReader::open(&settings(broker), topic, Begin::Oldest, Until::Present, &Deadline::of_opening())
            .expect("a topic");
    let mut records = Vec::new();
    loop {
        match reader.next(Duration::from_secs(30)).expect("messages") {
            Next::Message(record) => records.push(record),
            Next::End => return records,
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
fn saluki_reads(broker: &Broker) {
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
    let records = read(broker, "events");
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
    assert_eq!(
        found(&mut saluki, &["saluki", &broker.address(), "events", &first.len().to_string()]),
        wanted
    );
}

#[test]
fn frames_are_put_together_once_however_often_it_is_killed() {
    const NAME: &str = "frames_are_put_together_once_however_often_it_is_killed";
    if !is_possible(NAME) {
        return;
    }
    let broker = Broker::start();
    broker.create_topic("raw", PARTITIONS as u32);
    broker.create_topic("events", 2);
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut expected = Frames::new();
    let mut sender = Sender::open(&settings(&broker), "raw", &Deadline::of_opening()).expect("a broker");
    for _ in 0..6 {
        // A machine that is busy may be slow to send all of a frame: no time is up here.
        let mut child = start(&broker, &["--expiry", "1min"]);
        let until = Instant::now() + Duration::from_millis(300 + random.below(1200));
        while Instant::now() < until {
            for _ in 0..random.below(8) {
                let number = expected.len() as i64;
                expected.insert(number, send(&mut sender, number, &mut random));
            }
            sender.poll(Duration::from_millis(random.below(20)));
        }
        child.kill().expect("SIGKILL");
        child.wait().expect("its end");
    }
    assert!(sender.finish(Duration::from_secs(30), &RUN).is_complete());
    let (status, report) = to_the_end(&broker, folder.path());
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(frames_of(&read(&broker, "events")), expected);
    assert!(expected.len() > 50, "{} frames", expected.len());

    saluki_reads(&broker);

    // Nothing is new. Then messages that are late, one of no use, and a frame that is new.
    let (status, _) = to_the_end(&broker, folder.path());
    assert_eq!(status, Some(4));
    let mut sender = Sender::open(&settings(&broker), "raw", &Deadline::of_opening()).expect("a broker");
    // Of the newest frames it is known that they have left; of old ones, that nobody knows.
    let late = |number: i64| events(BEGIN + number * PERIOD + 3, &[(1, 1), (2, 2)]);
    for payload in [&late(expected.len() as i64 - 2)[..], &late(0), b"garbage"] {
        assert!(sender.send(&Outgoing { payload, ..Outgoing::default() }, &RUN).expect("a broker"));
    }
    let number = expected.len() as i64;
    expected.insert(number, send(&mut sender, number, &mut random));
    assert!(sender.finish(Duration::from_secs(30), &RUN).is_complete());
    let (status, report) = to_the_end(&broker, folder.path());
    assert_eq!(status, Some(3), "{report}");
    let counters = &report["counters"];
    let count = |name: &str| counters[name].as_u64().expect("a number");
    assert!(
        count("messages_late") >= 1 && count("messages_late") + count("messages_too_old") == 2,
        "{report}"
    );
    assert_eq!(count("events_late") + count("events_too_old"), 4, "{report}");
    assert_eq!((&counters["messages_refused"], &counters["frames_sent"]), (&1.into(), &1.into()), "{report}");
    assert_eq!(frames_of(&read(&broker, "events")), expected);
}

/// How many messages have been read, by what goes with the committed offsets.
fn messages_read(broker: &Broker) -> i64 {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker.address())
        .set("group.id", "evforge-aggregate-events")
        .create()
        .expect("a consumer");
    let mut asked = TopicPartitionList::new();
    asked.add_partition_range("raw", 0, PARTITIONS - 1);
    let Ok(committed) = consumer.committed_offsets(asked, Duration::from_secs(10)) else { return 0 };
    let until = |text: &str| text.split(' ').nth(1).and_then(|until| until.parse::<i64>().ok());
    committed.elements().iter().filter_map(|element| until(element.metadata())).sum()
}

#[test]
fn what_waits_is_sent_at_sigterm() {
    const NAME: &str = "what_waits_is_sent_at_sigterm";
    if !is_possible(NAME) {
        return;
    }
    let broker = Broker::start();
    broker.create_topic("raw", PARTITIONS as u32);
    broker.create_topic("events", 2);
    let mut sender = Sender::open(&settings(&broker), "raw", &Deadline::of_opening()).expect("a broker");
    let mut random = Numbers(7);
    let expected: Frames = (0..5).map(|number| (number, send(&mut sender, number, &mut random))).collect();
    assert!(sender.finish(Duration::from_secs(30), &RUN).is_complete());
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    // The frames wait for an hour: only the signal has them sent, once they are read.
    let child = start(
        &broker,
        &["--expiry", "1h", "--out-of-order", "1h", "--for", "1h", "--report", &report.display().to_string()],
    );
    let written = read(&broker, "raw").len() as i64;
    let deadline = Instant::now() + Duration::from_secs(60);
    while messages_read(&broker) < written {
        assert!(Instant::now() < deadline, "it does not read all");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(read(&broker, "events").is_empty());
    let signalled = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
    assert!(signalled.expect("kill").success());
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(frames_of(&read(&broker, "events")), expected);
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!(report["counters"]["frames_at_end"], 5, "{report}");
}

#[test]
fn a_broker_that_goes_away_and_a_second_instance_do_no_harm() {
    const NAME: &str = "a_broker_that_goes_away_and_a_second_instance_do_no_harm";
    if !is_possible(NAME) {
        return;
    }
    let mut broker = Broker::start();
    broker.create_topic("raw", PARTITIONS as u32);
    broker.create_topic("events", 2);
    let mut sender = Sender::open(&settings(&broker), "raw", &Deadline::of_opening()).expect("a broker");
    let mut random = Numbers(99);
    let mut expected = Frames::new();
    let mut more = |sender: &mut Sender, expected: &mut Frames, frames: usize| {
        for _ in 0..frames {
            let number = expected.len() as i64;
            expected.insert(number, send(sender, number, &mut random));
            sender.poll(Duration::from_millis(2));
        }
    };
    let wait = |broker: &Broker, frames: usize| {
        let deadline = Instant::now() + Duration::from_secs(90);
        // Partitions are read one after the other: what is between is there later.
        let is_pulse = |record: &&Record| matches!(record.decode(), Ok(Message::Pu00(_)));
        while read(broker, "events").iter().filter(is_pulse).count() < frames {
            assert!(Instant::now() < deadline, "it does not go on");
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    let first = start(&broker, &["--expiry", "1min"]);
    more(&mut sender, &mut expected, 50);
    wait(&broker, 20);
    more(&mut sender, &mut expected, 50);
    broker.kill();
    std::thread::sleep(Duration::from_secs(1));
    broker.restart();
    more(&mut sender, &mut expected, 50);
    wait(&broker, 120);
    // The second one takes over, and the first one says so.
    let second = start(&broker, &["--expiry", "1min"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    more(&mut sender, &mut expected, 50);
    let mut first = first;
    while first.try_wait().expect("a state").is_none() {
        assert!(Instant::now() < deadline, "the first one goes on");
        more(&mut sender, &mut expected, 1);
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = first.wait_with_output().expect("its end");
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("another instance has begun"), "{said}");
    // These are the second one's, once it has looked at what there is.
    more(&mut sender, &mut expected, 50);
    assert!(sender.finish(Duration::from_secs(30), &RUN).is_complete());
    wait(&broker, expected.len() - 20);
    let signalled = Command::new("kill").args(["-s", "TERM", &second.id().to_string()]).status();
    assert!(signalled.expect("kill").success());
    let output = second.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(frames_of(&read(&broker, "events")), expected);
}

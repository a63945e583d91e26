//! `evforge kafka …` with a real broker: what is sent is told, shown and sent again, with the documented exit statuses.

use crate::aggregate::{read, settings};
use crate::common::{PROGRAM, send_signal, text, workspace};
use evforge_kafka::client::Deadline;
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_messages::Message;
use evforge_stream::nexus::{EventReader, ReadPulse};
use evforge_testkit::kafka_broker::{Broker, BrokerOptions, Topic, is_possible, shared};
use evforge_testkit::patience::{patience, wait_for};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

static RUN: AtomicBool = AtomicBool::new(false);

fn command(brokers: &str, typed: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("kafka").args(typed.split(' ')).env("EVFORGE_KAFKA_BROKERS", brokers);
    command
}

/// Status, standard output and standard error.
fn kafka(brokers: &str, typed: &str) -> (Option<i32>, String, String) {
    let output = command(brokers, typed).output().expect("the program starts");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The same, which must be a success: standard output.
#[track_caller]
fn good(brokers: &str, typed: &str) -> String {
    let (status, said, complained) = kafka(brokers, typed);
    assert_eq!(status, Some(0), "evforge kafka {typed}: {said}{complained}");
    said
}

fn send(brokers: &str, topic: &str, messages: &[Outgoing<'_>]) {
    let deadline = Deadline::from(patience());
    let mut sender = Sender::open(&settings(brokers), topic, &deadline).expect("a broker");
    for message in messages {
        assert!(sender.send(message, &RUN).expect("it is sent"));
    }
    assert!(sender.finish(patience(), &RUN).is_complete());
}

/// Standard input to `forward`.
fn forward(brokers: &str, lines: &[u8]) -> (Option<i32>, String) {
    let mut child = command(brokers, "forward --to logs")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(lines).expect("lines");
    let output = child.wait_with_output().expect("its output");
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn what_is_sent_is_told_and_shown() {
    const NAME: &str = "what_is_sent_is_told_and_shown";
    if !is_possible(NAME) {
        return;
    }
    // One of its own that makes topics when the first message comes, as many do.
    let makes = ("auto.create.topics.enable".to_owned(), "true".to_owned());
    let broker = Broker::with(BrokerOptions { properties: vec![makes], ..BrokerOptions::default() });
    let broker = broker.address();
    assert!(good(&broker, "topics").contains("there are no topics"));
    let said =
        good(&broker, "test-image --to events --size 16x12 --pulses 5 --frequency 100Hz --source demo");
    assert!(said.starts_with("sent 5 messages"), "{said}");
    let (status, said) = forward(&broker, b"T:sample 4.2\n\n# none\np 1,2 1580460273.5\n");
    assert_eq!(status, Some(0), "{said}");
    // Lines that are wrong are named, and the others are sent.
    let (status, said) = forward(&broker, b"T:sample warm\nT:sample 4.3\n\xff\xfe 1\nx\n");
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("line 1: `warm` is not a number") && said.contains("2 of 4 lines"), "{said}");
    let (status, said) = forward(&broker, b"# nothing\n");
    assert_eq!(status, Some(4), "{said}");

    let all = good(&broker, "topics");
    for words in
        ["events: 1 partition, 5 messages", "logs: 1 partition, 4 messages", "ev44  demo", "f144  T:sample"]
    {
        assert!(all.contains(words), "{words}: {all}");
    }
    let json: Value = serde_json::from_str(&good(&broker, "topics events --json")).unwrap();
    let topic = &json["topics"][0];
    assert_eq!((&topic["messages"], &topic["sample"]["sources"][0]["source"]), (&5.into(), &"demo".into()));
    assert_eq!(topic["partitions"][0]["high"], 5);

    let lines = good(&broker, "tail events --until-end --last 2");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(lines.contains("0@4 ev44 demo #5 ") && lines.contains("1000 events"), "{lines}");
    let lines = good(&broker, "tail logs --oldest --until-end --json --source T:sample --schema f144,ev44");
    let values: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(values.len(), 2, "{lines}");
    assert_eq!(values[0]["message"]["value"]["value"], 4.2);
    assert_eq!(good(&broker, "tail logs --oldest --until-end --schema ev44"), "");
    assert_eq!(good(&broker, "tail logs --since 1h --messages 3").lines().count(), 3);
    assert_eq!(good(&broker, "tail logs --since 2020-01-01T00:00:00Z --until-end").lines().count(), 4);
    let (status, _, said) = kafka(&broker, "tail log");
    assert!(status == Some(1) && said.contains("no topic `log`"), "{said}");
    let (status, _, said) = kafka(&broker, "tail logs --offset 17");
    assert!(status == Some(1) && said.contains("has no message 17"), "{said}");
}

#[test]
fn a_tail_follows_until_it_is_ended_and_takes_a_closed_pipe_for_an_end() {
    let test = "a_tail_follows_until_it_is_ended_and_takes_a_closed_pipe_for_an_end";
    let Some(broker) = shared(test) else { return };
    let (topic, brokers) = (broker.create_topic("events", 3), broker.address());
    let mut child = command(brokers, &format!("tail {topic}")).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (give, take) = channel();
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| give.send(line).unwrap_or(())));
    // It may begin a little later than this; what is there then is shown as well.
    let payload = b"garbage \x1b[2J\n that is no message";
    let message = |number| Outgoing { payload, partition: Some(number), ..Outgoing::default() };
    send(brokers, &topic, &[0, 1, 2, 3].map(message));
    for _ in 0..4 {
        let line = take.recv_timeout(patience()).expect("a line");
        assert!(line.contains("refused (") && !line.contains('\u{1b}'), "{line}");
    }
    send_signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));

    good(brokers, &format!("test-image --to {topic} --pulses 500 --frequency 1kHz --events 10"));
    let mut child =
        command(brokers, &format!("tail {topic} --oldest")).stdout(Stdio::piped()).spawn().unwrap();
    let mut one = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut one).unwrap();
    // The pipe is closed now, with lines that are to come, and after the last of them.
    let status = wait_for("its end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

/// Pulses with their events, from messages.
fn pulses_of(brokers: &str, topic: &str) -> Vec<ReadPulse> {
    let mut pulses: Vec<ReadPulse> = Vec::new();
    for record in read(brokers, topic) {
        let Ok(Message::Ev44(events)) = record.decode() else { panic!("no ev44") };
        for (time_ns, range) in events.pulses() {
            let times = events.time_of_flight.range(range.clone()).expect("events").to_vec();
            let pixels = events.pixel_id.range(range).expect("events").to_vec();
            match pulses.last_mut() {
                // It was too large for one message.
                Some(last) if last.time_ns == time_ns => {
                    last.times.extend(times);
                    last.pixels.extend(pixels);
                }
                _ => pulses.push(ReadPulse {
                    source: events.source_name.to_owned(),
                    time_ns,
                    frame: None,
                    times,
                    pixels,
                }),
            }
        }
    }
    pulses
}

fn pulses_of_file(path: &Path) -> Vec<ReadPulse> {
    let mut reader = EventReader::open(path).expect("a file");
    let (mut pulses, mut pulse) = (Vec::new(), ReadPulse::default());
    while reader.read(&mut pulse).expect("pulses") {
        if !pulse.times.is_empty() {
            pulses.push(pulse.clone());
        }
    }
    pulses
}

#[test]
fn a_file_and_a_topic_are_replayed_event_for_event() {
    let Some(broker) = shared("a_file_and_a_topic_are_replayed_event_for_event") else { return };
    let brokers = broker.address();
    let [events, again, named, cleaned, empty] =
        ["events", "again", "named", "cleaned", "empty"].map(|topic| broker.create_topic(topic, 1));
    let settings = vec![("max.message.bytes".to_owned(), "4000".to_owned())];
    let small = broker.create(&Topic { settings, ..Topic::new("small") });
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for typed in [
        format!("simulate gdgem --pulses 14 --start fixed --output {}", at("run.pcapng")),
        format!("run --config configs/gdgem-srs.toml {} --nexus {} --quiet", at("run.pcapng"), at("run.nxs")),
    ] {
        let made = Command::new(PROGRAM).args(typed.split(' ')).current_dir(workspace()).output().unwrap();
        assert!(made.status.success(), "{typed}: {}", text(&made.stderr));
    }
    let expected = pulses_of_file(Path::new(&at("run.nxs")));
    assert!(expected.len() > 10);

    for topic in [&events, &small] {
        let typed = format!("replay {} --to {topic} --unpaced --report {}", at("run.nxs"), at(topic));
        good(brokers, &typed);
        let report: Value = serde_json::from_slice(&std::fs::read(at(topic)).unwrap()).unwrap();
        assert_eq!(report["delivery"]["messages"], report["delivery"]["acknowledged"], "{report}");
        assert_eq!(pulses_of(brokers, topic), expected, "{topic}");
    }
    good(brokers, &format!("replay {events} --to {again} --unpaced"));
    assert_eq!(pulses_of(brokers, &again), expected);
    good(brokers, &format!("replay {} --to {named} --unpaced --source freia --new-times", at("run.nxs")));
    let named = pulses_of(brokers, &named);
    let moved = named[0].time_ns - expected[0].time_ns;
    assert!(moved > 0 && named.iter().all(|pulse| pulse.source == "freia"));
    for (named, expected) in named.iter().zip(&expected) {
        assert_eq!((named.time_ns - moved, &named.times), (expected.time_ns, &expected.times));
    }

    // Messages that are none are counted and left out; so are those that are too large for the topic.
    send(brokers, &again, &[Outgoing { payload: b"garbage", ..Outgoing::default() }]);
    let (status, said, _) = kafka(brokers, &format!("replay {again} --to {cleaned} --unpaced"));
    assert!(status == Some(3) && said.contains("refused 1: messages_too_short 1"), "{said}");
    assert_eq!(pulses_of(brokers, &cleaned), expected);
    let (status, _, said) = kafka(brokers, &format!("replay {empty} --to {cleaned}"));
    assert!(status == Some(4) && said.contains("nothing to send"), "{said}");
}

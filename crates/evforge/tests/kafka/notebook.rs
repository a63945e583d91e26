//! The notebook `examples/notebooks/read_kafka.ipynb` reads a topic that a run has written, and finds the events of the run's CSV.

use crate::aggregate::settings;
use crate::common::kafka::{TopicMessage, read_topic};
use crate::common::{text, workspace};
use crate::consumers::{arguments, environment, expected};
use evforge_kafka::client::Deadline;
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_messages::{Message, decode};
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::patience::patience;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::process::Command;
use std::sync::atomic::AtomicBool;

static RUN: AtomicBool = AtomicBool::new(false);
const PACKAGES: (&str, &str) =
    (".venv-messages", "import confluent_kafka, matplotlib, numpy, streaming_data_types");
/// Variables of the notebook.
const NAMES: [&str; 11] = [
    "event_count",
    "pulse_count",
    "message_count",
    "others",
    "missing_messages",
    "image_count",
    "brightest_pixel",
    "brightest_count",
    "spectrum_count",
    "later",
    "mean_ms",
];

/// What the notebook finds in a topic, by a Python with its packages.
fn notebook(python: &OsStr, brokers: &str, topic: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(python);
    command
        .arg(workspace().join("tests/python/run_notebook.py"))
        .arg(workspace().join("examples/notebooks/read_kafka.ipynb"))
        .args(NAMES)
        .env("EVFORGE_KAFKA_BROKERS", brokers)
        .env("EVFORGE_TOPIC", topic)
        .env_remove("EVFORGE_COLUMNS")
        .env_remove("EVFORGE_MESSAGES")
        .env("MPLCONFIGDIR", folder.path());
    let output = command.output().expect("Python runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// How many events a message of ev44 has.
fn events_in(message: &TopicMessage) -> usize {
    match decode(&message.payload).expect("a message") {
        Message::Ev44(events) => events.pixel_id.to_vec().len(),
        other => panic!("{other}"),
    }
}

#[test]
fn the_notebook_finds_the_events_of_the_csv_in_a_topic_and_a_message_that_is_missing() {
    let test = "the_notebook_finds_the_events_of_the_csv_in_a_topic_and_a_message_that_is_missing";
    let Some(broker) = shared(test) else { return };
    let Some(python) = environment(test, PACKAGES) else { return };
    let python = python.get_program();
    let (brokers, topic) = (broker.address(), broker.name("notebook"));
    // The truth: lines `pulse,time of flight,pixel` of the CSV of the run that writes the topic.
    let lines = expected(&arguments("freia", brokers, &topic, "ev44"));
    let events: Vec<[i64; 3]> = lines
        .iter()
        .map(|line| {
            let fields: Vec<i64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
            fields.try_into().expect("three numbers")
        })
        .collect();
    let messages = read_topic(brokers, &topic);
    assert!(messages.len() > 2, "{} messages", messages.len());

    let found = notebook(python, brokers, &topic);
    let number = |name: &str| found[name].as_u64();
    let pulses: BTreeSet<i64> = events.iter().map(|[pulse, ..]| *pulse).collect();
    let mut pixels = BTreeMap::<i64, u64>::new();
    events.iter().for_each(|[.., pixel]| *pixels.entry(*pixel).or_default() += 1);
    // Of several the first.
    let by_count = pixels.iter().rev().max_by_key(|(_, count)| **count);
    let (brightest, brightest_count) = by_count.map(|(pixel, count)| (*pixel, *count)).expect("events");
    let early = events.iter().filter(|[_, flight, _]| *flight <= 72_000_000).count();
    for (name, truth) in [
        ("event_count", events.len() as u64),
        ("image_count", events.len() as u64),
        ("spectrum_count", early as u64),
        ("later", (events.len() - early) as u64),
        ("pulse_count", pulses.len() as u64),
        ("message_count", messages.len() as u64),
        ("brightest_pixel", brightest as u64),
        ("brightest_count", brightest_count),
        ("others", 0),
        ("missing_messages", 0),
    ] {
        assert_eq!(number(name), Some(truth), "{name}: {found}");
    }
    let mean_ms = events.iter().map(|[_, flight, _]| *flight as f64).sum::<f64>() / events.len() as f64 / 1e6;
    assert!(
        found["mean_ms"].as_f64().is_some_and(|found| (found - mean_ms).abs() < 1e-6),
        "{mean_ms}: {found}"
    );

    // The same topic without its second message.
    let short = broker.create_topic("notebook-short", 1);
    let mut sender = Sender::open(&settings(brokers), &short, &Deadline::from(patience())).expect("a broker");
    for message in messages.iter().take(1).chain(messages.iter().skip(2)) {
        let outgoing = Outgoing { payload: &message.payload, ..Outgoing::default() };
        assert!(sender.send(&outgoing, &RUN).expect("it is sent"));
    }
    assert!(sender.finish(patience(), &RUN).is_complete());
    let found = notebook(python, brokers, &short);
    let left = events.len() - events_in(&messages[1]);
    assert!(left < events.len());
    assert_eq!(
        (found["event_count"].as_u64(), found["missing_messages"].as_u64()),
        (Some(left as u64), Some(1)),
        "{found}"
    );
}

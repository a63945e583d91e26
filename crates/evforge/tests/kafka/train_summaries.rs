//! Summaries of trains in a topic of a real broker, and without one.

use crate::common::kafka::read_topic;
use crate::common::{PROGRAM, evforge, text};
use evforge_messages::Da00;
use evforge_testkit::kafka_broker::shared;
use evforge_train::generate::CounterPattern;
use evforge_wire::train::TrainDetector;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const IMAGES: u64 = 3;

/// Receives eight good trains that are sent with these arguments: whether it was good, what it said, and its report.
fn received(folder: &Path, kafka: &[&str], sent: &[&str]) -> (bool, String, Value) {
    let report = folder.join("received.json");
    let mut receiver = Command::new(PROGRAM)
        .args(["train", "receive", "--address", "127.0.0.1", "--port", "0", "--trains", "8", "--idle", "60s"])
        .args(["--images", "3", "--senders", "2", "--waiting", "16", "--time-out", "60s", "--report"])
        .arg(&report)
        .args(kafka)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(receiver.stderr.take().expect("a pipe")).lines();
    let address = lines
        .find_map(|line| Some(line.expect("text").split_once(" at UDP ")?.1.to_owned()))
        .expect("the program says where it receives");
    std::thread::spawn(move || lines.for_each(drop));
    let to = ["train", "send", "--to", &address, "--images", "3", "--modules", "2", "--rate", "20kpps"];
    evforge(&[&to[..], sent].concat());
    let output = receiver.wait_with_output().expect("it ends");
    let report = serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    (output.status.success(), text(&output.stdout), report)
}

/// The images of a train that was sent.
fn images(train: u64) -> Vec<Vec<u64>> {
    let image = |image| {
        let mut bytes = vec![0; TrainDetector::Lpd.image_bytes()];
        CounterPattern::new(train, image).fill(0, &mut bytes);
        bytes.as_chunks().0.iter().map(|value| u16::from_le_bytes(*value).into()).collect()
    };
    (0..IMAGES).map(image).collect()
}

/// The numbers of a variable.
fn numbers(summary: &Da00<'_>, name: &str) -> Vec<f64> {
    let variable = summary.variable(name).unwrap_or_else(|| panic!("no {name}"));
    variable.numbers().expect("numbers").to_f64()
}

/// The summary of a train of the counter pattern has every number of it. The number of the train.
fn check(summary: &Da00<'_>) -> u64 {
    let train = numbers(summary, "train")[0] as u64;
    let images = images(train);
    let sums: Vec<f64> = images.iter().map(|image| image.iter().sum::<u64>() as f64).collect();
    assert_eq!(numbers(summary, "intensity"), sums, "train {train}");
    assert_eq!(numbers(summary, "pulse"), [0.0, 1.0, 2.0], "train {train}");
    let intensity = summary.variable("intensity").expect("it is there");
    assert_eq!((&intensity.axes[..], intensity.shape.to_vec()), (&["pulse"][..], vec![3]));
    let image = summary.variable("image").expect("it is there");
    assert_eq!((&image.axes[..], image.shape.to_vec()), (&["y", "x"][..], vec![256, 256]));
    let mean = |pixel: usize| {
        let sum: u64 = images.iter().map(|image| image[pixel]).sum();
        f64::from((sum as f64 / IMAGES as f64) as f32)
    };
    let means: Vec<f64> = (0..65_536).map(mean).collect();
    assert!(numbers(summary, "image") == means, "train {train}: another image");
    train
}

#[test]
fn every_whole_train_has_a_summary_in_the_topic_that_is_right_to_the_last_bit() {
    let test = "every_whole_train_has_a_summary_in_the_topic_that_is_right_to_the_last_bit";
    let Some(broker) = shared(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (address, topic) = (broker.address(), broker.create_topic("trains", 1));
    let kafka = ["--kafka", address, "--kafka-topic", &topic, "--kafka-image"];
    let kept = ["--source-name", "X_DET_LPD1M-1", "--incomplete", "mark"];
    // The third train of both modules is incomplete, and is kept all the same.
    let sent = ["--trains", "5", "--frequency", "10Hz", "--fault", "lost:train=2,packet=3"];
    let (_, said, report) = received(folder.path(), &[&kafka[..], &kept].concat(), &sent);
    let (trains, messages) = (&report["kafka"]["trains"], &report["kafka"]["messages"]);
    assert_eq!((&trains["trains_offered"], &trains["summaries_made"]), (&10.into(), &8.into()), "{said}");
    assert_eq!((&trains["trains_not_whole"], &report["unaccounted"]), (&2.into(), &0.into()), "{said}");
    assert_eq!(
        (&messages["messages_acknowledged"], &messages["messages_waiting"]),
        (&8.into(), &0.into()),
        "{said}"
    );
    assert!(said.contains("8 of 8 summaries are with the brokers"), "{said}");
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for message in read_topic(address, &topic) {
        let summary = Da00::decode(&message.payload).expect("a da00");
        assert_eq!(message.key.as_deref(), Some(summary.source_name.as_bytes()));
        assert_eq!(message.timestamp_ms, Some(summary.timestamp / 1_000_000));
        found.entry(summary.source_name.to_owned()).or_default().push(check(&summary));
    }
    let expected = [0, 1].map(|module| (format!("X_DET_LPD1M-1/DET/{module}CH0:xtdf"), vec![1, 2, 4, 5]));
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn a_broker_that_is_not_there_is_told_and_holds_nothing_up() {
    let folder = tempfile::tempdir().expect("a folder");
    // Nobody listens at a port that was had and given back.
    let had = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = had.expect("a port").to_string();
    let kafka = ["--kafka", &port, "--kafka-topic", "trains", "--check"];
    let (is_good, said, report) = received(folder.path(), &kafka, &["--trains", "4", "--frequency", "10Hz"]);
    assert!(!is_good, "{said}");
    // Every train came, whole and right.
    assert_eq!(
        (&report["assembly"]["trains_good"], &report["content"]["images_right"]),
        (&8.into(), &24.into())
    );
    let messages = &report["kafka"]["messages"];
    assert_eq!(
        (&messages["messages_offered"], &messages["messages_given_up"]),
        (&8.into(), &8.into()),
        "{said}"
    );
    assert_eq!(&report["unaccounted"], &0);
    assert!(said.contains("0 of 8 summaries"), "{said}");
    assert!(said.contains("summaries did not reach the brokers"), "{said}");
}

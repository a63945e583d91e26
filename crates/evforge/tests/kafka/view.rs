//! `evforge view`: events that went through a topic are those of the run, on the page as in its report; and those of a file that
//! `evforge write` made of the topic.

use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_testkit::kafka_broker::shared;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The report of a page that ends with what is there.
fn viewed(folder: &Path, arguments: &[&str]) -> Value {
    let report = folder.join("view.json");
    let output = Command::new(PROGRAM)
        .args(["view", "--view", "127.0.0.1:0", "--until-end", "--overwrite", "--report"])
        .arg(&report)
        .args(arguments)
        .env_remove("EVFORGE_VIEW")
        .output()
        .expect("the program starts");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON")
}

#[test]
fn topics_and_the_file_made_of_them_are_shown_as_the_events_of_the_run() {
    let test = "topics_and_the_file_made_of_them_are_shown_as_the_events_of_the_run";
    let Some(broker) = shared(test) else { return };
    let (brokers, topic) = (broker.address(), broker.create_topic("freia_detector", 3));
    let folder = tempfile::tempdir().expect("a folder");
    let config = workspace().join("configs/freia.toml");
    let config = config.to_str().expect("text");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (events, capture) = (path("events.csv"), path("freia.pcapng"));
    evforge(&["simulate", "freia", "--pulses", "14", "--output", &capture]);
    let to = [format!("brokers={brokers}"), format!("topic={topic}"), "create_topics=true".to_owned()]
        .map(|key| format!("outputs.kafka.{key}"));
    let to: Vec<&str> = to.iter().flat_map(|key| ["--set", key]).collect();
    let set = [&to[..], &["--set", "outputs.kafka.message_events=500"]].concat();
    evforge(&[&["run", "--quiet", "--config", config, &capture, "--events", &events], &set[..]].concat());
    let count = std::fs::read_to_string(&events).expect("events").lines().count() - 1;
    assert!(count > 1000, "{count}");

    let topics = ["--kafka", brokers, "--events", &topic, "--config", config, "--oldest"];
    let report = viewed(folder.path(), &topics);
    assert_eq!((&report["events"], &report["page"]["pictured"]), (&count.into(), &count.into()), "{report}");
    let counters = &report["counters"];
    assert!(counters["messages_of_events"].as_u64() >= Some(count as u64 / 500), "{counters}");
    assert_eq!((&counters["messages_lost"], &counters["messages_duplicated"]), (&0.into(), &0.into()));
    assert_eq!((&report["unaccounted"], &report["sources"][0]["name"]), (&0.into(), &"freia".into()));

    let file = path("written.nxs");
    let write = ["write", "--config", config, "--all", "--output", &file, "--quiet"];
    evforge(&[&write[..], &to].concat());
    let report = viewed(folder.path(), &[&file]);
    assert_eq!((&report["events"], &report["page"]["pictured"]), (&count.into(), &count.into()), "{report}");
}

//! `evforge view`: events that went through a topic are those of the run, on the page as in its report; and those of a file that
//! `evforge write` made of the topic.

use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_testkit::kafka_broker::{Broker, is_possible};
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
    const NAME: &str = "topics_and_the_file_made_of_them_are_shown_as_the_events_of_the_run";
    if !is_possible(NAME) {
        return;
    }
    let broker = Broker::start();
    broker.create_topic("freia_detector", 3);
    let folder = tempfile::tempdir().expect("a folder");
    let config = workspace().join("configs/freia.toml");
    let config = config.to_str().expect("text");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (events, capture, brokers) = (path("events.csv"), path("freia.pcapng"), broker.address());
    evforge(&["simulate", "freia", "--pulses", "14", "--output", &capture]);
    let to = [format!("outputs.kafka.brokers={brokers}"), "outputs.kafka.create_topics=true".to_owned()];
    let set = ["--set", &to[0], "--set", &to[1], "--set", "outputs.kafka.message_events=500"];
    evforge(&[&["run", "--quiet", "--config", config, &capture, "--events", &events], &set[..]].concat());
    let count = std::fs::read_to_string(&events).expect("events").lines().count() - 1;
    assert!(count > 1000, "{count}");

    let topics = ["--kafka", &brokers, "--events", "freia_detector", "--config", config, "--oldest"];
    let report = viewed(folder.path(), &topics);
    assert_eq!((&report["events"], &report["page"]["pictured"]), (&count.into(), &count.into()), "{report}");
    let counters = &report["counters"];
    assert!(counters["messages_of_events"].as_u64() >= Some(count as u64 / 500), "{counters}");
    assert_eq!((&counters["messages_lost"], &counters["messages_duplicated"]), (&0.into(), &0.into()));
    assert_eq!((&report["unaccounted"], &report["sources"][0]["name"]), (&0.into(), &"freia".into()));

    let file = path("written.nxs");
    evforge(&["write", "--config", config, "--brokers", &brokers, "--all", "--output", &file, "--quiet"]);
    let report = viewed(folder.path(), &[&file]);
    assert_eq!((&report["events"], &report["page"]["pictured"]), (&count.into(), &count.into()), "{report}");
}

//! Runs that send, and files that are written.

use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_testkit::kafka_broker::SharedBroker;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A capture of a shipped configuration, simulated. All begin at the same time, whenever they are made.
pub(crate) fn simulate(config: &str, pulses: u32, output: &Path) {
    let pulses = pulses.to_string();
    let output = output.to_str().unwrap();
    evforge(&["simulate", "--config", config, "--pulses", &pulses, "--start", "fixed", "--output", output]);
}

/// The path of a shipped configuration.
pub(crate) fn shipped(name: &str) -> String {
    workspace().join("configs").join(name).with_extension("toml").to_str().unwrap().to_owned()
}

/// Sends the events of a capture to topics; `more` are further arguments.
pub(crate) fn run(config: &str, capture: &Path, keys: &[String], more: &[&str]) {
    let mut arguments = vec!["run", "--quiet", "--config", config, capture.to_str().unwrap()];
    for key in keys {
        arguments.extend(["--set", key]);
    }
    arguments.extend(more);
    evforge(&arguments);
}

/// The keys of `[outputs.kafka]`.
pub(crate) fn kafka(broker: &SharedBroker, topic: &str, source: &str) -> Vec<String> {
    let topic = broker.name(topic);
    [
        format!("brokers={}", broker.address()),
        format!("topic={topic}"),
        format!("source={source}"),
        format!("monitor_topic={topic}_monitors"),
        "monitors=hs01".to_owned(),
        "empty_pulses=true".to_owned(),
        "create_topics=true".to_owned(),
    ]
    .map(|key| format!("outputs.kafka.{key}"))
    .into()
}

/// Writes a file and gives its report; the exit status must be one of these.
pub(crate) fn write(arguments: &[&str], report: &Path, statuses: &[i32]) -> Value {
    let output = Command::new(PROGRAM)
        .args(["write", "--report", report.to_str().unwrap()])
        .args(arguments)
        .output()
        .unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(
        statuses.contains(&output.status.code().unwrap_or(-1)),
        "{arguments:?}: {} {said}",
        output.status
    );
    serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap()
}

/// A path in a folder as text.
pub(crate) fn path(folder: &Path, name: &str) -> (PathBuf, String) {
    let path = folder.join(name);
    let text = path.to_str().unwrap().to_owned();
    (path, text)
}

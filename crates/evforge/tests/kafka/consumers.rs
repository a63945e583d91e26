//! Programs of others, unchanged and from PyPI, read the topics that a run has written, and find the events of the run.
//!
//! | consumer | reads | environment |
//! |---|---|---|
//! | saluki 0.0.5, the tool of ISIS | ev44, da00, x5f2 | `.venv-messages` |
//! | scippneutron 24.7, the last one with a data stream | ev42 | `.venv-messages` |
//! | beamlime 25.4, from which ESSlivedata came | ev44, da00 | `.venv-beamlime` |
//!
//! `make test-tools` makes the environments at the root of the workspace.

use crate::common::kafka::read_topic;
use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::own_data::{capture_path, configuration_path};
use std::path::Path;
use std::process::Command;

pub(crate) const OLD: (&str, &str) =
    (".venv-messages", "import saluki, scippneutron.data_streaming.data_stream");
const BEAMLIME: (&str, &str) = (".venv-beamlime", "import beamlime");

/// The Python of an environment that can `import` what is needed; none, with `test` reported as skipped.
pub(crate) fn environment(test: &str, (environment, import): (&str, &str)) -> Option<Command> {
    let interpreter = workspace().join(environment).join("bin/python");
    let probe = Command::new(&interpreter).args(["-c", import]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        let missing = format!("{} cannot {import}: `make test-tools` installs it", interpreter.display());
        evforge_testkit::skip(test, &missing);
        return None;
    }
    Some(Command::new(interpreter))
}

/// The program that reads, in such an environment.
pub(crate) fn consumer(test: &str, packages: (&str, &str)) -> Option<Command> {
    let mut command = environment(test, packages)?;
    command.arg(workspace().join("tests/python/test_kafka_consumers.py"));
    Some(command)
}

/// The arguments of a run over a capture into a topic of this schema.
pub(crate) fn arguments(name: &str, broker: &str, topic: &str, schema: &str) -> Vec<String> {
    let keys =
        ["brokers", "topic", "schema", "create_topics"].into_iter().zip([broker, topic, schema, "true"]);
    let path = |path: &Path| path.display().to_string();
    let mut all = vec!["run".into(), "--quiet".into(), "--config".into(), path(&configuration_path(name))];
    all.push(path(&capture_path(name)));
    all.extend(keys.flat_map(|(key, value)| ["--set".to_owned(), format!("outputs.kafka.{key}={value}")]));
    all
}

/// The events of a run, as `pulse,time of flight,pixel`, in order.
pub(crate) fn expected(arguments: &[String]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("events.csv").display().to_string();
    let all: Vec<&str> = arguments.iter().map(String::as_str).chain(["--events", &file]).collect();
    evforge(&all);
    let events = std::fs::read_to_string(&file).expect("events");
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok()).expect("a number");
    let mut lines: Vec<String> = events
        .lines()
        .skip(1)
        .map(|line| {
            let mut fields = line.split(',');
            let (time, pixel, pulse) = (number(fields.next()), number(fields.next()), number(fields.next()));
            format!("{pulse},{},{pixel}", time - pulse)
        })
        .collect();
    lines.sort_unstable();
    assert!(lines.len() > 200, "{} events", lines.len());
    lines
}

/// What a consumer has found, in order.
pub(crate) fn found(command: &mut Command, arguments: &[&str]) -> Vec<String> {
    let output = command.args(arguments).output().expect("Python runs");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    let mut lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn saluki_reads_events_and_what_is_said_about_the_run() {
    let test = "saluki_reads_events_and_what_is_said_about_the_run";
    let Some(broker) = shared(test) else { return };
    for name in ["freia", "nmx"] {
        let Some(mut saluki) = consumer(test, OLD) else { return };
        let (brokers, topic) = (broker.address(), broker.name(name));
        let events = expected(&arguments(name, brokers, &topic, "ev44"));
        let messages = read_topic(brokers, &topic).len().to_string();
        assert!(found(&mut saluki, &["saluki", brokers, &topic, &messages]) == events, "{name}");
        for (further, schema) in [("_ledger", "da00"), ("_values", "da00"), ("_status", "x5f2")] {
            let topic = topic.clone() + further;
            let messages = read_topic(brokers, &topic);
            assert!(
                !messages.is_empty()
                    && messages.iter().all(|message| &message.payload[4..8] == schema.as_bytes())
            );
            let Some(mut saluki) = consumer(test, OLD) else { return };
            // A message that it cannot read is an error.
            found(&mut saluki, &["saluki", brokers, &topic, &messages.len().to_string()]);
        }
    }
}

#[test]
fn the_data_stream_of_scippneutron_reads_ev42() {
    let test = "the_data_stream_of_scippneutron_reads_ev42";
    let Some(broker) = shared(test) else { return };
    let Some(mut scippneutron) = consumer(test, OLD) else { return };
    // It needs the topic before anything is written.
    let (brokers, topic) = (broker.address(), broker.create_topic("read_live", 1));
    let run = arguments("freia", brokers, &topic, "ev42");
    // It reads what comes from now on, and so starts the run itself, to another topic than the first.
    let events = expected(&arguments("freia", brokers, &broker.name("before"), "ev42"));
    let number = events.len().to_string();
    let mut all = vec!["scippneutron", brokers, &topic, &number, PROGRAM];
    all.extend(run.iter().map(String::as_str));
    assert!(found(&mut scippneutron, &all) == events);
}

#[test]
fn beamlime_reads_events_monitors_and_values() {
    let test = "beamlime_reads_events_monitors_and_values";
    let Some(broker) = shared(test) else { return };
    let brokers = broker.address();
    for name in ["freia", "nmx"] {
        let Some(mut beamlime) = consumer(test, BEAMLIME) else { return };
        let topic = broker.name(name);
        let events = expected(&arguments(name, brokers, &topic, "ev44"));
        let messages = read_topic(brokers, &topic).len().to_string();
        assert!(found(&mut beamlime, &["beamlime", brokers, &topic, &messages]) == events, "{name}");
    }
    let Some(mut beamlime) = consumer(test, BEAMLIME) else { return };
    let topic = broker.name("monitors");
    let run = arguments("beam-monitors", brokers, &topic, "ev44");
    let histograms = broker.name("histograms");
    let key = format!("outputs.kafka.monitor_topic={histograms}");
    evforge(&run.iter().map(String::as_str).chain(["--set", &key]).collect::<Vec<_>>());
    let arrays = found(&mut beamlime, &["beamlime-arrays", brokers, &histograms, "3"]);
    assert_eq!(arrays[..2], ["monitor_1,counts,frame_time,200", "monitor_2,counts,frame_time,175"]);
    assert!(arrays[2].starts_with("monitor_3,"), "{arrays:?}");
    let Some(mut beamlime) = consumer(test, BEAMLIME) else { return };
    let values = found(&mut beamlime, &["beamlime-arrays", brokers, &(topic + "_values"), "4"]);
    assert_eq!(values[0], "beam-monitors/events/counts,counts,,375.0");
}

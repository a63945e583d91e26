//! What else comes out with the events: pulses, vetoes, the ledger, monitors, values, the state of the program, raw packets. All
//! of it through a real broker, compared with the report and the NeXus file of the same run.
#![allow(clippy::unwrap_used)]

use crate::common::kafka::{TopicMessage, read_topic};
use crate::common::{evforge, workspace};
use evforge_messages::da00::{Da00, Variable};
use evforge_messages::{Message, decode};
use evforge_testkit::kafka_broker::{SharedBroker, shared};
use hdf5_metno::File;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A broker, a folder, and the outcome of runs there.
struct Bench {
    broker: SharedBroker,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new(test: &str) -> Option<Self> {
        Some(Self { broker: shared(test)?, folder: tempfile::tempdir().unwrap() })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// A capture of a shipped configuration.
    fn simulate(&self, config: &str) -> String {
        let capture = self.path(&format!("{config}.pcapng"));
        evforge(&["simulate", "--config", &configuration(config), "--pulses", "20", "--output", &capture]);
        capture
    }

    /// Runs over a capture with these keys of `outputs.kafka` and others. The report.
    fn run(&self, config: &str, capture: &str, topic: &str, keys: &[&str], further: &[&str]) -> Value {
        let report = self.path("report.json");
        let mut overrides = vec![
            format!("outputs.kafka.brokers={}", self.broker.address()),
            format!("outputs.kafka.topic={}", self.broker.name(topic)),
            "outputs.kafka.source=test".to_owned(),
            "outputs.kafka.create_topics=true".to_owned(),
        ];
        overrides.extend(keys.iter().map(|key| format!("outputs.kafka.{key}")));
        let config = configuration(config);
        let mut arguments = vec!["run", "--config", &config, capture, "--report", &report];
        overrides.iter().for_each(|key| arguments.extend(["--set", key]));
        arguments.extend(further);
        evforge(&arguments);
        serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap()
    }

    fn topic(&self, name: &str) -> Vec<TopicMessage> {
        read_topic(self.broker.address(), &self.broker.name(name))
    }
}

fn configuration(name: &str) -> String {
    workspace().join("configs").join(name).with_extension("toml").to_str().unwrap().to_owned()
}

fn array(message: &TopicMessage) -> Da00<'_> {
    match decode(&message.payload).unwrap() {
        Message::Da00(array) => array,
        other => panic!("{other}"),
    }
}

fn values(variable: Option<&Variable<'_>>) -> Vec<f64> {
    variable.and_then(Variable::numbers).map(|numbers| numbers.to_f64()).unwrap_or_default()
}

/// The last value of each variable, by source.
fn last_values(messages: &[TopicMessage]) -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut sources: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for message in messages {
        let array = array(message);
        let known = sources.entry(array.source_name.to_owned()).or_default();
        for variable in &array.data {
            known.insert(variable.name.to_owned(), values(Some(variable))[0]);
        }
    }
    sources
}

#[test]
fn the_ledger_and_the_values_say_what_the_report_says() {
    let Some(bench) = Bench::new("the_ledger_and_the_values_say_what_the_report_says") else { return };
    // Three packets of this capture were lost.
    let capture = workspace().join("data/gdgem-srs-faults.pcapng");
    let report = bench.run("gdgem-srs", capture.to_str().unwrap(), "srs", &[], &[]);
    let stream = &report["streams"][0];
    let ledger = last_values(&bench.topic("srs_ledger"));
    let run = &ledger["test"];
    let expect = |name: &str, value: &Value| assert_eq!(run[name], value.as_f64().unwrap(), "{name}");
    expect("packets_received", &stream["packets"]["received"]);
    expect("packets_lost", &stream["packets"]["lost"]);
    expect("packets_sent", &stream["packets"]["sent"]);
    expect("events_formed", &stream["events"]);
    expect("unaccounted", &stream["unaccounted"]);
    expect("events_acknowledged", &stream["events"]);
    assert_eq!((run["events_pending"], run["events_dropped"], run["events_failed"]), (0.0, 0.0, 0.0));
    assert_eq!((run["packets_lost"], run["complete"]), (3.0, 0.0));
    let messages = bench.topic("srs");
    let Message::Ev44(last) = decode(&messages.last().unwrap().payload).unwrap() else { panic!("no events") };
    assert_eq!(run["message_id"], last.message_id as f64);
    assert_eq!(run["reference_time"], last.reference_time.last().unwrap() as f64);
    for source in stream["sources"].as_array().unwrap() {
        let module = &ledger[&format!("test/{}", source["name"].as_str().unwrap())];
        assert_eq!(module["packets_lost"], source["packets"]["lost"].as_f64().unwrap());
        assert!(module["live_fraction"] < 1.0, "{module:?}");
    }
    let totals = last_values(&bench.topic("srs_values"));
    assert_eq!(totals["test/events/counts"]["signal"], stream["events"].as_f64().unwrap());
    let status = bench.topic("srs_status");
    let Message::X5f2(status) = decode(&status.last().unwrap().payload).unwrap() else { panic!("no state") };
    let text: Value = serde_json::from_str(status.status_json.unwrap()).unwrap();
    assert_eq!((text["state"].as_str(), text["packets_lost"].as_u64()), (Some("ended"), Some(3)));
    assert_eq!((status.software_name, status.service_id), (Some("evforge"), Some("test")));
}

#[test]
fn a_whole_run_is_said_to_be_complete_and_each_pulse_is_announced() {
    let Some(bench) = Bench::new("a_whole_run_is_said_to_be_complete_and_each_pulse_is_announced") else {
        return;
    };
    let capture = bench.simulate("freia");
    let keys = ["frame_metadata=pu00", "key=pulse"];
    bench.run("freia", &capture, "freia", &keys, &[]);
    assert_eq!(last_values(&bench.topic("freia_ledger"))["test"]["complete"], 1.0);
    let mut pulse = None;
    let (mut pulses, mut events) = (0, 0);
    let messages = bench.topic("freia");
    for (message, number) in messages.iter().zip(1..) {
        match decode(&message.payload).unwrap() {
            Message::Pu00(frame) => {
                assert_eq!((frame.message_id, frame.vetos, frame.period_number), (number, None, None));
                pulse = Some(frame.reference_time);
                pulses += 1;
            }
            Message::Ev44(found) => {
                assert_eq!((found.message_id, found.reference_time.first()), (number, pulse));
                events += 1;
            }
            other => panic!("{other}"),
        }
        assert_eq!(message.key.as_deref(), pulse.map(i64::to_be_bytes).as_ref().map(|key| &key[..]));
        assert!(message.timestamp_ms.is_some());
    }
    assert!(pulses == 20 && events >= 20, "{pulses} pulses, {events} messages with events");
    // The same with each number continued.
    bench.run("freia", &capture, "freia", &["message_ids=continue", "key=pulse"], &[]);
    let again = bench.topic("freia");
    let Message::Ev44(next) = decode(&again[messages.len()].payload).unwrap() else { panic!("no events") };
    assert_eq!(next.message_id, messages.len() as i64 + 1);
    let ledger = last_values(&bench.topic("freia_ledger"));
    assert_eq!(ledger["test"]["continues_after_message_id"], messages.len() as f64);
    assert_eq!(ledger["test"]["continues_after_reference_time"], pulse.unwrap() as f64);
}

#[test]
fn vetoes_come_with_the_events_or_take_them_out() {
    let Some(bench) = Bench::new("vetoes_come_with_the_events_or_take_them_out") else { return };
    let capture = bench.simulate("freia");
    let rules = r#"veto=[{ name = "prompt", time_of_flight = ["0ms", "20ms"] }, { name = "late", time_of_flight = ["15ms", "60ms"] }]"#;
    let file = bench.path("run.nxs");
    bench.run("freia", &capture, "marked", &["message_events=500"], &["--set", rules, "--nexus", &file]);
    let file = File::open(&file).unwrap();
    let group = file.group("/entry/instrument/detector/detector_events").unwrap();
    let expected: Vec<u8> = group.dataset("event_veto").unwrap().read_raw().unwrap();
    let (mut marks, mut announced) = (Vec::new(), None);
    for message in &bench.topic("marked") {
        match decode(&message.payload).unwrap() {
            Message::Da00(array) => {
                let id = values(array.variable("message_id"))[0];
                let marked: Vec<u8> = values(array.variable("veto")).iter().map(|&mark| mark as u8).collect();
                announced = Some((id, marked));
            }
            Message::Ev44(events) => match announced.take() {
                Some((id, marked)) => {
                    assert_eq!((id, marked.len()), (events.message_id as f64, events.events()));
                    marks.extend(marked);
                }
                None => marks.resize(marks.len() + events.events(), 0),
            },
            other => panic!("{other}"),
        }
    }
    assert_eq!(marks, expected);
    assert!([0, 1, 2, 3].iter().all(|mark| marks.contains(mark)), "every combination occurs");
    let report = bench.run("freia", &capture, "left_out", &["vetoes=leave_out"], &["--set", rules]);
    let sent: usize = bench
        .topic("left_out")
        .iter()
        .map(|message| match decode(&message.payload).unwrap() {
            Message::Ev44(events) => events.events(),
            other => panic!("{other}"),
        })
        .sum();
    assert_eq!(sent, expected.iter().filter(|&&mark| mark == 0).count());
    let left_out = report["outputs"][0]["events"]["left_out"].as_u64().unwrap();
    assert_eq!(left_out as usize, expected.len() - sent);
}

#[test]
fn histograms_of_monitors_add_up_and_banks_are_sources() {
    let Some(bench) = Bench::new("histograms_of_monitors_add_up_and_banks_are_sources") else { return };
    let capture = bench.simulate("beam-monitors");
    let topic = format!("monitor_topic={}", bench.broker.name("monitors"));
    let keys = ["monitors=both", &topic, "split=panel"];
    let report = bench.run("beam-monitors", &capture, "events", &keys, &[]);
    let messages = bench.topic("monitors");
    for monitor in report["streams"][0]["beam_monitors"].as_array().unwrap() {
        let name = monitor["name"].as_str().unwrap();
        let (mut sum, mut newest, mut total) = (Vec::new(), Vec::new(), 0.0);
        for message in &messages {
            match decode(&message.payload).unwrap() {
                Message::Da00(array) if array.source_name == name => {
                    let counts = values(array.variable("signal"));
                    assert_eq!(values(array.variable("frame_time")).len(), counts.len() + 1);
                    sum.resize(counts.len(), 0.0);
                    sum.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
                    total += values(array.variable("frame_total"))[0];
                }
                Message::Hs01(histogram) if histogram.source == Some(name) => {
                    newest = match histogram.data.unwrap() {
                        evforge_messages::hs01::Counts::Float64(counts) => counts.to_vec(),
                        other => panic!("{other:?}"),
                    };
                }
                Message::Da00(_) | Message::Hs01(_) => {}
                other => panic!("{other}"),
            }
        }
        assert!(sum == newest && total > 0.0, "{name}: {total}");
        let inside = sum.iter().sum::<f64>();
        assert!((inside - total).abs() < 1e-6, "{name}");
    }
}

#[test]
fn all_packets_come_out_and_form_the_same_events_again() {
    let Some(bench) = Bench::new("all_packets_come_out_and_form_the_same_events_again") else { return };
    let capture = PathBuf::from(bench.simulate("freia"));
    let events = bench.path("events.csv");
    let raw = bench.broker.name("raw");
    let topic = format!("packets_topic={raw}");
    let keys = ["packets={}", &topic];
    let report = bench.run("freia", capture.to_str().unwrap(), "freia", &keys, &["--events", &events]);
    assert_eq!(
        bench.topic("raw").len() as u64,
        report["streams"][0]["packets"]["received"].as_u64().unwrap()
    );
    let again = bench.path("again.csv");
    let input = format!("{raw}@{}", bench.broker.address());
    evforge(&["run", "--config", &configuration("freia"), "--input-kafka", &input, "--events", &again]);
    assert!(std::fs::read(&events).unwrap() == std::fs::read(&again).unwrap(), "other events from the topic");
}

//! Frames of the readout of ISIS in topics: put together by the detector, and handed on as boards send them and put together by
//! `evforge kafka aggregate`. Both are the same.

use crate::aggregate::read;
use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_kafka::topic::Record;
use evforge_messages::Message;
use evforge_testkit::kafka_broker::shared;
use std::process::Command;

/// Vetoes, period, charge and events of each frame, in the order of time. An ev44 is of the pu00 before it in its partition.
#[derive(Debug, Default, PartialEq)]
struct Frame {
    reference_ns: i64,
    vetoes: Option<u32>,
    period: Option<u32>,
    charge: Option<f32>,
    events: Vec<(i32, i32)>,
}

fn frames(records: &[Record]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut last = std::collections::BTreeMap::new();
    for record in records {
        match record.decode().expect("a message") {
            Message::Pu00(pulse) => {
                last.insert(record.partition, frames.len());
                frames.push(Frame {
                    reference_ns: pulse.reference_time,
                    vetoes: pulse.vetos,
                    period: pulse.period_number,
                    charge: pulse.proton_charge,
                    events: Vec::new(),
                });
            }
            Message::Ev44(events) => {
                let frame = &mut frames[last[&record.partition]];
                assert_eq!(events.reference_time.to_vec(), [frame.reference_ns]);
                frame.events.extend(events.time_of_flight.iter().zip(events.pixel_id.iter()));
            }
            other => panic!("{other}"),
        }
    }
    // Within a time of flight the detector's order is its own.
    frames.iter_mut().for_each(|frame| frame.events.sort_unstable());
    frames.sort_by_key(|frame| frame.reference_ns);
    frames
}

#[test]
fn frames_of_the_detector_are_those_of_its_messages_put_together() {
    let Some(broker) = shared("frames_of_the_detector_are_those_of_its_messages_put_together") else {
        return;
    };
    let [framed, raw, again] = ["frames", "raw", "again"].map(|topic| broker.create_topic(topic, 3));
    let folder = tempfile::tempdir().expect("a folder");
    let config = workspace().join("configs/isis-wlsf.toml").display().to_string();
    let capture = folder.path().join("isis.pcapng").display().to_string();
    let simulation = ["simulation.isis.periods=2", "simulation.isis.events_per_message=40"];
    let mut arguments = vec!["simulate", "--config", &config, "--pulses", "40", "--output", &capture];
    arguments.extend(simulation.iter().flat_map(|key| ["--set", key]));
    evforge(&arguments);
    let brokers = format!("outputs.kafka.brokers={}", broker.address());
    for (topic, assembled) in [(&framed, "true"), (&raw, "false")] {
        let set = [
            brokers.as_str(),
            &format!("outputs.kafka.topic={topic}"),
            &format!("outputs.kafka.veto_topic={topic}_vetoes"),
            "outputs.kafka.create_topics=true",
            "outputs.kafka.message_events=50",
            &format!("isis.frames.assembled={assembled}"),
        ];
        let mut arguments = vec!["run", "--quiet", "--config", &config, &capture];
        arguments.extend(set.iter().flat_map(|key| ["--set", key]));
        evforge(&arguments);
    }
    let output = Command::new(PROGRAM)
        .args(["kafka", "aggregate", &raw, "--to", &again, "--until-end", "--tolerance", "1us", "--quiet"])
        .env("EVFORGE_KAFKA_BROKERS", broker.address())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", text(&output.stderr));

    let read = |topic: &str| read(broker.address(), topic);
    let sent = read(&framed);
    let (assembled, again) = (frames(&sent), frames(&read(&again)));
    assert_eq!(assembled.len(), 40);
    assert!(assembled.iter().all(|frame| frame.period.is_some() && frame.charge.is_some()));
    assert!(assembled.iter().any(|frame| frame.events.len() > 50), "several ev44 of a frame");
    assert_eq!(again, assembled);
    // What boards say alike is said once; whether a frame is complete nobody has compared.
    let raw = read(&raw);
    assert!(frames(&raw).len() >= 40 && raw.iter().all(|record| record.headers.is_empty()));
    let states = sent.iter().flat_map(|record| &record.headers);
    let states: Vec<_> = states.map(|(name, value)| (name.as_ref(), value.as_deref())).collect();
    assert!(
        states.len() == 40 && states.iter().all(|state| *state == ("frame-state", Some(b"complete"))),
        "{states:?}"
    );
    // At the start and at the end.
    let vetoes = read(&format!("{framed}_vetoes"));
    assert_eq!(vetoes.len(), 2);
    let Ok(Message::Vc00(told)) = vetoes[0].decode() else { panic!("no vc00") };
    assert_eq!((told.veto_names.len(), told.veto_names.contains(&"")), (32, false));
}

//! Raw packets in topics of a real broker: `run --input-kafka` forms the events that the capture has, and says what is wrong with
//! a topic that is not whole, not there, or of something else.

mod topics;

use crate::common::kafka::read_topic;
use evforge_messages::{Ar51, Encoder, Ev44};
use evforge_pipeline::report::grouped;
use evforge_testkit::kafka_broker::{Broker, SharedBroker, is_possible, shared};
use evforge_testkit::own_data::{capture, capture_names, capture_path, configuration_path};
use evforge_testkit::patience::patience;
use rdkafka::producer::{BaseRecord, Producer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::process::Command;
use topics::{PLAIN, Running, Written, producer, run, write_capture};

#[test]
fn the_events_of_every_capture_are_formed_again_from_a_topic() {
    let Some(broker) = shared("the_events_of_every_capture_are_formed_again_from_a_topic") else { return };
    let producer = producer(broker.address());
    for name in capture_names() {
        let (config, capture) = (configuration_path(&name), capture_path(&name));
        let topic = broker.create_topic(&name, 2);
        write_capture(&producer, &topic, "detector", &capture, |_| Some(PLAIN));
        let original = run(&config, &[&capture.display().to_string()]);
        for further in [&[][..], &["--set", "input.threads=2", "--set", "input.packets_per_slab=7"]] {
            let input = format!("{topic}@{}", broker.address());
            let again = run(&config, &[&["--input-kafka", &input], further].concat());
            assert_eq!(again.status, original.status, "{name}: {}", again.said);
            assert!(original.events.lines().count() > 1 || name == "beam-monitors", "{name}: no events");
            if again.events != original.events {
                let lines = || again.events.lines().zip(original.events.lines());
                let first = lines().position(|(again, original)| again != original);
                let counts = [&again, &original].map(|run| run.events.lines().count());
                panic!(
                    "{name} {further:?}: other events from {first:?} on, of {counts:?}: {:#}{}",
                    again.report, again.said
                );
            }
            let stream = |report: &Value| {
                let stream = &report["streams"][0];
                (stream["packets"].clone(), stream["counters"].clone(), report["calendar"].clone())
            };
            assert_eq!(stream(&again.report), stream(&original.report), "{name}");
            assert_eq!(again.report["topic"]["packets"], original.report["capture"]["packets"], "{name}");
            assert_eq!(again.report["topic"]["messages_lost"], 0, "{name}");
        }
    }
}

/// A run over a capture with `[outputs.kafka]` and these further keys of it.
fn run_into(broker: &SharedBroker, name: &str, topic: &str, keys: &[&str]) -> topics::Run {
    let capture = capture_path(name).display().to_string();
    let brokers = format!("brokers={}", broker.address());
    let topic = format!("topic={}", broker.name(topic));
    let keys = [&brokers, topic.as_str(), "create_topics=true"].into_iter().chain(keys.iter().copied());
    let keys: Vec<String> = keys.map(|key| format!("outputs.kafka.{key}")).collect();
    let keys = keys.iter().flat_map(|key| ["--set", key]);
    run(&configuration_path(name), &[capture.as_str()].into_iter().chain(keys).collect::<Vec<_>>())
}

#[test]
fn the_output_writes_the_packets_of_the_rule() {
    let Some(broker) = shared("the_output_writes_the_packets_of_the_rule") else { return };
    let name = "gdgem-srs-faults";
    let done =
        run_into(&broker, name, "sampled", &["packets.every=7", "packets.consecutive=3", "source=gem"]);
    // From the definition: each sender is counted by itself.
    let mut numbers = HashMap::new();
    let chosen = capture(name).into_iter().filter(|datagram| {
        let number: &mut u64 = numbers.entry(datagram.source).or_default();
        *number += 1;
        (*number - 1) % 7 < 3
    });
    let messages = read_topic(broker.address(), &broker.name("sampled_samples"));
    let mut ids = 1..;
    let mut found = messages.iter().map(|message| {
        let raw = Ar51::decode(&message.payload).expect("ar51");
        assert_eq!((raw.source_name, Some(raw.message_id)), ("gem", ids.next()));
        assert_eq!(message.key.as_deref(), Some(&b"gem"[..]));
        raw.raw_data.to_vec()
    });
    let chosen: Vec<Vec<u8>> = chosen.map(|datagram| datagram.payload).collect();
    assert!(chosen.len() > 60 && found.by_ref().eq(chosen.iter().cloned()), "{}", done.said);
    assert_eq!((done.status, &done.report["packet_tap"]["taken"]), (Some(0), &json!(chosen.len())));
    assert_eq!(done.report["packet_tap"]["dropped"], 0);
}

#[test]
fn a_calibration_run_writes_all_packets_of_which_events_are_formed_later() {
    let Some(broker) = shared("a_calibration_run_writes_all_packets_of_which_events_are_formed_later") else {
        return;
    };
    for name in ["gdgem-srs-faults", "sonde-module", "nmx"] {
        let topic = format!("calibration_{name}");
        // The run waits for a buffer that holds a part of the packets only.
        let keys = ["packets.calibration=true", "packets.memory=1MB"];
        let written = run_into(&broker, name, &topic, &keys);
        assert_eq!(
            (written.status, written.events.lines().count()),
            (Some(0), 1),
            "{name}: {}",
            written.said
        );
        assert_eq!(
            written.report["packet_tap"]["not_formed"], written.report["capture"]["packets"],
            "{name}"
        );
        let input = format!("{}_samples@{}", broker.name(&topic), broker.address());
        let formed = run(&configuration_path(name), &["--input-kafka", &input]);
        let original = run(&configuration_path(name), &[&capture_path(name).display().to_string()]);
        assert!(
            formed.events == original.events && formed.events.lines().count() > 100,
            "{name}: {}",
            formed.said
        );
        assert_eq!(formed.report["calendar"], original.report["calendar"], "{name}");
    }
}

#[test]
fn packets_that_wait_at_the_end_of_a_run_are_sent_as_well() {
    let Some(broker) = shared("packets_that_wait_at_the_end_of_a_run_are_sent_as_well") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("long.pcapng").display().to_string();
    let pulses = ["simulate", "freia", "--pulses", "30000", "--set", "simulation.beam.neutrons=100Hz"];
    crate::common::evforge(&[&pulses[..], &["--output", &capture]].concat());
    let brokers = format!("outputs.kafka.brokers={}", broker.address());
    let topic = broker.name("long");
    let keys = [&format!("topic={topic}"), "create_topics=true", "packets.calibration=true"]
        .map(|key| format!("outputs.kafka.{key}"));
    let keys = [&brokers].into_iter().chain(&keys).flat_map(|key| ["--set", key]);
    let written =
        run(&configuration_path("freia"), &[capture.as_str()].into_iter().chain(keys).collect::<Vec<_>>());
    assert_eq!((written.status, &written.report["packet_tap"]["taken"]), (Some(0), &json!(30_000)));
    let input = format!("{topic}_samples@{}", broker.address());
    let formed = run(&configuration_path("freia"), &["--input-kafka", &input]);
    assert_eq!(formed.report["topic"]["packets"], 30_000, "{}", written.said);
    let original = run(&configuration_path("freia"), &[&capture]);
    assert!(formed.events == original.events && formed.events.lines().count() > 10_000);
}

#[test]
fn a_source_without_a_key_over_several_partitions_is_put_together_by_its_numbers() {
    let Some(broker) =
        shared("a_source_without_a_key_over_several_partitions_is_put_together_by_its_numbers")
    else {
        return;
    };
    let (config, capture) = (configuration_path("gdgem-srs"), capture_path("gdgem-srs"));
    let topic = broker.create_topic("anywhere", 3);
    let anywhere = |id: i64| Some((id.wrapping_mul(0x9E37_79B9) >> 7).rem_euclid(3) as i32);
    write_capture(&producer(broker.address()), &topic, "gem", &capture, |message| {
        Some(Written { partition: anywhere(message.message_id), has_headers: true })
    });
    let again = run(&config, &["--input-kafka", &format!("{topic}@{}", broker.address())]);
    let original = run(&config, &[&capture.display().to_string()]);
    assert!(again.events == original.events && original.events.lines().count() > 1000, "{}", again.said);
}

#[test]
fn a_topic_of_the_event_formation_unit_has_no_senders_and_the_times_of_its_messages() {
    let Some(broker) =
        shared("a_topic_of_the_event_formation_unit_has_no_senders_and_the_times_of_its_messages")
    else {
        return;
    };
    let (config, capture) = (configuration_path("freia"), capture_path("freia"));
    let topic = broker.create_topic("efu", 1);
    write_capture(&producer(broker.address()), &topic, "freia", &capture, |_| {
        Some(Written { has_headers: false, ..PLAIN })
    });
    // The ESS readout tells sender and time in its packets.
    let again = run(&config, &["--input-kafka", &format!("{topic}@{}", broker.address())]);
    let original = run(&config, &[&capture.display().to_string()]);
    assert!(again.events == original.events, "{}", again.said);
    assert_eq!((again.status, &again.report["topic"]["unstamped"]), (Some(0), &json!(0)));
}

#[test]
fn what_is_missing_is_counted_and_said_and_a_part_can_be_chosen() {
    let Some(broker) = shared("what_is_missing_is_counted_and_said_and_a_part_can_be_chosen") else { return };
    let producer = producer(broker.address());
    let (config, capture) = (configuration_path("gdgem-srs-faults"), capture_path("gdgem-srs-faults"));
    let name = broker.create_topic("gaps", 1);
    let topic = format!("{name}@{}", broker.address());
    write_capture(&producer, &name, "gem", &capture, |message| {
        (!(11..=13).contains(&message.message_id)).then_some(PLAIN)
    });
    let gaps = run(&config, &["--input-kafka", &topic]);
    assert_eq!((gaps.status, &gaps.report["topic"]["messages_lost"]), (Some(3), &json!(3)));
    assert!(gaps.said.contains("3 of gem, the first 11 to 13"), "{}", gaps.said);
    // Offsets count what is there.
    let part = run(&config, &["--input-kafka", &topic, "--begin", "20", "--end", "50"]);
    assert_eq!((part.status, &part.report["topic"]["messages"]), (Some(0), &json!(30)), "{}", part.said);
    let late = run(&config, &["--input-kafka", &topic, "--from", "2000-01-01T00:00:00Z", "--to", "30"]);
    assert_eq!(late.report["topic"]["messages"], 30, "{}", late.said);
    let none = run(&config, &["--input-kafka", &topic, "--from", "2099-01-01T00:00:00Z"]);
    assert_eq!((none.status, none.events.as_str()), (Some(1), ""));
    assert!(
        none.said.contains(&format!(
            "topic {name} has no messages from 2099-01-01T00:00:00Z on; it has partition 0: offsets 0 to "
        )),
        "{}",
        none.said
    );
}

#[test]
fn a_broker_that_is_killed_while_a_topic_is_read_comes_back_and_nothing_is_missing() {
    if !is_possible("a_broker_that_is_killed_while_a_topic_is_read_comes_back_and_nothing_is_missing") {
        return;
    }
    let mut broker = Broker::start();
    let (config, capture) = (configuration_path("gdgem-srs"), capture_path("gdgem-srs"));
    broker.create_topic("raw", 1);
    write_capture(&producer(&broker.address()), "raw", "gem", &capture, |_| Some(PLAIN));
    let topic = format!("raw@{}", broker.address());
    let original = run(&config, &[&capture.display().to_string()]);
    let packets = original.report["capture"]["packets"].as_u64().expect("packets");
    let end = (2 * packets).to_string();
    let reading = Running::start(&config, &["--input-kafka", &topic, "--follow", "--to", &end]);
    reading.await_events(original.events.len() / 2);
    broker.kill();
    // It is away for as long as it takes to begin, some seconds.
    broker.restart();
    // The same packets once more, as a further run has them.
    write_capture(&producer(&broker.address()), "raw", "gem", &capture, |_| Some(PLAIN));
    let followed = reading.end();
    assert_eq!(followed.report["topic"]["packets"], 2 * packets, "{}", followed.said);
    assert_eq!((&followed.report["topic"]["messages_lost"], followed.status), (&json!(0), Some(0)));
    assert_eq!(followed.report["topic"]["restarts"], 1);
    // Read to the end as it was when it began, without waiting for more.
    let all = run(&config, &["--input-kafka", &format!("raw@{}", broker.address())]);
    assert_eq!((all.status, &all.report["topic"]["packets"]), (Some(0), &json!(2 * packets)));
}

#[test]
fn topics_that_cannot_be_read_are_refused_before_any_output_is_begun() {
    let Some(broker) = shared("topics_that_cannot_be_read_are_refused_before_any_output_is_begun") else {
        return;
    };
    let producer = producer(broker.address());
    let config = configuration_path("freia");
    let (empty, events) = (broker.create_topic("empty", 2), broker.create_topic("events", 1));
    let mut encoder = Encoder::new();
    for message_id in 0..1500 {
        let event = Ev44 { source_name: "freia", message_id, ..Ev44::default() };
        let record = BaseRecord::<(), [u8]>::to(&events).payload(event.encode(&mut encoder));
        producer.send(record).map_err(|(error, _)| error).expect("room");
    }
    producer.flush(patience()).expect("all messages are taken");
    for (topic, words) in [
        ("none", &["there is no topic `none`", "evforge kafka topics"][..]),
        (
            empty.as_str(),
            &[&format!("topic {empty} at "), " is empty", "evforge kafka topics", "--end never"],
        ),
        ("bad name", &["`bad name` cannot be the name of a topic"]),
    ] {
        let refused = run(&config, &["--input-kafka", &format!("{topic}@{}", broker.address())]);
        assert_eq!((refused.status, refused.report.is_null()), (Some(1), true), "{topic}: {}", refused.said);
        assert!(words.iter().all(|word| refused.said.contains(word)), "{topic}: {}", refused.said);
    }
    let other = run(&config, &["--input-kafka", &format!("{events}@{}", broker.address())]);
    assert_eq!(other.status, Some(4), "{}", other.said);
    for word in ["holds no raw packets (ar51)", "\"ev44\"", "evforge kafka topics"] {
        assert!(other.said.contains(word), "{}", other.said);
    }
    let nobody = run(&config, &["--input-kafka", "raw@127.0.0.1:1"]);
    assert_eq!(nobody.status, Some(1));
    assert!(nobody.said.contains("127.0.0.1:1"), "{}", nobody.said);
    let in_table =
        run(&config, &["--input-kafka", "none", "--set", &format!("kafka.brokers=\"{}\"", broker.address())]);
    assert!(in_table.said.contains("there is no topic `none`"), "{}", in_table.said);
}

#[test]
fn a_topic_is_followed_while_packets_come() {
    let Some(broker) = shared("a_topic_is_followed_while_packets_come") else { return };
    let (config, capture) = (configuration_path("freia"), capture_path("freia"));
    let name = broker.create_topic("followed", 2);
    let topic = format!("{name}@{}", broker.address());
    let original = run(&config, &[&capture.display().to_string()]);
    let following = Running::start(&config, &["--input-kafka", &topic, "--end", "never"]);
    following.await_begin();
    write_capture(&producer(broker.address()), &name, "freia", &capture, |_| Some(PLAIN));
    let packets = original.report["capture"]["packets"].as_u64().expect("packets");
    following.await_said(&format!("{} packets (", grouped(packets)));
    following.interrupt();
    let followed = following.end();
    assert!(followed.events == original.events, "{}", followed.said);
    assert_eq!((followed.status, &followed.report["ending"]), (Some(0), &json!("stopped")));
    // To a time that has passed when messages come, and to one that has passed long ago.
    for to in ["2 seconds", "now"] {
        let date = Command::new("date").args(["-u", "+%FT%TZ", "-d", to]).output().expect("the command date");
        let time = crate::common::text(&date.stdout).trim().to_owned();
        let ended = run(&config, &["--input-kafka", &topic, "--end", &time]);
        assert!(ended.events == original.events, "{time}: {}", ended.said);
        assert_eq!(ended.report["ending"], "complete", "{time}: {}", ended.said);
    }
}

//! A broker that is killed and comes back, and one that stands still.

use crate::run::{Replay, Run, back_soon};
use crate::truth::{all_events, assert_same, messages_of, simulate};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use std::time::Duration;

/// More messages than wait in librdkafka: 20 events in each.
const MANY: i64 = 1600;

/// How long a broker stands still.
fn standstill() -> Duration {
    let is_soak = std::env::var_os("EVFORGE_SOAK").is_some();
    Duration::from_secs(if is_soak { 60 } else { 5 })
}

#[test]
fn a_broker_is_killed_and_comes_back() {
    if !is_possible("a_broker_is_killed_and_comes_back") {
        return;
    }
    let mut broker = Broker::with(back_soon());
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 60, "fixed");
    let mut run = Run::live(folder.path(), "killed", &broker.address(), &[]);
    let replay = Replay::start(&capture, &run.address(), 1);
    let mut sent = run.sent(&broker.address());
    sent.wait_for(50);
    broker.kill();
    run.await_said("is waiting");
    broker.restart();
    sent.wait_for(MANY);
    replay.stop();
    let ended = run.end();
    ended.check_success();
    let kafka = ended.kafka();
    assert!(ended.events.len() > 30_000);
    assert!(ended.counter("broker_outages") >= 1, "{kafka:#}");
    let why = kafka["interruption"].as_str().unwrap();
    assert!(why.contains("no broker can be reached") || why.contains(&broker.address()), "{why}");
    assert!(why.contains("messages with") && why.contains("events wait"), "{why}");
    assert_same("the topic", &all_events(&messages_of(&broker.address(), "killed")), &ended.events);
}

#[test]
fn a_broker_stands_still_for_a_while() {
    if !is_possible("a_broker_stands_still_for_a_while") {
        return;
    }
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 120, "fixed");
    // Longer than librdkafka trusts what it knows of brokers and topics, which is 15 min by default.
    let age = "options={ \"metadata.max.age.ms\" = 2000, \"topic.metadata.refresh.interval.ms\" = 1000 }";
    let mut run = Run::live(folder.path(), "frozen", &broker.address(), &[age]);
    let replay = Replay::start(&capture, &run.address(), 1);
    let mut sent = run.sent(&broker.address());
    sent.wait_for(50);
    broker.freeze();
    // In real time: what is known of the broker becomes too old by librdkafka's own clock.
    std::thread::sleep(standstill());
    run.await_said("no broker has acknowledged anything for");
    broker.thaw();
    sent.wait_for_more(50);
    replay.stop();
    let ended = run.end();
    ended.check_success();
    assert_eq!(ended.counter("broker_outages"), 1, "{:#}", ended.kafka());
    assert_same("the topic", &all_events(&messages_of(&broker.address(), "frozen")), &ended.events);
}

//! A broker that is killed and comes back, and one that stands still.

use crate::run::{Replay, Run};
use crate::truth::{all_events, assert_same, messages_of, simulate};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use std::time::Duration;

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
    let mut broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 140, "fixed");
    let mut run = Run::live(folder.path(), "killed", &broker.address(), &[]);
    let mut replay = Replay::start(&capture, &run.address(), 1);
    std::thread::sleep(Duration::from_millis(1500));
    broker.kill();
    run.await_said("is waiting");
    std::thread::sleep(Duration::from_secs(1));
    broker.restart();
    assert!(replay.is_running(), "the fault must be in the middle of the run");
    let ended = run.end();
    ended.check_success();
    let kafka = ended.kafka();
    assert!(ended.events.len() > 90_000);
    assert!(ended.counter("broker_outages") >= 1, "{kafka:#}");
    let why = kafka["interruption"].as_str().unwrap();
    assert!(why.contains(&broker.address()) && why.contains("messages with"), "{why}");
    assert_same("the topic", &all_events(&messages_of(&broker.address(), "killed")), &ended.events);
}

#[test]
fn a_broker_stands_still_for_a_while() {
    if !is_possible("a_broker_stands_still_for_a_while") {
        return;
    }
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let pulses = 14 * (6 + standstill().as_secs() as u32);
    let capture = simulate(folder.path(), "a.pcapng", pulses, "fixed");
    let mut run = Run::live(folder.path(), "frozen", &broker.address(), &[]);
    let mut replay = Replay::start(&capture, &run.address(), 1);
    std::thread::sleep(Duration::from_millis(1500));
    broker.freeze();
    std::thread::sleep(standstill());
    run.await_said("no broker has acknowledged anything for");
    broker.thaw();
    assert!(replay.is_running(), "the fault must be in the middle of the run");
    let ended = run.end();
    ended.check_success();
    assert_eq!(ended.counter("broker_outages"), 1, "{:#}", ended.kafka());
    assert_same("the topic", &all_events(&messages_of(&broker.address(), "frozen")), &ended.events);
}

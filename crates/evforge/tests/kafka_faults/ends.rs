//! Runs that end while something is not acknowledged: within their patience, with a status and a count.

use crate::run::{Replay, Run, back_soon};
use crate::truth::{all_events, assert_same, messages_of, missing, simulate};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use evforge_testkit::patience::wait_until;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use std::path::Path;
use std::time::Duration;

#[test]
fn without_a_broker_a_run_ends_in_time_and_counts_what_stayed_behind() {
    if !is_possible("without_a_broker_a_run_ends_in_time_and_counts_what_stayed_behind") {
        return;
    }
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 60, "fixed");
    let start = |name: &str| Run::live(folder.path(), name, &broker.address(), &["finish_within=3s"]);
    let (mut by_itself, mut asked) = (start("by_itself"), start("asked"));
    let replays = [&mut by_itself, &mut asked].map(|run| Replay::start(&capture, &run.address(), 1));
    for run in [&by_itself, &asked] {
        run.sent(&broker.address()).wait_for(20);
    }
    broker.freeze();
    by_itself.await_said("is waiting");
    asked.await_said("is waiting");
    // Ctrl-C.
    asked.signal("INT");
    let asked = asked.end();
    drop(replays);
    let by_itself = by_itself.end();
    broker.thaw();
    for (name, ended) in [("by_itself", by_itself), ("asked", asked)] {
        let said = &ended.said;
        ended.check_balance();
        assert_eq!(ended.status, Some(1), "{name}: {said}");
        // By itself it would be a minute.
        assert!(ended.took < Duration::from_secs(30), "{name}: it took {:?}", ended.took);
        assert_eq!(ended.events("failed"), 0, "{name}: no broker has refused anything");
        let behind = ended.events("missed");
        assert!(behind > 1000, "{name}: {:#}", ended.kafka());
        let note = ended.kafka()["note"].as_str().unwrap();
        assert!(note.replace(' ', "").contains(&format!("{behind}werenot")), "{behind}: {note}");
        assert!(said.contains("FAILED OUTPUT") && said.contains(note), "{said}");
        // What was acknowledged is there; of the rest, what was on its way may be.
        let found = all_events(&messages_of(&broker.address(), name));
        let missing = missing(name, &found, &ended.events);
        assert!(found.len() as u64 >= ended.events("committed"), "{name}: {:#}", ended.kafka());
        assert!(missing.len() as u64 <= behind);
        assert_same(name, &found, &ended.events[..found.len()]);
    }
}

fn delete_topic(brokers: &str, topic: &str) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", brokers).create().expect("a client");
    let deleting = admin.delete_topics(&[topic], &AdminOptions::new());
    let mut deleting = std::pin::pin!(deleting);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let results = loop {
        if let std::task::Poll::Ready(results) = deleting.as_mut().poll(&mut context) {
            break results.expect("an answer");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

#[test]
fn the_topic_is_deleted_under_a_run() {
    if !is_possible("the_topic_is_deleted_under_a_run") {
        return;
    }
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 4, "fixed");
    // librdkafka hopes for so long that a topic comes back, 30 s by default.
    let hope = "options={ \"topic.metadata.propagation.max.ms\" = 6000 }";
    let mut run = Run::live(folder.path(), "deleted", &broker.address(), &[hope]);
    let _replay = Replay::start(&capture, &run.address(), 1);
    run.sent(&broker.address()).wait_for(50);
    delete_topic(&broker.address(), "deleted");
    let ended = run.end();
    ended.check_balance();
    assert_eq!(ended.status, Some(1), "{}", ended.said);
    assert!(ended.events("committed") < ended.events.len() as u64);
    assert!(ended.events("failed") > 1000, "{:#}", ended.kafka());
    assert!(ended.counter("failed_unknown_topic") > 50, "{:#}", ended.kafka());
    let waited = ended.kafka()["interruption"].as_str().unwrap();
    assert!(waited.contains("no broker has acknowledged anything"), "{waited}");
    let (failure, note) =
        (ended.kafka()["failure"].as_str().unwrap(), ended.kafka()["note"].as_str().unwrap());
    assert!(failure.contains("partition"), "{failure}");
    let failed = ended.events("failed");
    assert!(note.replace(' ', "").contains(&format!("{failed}werenot")), "{failed}: {note}");
}

/// What the files of a folder have; 0 if it is not there.
fn bytes_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

#[test]
fn what_a_run_leaves_on_disk_is_sent_once_by_the_next() {
    if !is_possible("what_a_run_leaves_on_disk_is_sent_once_by_the_next") {
        return;
    }
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 10, "2026-01-01T00:00:00Z");
    let later = simulate(folder.path(), "b.pcapng", 14, "2026-01-01T01:00:00Z");
    let keys = ["memory=1MB", "spill_folder=spill", "spill_size=100MB", "finish_within=2s"];
    let mut run = Run::live(folder.path(), "left", &broker.address(), &keys);
    let _replay = Replay::start(&capture, &run.address(), 2);
    run.sent(&broker.address()).wait_for(50);
    broker.freeze();
    wait_until("much is on disk", || bytes_in(&folder.path().join("spill")) > 200_000);
    run.signal("INT");
    let first = run.end();
    broker.thaw();
    first.check_balance();
    assert_eq!(first.status, Some(1), "{}", first.said);
    let note = first.kafka()["note"].as_str().unwrap();
    assert!(note.contains("are sent by the next run with the same spill_folder"), "{note}");
    let second = Run::over(folder.path(), "left", &later, &broker.address(), &keys).end();
    second.check_success();
    let (again, there) = (second.counter("spill_resent"), second.counter("spill_already_there"));
    assert!(
        note.replace(' ', "").contains(&format!(";{}messages", again + there)),
        "{again} {there}: {note}"
    );
    assert!(again > 100, "{:#}", second.kafka());
    // What librdkafka had in memory when the first run ended, too.
    let messages = messages_of(&broker.address(), "left");
    assert!(messages.is_sorted_by(|one, next| one.id < next.id), "a message is there twice");
    let found: Vec<_> = messages.into_iter().flat_map(|message| message.events).collect();
    assert_same("the topic", &found, &[&first.events[..], &second.events].concat());
}

#[test]
fn a_broker_that_has_lost_the_end_of_its_log_is_not_hidden() {
    if !is_possible("a_broker_that_has_lost_the_end_of_its_log_is_not_hidden") {
        return;
    }
    let mut broker = Broker::with(back_soon());
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 60, "fixed");
    let mut run = Run::live(folder.path(), "cut", &broker.address(), &[]);
    let replay = Replay::start(&capture, &run.address(), 1);
    // Of the first half, the broker keeps whole batches.
    run.sent(&broker.address()).wait_for(1200);
    broker.kill();
    // As a disk may be after a loss of power: what was acknowledged is not there any more.
    let log = broker.folder().join("1/data/cut-0/00000000000000000000.log");
    let length = std::fs::metadata(&log).unwrap().len();
    assert!(length > 10_000, "{length}");
    std::fs::File::options().write(true).open(&log).unwrap().set_len(length / 2).unwrap();
    broker.restart();
    replay.stop();
    let ended = run.end();
    ended.check_balance();
    assert_eq!(ended.status, Some(1), "{}", ended.said);
    let failure = ended.kafka()["failure"].as_str().unwrap();
    assert!(failure.contains("without losing or doubling messages"), "{failure}");
    assert!(ended.said.contains("FAILED OUTPUT"), "{}", ended.said);
    // What is there is the beginning, and less than was acknowledged: readers see by the numbers that the end is gone.
    let found = all_events(&messages_of(&broker.address(), "cut"));
    assert!((found.len() as u64) < ended.events("committed"), "nothing was cut");
    assert_same("cut", &found, &ended.events[..found.len()]);
}

#[test]
fn messages_are_never_larger_than_the_memory() {
    if !is_possible("messages_are_never_larger_than_the_memory") {
        return;
    }
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 30, "fixed");
    let keys = ["memory=1MB", "message_events=1000000", "message_pulses=1000"];
    let ended = Run::over(folder.path(), "large", &capture, &broker.address(), &keys).end();
    ended.check_success();
    assert!(ended.said.contains("at most 500000 bytes, half of outputs.kafka.memory"), "{}", ended.said);
    let messages = messages_of(&broker.address(), "large");
    assert!(messages.iter().any(|message| message.events.len() > 60_000), "{} messages", messages.len());
    assert_same("large", &all_events(&messages), &ended.events);
}

//! Little memory, and a broker that stands still for longer than it lasts: each policy loses what it allows, and says so.

use crate::run::{Ended, Replay, Run};
use crate::truth::{Event, all_events, assert_same, messages_of, missing, simulate};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use std::time::Duration;

/// More than there is memory for, and than wait in librdkafka.
const MANY: i64 = 1300;
const POLICIES: [&str; 4] = ["wait", "drop_oldest", "drop_newest", "stop"];

/// Events of the topic, and those that were formed and are not there: as many as were dropped.
fn compare(ended: &Ended, broker: &Broker, topic: &str) -> (Vec<Event>, Vec<Event>) {
    let found = all_events(&messages_of(&broker.address(), topic));
    let missing = missing(topic, &found, &ended.events);
    assert_eq!(missing.len() as u64, ended.events("dropped"), "{topic}: {:#}", ended.kafka());
    (found, missing)
}

#[test]
fn each_policy_loses_what_it_allows_and_says_so() {
    if !is_possible("each_policy_loses_what_it_allows_and_says_so") {
        return;
    }
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 60, "fixed");
    let mut runs: Vec<(&str, Run)> = POLICIES
        .iter()
        .map(|&policy| {
            let policy_key = format!("when_full={policy}");
            let keys = ["memory=1MB", "queue_events=5000", &policy_key];
            (policy, Run::live(folder.path(), policy, &broker.address(), &keys))
        })
        .collect();
    let replays: Vec<Replay> =
        runs.iter_mut().map(|(_, run)| Replay::start(&capture, &run.address(), 2)).collect();
    let mut sent: Vec<_> = runs.iter().map(|(_, run)| run.sent(&broker.address())).collect();
    sent.iter_mut().for_each(|sent| sent.wait_for(20));
    broker.freeze();
    for (_, run) in &mut runs[1..3] {
        run.await_dropped(1001);
    }
    // In real time: nothing shows that the last one, which has had as much, has stopped.
    std::thread::sleep(Duration::from_secs(1));
    broker.thaw();
    // More than there is memory for, with none of it lost by the first; the others get something through again.
    sent[0].wait_for(MANY);
    sent[1..3].iter_mut().for_each(|sent| sent.wait_for_more(20));
    drop(replays);
    for (policy, run) in runs {
        let ended = run.end();
        ended.check_balance();
        let (found, missing) = compare(&ended, &broker, policy);
        let said = &ended.said;
        match policy {
            "wait" => {
                assert_eq!((ended.status, missing.len()), (Some(0), 0), "{said}");
                assert!(ended.events.len() > 25_000, "too few events");
                assert_same(policy, &found, &ended.events);
            }
            "stop" => {
                assert_eq!(ended.status, Some(1), "{said}");
                let by = ended.report["stopped_by"].as_str().unwrap();
                assert!(by.contains("the queue of events to topic stop") && by.contains("full"), "{by}");
                assert!(!missing.is_empty() && missing.len() < 10_000, "{said}");
                assert!(ended.events.len() < 90_000, "it did not stop");
            }
            _ => {
                assert_eq!(ended.status, Some(1), "{said}");
                assert!(missing.len() > 1000, "{policy} lost {}", missing.len());
                // They were lost in one piece or several, while the broker stood still: the beginning and the end are there.
                assert_eq!((found.first(), found.last()), (ended.events.first(), ended.events.last()));
                assert!(said.contains("ALARM"), "{said}");
            }
        }
    }
}

//! Three brokers, each partition on all, and never acknowledged by fewer than two.

use crate::run::{Replay, Run};
use crate::truth::{all_events, assert_same, messages_of, simulate};
use evforge_testkit::kafka_broker::{Cluster, Topic, is_possible};
use std::time::Duration;

fn topic(name: &str) -> Topic {
    let settings = vec![("min.insync.replicas".to_owned(), "2".to_owned())];
    Topic { replication: 3, settings, ..Topic::new(name) }
}

#[test]
fn the_leader_is_lost_then_another_and_one_never_comes_back() {
    if !is_possible("the_leader_is_lost_then_another_and_one_never_comes_back") {
        return;
    }
    let mut cluster = Cluster::start(3);
    let folder = tempfile::tempdir().unwrap();
    cluster.create_topic(&topic("led"));
    let capture = simulate(folder.path(), "a.pcapng", 14 * 16, "fixed");
    let mut run = Run::live(folder.path(), "led", &cluster.addresses(), &[]);
    let mut replay = Replay::start(&capture, &run.address(), 1);
    std::thread::sleep(Duration::from_millis(1500));
    let first = cluster.leaders(1, "led")[0];
    cluster.kill(first);
    std::thread::sleep(Duration::from_secs(4));
    // Two of three must acknowledge: with the second gone as well, nothing is.
    cluster.restart(first);
    std::thread::sleep(Duration::from_secs(1));
    let second = cluster.leaders(first, "led")[0];
    cluster.kill(second);
    assert!(replay.is_running(), "the fault must be in the middle of the run");
    let ended = run.end();
    ended.check_success();
    assert_same("the topic", &all_events(&messages_of(&cluster.addresses(), "led")), &ended.events);
}

//! Three brokers, each partition on all, and never acknowledged by fewer than two.

use crate::run::{Replay, Run, back_soon};
use crate::truth::{all_events, assert_same, messages_of, simulate};
use evforge_testkit::kafka_broker::{Cluster, Topic, is_possible};
use evforge_testkit::patience::wait_until;

fn topic(name: &str) -> Topic {
    let settings = vec![("min.insync.replicas".to_owned(), "2".to_owned())];
    Topic { replication: 3, settings, ..Topic::new(name) }
}

/// Waits until the partition is led by another than this one.
fn await_new_leader(cluster: &Cluster, old: usize, asked: usize) -> usize {
    wait_until("a new leader", || cluster.leaders(asked, "led").first().is_some_and(|new| *new != old));
    cluster.leaders(asked, "led")[0]
}

#[test]
fn the_leader_is_lost_then_another_and_one_never_comes_back() {
    if !is_possible("the_leader_is_lost_then_another_and_one_never_comes_back") {
        return;
    }
    let mut cluster = Cluster::with(3, back_soon());
    let folder = tempfile::tempdir().unwrap();
    cluster.create_topic(&topic("led"));
    let capture = simulate(folder.path(), "a.pcapng", 14 * 60, "fixed");
    let mut run = Run::live(folder.path(), "led", &cluster.addresses(), &[]);
    let replay = Replay::start(&capture, &run.address(), 1);
    let mut sent = run.sent(&cluster.addresses());
    sent.wait_for(50);
    let first = cluster.leaders(1, "led")[0];
    cluster.kill(first);
    await_new_leader(&cluster, first, first % 3 + 1);
    sent.wait_for_more(50);
    cluster.restart(first);
    // Now one that is the leader, and does not come back.
    let second = await_new_leader(&cluster, 0, first);
    cluster.kill(second);
    await_new_leader(&cluster, second, second % 3 + 1);
    sent.wait_for_more(50);
    replay.stop();
    let ended = run.end();
    ended.check_success();
    assert_same("the topic", &all_events(&messages_of(&cluster.addresses(), "led")), &ended.events);
}

//! A spill whose disk is full, or that has the size that it may have: events wait in memory then, and all arrive.

use crate::common::PROGRAM;
use crate::run::{Replay, Run};
use crate::truth::{all_events, assert_same, messages_of, simulate};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use evforge_testkit::patience::wait_until;
use evforge_testkit::skip;
use std::path::Path;
use std::process::Command;

/// A command that runs the program with a folder `spill` that is a file system of one megabyte, which only it sees.
fn on_a_small_disk(folder: &Path) -> Option<Command> {
    std::fs::create_dir(folder.join("spill")).expect("a folder");
    let mount = "mount -t tmpfs -o size=1m none spill";
    let is_allowed =
        Command::new("unshare").args(["--mount", "sh", "-c", mount]).current_dir(folder).output();
    if !is_allowed.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{mount} && exec \"$@\""), "sh", PROGRAM]);
    Some(command)
}

fn through(test: &str, is_small_disk: bool) {
    if !is_possible(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (command, size, words) = if is_small_disk {
        let Some(command) = on_a_small_disk(folder.path()) else {
            return skip(test, "a file system cannot be mounted without root");
        };
        (command, "spill_size=1GB", "No space left")
    } else {
        (Command::new(PROGRAM), "spill_size=1MB", "(spill_size)")
    };
    let broker = Broker::start();
    let capture = simulate(folder.path(), "a.pcapng", 14 * 12, "fixed");
    let keys = ["memory=1MB", "spill_folder=spill", size];
    let mut run = Run::live_by(command, folder.path(), "spilled", &broker.address(), &keys);
    let mut replay = Replay::start(&capture, &run.address(), 1);
    run.sent(&broker.address()).wait_for(50);
    broker.freeze();
    run.await_said("is waiting");
    wait_until("the spill is full", || run.said().contains(words) || !replay.is_running());
    broker.thaw();
    let ended = run.end();
    ended.check_success();
    assert!(ended.said.contains(words), "{}", ended.said);
    assert!(ended.counter("spilled_messages") > 1000, "{:#}", ended.kafka());
    assert_eq!(ended.counter("spilled_bytes"), 0);
    assert_same("the topic", &all_events(&messages_of(&broker.address(), "spilled")), &ended.events);
    if !is_small_disk {
        let left = std::fs::read_dir(folder.path().join("spill")).expect("a folder");
        let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(left, ["lock"]);
    }
}

#[test]
fn the_disk_of_the_spill_is_full() {
    through("the_disk_of_the_spill_is_full", true);
}

#[test]
fn the_spill_has_the_size_that_it_may_have() {
    through("the_spill_has_the_size_that_it_may_have", false);
}

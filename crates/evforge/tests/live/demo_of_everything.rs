//! `evforge demo` takes every shipped configuration: it serves its page, forms events, and ends on request.

use crate::common::PROGRAM;
use crate::common::program::Program;
use crate::page_json::ask;
use evforge_config::shipped;
use evforge_testkit::patience::wait_for;
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

fn events_of(ledger: &Value) -> u64 {
    ledger["events"].as_u64().unwrap_or(0)
}

/// The ledger of a demonstration once `enough` is true of it.
fn ledger_with(name: &str, page: &str, enough: impl Fn(&Value) -> bool) -> Value {
    wait_for(format!("{name} shows what it should"), || {
        Some(ask(page, "/api/state.json")["ledger"].take()).filter(&enough)
    })
}

fn monitors_with_a_total(ledger: &Value) -> usize {
    let monitors = ledger["beam_monitors"].as_array().into_iter().flatten();
    monitors.filter(|monitor| monitor["total"].as_f64().is_some_and(|total| total > 0.0)).count()
}

fn demonstrate(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(PROGRAM);
    command.args(["demo", "--detector", name, "--for", "10min", "--view", "127.0.0.1:0", "--output"]);
    command.arg(folder.path());
    let program = Program::start(command);
    let page = program.await_line("Look at it:  http://");
    // While it runs, the page has a picture of each monitor and of the detector.
    let pictures = ask(&page, "/api/pictures.json");
    assert!(!pictures.as_array().expect("a list").is_empty(), "{name}");
    if name == "beam-monitors" {
        let of_monitors = pictures.as_array().into_iter().flatten().filter(|of| of["is_monitor"] == true);
        assert!(of_monitors.count() >= 1, "{pictures}");
        // 0D and integrating monitors have no picture: the ledger has all three.
        ledger_with(name, &page, |ledger| monitors_with_a_total(ledger) == 3);
    }
    let ledger = ledger_with(name, &page, |ledger| events_of(ledger) > 1000);
    program.signal("INT");
    let (status, printed, said) = program.ended();
    assert_eq!(status.code(), Some(0), "{name}: {printed}{said}");
    let report = std::fs::read_to_string(folder.path().join("demo-report.json")).expect("a report");
    let mut report: Value = serde_json::from_str(&report).expect("JSON");
    let report = report["streams"][0].take();
    assert!(
        events_of(&report) >= events_of(&ledger),
        "{name}: {} of {}",
        events_of(&report),
        events_of(&ledger)
    );
}

#[test]
fn every_shipped_configuration_is_demonstrated() {
    let names: Vec<&str> = shipped::names().skip(1).collect();
    assert!(names.len() >= 22, "{names:?}");
    // Each of them waits for most of its time.
    let next = AtomicUsize::new(0);
    let some = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            demonstrate(name);
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(some))));
}

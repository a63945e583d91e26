//! `evforge demo` takes every shipped configuration: it serves its page, forms events, and ends on request.

use crate::common::send_signal;
use crate::page_json::ask;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// For starting, a thousand events, and ending: under a second each, more on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The names of all files in `configs/`, but for those that need a wiring table: it is not a part of the program.
fn shipped() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let files =
        std::fs::read_dir(folder).expect("the configurations").map(|entry| entry.expect("an entry").path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let mut names: Vec<String> =
        files.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with("isis-") || name == "isis-v2");
    names.sort();
    names
}

fn events_of(ledger: &Value) -> u64 {
    ledger["events"].as_u64().unwrap_or(0)
}

/// The ledger of a demonstration once `enough` is true of it.
fn ledger_with(name: &str, page: &str, enough: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ledger = ask(page, "/api/state.json")["ledger"].take();
        if enough(&ledger) {
            return ledger;
        }
        assert!(Instant::now() < deadline, "{name}: {ledger}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn monitors_with_a_total(ledger: &Value) -> usize {
    let monitors = ledger["beam_monitors"].as_array().into_iter().flatten();
    monitors.filter(|monitor| monitor["total"].as_f64().is_some_and(|total| total > 0.0)).count()
}

fn demonstrate(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_evforge"))
        .args(["demo", "--detector", name, "--for", "2min", "--view", "127.0.0.1:0", "--output"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("evforge starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let page = lines.find_map(|line| line.split_once("http://").map(|(_, page)| page.trim().to_owned()));
    let page = page.unwrap_or_else(|| panic!("{name} has no page"));
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
    let asked = Instant::now();
    send_signal(child.id(), "INT");
    lines.for_each(drop);
    let status = loop {
        if let Some(status) = child.try_wait().expect("a status") {
            break status;
        }
        if asked.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{name} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(0), "{name}");
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
    let names = shipped();
    assert!(names.len() >= 17, "{names:?}");
    names.iter().for_each(|name| demonstrate(name));
}

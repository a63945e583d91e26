//! The captures of this repository (`data/`): the events and counters that come out are those that were written down, to
//! the last one, whatever the slabs, batches and threads are; and the events are the neutrons that were really there.
//!
//! `EVFORGE_UPDATE=1` writes events and counters down instead (`make data`).

use crate::common::Keep;
use evforge_config::Config;
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_lab::demands::Demands;
use evforge_net::capture::CaptureReader;
use evforge_net::clock::SystemClock;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use evforge_sim::score::{ScoreSettings, event_file, ids_to_pixels, score};
use evforge_sim::truth;
use evforge_testkit::own_data::{capture_names, capture_path, configuration_path, table_path};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn config(name: &str, overrides: &[&str]) -> Config {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Config::read(&configuration_path(name), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// The events of a capture and their account.
fn form(name: &str, overrides: &[&str]) -> (EventLog, DetectorLedger) {
    let config = config(name, overrides);
    let kept = Keep::default();
    let run = CaptureRun {
        monitor: MonitorTap::default(),
        packets: PacketTap::default(),
        control: RunControl::default(),
        samples: None,
        config: &config,
        input: Box::new(CaptureReader::open(&capture_path(name)).expect("a capture")),
        outputs: vec![kept.output()],
        stop: &AtomicBool::new(false),
        clock: Arc::new(SystemClock::start()),
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
    };
    let report = run.run(|_| {}).expect("a run");
    assert!(report.is_success(), "{name}");
    let ledger = report.state.ledger;
    assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0), "{name}");
    (kept.log(), ledger)
}

/// Events as `evforge run --events` writes them.
fn event_table(log: &EventLog) -> String {
    let tells_pulses = log.pulses().iter().any(|pulse| pulse.time_ns.is_some());
    let mut text =
        String::from(if tells_pulses { "time_ns,pixel_id,pulse_time_ns\n" } else { "time_ns,pixel_id\n" });
    for pulse in log.pulses() {
        for event in &pulse.events {
            let pulse = pulse.time_ns.map_or(String::new(), |time_ns| format!(",{time_ns}"));
            text.push_str(&format!("{},{}{pulse}\n", event.time_ns, event.pixel_id));
        }
    }
    text
}

/// What became of packets, readouts, hits and events: all that is not 0.
fn counter_table(ledger: &DetectorLedger) -> String {
    let packets = ledger.packets();
    let sequence = [
        ("sent", packets.sent.unwrap_or(0)),
        ("received", packets.received),
        ("lost", packets.lost),
        ("reordered", packets.reordered),
        ("duplicated", packets.duplicated),
    ];
    let counters = ledger.counters.iter().map(|(info, value)| (info.name, value));
    let rows = sequence.into_iter().chain(counters).filter(|(_, value)| *value > 0);
    let rows: Vec<String> = rows.map(|(name, value)| format!("{name},{value}\n")).collect();
    format!("counter,value\n{}", rows.concat())
}

/// The first line in which two tables differ, with its number, for a person.
fn difference(path: &Path, found: &str) -> Option<String> {
    let written = std::fs::read_to_string(path).unwrap_or_default();
    if written == found {
        return None;
    }
    let (mut ours, mut theirs) = (found.lines(), written.lines());
    for number in 1.. {
        let (one, other) = (ours.next(), theirs.next());
        if one != other || one.is_none() {
            let [one, other] = [one, other].map(|line| line.unwrap_or("no such line"));
            let [lines, expected] = [found, &written].map(|text| text.lines().count());
            return Some(format!(
                "{}:{number}: found {one}, expected {other}; {lines} lines, expected {expected}",
                path.display()
            ));
        }
    }
    None
}

#[test]
fn events_and_counters_are_those_written_down() {
    let is_update = std::env::var_os("EVFORGE_UPDATE").is_some();
    let (mut captures, mut differences) = (0, Vec::new());
    for name in capture_names() {
        let (events, ledger) = form(&name, &[]);
        assert!(events.len() > 200, "{name}: {} events", events.len());
        for (kind, table) in [("events", event_table(&events)), ("counters", counter_table(&ledger))] {
            let path = table_path(kind, &name);
            if is_update {
                std::fs::write(&path, table).expect("a table of data/");
            } else {
                differences.extend(difference(&path, &table));
            }
        }
        captures += 1;
    }
    assert!(captures >= 19, "{captures} captures");
    assert!(
        differences.is_empty(),
        "not as written down (if it is meant to be so: EVFORGE_UPDATE=1):\n{}",
        differences.join("\n")
    );
}

#[test]
fn slabs_batches_and_threads_change_no_event_and_no_counter() {
    for name in capture_names() {
        let (expected, account) = form(&name, &[]);
        for overrides in [
            &["input.threads=2"][..],
            &["input.threads=2", "input.packets_per_slab=3", "input.events_per_batch=17"],
            &["input.packets_per_slab=1", "input.events_per_batch=1"],
            &["input.packets_per_slab=7", "input.events_per_batch=1000"],
        ] {
            let (found, ledger) = form(&name, overrides);
            assert!(found == expected, "{name} with {overrides:?}: {} events", found.len());
            assert_eq!(counter_table(&ledger), counter_table(&account), "{name} with {overrides:?}");
        }
    }
}

/// How far an event may be from its neutron, in pixels along each axis, and which share of the events may be further away,
/// in percent: as in `scripts/accuracy.sh`. Tracks in a Gd-GEM are long.
fn largest_distance(name: &str) -> [f64; 3] {
    match name.strip_suffix("-faults").unwrap_or(name) {
        "gdgem-srs" | "gdgem-nmx" | "nmx" => [20.0; 3],
        "multigrid-cncs" => [2.5, 1.5, 1.5],
        "multigrid" | "trex" | "let" => [1.5, 1.5, 2.5],
        "sonde" | "sonde-module" | "beam-monitors" | "adc-readout" => [1.0; 3],
        // Noise of the wire, along a tube.
        "loki" | "bifrost" | "tbl3he" => [13.2, 1.0, 1.0],
        "miracles" | "cspec" => [1.6, 8.5, 1.0],
        _ => [2.0; 3],
    }
}

#[test]
fn events_are_the_neutrons_that_were_there() {
    for name in capture_names() {
        let detector = config(&name, &[]).build_detector().expect("a checked configuration");
        let settings =
            ScoreSettings { largest_distance: largest_distance(&name), ..ScoreSettings::default() };
        let open = |kind| BufReader::new(File::open(table_path(kind, &name)).expect("a table of data/"));
        let mut neutrons = truth::read(open("truth")).expect("a truth");
        // Those of an integrating monitor make no events.
        neutrons.retain(|neutron| neutron.pixel_id != 0);
        let mut events = event_file::read(open("events")).expect("events");
        if let Some(ids) = detector.pixel_ids() {
            ids_to_pixels(&ids, &mut neutrons, &mut events);
        }
        let score = score(&detector.geometry(), &neutrons, &events, &settings)
            .unwrap_or_else(|error| panic!("{error}"));
        // Lost packets take their neutrons along, and cut others in two.
        let is_whole = !name.ends_with("-faults");
        let demands = Demands {
            min_efficiency: Some(if is_whole { 98.0 } else { 80.0 }),
            max_ghosts: Some(if is_whole { 0.1 } else { 1.0 }),
            max_time_residual_ns: is_whole.then_some(100.0),
            ..Demands::default()
        };
        let problems = demands.problems(&score);
        assert!(problems.is_empty(), "{name}: {}", problems.join("; "));
        assert!(is_whole || score.all.missed > 0, "{name}: no neutron was lost");
    }
}

/// The comparison can fail, and says where.
#[test]
fn a_changed_setting_is_noticed() {
    let (events, ledger) = form("gdgem-srs", &["gdgem.clustering.x.min_hits=4"]);
    let events = difference(&table_path("events", "gdgem-srs"), &event_table(&events)).expect("other events");
    assert!(events.contains("gdgem-srs.csv:") && events.contains("expected"), "{events}");
    let counters = difference(&table_path("counters", "gdgem-srs"), &counter_table(&ledger));
    assert!(counters.is_some(), "the same counters");
}

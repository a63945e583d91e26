//! Formation measured over loopback, with the real programs.

use crate::common::PROGRAM;
use evforge_lab::measured_formation::{Destination, FormationLoad, FormationRunner, LoadSource};
use evforge_lab::two_hosts::TwoHosts;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Packets per second that any machine takes, if it may be late: all of them have room, and so have their events.
const SLOW: u64 = 2000;
const ROOM: &str = "receive.buffer=256MB";

/// What gives them room.
fn room(into: Destination) -> Vec<String> {
    let events = match into {
        Destination::Nothing => None,
        into => Some(format!("outputs.{}.when_full=wait", into.name())),
    };
    [Some(ROOM.to_owned()), events].into_iter().flatten().collect()
}

#[test]
fn a_slow_load_is_formed_whole_and_the_same_whatever_takes_the_events() {
    let (hosts, stop) = (TwoHosts::on_loopback(), AtomicBool::new(false));
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(PROGRAM);
    let runner = |into| FormationRunner {
        hosts: &hosts,
        program: program.to_owned(),
        folder: folder.path().to_owned(),
        keys: room(into),
        kafka: None,
        stop: &stop,
    };
    for (name, is_repeated) in [("sonde-module", true), ("freia", true), ("multiblade", false)] {
        let load = FormationLoad::simulated(name, 50_000, 2, program, folder.path(), &stop).expect(name);
        let load = load.lasting(Duration::from_secs(2), SLOW as f64);
        assert_eq!(matches!(load.source, LoadSource::Repeated { .. }), is_repeated, "{name}");
        let points = Destination::LOCAL.map(|into| {
            runner(into)
                .run(&load, into, Some(SLOW))
                .unwrap_or_else(|error| panic!("{name} into {into}: {error}"))
        });
        for point in &points {
            assert!(point.packets.is_whole(), "{name}: {point:?}");
            assert!(point.readouts >= 40_000 && point.events > 0 && point.bytes > 0, "{name}: {point:?}");
            // A load that starts with the present has other times, and the same readouts. A loop ends by the clock: some packets
            // sooner or later, with as many readouts in each.
            let expected =
                points[0].readouts as f64 * point.packets.sent as f64 / points[0].packets.sent as f64;
            let is_same = match is_repeated {
                true => point.readouts == points[0].readouts,
                false => (point.readouts as f64 - expected).abs() < 0.01 * expected,
            };
            assert!(is_same, "{name}: {points:?}");
        }
    }
}

#[test]
fn what_cannot_be_had_is_said() {
    let stop = AtomicBool::new(false);
    let folder = tempfile::tempdir().expect("a folder");
    let load = FormationLoad::simulated("friea", 1000, 1, Path::new(PROGRAM), folder.path(), &stop);
    let error = load.expect_err("there is no such detector").to_string();
    assert!(error.contains("freia"), "{error}");
    let hosts = TwoHosts::on_loopback();
    let (program, keys) = (PROGRAM.into(), Vec::new());
    let runner = FormationRunner {
        hosts: &hosts,
        program,
        folder: folder.path().to_owned(),
        keys,
        kafka: None,
        stop: &stop,
    };
    let missing = FormationLoad::capture(
        Path::new("no-such.toml"),
        Path::new("no-such.pcapng"),
        Duration::from_secs(1),
    );
    let error = runner.run(&missing, Destination::Nothing, None).expect_err("no configuration").to_string();
    assert!(error.contains("no-such.toml"), "{error}");
}

#[test]
fn without_a_broker_that_can_be_reached_the_command_that_works_is_told() {
    for (arguments, expected) in [
        (&["latency", "--into", "kafka"][..], "make kafka"),
        (&["formation", "--into", "kafka", "--kafka", "127.0.0.1:9093"], "--loopback --kafka 127.0.0.1:9093"),
        (&["formation", "--into", "nexus", "--kafka", "127.0.0.1:9093"], "nothing goes to it"),
    ] {
        let output =
            std::process::Command::new(PROGRAM).arg("measure").args(arguments).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}

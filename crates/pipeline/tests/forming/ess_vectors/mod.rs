//! The reference's unit tests of the ESS readout that need a detector, replayed (ESS readout formats, sections 2
//! and 3; header and record checks are those of `evforge-wire`'s conformance test).
//!
//! The exported bytes are mostly payloads; the tests set pulses and detector in their code, which is not exported.
//! Every case therefore names the configuration and the pulses chosen for it, and what must come of it in our own
//! counters; where that is not what the reference says, the case says why.

mod beam_monitors;
mod gdgem;
mod multiblade;
mod multigrid;

use crate::common::form_packets;
use evforge_config::Config;
use evforge_core::beam_monitor::MonitorSum;
use evforge_testkit::{shared_folder, skip};
use evforge_wire::ess::{EssHeader, EssTime, detector_type};
use std::collections::BTreeSet;
use std::path::Path;

/// A pulse and the one before it, each in seconds and ticks.
type Pulses = [(u32, u32); 2];

/// What the bytes of a file are.
enum Bytes {
    /// A whole packet.
    Packet(&'static str),
    /// A whole packet whose byte at this place the test changes.
    Changed(&'static str, usize, u8),
    /// Records, to be sent with these pulses in the header.
    Records(&'static str, Pulses),
}

/// A test of the reference.
struct Case {
    /// Its name in the INDEX.
    test: &'static str,
    /// What it is given.
    given: &'static [Bytes],
    /// Overrides of the configuration.
    settings: &'static [&'static str],
    /// Counters, by name, with what they must be; all discards that are not named must be 0.
    counters: &'static [(&'static str, u64)],
    /// The events: the pulse in seconds and ticks, and the pixel.
    events: &'static [((u32, u32), u32)],
    /// Beam monitors by name, with the sums of their histograms.
    monitors: &'static [(&'static str, u64)],
    /// Where this is not what the reference says: why.
    differs: &'static str,
}

impl Case {
    /// What most cases have in common.
    const PLAIN: Self =
        Self { test: "", given: &[], settings: &[], counters: &[], events: &[], monitors: &[], differs: "" };
}

/// In the place of a pulse: there is none.
const NO_PULSE: (u32, u32) = (0, 0);

/// The tests of a detector.
struct Detector {
    /// Of which files.
    prefix: &'static str,
    /// The configuration: a file of `configs/`, or its text.
    configuration: &'static str,
    cases: &'static [Case],
    /// Tests whose outcome cannot be had from the bytes, with the reason.
    not_reproducible: &'static [(&'static str, &'static str)],
}

const DETECTORS: &[Detector] =
    &[beam_monitors::DETECTOR, multiblade::DETECTOR, multigrid::DETECTOR, gdgem::DETECTOR];

fn configuration(detector: &Detector, case: &Case) -> Config {
    // The reference makes one event of all that is close in time.
    let reference: &[&str] = match detector.prefix {
        "freia" => &["ess_multiblade.pairing.ambiguous=join", "ess_multiblade.window.max_time_gap=500ns"],
        "trex" => &["ess_multigrid.pairing.ambiguous=join", "ess_multigrid.gap=500ns"],
        _ => &[],
    };
    let overrides: Vec<String> =
        reference.iter().chain(case.settings).map(|text| (*text).to_owned()).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(detector.configuration);
    let config = if detector.configuration.ends_with(".toml") {
        Config::read(&path, &overrides)
    } else {
        Config::parse(Path::new("vectors.toml"), detector.configuration, &overrides)
    };
    config.unwrap_or_else(|error| panic!("{}: {error}", case.test))
}

/// The type byte of the configuration.
fn type_of(config: &Config) -> u8 {
    let table: toml::Table = toml::from_str(&config.text).expect("a configuration that was read");
    let name = table["ess"]["type"].as_str().expect("a name");
    detector_type::named(name).expect("a known name")
}

fn packets(case: &Case, detector_type: u8) -> Vec<Vec<u8>> {
    let file = |name: &str| {
        let path = shared_folder().join("vectors/ess").join(format!("{name}.bin"));
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let time = |(seconds, ticks): (u32, u32)| EssTime { seconds, ticks };
    let packet = |(sequence, bytes): (usize, &Bytes)| match bytes {
        Bytes::Packet(name) => file(name),
        Bytes::Changed(name, place, value) => {
            let mut packet = file(name);
            packet[*place] = *value;
            packet
        }
        Bytes::Records(name, [pulse, previous]) => {
            let header = EssHeader {
                version: 1,
                detector_type,
                output_queue: 0,
                time_source: 0,
                pulse: time(*pulse),
                previous_pulse: time(*previous),
                sequence: sequence as u32,
            };
            let mut packet = Vec::new();
            header.write_packet(&file(name), &mut packet);
            packet
        }
    };
    case.given.iter().enumerate().map(packet).collect()
}

fn replay(detector: &Detector, case: &Case) {
    let config = configuration(detector, case);
    let (log, ledger) = form_packets(&config, &packets(case, type_of(&config)));
    assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0), "{}", case.test);
    for (name, expected) in case.counters {
        assert_eq!(ledger.counters.value(name), Some(*expected), "{}: {name}", case.test);
    }
    let named: BTreeSet<&str> = case.counters.iter().map(|(name, _)| *name).collect();
    for (info, value) in ledger.counters.iter() {
        let is_discard = matches!(info.role, evforge_core::counter::Role::Discarded(_));
        let is_named = named.contains(info.name);
        assert!(!is_discard || is_named || value == 0, "{}: {} is {value}", case.test, info.name);
    }
    for (name, total) in case.monitors {
        let monitor = ledger.beam_monitors.iter().find(|monitor| monitor.plan().name == *name);
        let found = monitor.map(|monitor| monitor.sum(monitor.total()));
        assert_eq!(found, Some(MonitorSum::Whole(*total)), "{}: {name}", case.test);
    }
    let nanoseconds = |(seconds, ticks): (u32, u32)| EssTime { seconds, ticks }.nanoseconds();
    let found: Vec<(u64, u32)> = log
        .pulses()
        .iter()
        .flat_map(|pulse| pulse.events.iter().map(|event| (pulse.time_ns.unwrap_or(0), event.pixel_id)))
        .collect();
    let expected: Vec<_> = case.events.iter().map(|&(pulse, pixel)| (nanoseconds(pulse), pixel)).collect();
    assert_eq!(found, expected, "{}{}", case.test, case.differs);
}

/// The tests of the INDEX whose files begin with `prefix`, instrument and base tests only: parsers are checked
/// where they are.
fn tests_of_the_index(prefix: &str) -> BTreeSet<String> {
    let index = std::fs::read_to_string(shared_folder().join("vectors/ess/INDEX.md")).expect("the INDEX");
    let lines = index.lines().filter(|line| {
        line.starts_with(&format!("| {prefix}_"))
            && (line.contains("BaseTest_") || line.contains("InstrumentTest_"))
    });
    let names =
        lines.flat_map(|line| line.split("**").skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    names.collect()
}

#[test]
fn sections_2_and_3_the_detectors_do_what_the_reference_states() {
    let test = "sections_2_and_3_the_detectors_do_what_the_reference_states";
    if !shared_folder().join("vectors/ess/INDEX.md").is_file() {
        return skip(test, "vectors/ess is not there");
    }
    let mut replayed = 0;
    for detector in DETECTORS {
        let names = detector.cases.iter().map(|case| case.test);
        let told: BTreeSet<String> =
            names.chain(detector.not_reproducible.iter().map(|(name, _)| *name)).map(str::to_owned).collect();
        assert_eq!(told, tests_of_the_index(detector.prefix), "the tests of {}", detector.prefix);
        for case in detector.cases {
            replay(detector, case);
            replayed += 1;
        }
    }
    let left_out: usize = DETECTORS.iter().map(|detector| detector.not_reproducible.len()).sum();
    assert_eq!((replayed, left_out), (51, 0));
}

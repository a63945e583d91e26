//! What holds for every detector, over its recorded, generated or made capture: the events and pulses do not depend on
//! slabs, batches or threads, nor on whether somebody looks at the monitor data; the laws hold, and nothing is held at the
//! end.

use crate::common::Keep;
use evforge_config::Config;
use evforge_core::event_log::EventLog;
use evforge_core::packet::Packet;
use evforge_lab::benchmark::made_packets;
use evforge_net::capture::{CaptureReader, PcapngWriter};
use evforge_net::clock::SystemClock;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use evforge_testkit::{shared_folder, skip};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Configurations of `configs/` with captures of the reference data.
const DETECTORS: [(&str, &str); 9] = [
    ("gdgem-srs.toml", "gdgem/vmm3a_srs.pcapng"),
    ("sonde-module.toml", "sonde/generated_255.pkts"),
    ("reference-2018/sonde.toml", "sonde/generated_255.pkts"),
    ("multigrid.toml", "multigrid/generated_jumbo.pkts"),
    ("reference-2018/multigrid.toml", "multigrid/recorded_ws1to4.pkts"),
    ("reference-2018/multigrid.toml", "multigrid/generated_jumbo.pkts"),
    ("multiblade.toml", "multiblade/recorded_2018.pkts"),
    ("reference-2018/multiblade.toml", "multiblade/recorded_2018.pkts"),
    ("multiblade.toml", "multiblade/generated.pkts"),
];

/// Configurations of `configs/` with packets made for them.
const MADE: [&str; 6] = ["freia.toml", "estia.toml", "tblmb.toml", "trex.toml", "let.toml", "nmx.toml"];

/// Packets that are made for a configuration: one pulse and the beginning of another.
const MADE_PACKETS: usize = 400;

fn config(configuration: &str, overrides: &[&str]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(configuration);
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn events(configuration: &str, capture: &Path, overrides: &[&str], monitored: bool) -> EventLog {
    let config = config(configuration, overrides);
    let kept = Keep::default();
    let monitor = MonitorTap::default();
    monitor.switch(monitored);
    let run = CaptureRun {
        monitor: monitor.clone(),
        packets: PacketTap::default(),
        control: RunControl::default(),
        samples: None,
        config: &config,
        input: Box::new(CaptureReader::open(capture).expect("a capture")),
        outputs: vec![kept.output()],
        stop: &AtomicBool::new(false),
        clock: Arc::new(SystemClock::start()),
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
    };
    let report = run.run(|_| {}).expect("a run");
    assert!(report.is_success(), "{configuration}");
    let ledger = &report.state.ledger;
    assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0), "{configuration}");
    let readouts: Option<u64> = monitor.latest().map(|monitor| monitor.readouts().iter().sum());
    assert_eq!(readouts.is_some(), monitored, "{configuration}");
    assert!(!monitored || readouts > Some(0), "{configuration}: the monitor has seen nothing");
    let events = kept.log();
    assert_eq!(ledger.events(), events.len() as u64, "{configuration}");
    let tells_pulses = config.build_detector().expect("a checked configuration").tells_pulses();
    assert!(events.pulses().iter().all(|pulse| pulse.time_ns.is_some() == tells_pulses), "{configuration}");
    events
}

fn check(configuration: &str, capture: &Path) {
    let expected = events(configuration, capture, &[], false);
    assert!(expected.len() > 20, "{configuration}");
    for (overrides, monitored) in [
        (&[][..], true),
        (&["input.threads=2"], false),
        (&["input.threads=2", "input.packets_per_slab=3", "input.events_per_batch=17"], true),
        (&["input.packets_per_slab=1", "input.events_per_batch=1"], false),
    ] {
        let found = events(configuration, capture, overrides, monitored);
        assert!(found == expected, "{configuration} on {} with {overrides:?}", capture.display());
    }
}

#[test]
fn events_depend_on_the_packets_alone() {
    for (configuration, capture) in DETECTORS {
        let path = shared_folder().join("captures").join(capture);
        if !path.is_file() {
            return skip("events_depend_on_the_packets_alone", &format!("{} is not there", path.display()));
        }
        check(configuration, &path);
    }
}

#[test]
fn events_depend_on_made_packets_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    for configuration in MADE {
        let made = made_packets(&config(configuration, &[])).expect("a detector that can be simulated");
        let path = folder.path().join("made.pcapng");
        let mut writer = PcapngWriter::create(&path).expect("a capture");
        for made in made.packets.iter().take(MADE_PACKETS) {
            let original_length = made.bytes.len() as u32;
            let packet = Packet { bytes: &made.bytes, original_length, origin: made.origin };
            writer.write(&packet).expect("a packet");
        }
        writer.finish().expect("a whole capture");
        check(configuration, &path);
    }
}

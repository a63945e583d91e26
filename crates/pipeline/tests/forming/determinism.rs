//! Events are a function of the packet sequence of each source alone: not of the sizes of slabs and batches,
//! of the number of threads, or of how the packets of the sources interleave (design, section 3).

use crate::common::Keep;
use evforge_config::Config;
use evforge_core::detector;
use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_lab::simulation::simulation;
use evforge_net::capture::{CaptureReader, Fill, PktsWriter};
use evforge_net::clock::SystemClock;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use evforge_testkit::properties::cases;
use evforge_testkit::{shared_folder, skip};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

fn config(overrides: &[String]) -> Config {
    shipped("gdgem-srs", overrides)
}

fn shipped(name: &str, overrides: &[String]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
    Config::read(&path, overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Packets of each FEC, in its own order.
type Sources = [Vec<Vec<u8>>; 2];

fn split_by_fec(packets: impl IntoIterator<Item = Vec<u8>>) -> Sources {
    let mut sources = Sources::default();
    for packet in packets {
        sources[usize::from(packet[7] >> 4) % 2].push(packet);
    }
    sources
}

/// A simulated detector at a low rate, so that packets are long in time, and at a high one.
static SIMULATED: LazyLock<Vec<Sources>> = LazyLock::new(|| {
    [("300Hz", 40), ("60kHz", 3)]
        .map(|(neutrons, pulses)| {
            let neutrons = format!("simulation.beam.neutrons={neutrons}");
            let config =
                config(&[neutrons, "simulation.electronics.noise=5kHz".into(), "simulation.seed=7".into()]);
            let mut simulation = simulation(&config).expect("a detector that can be simulated");
            split_by_fec((0..pulses).flat_map(|_| simulation.next_pulse().packets).map(|packet| packet.bytes))
        })
        .into()
});

/// Detectors that tell several neutrons in one window apart, read by two output queues, at rates where windows have several
/// and are cut.
static PAIRED: LazyLock<Vec<(Config, Sources)>> = LazyLock::new(|| {
    ["freia", "trex"]
        .map(|name| {
            // All within some 100 us.
            let overrides = [
                "simulation.beam.neutrons=300kHz",
                "simulation.beam.wavelengths=[1.0, 1.01]",
                "simulation.beam.proton_pulse=50us",
                "ess.output_queues=[0, 1]",
            ];
            let config = shipped(name, &overrides.map(str::to_owned));
            let mut simulation = simulation(&config).expect("a detector that can be simulated");
            let mut sources = Sources::default();
            for packet in simulation.next_pulse().packets {
                sources[usize::from(packet.bytes[8]) % 2].push(packet.bytes);
            }
            (config, sources)
        })
        .into()
});

/// The recorded VMM3a capture, or none.
static RECORDED: LazyLock<Option<Sources>> = LazyLock::new(|| {
    let mut reader = CaptureReader::open(&shared_folder().join("captures/gdgem/vmm3a_srs.pcapng")).ok()?;
    let mut slab = PacketSlab::new(1000, 4 << 20);
    assert_eq!(reader.fill(&mut slab).ok()?, Fill::End);
    let packets: Vec<_> = slab.batch().iter().map(|packet| packet.bytes.to_vec()).collect();
    Some(split_by_fec(packets))
});

/// Forms events of packets cut into slabs of `slab_packets` with batches of `batch_events`.
fn form(config: &Config, packets: &[&Vec<u8>], slab_packets: usize, batch_events: usize) -> EventLog {
    let mut detector = config.build_detector().expect("a checked configuration");
    let mut events = EventLog::default();
    let mut batch = EventBatch::new(batch_events);
    let mut keep = |batch: &mut EventBatch| {
        events.take(batch);
        batch.clear();
    };
    for chunk in packets.chunks(slab_packets) {
        let mut slab = PacketSlab::new(chunk.len(), chunk.iter().map(|packet| packet.len()).sum());
        for packet in chunk {
            assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        }
        detector::form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
        // Publishing early must not change anything either.
        if slab_packets % 2 == 1 {
            while detector.publish_closed(&mut batch) {
                keep(&mut batch);
            }
            keep(&mut batch);
        }
    }
    detector::form_rest(detector.as_mut(), &mut batch, &mut keep);
    let ledger = detector.ledger();
    assert_eq!((ledger.unaccounted(), ledger.counters.value("late")), (0, Some(0)));
    events
}

/// The packets of both sources, interleaved as `choices` says: each takes a run of one source.
fn interleave<'a>(sources: &'a Sources, choices: &[(bool, u8)]) -> Vec<&'a Vec<u8>> {
    let mut rest = [&sources[0][..], &sources[1][..]];
    let mut packets = Vec::new();
    for &(first, run) in choices.iter().cycle() {
        let side = usize::from(!first);
        let count = usize::from(run).min(rest[side].len());
        packets.extend(&rest[side][..count]);
        rest[side] = &rest[side][count..];
        if rest.iter().all(|packets| packets.is_empty()) || choices.iter().all(|choice| choice.1 == 0) {
            break;
        }
        if rest[side].is_empty() {
            packets.extend(rest[1 - side]);
            break;
        }
    }
    packets
}

fn check(sources: &Sources, choices: &[(bool, u8)], slab_packets: usize, batch_events: usize) {
    check_with(&config(&[]), sources, choices, slab_packets, batch_events);
}

fn check_with(
    config: &Config,
    sources: &Sources,
    choices: &[(bool, u8)],
    slab_packets: usize,
    batch_events: usize,
) {
    let in_turn: Vec<_> = interleave(sources, &[(true, 1), (false, 1)]);
    let expected = form(config, &in_turn, 1000, 100_000);
    assert!(!expected.is_empty());
    let mixed = interleave(sources, choices);
    assert_eq!(mixed.len(), in_turn.len());
    let events = form(config, &mixed, slab_packets, batch_events);
    assert!(events == expected, "{} events, {} expected", events.len(), expected.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    #[test]
    fn events_do_not_depend_on_slabs_batches_or_interleaving(
        choices in proptest::collection::vec((any::<bool>(), 1..9_u8), 1..12),
        slab_packets in 1..40_usize,
        batch_events in 1..300_usize,
        which in 0..2_usize,
    ) {
        check(&SIMULATED[which], &choices, slab_packets, batch_events);
    }

    #[test]
    fn events_of_paired_windows_do_not_depend_on_slabs_batches_or_interleaving(
        choices in proptest::collection::vec((any::<bool>(), 1..9_u8), 1..12),
        slab_packets in 1..40_usize,
        batch_events in 1..300_usize,
        which in 0..2_usize,
    ) {
        let (config, sources) = &PAIRED[which];
        prop_assert!(sources.iter().all(|packets| packets.len() > 10));
        check_with(config, sources, &choices, slab_packets, batch_events);
    }

    #[test]
    fn recorded_events_do_not_depend_on_slabs_batches_or_interleaving(
        choices in proptest::collection::vec((any::<bool>(), 1..30_u8), 1..12),
        slab_packets in 1..120_usize,
        batch_events in 1..3000_usize,
    ) {
        match &*RECORDED {
            Some(sources) => check(sources, &choices, slab_packets, batch_events),
            None => {
                skip("recorded_events_do_not_depend_on_slabs_batches_or_interleaving", "no recorded capture");
                return Ok(());
            }
        }
    }
}

/// One FEC's packets all before the other's: as far apart as can be.
#[test]
fn one_source_wholly_before_the_other_gives_the_same_events() {
    for sources in SIMULATED.iter().chain(&*RECORDED) {
        check(sources, &[(true, 255), (true, 255), (true, 255), (false, 255)], 7, 11);
        check(sources, &[(false, 255), (false, 255), (false, 255), (true, 255)], 8, 1);
    }
}

fn decimated(bits: u32) -> Config {
    config(&[format!("gdgem.sorting.decimation={bits}")])
}

/// "Some less significant bits of the timestamp may be ignored when sorting" (event formation at ESS, section 8.2).
#[test]
fn events_of_decimated_times_do_not_depend_on_slabs_batches_or_interleaving() {
    for sources in SIMULATED.iter().chain(&*RECORDED) {
        for bits in [7, 13, 20] {
            let config = decimated(bits);
            check_with(&config, sources, &[(true, 255), (true, 255), (true, 255), (false, 255)], 7, 11);
            check_with(&config, sources, &[(true, 3), (false, 1), (false, 8)], 1, 1);
        }
    }
}

/// Steps of 0.2 ns, 4 ns, 15 ns, 60 ns and 241 ns. The last are longer than `max_time_gap` and `max_difference`, so that
/// neutrons fall into several groups, and pairs apart.
#[test]
fn events_of_the_recorded_capture_with_decimated_times() {
    let Some(sources) = &*RECORDED else {
        skip("events_of_the_recorded_capture_with_decimated_times", "no recorded capture");
        return;
    };
    let packets = interleave(sources, &[(true, 1), (false, 1)]);
    let plain = form(&config(&[]), &packets, 100, 1000);
    assert!(form(&decimated(0), &packets, 100, 1000) == plain);
    let counts = [4, 8, 10, 12, 14].map(|bits| form(&decimated(bits), &packets, 100, 1000).len());
    assert_eq!((plain.len(), counts), (9094, [9092, 9095, 9086, 8847, 6238]));
}

#[test]
fn events_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("simulated.pkts");
    let packets = interleave(&SIMULATED[1], &[(true, 3), (false, 2)]);
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(|packet| packet.len()).sum());
    for packet in &packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    let mut writer = PktsWriter::create(&path).unwrap();
    for packet in slab.batch().iter() {
        writer.write(&packet).unwrap();
    }
    writer.finish().unwrap();
    let events = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let kept = Keep::default();
        let run = CaptureRun {
            monitor: MonitorTap::default(),
            packets: PacketTap::default(),
            control: RunControl::default(),
            samples: None,
            config: &config(&overrides),
            input: Box::new(CaptureReader::open(&path).unwrap()),
            outputs: vec![kept.output()],
            stop: &AtomicBool::new(false),
            clock: Arc::new(SystemClock::start()),
            health: Default::default(),
            on_waiting: Arc::new(|_| {}),
        };
        let report = run.run(|_| {}).unwrap();
        assert!(report.is_success());
        assert_eq!(report.state.ledger.unaccounted(), 0);
        kept.log()
    };
    let expected = events(&[]);
    assert!(expected.len() > 5000);
    assert!(events(&["input.threads=2"]) == expected);
    assert!(
        events(&["input.threads=2", "input.packets_per_slab=3", "input.events_per_batch=17"]) == expected
    );
    assert!(events(&["input.packets_per_slab=1", "input.events_per_batch=1"]) == expected);
}

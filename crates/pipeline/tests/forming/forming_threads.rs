//! Events, their order and all counters are the same whatever the number of threads that form, and however fast each is.

use evforge_config::Config;
use evforge_config::forming_threads::FormingThreads;
use evforge_core::change::{Change, ChangeTime};
use evforge_core::detector::{form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::workers::{InTurn, Workers};
use evforge_lab::simulation::simulation;
use evforge_net::capture::{CaptureReader, Fill};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shipped(name: &str, overrides: &[&str]) -> Config {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let path = workspace().join(format!("configs/{name}.toml"));
    Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Does the last piece first.
#[derive(Debug)]
struct Backwards(usize);

impl Workers for Backwards {
    fn count(&self) -> usize {
        self.0
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..pieces).rev().for_each(work);
    }
}

/// Threads of which now this one and now that one is slow.
#[derive(Debug)]
struct Uneven {
    threads: FormingThreads,
    calls: AtomicU64,
}

impl Workers for Uneven {
    fn count(&self) -> usize {
        self.threads.count()
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        self.threads.run(pieces, &|piece| {
            // Bits that look like chance, the same in each run.
            let chance = (call * 31 + piece as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
            if chance == 0 {
                std::thread::sleep(Duration::from_micros(300));
            }
            work(piece);
        });
    }
}

fn threads(count: usize) -> FormingThreads {
    FormingThreads::new(count, &Default::default()).expect("threads")
}

/// What forms, by how it is called.
fn all_workers() -> Vec<(&'static str, Arc<dyn Workers>)> {
    vec![
        ("two in turn", Arc::new(InTurn(2))),
        ("three in turn", Arc::new(InTurn(3))),
        ("five, the last one first", Arc::new(Backwards(5))),
        ("two threads", Arc::new(threads(2))),
        ("five uneven threads", Arc::new(Uneven { threads: threads(5), calls: AtomicU64::new(0) })),
    ]
}

/// What is formed of packets that come in slabs of this size, with batches of this many events.
fn formed(
    config: &Config,
    workers: Option<Arc<dyn Workers>>,
    packets: &[Vec<u8>],
    slab_packets: usize,
    batch_events: usize,
) -> (EventLog, DetectorLedger) {
    let mut detector = config.build_detector_formed_by(None, workers).expect("a checked configuration");
    let (mut batch, mut log) = (EventBatch::new(batch_events), EventLog::default());
    let mut keep = |batch: &mut EventBatch| {
        log.take(batch);
        batch.clear();
    };
    for chunk in packets.chunks(slab_packets) {
        let bytes = chunk.iter().map(Vec::len).sum::<usize>().max(1);
        let mut slab = PacketSlab::new(chunk.len(), bytes);
        assert!(chunk.iter().all(|packet| slab.push(packet, packet.len(), PacketOrigin::default())));
        form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
        assert_eq!(detector.ledger().unaccounted(), 0, "the laws hold at any moment");
        if slab_packets % 2 == 1 {
            while detector.publish_closed(&mut batch) {
                keep(&mut batch);
            }
            keep(&mut batch);
        }
    }
    form_rest(detector.as_mut(), &mut batch, &mut keep);
    (log, detector.ledger())
}

/// Compares everything with what one thread does.
fn check(name: &str, config: &Config, packets: &[Vec<u8>]) {
    let (events, ledger) = formed(config, None, packets, 1000, 4096);
    assert!(!events.is_empty(), "{name}: no events");
    for (what, workers) in all_workers() {
        for (slab_packets, batch_events) in [(1000, 4096), (33, 100)] {
            let (found, found_ledger) =
                formed(config, Some(Arc::clone(&workers)), packets, slab_packets, batch_events);
            assert!(found == events, "{name}, {what}, slabs of {slab_packets}: other events");
            for (info, value) in ledger.counters.iter() {
                let found = found_ledger.counters.value(info.name);
                assert_eq!(found, Some(value), "{name}, {what}: {}", info.name);
            }
            assert_eq!(found_ledger.sources, ledger.sources, "{name}, {what}");
        }
    }
}

fn packets_of(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut packets = Vec::new();
    let mut slab = PacketSlab::new(1000, 10 << 20);
    loop {
        slab.clear();
        let fill = reader.fill(&mut slab).expect("a sound capture");
        packets.extend(slab.batch().iter().map(|packet| packet.bytes.to_vec()));
        if fill == Fill::End {
            return packets;
        }
    }
}

fn simulated(config: &Config, pulses: usize) -> Vec<Vec<u8>> {
    let mut simulation = simulation(config).expect("a detector that can be simulated");
    (0..pulses).flat_map(|_| simulation.next_pulse().packets).map(|packet| packet.bytes).collect()
}

#[test]
fn captures_of_the_repository_with_and_without_faults() {
    let captures = ["freia", "freia-faults", "estia", "let", "trex", "nmx", "amor-ess"];
    for name in captures {
        let config = shipped(name.trim_end_matches("-faults"), &[]);
        check(name, &config, &packets_of(&workspace().join(format!("data/{name}.pcapng"))));
    }
}

#[test]
fn simulated_detectors_at_high_rates() {
    for name in ["freia", "estia", "trex", "let", "nmx"] {
        let rate = if name == "nmx" { "100kHz" } else { "1MHz" };
        let config = shipped(name, &[&format!("simulation.beam.neutrons={rate}"), "simulation.seed=3"]);
        check(name, &config, &simulated(&config, 3));
    }
}

#[test]
fn monitor_data_are_the_same_while_somebody_looks() {
    for name in ["freia", "trex", "nmx"] {
        let config = shipped(name, &["simulation.beam.neutrons=50kHz"]);
        let packets = simulated(&config, 2);
        let seen = |workers: Option<Arc<dyn Workers>>| {
            let mut detector =
                config.build_detector_formed_by(None, workers).expect("a checked configuration");
            detector.set_monitoring(true);
            let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
            assert!(packets.iter().all(|packet| slab.push(packet, packet.len(), PacketOrigin::default())));
            let mut batch = EventBatch::new(1000);
            form(detector.as_mut(), &slab.batch(), &mut batch, EventBatch::clear);
            form_rest(detector.as_mut(), &mut batch, EventBatch::clear);
            let data = detector.monitor().expect("it was asked for");
            (data.readouts().to_vec(), data.planes().to_vec(), data.correlation().to_vec())
        };
        let alone = seen(None);
        assert!(alone.0.iter().sum::<u64>() > 0);
        assert!(seen(Some(Arc::new(threads(3)))) == alone, "{name}");
    }
}

/// Batches of events fill up many times within the slab; the change holds a second later, still within it.
#[test]
fn a_threshold_that_changes_within_a_slab_holds_for_packets_decoded_ahead() {
    for (name, key) in [("freia", "wire_threshold"), ("estia", "strip_threshold")] {
        let config = shipped(name, &["simulation.beam.neutrons=200kHz", "simulation.seed=5"]);
        let mut packets = simulated(&config, 30);
        // The threshold of their chip is one that all have crossed.
        packets.iter_mut().for_each(|packet| {
            let first = if packet.len() % 20 == 10 { 30 } else { 32 };
            packet[first..].chunks_exact_mut(20).for_each(|record| record[15] &= 0x7F);
        });
        let changed = |workers: Option<Arc<dyn Workers>>, value: u64| {
            let mut detector =
                config.build_detector_formed_by(None, workers).expect("a checked configuration");
            let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
            assert!(packets.iter().all(|packet| slab.push(packet, packet.len(), PacketOrigin::default())));
            let (mut batch, mut log) = (EventBatch::new(200), EventLog::default());
            let (mut taken, mut calls) = (0, 0);
            while taken < slab.len() {
                taken = detector.ingest(&slab.batch(), taken, &mut batch).taken;
                log.take(&batch);
                batch.clear();
                calls += 1;
                if calls == 2 {
                    // How far it has come at the second call differs.
                    let earliest = detector.earliest_change().expect("a detector whose thresholds change");
                    let at = ChangeTime { time_ns: 1_700_000_001_800_000_000, ..earliest };
                    assert!(earliest < at, "{earliest:?}");
                    let change = Change { at, key: key.into(), value };
                    detector.change(&change).expect("it is not too early");
                }
            }
            assert!(calls > 10, "{name}: {calls} calls are too few");
            form_rest(detector.as_mut(), &mut batch, |batch| {
                log.take(batch);
                batch.clear();
            });
            (log, detector.ledger().counters.value("below_threshold"))
        };
        let alone = changed(None, 300);
        assert!(alone.1 > changed(None, 0).1, "{name}: the threshold must be felt");
        assert!(changed(Some(Arc::new(threads(2))), 300) == alone, "{name}");
        assert!(changed(Some(Arc::new(InTurn(3))), 300) == alone, "{name}");
    }
}

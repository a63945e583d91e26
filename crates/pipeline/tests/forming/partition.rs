//! A Gd-GEM cut into regions: the same events and the same counters as without them, on recorded and on simulated
//! packets, with and without threads.

use evforge_config::Config;
use evforge_core::detector;
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::PacketSlab;
use evforge_lab::simulation::{simulation, slab_of};
use evforge_net::capture::{CaptureReader, Fill};
use evforge_testkit::{shared_folder, skip};
use std::path::Path;

/// Counts clusters that are not counted without a partition.
const WIDER: &str = "clusters_wider_than_overlap";

fn config(file: &str, overrides: &[String]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(file);
    // Regions cluster by gaps of the plane.
    let by_plane = ["gdgem.clustering.x.time_gap_of=plane", "gdgem.clustering.y.time_gap_of=plane"];
    let overrides: Vec<String> =
        by_plane.map(str::to_owned).into_iter().chain(overrides.iter().cloned()).collect();
    Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Events, counters by name but [`WIDER`], and that.
type Outcome = (Vec<Event>, Vec<(&'static str, u64)>, u64);

fn form(config: &Config, slab: &PacketSlab, batch_events: usize) -> Outcome {
    let mut detector = config.build_detector().expect("a checked configuration");
    let mut batch = EventBatch::new(batch_events);
    let mut events = Vec::new();
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    detector::form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
    detector::form_rest(detector.as_mut(), &mut batch, &mut keep);
    let ledger = detector.ledger();
    assert_eq!(ledger.unaccounted(), 0);
    let counters = ledger.counters.iter().map(|(info, value)| (info.name, value));
    let counters = counters.filter(|(name, _)| *name != WIDER).collect();
    (events, counters, ledger.counters.value(WIDER).expect("a counter of every Gd-GEM"))
}

/// Compares partitions with the whole panel. Returns how many clusters went beyond 1, 8 and 64 strips of overlap,
/// with two regions.
fn compare(file: &str, slab: &PacketSlab) -> [u64; 3] {
    let (events, counters, wider) = form(&config(file, &[]), slab, 10_000);
    assert!(events.len() > 100 && wider == 0);
    [1, 8, 64].map(|overlap| {
        let of_regions = [1, 2, 3].map(|regions| {
            let of_threads = [1, 2, 5].map(|threads| {
                let cut = format!(
                    "gdgem.partition={{ regions = {regions}, overlap = {overlap}, threads = {threads} }}"
                );
                let outcome = form(&config(file, std::slice::from_ref(&cut)), slab, 1 + 77 * threads);
                assert!(outcome.0 == events, "{file}, {cut}: other events");
                assert_eq!(outcome.1, counters, "{file}, {cut}");
                outcome.2
            });
            assert_eq!(of_threads, [of_threads[0]; 3], "threads change nothing");
            of_threads[0]
        });
        assert_eq!(of_regions[0], 0, "a single region sees everything");
        of_regions[1]
    })
}

/// A capture of the shared folder, or none with `test` reported as skipped.
fn recorded(test: &str, name: &str) -> Option<PacketSlab> {
    let Ok(mut reader) = CaptureReader::open(&shared_folder().join("captures/gdgem").join(name)) else {
        skip(test, name);
        return None;
    };
    let mut slab = PacketSlab::new(20_000, 64 << 20);
    assert_eq!(reader.fill(&mut slab).expect("a capture"), Fill::End);
    Some(slab)
}

#[test]
fn recorded_vmm3a_packets_give_the_same_events_in_regions() {
    if let Some(slab) = recorded("recorded_vmm3a_packets_give_the_same_events_in_regions", "vmm3a_srs.pcapng")
    {
        compare("gdgem-srs.toml", &slab);
    }
}

#[test]
fn recorded_packets_of_2018_give_the_same_events_in_regions() {
    if let Some(slab) =
        recorded("recorded_packets_of_2018_give_the_same_events_in_regions", "vmm3_recorded_2018.pkts")
    {
        compare("reference-2018/gdgem-recorded-vmm3.toml", &slab);
    }
}

fn simulated(file: &str, neutrons: &str) -> PacketSlab {
    let overrides = [format!("simulation.beam.neutrons={neutrons}"), "simulation.seed=3".into()];
    let mut simulation = simulation(&config(file, &overrides)).expect("a detector that can be simulated");
    let packets: Vec<_> = (0..3).flat_map(|_| simulation.next_pulse().packets).collect();
    slab_of(&packets)
}

/// Ten times what a panel of 128 strips can tell apart: most time groups hold several tracks.
#[test]
fn pile_up_gives_the_same_events_and_a_tiny_overlap_is_counted() {
    let [tiny, small, wide] = compare("gdgem-srs.toml", &simulated("gdgem-srs.toml", "1MHz"));
    assert!(tiny > 100 && tiny > small && small > wide, "{tiny} {small} {wide}");
    assert_eq!(wide, 0, "64 strips beyond the middle of 128: the whole panel");
}

/// Every panel has regions of its own.
#[test]
fn several_panels_give_the_same_events_in_regions() {
    let slab = simulated("gdgem-nmx.toml", "100kHz");
    compare("gdgem-nmx.toml", &slab);
}

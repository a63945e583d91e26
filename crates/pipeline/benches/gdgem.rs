//! Event formation of the Gd-GEM captures from memory, on one core.
//!
//! For each capture: the reference-2018 configuration, a fresh detector for every pass (its construction is
//! not timed), all readouts of the file as denominator, every event written to a batch. After every pass the
//! events are compared with the oracle's, outside the timed part. The yardstick is taken before and after
//! every capture: `sort_unstable` of 2^20 keys from xorshift64 with seed 1, median of 9; the ratio to the
//! reference of August 2018 goes through it, because machines differ.
//!
//! `cargo bench -p evforge-pipeline` (or `make bench`); EVFORGE_BENCH_SECONDS sets the time per capture.

#[path = "../tests/gdgem_oracle/captures.rs"]
#[allow(dead_code)]
mod captures;
#[path = "../tests/gdgem_oracle/model/mod.rs"]
#[allow(dead_code)]
mod model;
#[path = "../tests/gdgem_oracle/pcapng.rs"]
mod pcapng;

use captures::{Capture, reference_captures, vmm3a_physical};
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_pipeline::config::Config;
use model::rules::Rules;
use std::path::Path;
use std::time::{Duration, Instant};

/// Keys that the yardstick sorts.
const YARDSTICK_KEYS: usize = 1 << 20;

/// The reference's speed in readouts formed per yardstick key sorted (8.7 million readouts in the time in
/// which 93.9 million keys were sorted, and so on).
const REFERENCE: [(&str, f64); 4] = [
    ("vmm2_run16", 30.8 / 93.9),
    ("vmm2_recorded_2018", 8.7 / 93.9),
    ("vmm3_recorded_2018", 9.7 / 93.9),
    ("vmm3a_srs", 11.4 / 93.9),
];

/// Keys sorted per second, median of 9.
fn yardstick() -> f64 {
    let mut x = 1_u64;
    let keys: Vec<u64> = (0..YARDSTICK_KEYS)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        })
        .collect();
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let mut keys = keys.clone();
            let start = Instant::now();
            keys.sort_unstable();
            let elapsed = start.elapsed().as_secs_f64();
            std::hint::black_box(&keys);
            elapsed
        })
        .collect();
    times.sort_by(f64::total_cmp);
    YARDSTICK_KEYS as f64 / times[4]
}

/// One pass over a capture: seconds and number of readouts. Panics if the events are not the expected ones.
fn pass(config: &Config, slab: &PacketSlab, expected: &[Event], batch: &mut EventBatch) -> (f64, u64) {
    let mut detector = config.build_detector().expect("a checked configuration");
    batch.clear();
    let start = Instant::now();
    let progress = detector.ingest(&slab.batch(), 0, batch);
    let more = detector.close(batch);
    let elapsed = start.elapsed().as_secs_f64();
    assert!(!progress.full && !more, "the batch is large enough for all events");
    assert!(batch.iter().eq(expected.iter().copied()), "the events differ from the oracle's");
    let ledger = detector.ledger();
    assert_eq!(ledger.unaccounted(), 0);
    (elapsed, ledger.counters.value("readouts").unwrap_or(0))
}

fn measure(capture: &Capture, seconds: f64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(capture.configuration);
    let config = Config::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    let outcome = model::run(&capture.payloads, &capture.settings, &Rules::ours());
    let expected: Vec<Event> = outcome
        .events
        .iter()
        .map(|event| Event { time_ns: event.time_ns, pixel_id: event.pixel as u32 })
        .collect();
    let mut slab = PacketSlab::new(capture.payloads.len(), capture.payloads.iter().map(Vec::len).sum());
    for payload in &capture.payloads {
        assert!(slab.push(payload, payload.len(), PacketOrigin::default()));
    }
    let mut batch = EventBatch::new(expected.len() + 1);
    let before = yardstick();
    let mut times = Vec::new();
    let mut readouts = 0;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while times.len() < 5 || Instant::now() < end {
        let (elapsed, count) = pass(&config, &slab, &expected, &mut batch);
        times.push(elapsed);
        readouts = count;
    }
    times.sort_by(f64::total_cmp);
    let keys = (before + yardstick()) / 2.0;
    let median = times[times.len() / 2];
    let rate = readouts as f64 / median;
    let name = capture.configuration.rsplit('/').next().unwrap_or_default();
    let reference = REFERENCE
        .iter()
        .find(|(name, _)| *name == capture.name && capture.configuration.starts_with("reference-2018"))
        .map_or("      -".into(), |(_, reference)| format!("{:7.1}", rate / keys / reference));
    println!(
        "{:<20} {name:<26} {readouts:>8} {:>7} {:>6} {:>9.1} {:>9.3} {:>8.1} {:>8.2} {reference}",
        capture.name,
        expected.len(),
        times.len(),
        rate / 1e6,
        expected.len() as f64 / median / 1e6,
        keys / 1e6,
        rate / keys,
    );
}

fn main() {
    let Some(mut captures) = reference_captures("the gdgem benchmark") else { return };
    captures.extend(vmm3a_physical("the gdgem benchmark"));
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0);
    println!(
        "{:<20} {:<26} {:>8} {:>7} {:>6} {:>9} {:>9} {:>8} {:>8} {:>7}",
        "capture",
        "configuration",
        "readouts",
        "events",
        "passes",
        "Mread/s",
        "Mevent/s",
        "Mkeys/s",
        "read/key",
        "x ref."
    );
    for capture in &captures {
        measure(capture, seconds);
    }
    println!("x ref.: ratio to the reference of August 2018, through the yardstick (Mkeys/s) of this run");
}

//! Event formation of a large panel, 1024 × 1024 strips, cut into M × M regions: simulated pile-up, from memory.
//!
//! `all` and `longest` are nanoseconds per readout in the regions alone: of all of them, and of the longest of each
//! step. Each line is compared with the panel as a whole, whose events it must give. The theoretical speed-up is that of
//! the event formation deliverable (section 8.6, Figure 4), (M − (M−1)·n/N)², for as many processors as regions:
//! N strips of a region, n of them in the overlap.
//!
//! `cargo bench -p evforge-lab --bench partition`; EVFORGE_BENCH_SECONDS sets the time per line.

use evforge_config::{Config, DetectorSettings};
use evforge_core::detector::{form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::PacketSlab;
use evforge_core::quantity::Frequency;
use evforge_detect::gdgem::GdGem;
use evforge_detect::partition::{Region, RegionExecutor};
use evforge_lab::benchmark::measure;
use evforge_lab::simulation::{settings, simulation_with, slab_of};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Strips of each plane.
const STRIPS: u16 = 1024;
/// Strips beyond its own that a region sees towards higher strips, and towards lower ones (max_strip_gap + 1).
const OVERLAP: u16 = 16;
const REACH: u16 = 3;

/// A panel with one card per plane, of 16 chips each.
fn config(partition: &str) -> Config {
    let mut text = format!(
        "name = 'large panel'\n[gdgem]\nreadout = 'vmm3a'\ngeometry = {{ nx = {STRIPS}, ny = {STRIPS} }}\n{partition}\n\
         [gdgem.time]\nconvention = 'signed-offset'\nbunch_crossing = '22.5ns'\nmarker_tick = '22.5ns'\n"
    );
    for (fec, plane) in [(1, 'x'), (2, 'y')] {
        for chip in 0..STRIPS / 64 {
            let offset = 64 * chip;
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "[[gdgem.mapping]]\nfec = {fec}\nvmm = {chip}\nplane = '{plane}'\nstrip_offset = {offset}\n"
            );
        }
    }
    Config::parse(Path::new("large-panel.toml"), &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn simulated(config: &Config, neutrons_per_second: f64) -> PacketSlab {
    let mut settings = settings(config).expect("a checked configuration");
    settings.seed = 5;
    settings.beam.neutrons = Frequency { millihertz: (neutrons_per_second * 1000.0) as u64 };
    let mut simulation = simulation_with(config, &settings).expect("a detector that can be simulated");
    let pulses = (4e5 / neutrons_per_second).ceil() as usize;
    let packets: Vec<_> = (0..pulses.max(2)).flat_map(|_| simulation.next_pulse().packets).collect();
    slab_of(&packets)
}

/// The events, clusters per time group of x or y, and clusters beyond the overlap.
fn formed(config: &Config, slab: &PacketSlab) -> (Vec<Event>, u64, u64) {
    let mut detector = config.build_detector().expect("a checked configuration");
    let (mut batch, mut events) = (EventBatch::new(10_000), Vec::new());
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
    form_rest(detector.as_mut(), &mut batch, &mut keep);
    let counters = detector.ledger().counters;
    let value = |name| counters.value(name).unwrap_or(0);
    (events, value("clusters_x") + value("clusters_y"), value("clusters_wider_than_overlap"))
}

/// Runs regions one by one and adds up, in nanoseconds, the time of all and that of the longest of each step: what
/// they take with one processor, and with one for each.
#[derive(Debug, Default)]
struct Stopwatch {
    all: AtomicU64,
    longest: AtomicU64,
}

impl RegionExecutor for Stopwatch {
    fn run(&self, regions: &mut [Region], work: &(dyn Fn(&mut Region) + Sync)) {
        let times = regions.iter_mut().map(|region| {
            let start = Instant::now();
            work(region);
            start.elapsed().as_nanos() as u64
        });
        let (all, longest) = times.fold((0, 0), |(all, longest), time| (all + time, time.max(longest)));
        self.all.fetch_add(all, Ordering::Relaxed);
        self.longest.fetch_add(longest, Ordering::Relaxed);
    }
}

/// Nanoseconds of all regions and of the longest of each step, the least of seven passes.
fn region_times(config: &Config, slab: &PacketSlab) -> [f64; 2] {
    let DetectorSettings::GdGem(settings) = &config.detector else { panic!("another detector") };
    (0..7).fold([f64::INFINITY; 2], |least, _| {
        let stopwatch = Arc::new(Stopwatch::default());
        let executor: Arc<dyn RegionExecutor> = Arc::clone(&stopwatch) as _;
        let mut detector = GdGem::with_executor(settings, &executor).expect("checked settings");
        let mut batch = EventBatch::new(10_000);
        form(&mut detector, &slab.batch(), &mut batch, EventBatch::clear);
        form_rest(&mut detector, &mut batch, EventBatch::clear);
        let times = [&stopwatch.all, &stopwatch.longest].map(|time| time.load(Ordering::Relaxed) as f64);
        [least[0].min(times[0]), least[1].min(times[1])]
    })
}

/// (M − (M−1)·n/N)², a region's N strips being its own and the overlap.
fn theoretical(regions: u16) -> f64 {
    let (m, n) = (f64::from(regions), f64::from(OVERLAP + REACH));
    let width = (f64::from(STRIPS) + (m - 1.0) * n) / m;
    (m - (m - 1.0) * n / width).powi(2)
}

fn main() {
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0);
    println!(
        "{:>9} {:>9} {:>8} {:>8} {:>8} {:>6} {:>8} {:>8} {:>7} {:>8} {:>8}",
        "neutron/s",
        "readouts",
        "clusters",
        "regions",
        "threads",
        "wider",
        "ns/read",
        "speed-up",
        "theory",
        "all",
        "longest"
    );
    for rate in [3e5, 1e6, 3e6] {
        let whole = config("");
        let slab = simulated(&whole, rate);
        let (expected, clusters, _) = formed(&whole, &slab);
        let slabs = [slab];
        let time = |config: &Config| {
            let measured = measure(config, &slabs, Some(&expected), &[], seconds);
            let measured = measured.unwrap_or_else(|error| panic!("{error}"));
            (measured.nanoseconds_per_readout(), measured.readouts)
        };
        let (base, readouts) = time(&whole);
        let line = |regions: &str, threads: usize, wider: u64, time: f64, theory: f64, alone: [f64; 2]| {
            println!(
                "{rate:>9} {readouts:>9} {clusters:>8} {regions:>8} {threads:>8} {wider:>6} {time:>8.2} {:>8.2} {theory:>7.2} {:>8.2} {:>8.2}",
                base / time,
                alone[0],
                alone[1],
            );
        };
        line("off", 1, 0, base, 1.0, [0.0; 2]);
        for regions in 1..=4_u16 {
            for threads in [1, 2] {
                let cut = config(&format!(
                    "partition = {{ regions = {regions}, overlap = {OVERLAP}, threads = {threads} }}"
                ));
                let wider = formed(&cut, &slabs[0]).2;
                let alone = region_times(&cut, &slabs[0]).map(|time| time / readouts as f64);
                line(
                    &format!("{regions}x{regions}"),
                    threads,
                    wider,
                    time(&cut).0,
                    theoretical(regions),
                    alone,
                );
            }
        }
    }
}

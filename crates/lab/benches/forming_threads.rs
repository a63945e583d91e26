//! Event formation on several threads: what two of them reach on this machine, and what more would give.
//!
//! Measured, by turns: one thread (`1`), two that form together (`2`), and two that form the same packets each for itself (`2 x 1`), which
//! is what the machine can give at most. `of it` is the gain of two that form together as a share of that.
//!
//! For more threads than the machine has cores the parts are measured one after the other on one thread: what has to
//! be done in turn (`serial`: sequence, clocks, merging, pulses), and of everything else, step by step, what the busiest of *N*
//! threads has to do. Waking threads up, and caches and memory that they share, are not in these figures: `2` against what
//! is computed for two shows how much that is.
//!
//! `cargo bench -p evforge-lab --bench forming_threads [-- NAME...]`; EVFORGE_BENCH_ROUNDS sets the number of turns (7).

use evforge_config::Config;
use evforge_config::forming_threads::FormingThreads;
use evforge_core::detector::{form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::quantity::Frequency;
use evforge_detect::workers::Workers;
use evforge_lab::paper_rates::{PeakLoad, peak_load};
use evforge_net::thread_time::processor_time;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

const CONFIGURATIONS: [&str; 5] = ["freia", "estia", "trex", "let", "nmx"];
/// Neutrons per second, and pulses of that rate: some million readouts, so that memory that is touched for the first time does
/// not count.
const RATE: Frequency = Frequency { millihertz: 2_000_000_000 };
const PULSES: usize = 3;
/// Numbers of threads that are computed.
const THREADS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Does one piece after the other, and notes what each would have cost the busiest of several threads.
#[derive(Debug)]
struct Timed {
    threads: usize,
    /// Nanoseconds of all pieces, and of the busiest thread of each step.
    all: AtomicU64,
    busiest: AtomicU64,
    loads: Mutex<Vec<u64>>,
}

impl Timed {
    fn new(threads: usize) -> Self {
        let loads = Mutex::new(vec![0; threads]);
        Self { threads, all: AtomicU64::new(0), busiest: AtomicU64::new(0), loads }
    }
}

impl Workers for Timed {
    fn count(&self) -> usize {
        self.threads
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
        loads.fill(0);
        for piece in 0..pieces {
            let before = processor_time();
            work(piece);
            let took = (processor_time() - before).as_nanos() as u64;
            self.all.fetch_add(took, Ordering::Relaxed);
            // Who is free first takes the next piece.
            if let Some(load) = loads.iter_mut().min() {
                *load += took;
            }
        }
        self.busiest.fetch_add(loads.iter().copied().max().unwrap_or(0), Ordering::Relaxed);
    }
}

/// One pass: time, processor time of this thread, readouts.
fn pass(config: &Config, workers: Option<Arc<dyn Workers>>, load: &PeakLoad) -> (Duration, Duration, u64) {
    let mut detector = config.build_detector_formed_by(None, workers).expect("a checked configuration");
    let mut batch = EventBatch::new(config.input.events_per_batch);
    let (started, processor) = (Instant::now(), processor_time());
    for slab in &load.slabs {
        form(detector.as_mut(), &slab.batch(), &mut batch, EventBatch::clear);
    }
    form_rest(detector.as_mut(), &mut batch, EventBatch::clear);
    let took = (started.elapsed(), processor_time() - processor);
    let ledger = detector.ledger();
    assert_eq!(ledger.unaccounted(), 0);
    (took.0, took.1, ledger.readouts().unwrap_or(0))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Two threads that each form all packets, at the same time: the time of a pass of both, readouts of two.
fn apart(config: &Config, load: &PeakLoad) -> f64 {
    let barrier = Barrier::new(2);
    let one = || {
        barrier.wait();
        pass(config, None, load).0.as_secs_f64()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(one);
        one().max(other.join().expect("no panic"))
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` asks for nothing to be measured.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let rounds = std::env::var("EVFORGE_BENCH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    println!("M readouts/s; 4 to 32: computed");
    println!(
        "{:<8} {:>7} {:>7} {:>7} {:>6} {:>6} {:>7} | serial {:>7}",
        "config", "1", "2", "2 x 1", "gain", "of it", "GB/s 2", "ns/read"
    );
    for name in CONFIGURATIONS {
        if !names.is_empty() && !names.iter().any(|wanted| *wanted == name) {
            continue;
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
        let config = Config::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let load = peak_load(&config, RATE, PULSES).expect("a detector that can be simulated");
        let bytes = load.bytes;
        let two: Arc<dyn Workers> =
            Arc::new(FormingThreads::new(2, &Default::default()).expect("two threads"));
        let (mut alone, mut together, mut both) = (Vec::new(), Vec::new(), Vec::new());
        let mut readouts = 0;
        for _ in 0..rounds {
            let (time, _, count) = pass(&config, None, &load);
            readouts = count;
            alone.push(time.as_secs_f64());
            together.push(pass(&config, Some(Arc::clone(&two)), &load).0.as_secs_f64());
            both.push(apart(&config, &load));
        }
        let speed = |seconds: f64| readouts as f64 / seconds / 1e6;
        let (alone, together, both) = (median(alone), median(together), median(both) / 2.0);
        let computed = THREADS.map(|threads| {
            let times = (0..rounds).map(|_| {
                let timed = Arc::new(Timed::new(threads));
                let (_, processor, _) = pass(&config, Some(Arc::clone(&timed) as Arc<dyn Workers>), &load);
                let all = timed.all.load(Ordering::Relaxed) as f64 / 1e9;
                let serial = processor.as_secs_f64() - all;
                (serial, serial + timed.busiest.load(Ordering::Relaxed) as f64 / 1e9)
            });
            let times: Vec<(f64, f64)> = times.collect();
            let serial = median(times.iter().map(|time| time.0).collect());
            (serial, median(times.iter().map(|time| time.1).collect()))
        });
        println!(
            "{name:<8} {:>7.1} {:>7.1} {:>7.1} {:>6.2} {:>6.2} {:>7.2} | {:>14.2}",
            speed(alone),
            speed(together),
            speed(both),
            alone / together,
            both / together,
            bytes as f64 / together / 1e9,
            1e9 * computed[1].0 / readouts as f64,
        );
        for (threads, (_, time)) in THREADS.iter().zip(computed) {
            let gigabytes = bytes as f64 / time / 1e9;
            println!("         {threads:>3} threads: {:>7.1} M readouts/s, {gigabytes:.2} GB/s", speed(time));
        }
    }
}

//! What trace groups cost that are off: the same packets formed with and without the questions that a run asks for them.
//!
//! Per slab a run asks `evforge_pipeline::trace::wanted()`, and nothing else of the log is in the path of packets. Here slabs of
//! many packets, as a run has them, and of one packet each, the worst there can be, are formed in turns with that question and
//! without it, in one process, with a log set up as the program does it. Processor time of the thread counts. The third pair has
//! nothing in the loop but the question, so that it can be said in nanoseconds.
//!
//! `cargo bench -p evforge-lab --bench trace_groups`; EVFORGE_BENCH_PAIRS sets the number of pairs (31).

use evforge_config::Config;
use evforge_core::detector::{Detector, form};
use evforge_core::event::EventBatch;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::Fill;
use evforge_net::capture::CaptureReader;
use evforge_net::thread_time::processor_time;
use evforge_pipeline::trace::{Traced, wanted};
use evforge_testkit::bench_history::{Figure, keep};
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

/// What each member of a pair takes, about.
const MEMBER: Duration = Duration::from_millis(60);

fn main() {
    let log = evforge_log::begin();
    println!("levels: {:?}", log.control().groups());
    assert_eq!(wanted(), Traced::Nothing, "details are on: the bench is about those that are off");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("{:<34} {:>6} {:>12} {:>12} {:>8}  95 %", "loop", "pairs", "without", "with", "ratio");
    for name in ["gdgem-srs", "freia", "multigrid"] {
        let config = Config::read(&root.join(format!("configs/{name}.toml")), &[]);
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        let capture = root.join(format!("data/{name}.pcapng"));
        for packets in [256, 1] {
            let slabs = slabs(&capture, packets);
            let name = format!("{name}, slabs of {packets}");
            compare(&name, || pass::<false>(&config, &slabs), || pass::<true>(&config, &slabs));
        }
    }
    let rounds = 1_000_000_u64;
    let [without, with] = [
        times(&|| (0..rounds).for_each(|round| _ = black_box(round)), 15),
        times(
            &|| {
                (0..rounds).for_each(|round| {
                    black_box(round);
                    black_box(wanted());
                });
            },
            15,
        ),
    ]
    .map(|mut times| median(&mut times) / rounds as f64);
    println!("one question: {:.2} ns", with - without);
}

/// The packets of a capture.
fn slabs(capture: &Path, packets: usize) -> Vec<PacketSlab> {
    let mut reader = CaptureReader::open(capture).unwrap_or_else(|error| panic!("{error}"));
    let mut slabs = Vec::new();
    loop {
        let mut slab = PacketSlab::new(packets, packets.max(2) * 9216);
        let fill = reader.fill(&mut slab).unwrap_or_else(|error| panic!("{error}"));
        if slab.is_empty() && fill == Fill::End {
            return slabs;
        }
        slabs.push(slab);
    }
}

/// Forms all events, as a run does: their number.
fn pass<const ASKS: bool>(config: &Config, slabs: &[PacketSlab]) -> usize {
    let mut detector = config.build_detector().unwrap_or_else(|error| panic!("{error}"));
    let mut events = EventBatch::new(config.input.events_per_batch);
    let mut formed = 0;
    for slab in slabs {
        if ASKS && wanted() != Traced::Nothing {
            println!("details are on");
        }
        take(detector.as_mut(), slab, &mut events, &mut formed);
    }
    formed
}

fn take(detector: &mut dyn Detector, slab: &PacketSlab, events: &mut EventBatch, formed: &mut usize) {
    form(detector, &slab.batch(), events, |events| {
        *formed += events.len();
        events.clear();
    });
}

/// Measures in turns, the other one first in every second pair.
fn compare(name: &str, without: impl Fn() -> usize, with: impl Fn() -> usize) {
    assert_eq!(without(), with(), "other events");
    let pairs = std::env::var("EVFORGE_BENCH_PAIRS").ok().and_then(|text| text.parse().ok()).unwrap_or(31);
    let one = time(&without).max(Duration::from_micros(1));
    let rounds = MEMBER.div_duration_f64(one).ceil().max(1.0) as u32;
    let member = |run: &dyn Fn() -> usize| {
        time(&|| (0..rounds).map(|_| black_box(run())).sum::<usize>()).as_secs_f64() / f64::from(rounds)
    };
    let (mut ratios, mut plain, mut asking) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        let (a, b) = if pair % 2 == 0 {
            let a = member(&without);
            (a, member(&with))
        } else {
            let b = member(&with);
            (member(&without), b)
        };
        ratios.push(b / a);
        plain.push(1e9 * a);
        asking.push(1e9 * b);
    }
    let ratio = median(&mut ratios);
    // The order statistics that hold the median with 95 %.
    let half = 0.98 * f64::from(pairs).sqrt();
    let at = |place: f64| ratios[(place.max(0.0) as usize).min(ratios.len() - 1)];
    let middle = f64::from(pairs) / 2.0;
    let (low, high) = (at((middle - half).floor()), at((middle + half).ceil()));
    keep(&Figure {
        bench: "asking",
        case: name,
        figure: "time with the question / without",
        value: ratio,
        unit: "ratio",
        keys_per_second: None,
    });
    println!(
        "{name:<34} {pairs:>6} {:>9.1} µs {:>9.1} µs {ratio:>8.4}  {low:.4} to {high:.4}",
        median(&mut plain) / 1e3,
        median(&mut asking) / 1e3,
    );
}

fn time<T>(run: &impl Fn() -> T) -> Duration {
    let before = processor_time();
    black_box(run());
    processor_time() - before
}

fn times(run: &impl Fn(), count: usize) -> Vec<f64> {
    (0..count).map(|_| 1e9 * time(run).as_secs_f64()).collect()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

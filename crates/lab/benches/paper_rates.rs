//! Rates of the EFU paper in the time of the data, peaks included: nothing may be closed early for want of room.
//!
//! A line for each shipped configuration: the load, what its detector made of it, the memory that it took at most and may
//! take, and the least `max_held_hits` that is enough. Ends with an error if anything is closed early, late or not
//! accounted for, or more memory was taken than `memory_bound` says.
//!
//! `cargo bench -p evforge-lab --bench paper_rates [-- NAME...]`; EVFORGE_BENCH_PULSES sets the number of pulses (3).

use evforge_core::event::EventBatch;
use evforge_core::get_size2::GetSize;
use evforge_lab::paper_rates::{PAPER_RATES, formed, found, peak_load};
use evforge_testkit::bench_history::{Figure, keep};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    // `cargo test --benches` asks for nothing to be measured.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let pulses = std::env::var("EVFORGE_BENCH_PULSES").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    println!(
        "{:<10} {:<10} {:>5} {:>9} {:>10} {:>7} {:>8} {:>10} {:>7} {:>5} {:>9} {:>9} {:>10} {:>10}",
        "instrument",
        "config",
        "MHz",
        "peak MHz",
        "readouts",
        "/trace",
        "B/trace",
        "events",
        "forced",
        "late",
        "MB taken",
        "MB bound",
        "held hits",
        "needed"
    );
    let mut problems = Vec::new();
    for entry in PAPER_RATES {
        if !names.is_empty() && !names.iter().any(|name| *name == entry.configuration) {
            continue;
        }
        let fail = |error: &dyn std::fmt::Display| -> ! { panic!("{}: {error}", entry.configuration) };
        let config = entry.config(None).unwrap_or_else(|error| fail(&error));
        let load = peak_load(&config, entry.neutrons(), pulses).unwrap_or_else(|error| fail(&error));
        // What has been allocated before is not counted.
        let profiler = dhat::Profiler::builder().testing().build();
        let detector = formed(&config, &load).unwrap_or_else(|error| fail(&error));
        let taken = dhat::HeapStats::get().max_bytes;
        drop(profiler);
        let found = found(&*detector);
        drop(detector);
        let of = |problem| format!("{} at {} MHz: {problem}", entry.configuration, entry.megahertz);
        problems.extend(found.problems().into_iter().map(of));
        let batch = EventBatch::new(config.input.events_per_batch).get_heap_size();
        if taken > found.memory_bound + batch {
            problems.push(of(format!("{taken} bytes were taken, more than {}", found.memory_bound)));
        }
        let needed = entry.needed(&load).unwrap_or_else(|error| fail(&error));
        keep(&Figure {
            bench: "held",
            case: &format!("{}.toml at {} MHz", entry.configuration, entry.megahertz),
            figure: "max_held_hits that are enough",
            value: needed.unwrap_or(0) as f64,
            unit: "hits",
            keys_per_second: None,
        });
        println!(
            "{:<10} {:<10} {:>5} {:>9.0} {:>10} {:>7.2} {:>8.2} {:>10} {:>7} {:>5} {:>9.1} {:>9.1} {:>10} {:>10}",
            entry.instrument,
            entry.configuration,
            entry.megahertz,
            load.peak_rate / 1e6,
            load.readouts,
            load.readouts as f64 / load.traces.max(1) as f64,
            load.bytes as f64 / load.traces.max(1) as f64,
            found.events,
            found.forced_closings,
            found.late,
            taken as f64 / 1e6,
            found.memory_bound as f64 / 1e6,
            config.detector.held_hits().map_or(0, |held| held.hits),
            needed.map_or_else(|| "more".to_owned(), |hits| hits.to_string()),
        );
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

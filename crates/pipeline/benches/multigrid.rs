//! Event formation of the Multi-Grid captures from memory, on one core, with each strategy.
//!
//! The reference-2018 configuration, under the rules of `evforge_pipeline::benchmark`; the expected events are
//! the oracle's. Then the settings for daily use, which put events into order and look for double neutrons.
//!
//! `cargo bench -p evforge-pipeline` (or `make bench`); EVFORGE_BENCH_SECONDS sets the time per line.

#[path = "../tests/multigrid_oracle/captures.rs"]
#[allow(dead_code)]
mod captures;
#[path = "../tests/multigrid_oracle/model.rs"]
#[allow(dead_code)]
mod model;

use captures::{Capture, captures};
use evforge_core::event::Event;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_pipeline::benchmark::{measure, reference_speed};
use evforge_pipeline::config::Config;
use model::{Settings, Strategy, run};
use std::path::Path;

fn print(capture: &Capture, configuration: &str, strategy: Strategy, seconds: f64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(configuration);
    let overrides = [format!("detector.strategy={}", strategy.name())];
    let config = Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let reference_settings = configuration.starts_with("reference-2018");
    let expected: Vec<Event> = run(&capture.packets, &Settings::ill(strategy))
        .events
        .into_iter()
        .map(|(time_ns, pixel_id)| Event { time_ns, pixel_id })
        .collect();
    let expected = reference_settings.then_some(&expected[..]);
    let mut slab = PacketSlab::new(capture.packets.len(), capture.packets.iter().map(Vec::len).sum());
    for packet in &capture.packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    let measured =
        measure(&config, &[slab], expected, &[], seconds).unwrap_or_else(|error| panic!("{error}"));
    let reference = reference_speed("multigrid", Some(strategy.name()), capture.name, measured.readouts)
        .filter(|_| reference_settings)
        .map_or("      -".into(), |reference| {
            format!("{:7.1}", measured.readouts_per_key() / reference.readouts_per_key())
        });
    println!(
        "{:<16} {:<28} {:<12} {:>8} {:>7} {:>6} {:>9.1} {:>9.3} {:>8.1} {:>8.2} {reference}",
        capture.name,
        configuration,
        strategy.name(),
        measured.readouts,
        measured.events,
        measured.passes,
        measured.readouts_per_second() / 1e6,
        measured.events_per_second() / 1e6,
        measured.keys_per_second / 1e6,
        measured.readouts_per_key(),
    );
}

fn main() {
    let Some(captures) = captures("the multigrid benchmark") else { return };
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0);
    println!(
        "{:<16} {:<28} {:<12} {:>8} {:>7} {:>6} {:>9} {:>9} {:>8} {:>8} {:>7}",
        "capture",
        "configuration",
        "strategy",
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
        for strategy in Strategy::ALL {
            print(capture, "reference-2018/multigrid.toml", strategy, seconds);
        }
        print(capture, "multigrid.toml", Strategy::Maximum, seconds);
    }
    println!("x ref.: ratio to the reference of August 2018, through the yardstick (Mkeys/s) of this run");
}

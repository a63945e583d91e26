//! Event formation of the Gd-GEM captures from memory, on one core.
//!
//! For each capture: the reference-2018 configuration, under the rules of `evforge_pipeline::benchmark`; the
//! expected events are the oracle's.
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
use evforge_core::event::Event;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_pipeline::benchmark::{measure, reference_speed};
use evforge_pipeline::config::Config;
use model::rules::Rules;
use std::path::Path;

fn print(capture: &Capture, seconds: f64) {
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
    let measured =
        measure(&config, &[slab], Some(&expected), &[], seconds).unwrap_or_else(|error| panic!("{error}"));
    let name = capture.configuration.rsplit('/').next().unwrap_or_default();
    let reference = reference_speed("gdgem", None, capture.name, measured.readouts)
        .filter(|_| capture.configuration.starts_with("reference-2018"))
        .map_or("      -".into(), |reference| {
            format!("{:7.1}", measured.readouts_per_key() / reference.readouts_per_key())
        });
    println!(
        "{:<20} {name:<26} {:>8} {:>7} {:>6} {:>9.1} {:>9.3} {:>8.1} {:>8.2} {reference}",
        capture.name,
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
        print(capture, seconds);
    }
    println!("x ref.: ratio to the reference of August 2018, through the yardstick (Mkeys/s) of this run");
}

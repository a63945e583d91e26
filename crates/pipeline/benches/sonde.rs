//! Event formation of the SoNDe capture from memory, on one core.
//!
//! The reference-2018 configuration and, for comparison, those that put events into order, under the rules of
//! `evforge_pipeline::benchmark`. The expected events are those of the oracle's model.
//!
//! `cargo bench -p evforge-pipeline --bench sonde`; EVFORGE_BENCH_SECONDS sets the time per row.

#[path = "../tests/sonde_oracle/captures.rs"]
#[allow(dead_code)]
mod captures;
#[path = "../tests/sonde_oracle/model.rs"]
#[allow(dead_code)]
mod model;

use evforge_core::event::Event;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_pipeline::benchmark::{measure, reference_speed};
use evforge_pipeline::config::Config;
use std::path::Path;

fn main() {
    let Some(packets) = captures::generated("the sonde benchmark") else { return };
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0);
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
    for packet in &packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    let slabs = [slab];
    let events = packets.iter().flat_map(|packet| model::parse(packet).events);
    let arrival: Vec<Event> =
        events.map(|(time, pixel_id)| Event { time_ns: u64::from(time), pixel_id }).collect();
    let mut sorted = arrival.clone();
    sorted.sort_unstable();
    println!("{:<44} {:>9} {:>8} {:>8} {:>7}", "configuration", "Mread/s", "Mkeys/s", "read/key", "x ref.");
    for (name, overrides, expected) in [
        ("reference-2018/sonde.toml", &[][..], &arrival),
        ("reference-2018/sonde.toml", &["sonde.clock=extended", "sonde.tick=1ns"], &arrival),
        ("sonde-module.toml", &["sonde.sorting.restart=60s"], &sorted),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
        let all: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let config = Config::read(&path, &all).unwrap_or_else(|error| panic!("{error}"));
        let measured = measure(&config, &slabs, Some(expected), &[], seconds)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let reference = reference_speed("sonde", None, "generated_255", measured.readouts)
            .map_or(f64::NAN, |reference| measured.readouts_per_key() / reference.readouts_per_key());
        println!(
            "{:<44} {:>9.1} {:>8.1} {:>8.2} {reference:>7.1}",
            format!("{name} {}", overrides.first().unwrap_or(&"")),
            measured.readouts_per_second() / 1e6,
            measured.keys_per_second / 1e6,
            measured.readouts_per_key(),
        );
    }
    println!("x ref.: ratio to the reference of August 2018, through the yardstick (Mkeys/s) of this run");
}

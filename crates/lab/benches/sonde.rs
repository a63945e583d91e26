//! Event formation of the SoNDe capture from memory, on one core.
//!
//! The reference-2018 configuration and, for comparison, those that put events into order, under the rules of
//! `evforge_lab::benchmark`. The expected events are those of the oracle's model.
//!
//! Then what a packet costs with 4 to 4096 modules, each of which sees the same beam: it does not depend on their number,
//! but for what no longer fits the caches.
//!
//! `cargo bench -p evforge-lab --bench sonde`; EVFORGE_BENCH_SECONDS sets the time per line.

#[path = "../../pipeline/tests/oracle/sonde/captures.rs"]
#[allow(dead_code)]
mod captures;
#[path = "../../pipeline/tests/oracle/sonde/model.rs"]
#[allow(dead_code)]
mod model;

mod common;

use common::{Row, print_header, print_row};
use evforge_config::Config;
use evforge_core::event::Event;
use evforge_lab::benchmark::measure;
use evforge_lab::simulation::{simulation, slab_of};
use std::path::Path;

fn main() {
    let Some(packets) = captures::generated("the sonde benchmark") else { return };
    let events = packets.iter().flat_map(|packet| model::parse(packet).events);
    let arrival: Vec<Event> =
        events.map(|(time, pixel_id)| Event { time_ns: u64::from(time), pixel_id }).collect();
    let mut sorted = arrival.clone();
    sorted.sort_unstable();
    print_header();
    for (configuration, overrides, expected) in [
        ("reference-2018/sonde.toml", &[][..], &arrival),
        ("reference-2018/sonde.toml", &["sonde.clock=extended", "sonde.tick=1ns"], &arrival),
        ("sonde-module.toml", &["sonde.sorting.restart=60s"], &sorted),
    ] {
        let expected = Some(&expected[..]);
        print_row(&Row { capture: "generated_255", configuration, overrides, packets: &packets, expected });
    }
    by_modules();
}

/// What a packet costs, by the number of modules.
fn by_modules() {
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0);
    println!(
        "\n{:<20} {:>8} {:>10} {:>10} {:>12}",
        "configuration", "modules", "packets", "readouts", "ns/packet"
    );
    for side in [1, 5, 10, 32] {
        let config = square_of(side);
        let mut simulation = simulation(&config).unwrap_or_else(|error| panic!("{error}"));
        let mut packets = 0;
        let slabs: Vec<_> = (0..(800 / (side * side)).clamp(2, 100))
            .map(|_| {
                let pulse = simulation.next_pulse();
                packets += pulse.packets.len();
                slab_of(&pulse.packets)
            })
            .collect();
        let measured =
            measure(&config, &slabs, None, &[], seconds).unwrap_or_else(|error| panic!("{side}: {error}"));
        println!(
            "{:<20} {:>8} {packets:>10} {:>10} {:>12.0}",
            "sonde.toml",
            4 * side * side,
            measured.readouts,
            1e9 / measured.packets_per_second(),
        );
    }
}

/// A SoNDe of so many groups of 2 x 2 modules on each side, in a beam of 20 kHz per group.
fn square_of(side: usize) -> Config {
    let group = |number: usize| {
        let (x, y) = (16 * (number % side), 16 * (number / side));
        let (high, low) = (number / 250, number % 250 + 1);
        format!("{{ address = \"192.168.{high}.{low}\", x = {x}, y = {y} }}")
    };
    let groups: Vec<_> = (0..side * side).map(group).collect();
    let overrides = [
        format!("sonde.geometry={{ nx = {0}, ny = {0} }}", 16 * side),
        format!("sonde.groups=[{}]", groups.join(", ")),
        format!("simulation.beam.neutrons={}kHz", 20 * side * side),
    ];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sonde.toml");
    Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

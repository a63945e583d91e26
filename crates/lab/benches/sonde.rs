//! Event formation of the SoNDe capture from memory, on one core.
//!
//! The reference-2018 configuration and, for comparison, those that put events into order, under the rules of
//! `evforge_lab::benchmark`. The expected events are those of the oracle's model.
//!
//! `cargo bench -p evforge-lab --bench sonde`; EVFORGE_BENCH_SECONDS sets the time per line.

#[path = "../../pipeline/tests/sonde_oracle/captures.rs"]
#[allow(dead_code)]
mod captures;
#[path = "../../pipeline/tests/sonde_oracle/model.rs"]
#[allow(dead_code)]
mod model;

mod common;

use common::{Row, print_header, print_row};
use evforge_core::event::Event;

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
}

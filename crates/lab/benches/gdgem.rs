//! Event formation of the Gd-GEM captures from memory, on one core.
//!
//! For each capture its configuration, under the rules of `evforge_lab::benchmark`; with those of reference-2018, the expected events
//! are the oracle's.
//!
//! `cargo bench -p evforge-lab` (or `make bench`); EVFORGE_BENCH_SECONDS sets the time per line.

#[path = "../../pipeline/tests/oracle/gdgem/captures.rs"]
#[allow(dead_code)]
mod captures;
#[path = "../../pipeline/tests/oracle/gdgem/model/mod.rs"]
#[allow(dead_code)]
mod model;

mod common;

use captures::{reference_captures, vmm3a_physical};
use common::{Row, print_header, print_row};
use evforge_core::event::Event;
use model::rules::Rules;

fn main() {
    let Some(mut captures) = reference_captures("the gdgem benchmark") else { return };
    captures.extend(vmm3a_physical("the gdgem benchmark"));
    print_header();
    for capture in &captures {
        let outcome = model::run(&capture.payloads, &capture.settings, &Rules::ours());
        let event =
            |event: &model::analysis::Event| Event { time_ns: event.time_ns, pixel_id: event.pixel as u32 };
        let expected: Vec<Event> = outcome.events.iter().map(event).collect();
        // The model joins clusters, as the reference of 2018 did; configurations for daily use pair them: their passes are compared
        // with the first one.
        let is_joined = capture.configuration.starts_with("reference-2018");
        print_row(&Row {
            capture: capture.name,
            configuration: capture.configuration,
            overrides: &[],
            packets: &capture.payloads,
            expected: is_joined.then_some(&expected[..]),
        });
    }
}

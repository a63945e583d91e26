//! Event formation of the Multi-Grid captures from memory, on one core, with each strategy.
//!
//! The reference-2018 configuration, under the rules of `evforge_lab::benchmark`; the expected events are
//! the oracle's. Then the settings for daily use, which put events into order and look for double neutrons.
//!
//! `cargo bench -p evforge-lab` (or `make bench`); EVFORGE_BENCH_SECONDS sets the time per line.

#[path = "../../pipeline/tests/oracle/multigrid/captures.rs"]
#[allow(dead_code)]
mod captures;
#[path = "../../pipeline/tests/oracle/multigrid/model.rs"]
#[allow(dead_code)]
mod model;

mod common;

use captures::captures;
use common::{Row, print_header, print_row};
use evforge_core::event::Event;
use model::{Settings, Strategy, run};

fn main() {
    let Some(captures) = captures("the multigrid benchmark") else { return };
    print_header();
    for capture in &captures {
        for strategy in Strategy::ALL {
            let expected: Vec<Event> = run(&capture.packets, &Settings::ill(strategy))
                .events
                .into_iter()
                .map(|(time_ns, pixel_id)| Event { time_ns, pixel_id })
                .collect();
            print_row(&Row {
                capture: capture.name,
                configuration: "reference-2018/multigrid.toml",
                overrides: &[&format!("detector.strategy={}", strategy.name())],
                packets: &capture.packets,
                expected: Some(&expected),
            });
        }
        print_row(&Row {
            capture: capture.name,
            configuration: "multigrid.toml",
            overrides: &[],
            packets: &capture.packets,
            expected: None,
        });
    }
}

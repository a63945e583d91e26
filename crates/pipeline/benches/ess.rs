//! Event formation of the detectors with VMM3a records in today's ESS readout, from memory, on one core.
//!
//! There are no recordings of neutrons: packets are made by our own encoder for each shipped configuration, with
//! readouts of several front ends nearly in order. Every pass must give the events of the first.
//!
//! `cargo bench -p evforge-pipeline --bench ess`; EVFORGE_BENCH_SECONDS sets the time per line.

mod common;

use common::{Row, print_header, print_row};
use evforge_pipeline::benchmark::made_packets;
use evforge_pipeline::config::Config;
use std::path::Path;

const CONFIGURATIONS: [&str; 5] = ["freia.toml", "estia.toml", "trex.toml", "let.toml", "nmx.toml"];

fn main() {
    print_header();
    for configuration in CONFIGURATIONS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(configuration);
        let config = Config::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let made = made_packets(&config).expect("a configuration that was read");
        let packets = made.expect("a detector that packets are made for").packets;
        print_row(&Row { capture: "made", configuration, overrides: &[], packets: &packets, expected: None });
    }
}

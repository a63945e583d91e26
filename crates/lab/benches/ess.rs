//! Event formation of the detectors with VMM3a records in the ESS readout, from memory, on one core.
//!
//! There are no recordings of neutrons: the detector of each shipped configuration is simulated, with readouts of several
//! front ends nearly in order. Every pass must give the events of the first.
//!
//! `cargo bench -p evforge-lab --bench ess`; EVFORGE_BENCH_SECONDS sets the time per line.

mod common;

use common::{Row, print_header, print_row};
use evforge_config::Config;
use evforge_lab::benchmark::made_packets;
use std::path::Path;

const CONFIGURATIONS: [&str; 5] = ["freia.toml", "estia.toml", "trex.toml", "let.toml", "nmx.toml"];

fn main() {
    print_header();
    for configuration in CONFIGURATIONS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(configuration);
        let config = Config::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let made = made_packets(&config).expect("a detector that can be simulated");
        let packets: Vec<Vec<u8>> = made.packets.into_iter().map(|packet| packet.bytes).collect();
        print_row(&Row {
            capture: "simulated",
            configuration,
            overrides: &[],
            packets: &packets,
            expected: None,
        });
    }
}

//! Streams of packets into the detectors of all shipped configurations: a detector need not be listed here.

use crate::packet_stream::form_stream;
use evforge_config::{Config, shipped};

/// Bits of the first byte of an input, beside the place of the configuration in [`configurations`].
pub mod choice {
    /// What is closed is published after every packet.
    pub const PUBLISH: u8 = 1 << 6;
    /// Monitor data are collected.
    pub const WATCHED: u8 = 1 << 7;
}

/// Hits that may wait: fewer than shipped, for a detector is built for each input.
const HELD: &str = "8192";

/// Names of the configurations, in the order of the first byte.
pub fn configurations() -> Vec<&'static str> {
    // The first is another name of the second.
    shipped::names().skip(1).collect()
}

/// The shipped configuration of this name, with less memory.
pub fn configuration(name: &str) -> Config {
    let config = shipped::configuration(name, &[]).expect("a shipped configuration");
    let held = |table: &str| vec![format!("{table}.sorting.max_held_hits={HELD}")];
    let smaller = [held("ess"), held(config.section), held(&format!("{}.time", config.section))];
    let fitting = smaller.iter().find_map(|overrides| shipped::configuration(name, overrides).ok());
    fitting.unwrap_or(config)
}

/// Forms events of the packets in `bytes`: one byte for the configuration (see [`choice`]), then a stream.
///
/// # Panics
/// As [`form_stream`].
pub fn shipped_detectors(bytes: &[u8]) {
    let Some(choice) = bytes.first() else { return };
    let names = configurations();
    let Some(name) = names.get(usize::from(choice & (choice::PUBLISH - 1))) else { return };
    let config = configuration(name);
    form_stream(bytes, choice::PUBLISH, choice::WATCHED, |_| {
        config.build_detector().expect("a detector of a shipped configuration")
    });
}

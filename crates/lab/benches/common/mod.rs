//! The table that all benches print, a line for each capture and configuration.

use evforge_config::Config;
use evforge_core::event::Event;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_lab::benchmark::{measure, reference_speed};
use evforge_testkit::bench_history::{Figure, keep};
use std::path::Path;

/// What one line is about.
pub(crate) struct Row<'a> {
    /// Name of the capture file without its ending.
    pub(crate) capture: &'a str,
    /// Name of the file in `configs/`.
    pub(crate) configuration: &'a str,
    /// Keys to override.
    pub(crate) overrides: &'a [&'a str],
    /// The packets.
    pub(crate) packets: &'a [Vec<u8>],
    /// The events of a pass, from the oracle; without them, every pass is compared with the first.
    pub(crate) expected: Option<&'a [Event]>,
}

/// Prints the names of the columns.
pub(crate) fn print_header() {
    println!(
        "{:<20} {:<58} {:>8} {:>7} {:>8} {:>8} {:>7} {:>6} {:>7} {:>8} {:>6}",
        "capture",
        "configuration",
        "readouts",
        "events",
        "Mread/s",
        "Mevent/s",
        "ns/read",
        "GB/s",
        "Mkeys/s",
        "read/key",
        "x ref."
    );
}

/// Measures a line for `EVFORGE_BENCH_SECONDS` (3 if it is not set) and prints it. The ratio to the reference of
/// August 2018 goes through the yardstick of this run, and only its own settings are compared with it.
///
/// # Panics
/// If the configuration is not valid or the events differ from what is expected.
pub(crate) fn print_row(row: &Row<'_>) {
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(row.configuration);
    let overrides: Vec<String> = row.overrides.iter().map(|text| (*text).to_owned()).collect();
    let config = Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut slab = PacketSlab::new(row.packets.len(), row.packets.iter().map(Vec::len).sum());
    for packet in row.packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    let measured = measure(&config, &[slab], row.expected, &[], seconds)
        .unwrap_or_else(|error| panic!("{}: {error}", row.configuration));
    let reference =
        reference_speed(config.section, config.detector.strategy(), row.capture, measured.readouts)
            .filter(|_| row.configuration.starts_with("reference-2018"))
            .map_or("     -".into(), |reference| {
                format!("{:6.1}", measured.readouts_per_key() / reference.readouts_per_key())
            });
    let settings = [&[row.configuration], row.overrides].concat().join(" ");
    keep(&Figure {
        bench: "forming",
        case: &format!("{} {settings}", row.capture),
        figure: "time",
        value: measured.nanoseconds_per_readout(),
        unit: "ns/readout",
        keys_per_second: Some(measured.keys_per_second),
    });
    println!(
        "{:<20} {settings:<58} {:>8} {:>7} {:>8.1} {:>8.3} {:>7.2} {:>6.2} {:>7.1} {:>8.2} {reference}",
        row.capture,
        measured.readouts,
        measured.events,
        measured.readouts_per_second() / 1e6,
        measured.events_per_second() / 1e6,
        measured.nanoseconds_per_readout(),
        measured.bytes_per_second() / 1e9,
        measured.keys_per_second / 1e6,
        measured.readouts_per_key(),
    );
}

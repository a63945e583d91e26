//! The same neutrons in the electronics of a prototype and in the ESS readout give the same pixels, at the same
//! times but for the length of a tick: what forms events is the same, whatever reads the detector out.

mod gdgem;
mod multiblade;
mod multigrid;

use crate::common::form_packets;
use evforge_config::Config;
use evforge_core::ledger::DetectorLedger;
use evforge_wire::ess::EssTime;
use std::path::Path;

/// The pulse that the ESS readout tells; the clocks of prototypes begin there.
const PULSE: EssTime = EssTime { seconds: 1_700_000_000, ticks: 0 };

/// An event: nanoseconds after [`PULSE`], and pixel.
type Found = (u64, u32);

/// The configuration that `text` is, with overrides.
fn config(text: &str, overrides: &[String]) -> Config {
    Config::parse(Path::new("neutrons.toml"), text, overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// The events of packets, and the ledger at the end.
fn events_and_ledger(config: &Config, packets: &[Vec<u8>], since: u64) -> (Vec<Found>, DetectorLedger) {
    let (log, ledger) = form_packets(config, packets);
    assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
    (log.events().map(|event| (event.time_ns - since, event.pixel_id)).collect(), ledger)
}

/// The events of packets.
fn events(config: &Config, packets: &[Vec<u8>], since: u64) -> Vec<Found> {
    events_and_ledger(config, packets, since).0
}

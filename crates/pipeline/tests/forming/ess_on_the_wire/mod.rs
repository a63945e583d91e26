//! What recordings of the ESS readout show and older descriptions do not say (ESS readout formats, section 7): packets
//! with each peculiarity, encoded here, and two recordings.

mod peculiarities;
mod recordings;

use evforge_config::Config;
use evforge_core::ledger::DetectorLedger;
use evforge_wire::ess::{EssHeader, EssTime, RECORD, Vmm3aFields, detector_type};
use std::path::Path;

/// Seconds since 1970 at which the packets begin.
const SECOND: u32 = 1_700_000_000;

fn config(text: &str) -> Config {
    Config::parse(Path::new("wire.toml"), text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// A hybrid with 128 strips of each plane of a Gd-GEM on ring 0.
fn gdgem(ess: &str) -> Config {
    config(&format!(
        "name = 'wire'\n[ess]\n{ess}\n[ess_gdgem]\ngeometry = {{ nx = 128, ny = 128 }}\nhybrid = [\n\
         {{ ring = 0, fen = 0, hybrid = 0, plane = 'x', offset = 0 }},\n\
         {{ ring = 0, fen = 1, hybrid = 0, plane = 'y', offset = 0 }},\n]\n"
    ))
}

/// A header of output queue 0, whose pulses are these.
fn header(detector_type: u8, sequence: u32, pulse: EssTime, previous_pulse: EssTime) -> EssHeader {
    EssHeader { version: 1, detector_type, output_queue: 0, time_source: 0, pulse, previous_pulse, sequence }
}

fn packet(header: &EssHeader, records: &[[u8; RECORD]]) -> Vec<u8> {
    let mut packet = Vec::new();
    header.write_packet(records.as_flattened(), &mut packet);
    packet
}

/// The readouts of a neutron at strips (x, y) of [`gdgem`].
fn neutron(time: EssTime, x: u8, y: u8) -> [Vmm3aFields; 2] {
    let readout = |fen, strip: u8| Vmm3aFields {
        fen,
        time,
        adc: 300,
        vmm: strip / 64,
        channel: strip % 64,
        ..Vmm3aFields::default()
    };
    [readout(0, x), readout(1, y)]
}

fn encoded(readouts: &[Vmm3aFields]) -> Vec<[u8; RECORD]> {
    readouts.iter().map(Vmm3aFields::encode).collect()
}

/// The pixel of strips (x, y) of [`gdgem`].
fn pixel(x: u8, y: u8) -> u32 {
    u32::from(y) * 128 + u32::from(x) + 1
}

fn count(ledger: &DetectorLedger, name: &str) -> u64 {
    ledger.counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

/// NMX, whose records are those of [`gdgem`].
const NMX: u8 = detector_type::NMX;

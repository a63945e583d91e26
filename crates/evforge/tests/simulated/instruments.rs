//! The instruments that are simulated: shipped configurations with the packets of a capture of this repository.

use std::sync::OnceLock;

/// One of them.
pub(crate) struct Instrument {
    /// Name of the capture.
    pub(crate) capture: &'static str,
    /// Its packets, in the order of the capture.
    pub(crate) packets: Vec<Vec<u8>>,
}

/// Small ones of every kind of detector. What tells its sources by their addresses is left out: all packets come from one here.
const CAPTURES: [&str; 9] = [
    "gdgem-srs-faults",
    "multigrid",
    "multiblade",
    "freia-faults",
    "sonde-module",
    "adc-readout",
    "nmx",
    "trex",
    "isis-v2",
];

/// All of them.
pub(crate) fn all() -> &'static [Instrument] {
    static ALL: OnceLock<Vec<Instrument>> = OnceLock::new();
    ALL.get_or_init(|| {
        let of = |&capture: &&'static str| Instrument {
            capture,
            packets: evforge_testkit::own_data::payloads(capture),
        };
        CAPTURES.iter().map(of).collect()
    })
}

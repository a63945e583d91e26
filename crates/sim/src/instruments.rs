//! The instruments of the table of the EFU paper (section 1.1, table 1), as loads.
//!
//! Rates are averages over all time, at 5 MW. The table's data rates imply 8 bytes a neutron for Multi-Grid,
//! Multi-Blade and LoKI, 60 for NMX and 32 for SKADI; the readouts that evforge decodes need other amounts, which a
//! simulation shows.

/// Neutrons of an instrument, and by what it is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instrument {
    /// Its name.
    pub name: &'static str,
    /// The detector, as in the table.
    pub detector: &'static str,
    /// Neutrons per second and square centimetre on the sample.
    pub flux: f64,
    /// Neutrons per second on the detector, on average.
    pub average: u64,
    /// Data rate in the table, in bytes per second.
    pub data_rate: u64,
    /// By what it is simulated.
    pub loads: &'static [Load],
}

/// What simulates an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The readout: `prototype`, `ess` or `generic`.
    pub readout: &'static str,
    /// Name of the shipped configuration; none for the generic readout.
    pub configuration: Option<&'static str>,
    /// What the readout is, for people.
    pub description: &'static str,
}

const fn load(readout: &'static str, configuration: &'static str, description: &'static str) -> Load {
    Load { readout, configuration: Some(configuration), description }
}

/// The BAND-GEM was not built, and no events of it are formed: the load has the format of the example of a plugin, 8 bytes a neutron.
const GENERIC: &[Load] = &[Load {
    readout: "generic",
    configuration: None,
    description: "generic pixel stream (examples/plugin-c), not the detector's own",
}];

const MULTI_GRID: &[Load] = &[
    load("prototype", "multigrid", "Mesytec VMMR behind SIS3153"),
    load("ess", "trex", "VMM3a in the ESS readout (wiring of TREX)"),
];

/// The table.
pub const INSTRUMENTS: &[Instrument] = &[
    Instrument {
        name: "C-SPEC",
        detector: "Multi-Grid",
        flux: 1e8,
        average: 10_000_000,
        data_rate: 80_000_000,
        loads: MULTI_GRID,
    },
    Instrument {
        name: "ESTIA",
        detector: "Multi-Blade",
        flux: 1e9,
        average: 500_000_000,
        data_rate: 4_000_000_000,
        loads: &[
            load("prototype", "multiblade-50", "CAEN V1740D through jadaq 1.3"),
            load("ess", "estia", "VMM3a in the ESS readout"),
        ],
    },
    Instrument {
        name: "FREIA",
        detector: "Multi-Blade",
        flux: 5e8,
        average: 100_000_000,
        data_rate: 800_000_000,
        loads: &[
            load("prototype", "multiblade-50", "CAEN V1740D through jadaq 1.3"),
            load("ess", "freia", "VMM3a in the ESS readout"),
        ],
    },
    Instrument {
        name: "LoKI-BAND-GEM",
        detector: "BAND-GEM",
        flux: 1e9,
        average: 34_000_000,
        data_rate: 272_000_000,
        loads: GENERIC,
    },
    Instrument {
        name: "LoKI-BCS",
        detector: "BCS",
        flux: 1e9,
        average: 37_000_000,
        data_rate: 298_000_000,
        loads: &[load("ess", "loki", "R5560 digitisers in the ESS readout")],
    },
    Instrument {
        name: "NMX",
        detector: "Gd-GEM",
        flux: 4.8e8,
        average: 5_000_000,
        data_rate: 300_000_000,
        loads: &[
            load("prototype", "gdgem-nmx", "VMM3a behind SRS"),
            load("ess", "nmx", "VMM3a in the ESS readout"),
        ],
    },
    Instrument {
        name: "SKADI",
        detector: "SoNDe",
        flux: 1e9,
        average: 37_000_000,
        data_rate: 1_180_000_000,
        loads: &[load("prototype", "sonde", "IDEAS ROSMAP, trigger times")],
    },
    Instrument {
        name: "T-REX",
        detector: "Multi-Grid",
        flux: 1e8,
        average: 10_000_000,
        data_rate: 80_000_000,
        loads: MULTI_GRID,
    },
];

/// The instrument of this name, whatever its case and with or without its hyphens.
pub fn find(name: &str) -> Option<&'static Instrument> {
    let plain = |name: &str| name.replace('-', "").to_lowercase();
    INSTRUMENTS.iter().find(|instrument| plain(instrument.name) == plain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EFU paper, table 1: data rate = rate × bytes per neutron, to the rounding of the table.
    #[test]
    fn table_1_implies_its_bytes_per_neutron() {
        for instrument in INSTRUMENTS {
            let expected = match instrument.detector {
                "Gd-GEM" => 60.0,
                "SoNDe" => 32.0,
                _ => 8.0,
            };
            let bytes = instrument.data_rate as f64 / instrument.average as f64;
            assert!((bytes / expected - 1.0).abs() < 0.02, "{}: {bytes}", instrument.name);
        }
    }

    #[test]
    fn instruments_are_found_by_name() {
        assert_eq!(find("cspec").map(|instrument| instrument.name), Some("C-SPEC"));
        assert_eq!(find("T-REX").map(|instrument| instrument.name), Some("T-REX"));
        assert_eq!(find("loki-bcs").map(|instrument| instrument.detector), Some("BCS"));
        assert_eq!(find("LET"), None);
    }
}

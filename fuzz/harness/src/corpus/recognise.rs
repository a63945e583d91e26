//! Single packets of every format, and those that are nearly of one.

use super::{Seed, adc_readout, caen, cncs, drop, ess, isis, mesytec, numbered, sonde, srs_vmm};

/// The first inputs of the formats' own corpora: good packets and those with a fault that the smallest show.
pub fn seeds() -> Vec<Seed> {
    let formats: [(&str, Vec<Seed>); 12] = [
        ("srs", srs_vmm::seeds()),
        ("mesytec", mesytec::seeds()),
        ("cncs", cncs::seeds()),
        ("drop", drop::seeds()),
        ("numbered", numbered::seeds()),
        ("caen", caen::seeds()),
        ("adc", adc_readout::seeds()),
        ("ess-vmm3a", ess::vmm3a_seeds()),
        ("ess-monitor", ess::beam_monitor_seeds()),
        ("ess-r5560", ess::r5560_seeds()),
        ("sonde", sonde::seeds()),
        ("isis", isis::seeds()),
    ];
    let named = |(format, seeds): (&str, Vec<Seed>)| {
        let format = format.to_owned();
        let small = seeds.into_iter().filter(|seed| seed.bytes.len() < 400).take(6);
        small.map(move |seed| Seed::new(format!("{format}-{}", seed.name), seed.bytes)).collect::<Vec<_>>()
    };
    formats.into_iter().flat_map(named).collect()
}

//! Packets to be moved.

use super::{Seed, caen, ess, isis, mesytec, sonde, srs_vmm};

/// The packets of every format that can be moved, by some ticks and numbers.
pub fn seeds() -> Vec<Seed> {
    let by = (1_000_000_u64 << 24 | 7).to_le_bytes();
    // Faults of headers are there with VMM3a records.
    let tubes = ess::r5560_seeds().into_iter().filter(|seed| seed.name.starts_with("record"));
    let all = [
        ("caen", caen::seeds()),
        ("ess", ess::vmm3a_seeds()),
        ("ess-r5560", tubes.collect()),
        ("isis", isis::seeds()),
        ("mesytec", mesytec::seeds()),
        ("sonde", sonde::seeds()),
        ("srs", srs_vmm::seeds()),
    ];
    let mut seeds = Vec::new();
    for (format, of_format) in all {
        // Largest packets add nothing.
        for seed in of_format.into_iter().filter(|seed| seed.bytes.len() < 1500) {
            seeds.push(Seed::new(format!("{format}-{}", seed.name), [&by[..], &seed.bytes].concat()));
        }
    }
    seeds
}

//! Single packets.

use super::Seed;
use super::packets::{hit, marker, readout, spoilt, vmm2, vmm3};
use evforge_wire::srs_vmm::{END_OF_FRAME, Vmm3Variant, Word};

const VARIANTS: [(&str, Vmm3Variant); 2] =
    [("vmm3-2018", Vmm3Variant::Of2018), ("vmm3a", Vmm3Variant::Vmm3a)];

/// Good packets of every format, and packets with one fault each.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = of_vmm2();
    for (name, variant) in VARIANTS {
        seeds.extend(
            of_vmm3(variant).into_iter().map(|(what, bytes)| Seed::new(format!("{name}-{what}"), bytes)),
        );
    }
    seeds.push(Seed::new("vmm3a-of-no-fec", vmm3(Vmm3Variant::Vmm3a, 1, 0, &[hit(0, 1, 2)])));
    seeds.push(Seed::new("wrong-data-id", spoilt(vmm2(1, 0, 2, &[readout(0, 1, 2, 0)]), 4, b"VM4")));
    seeds.push(Seed::new("nothing", []));
    seeds
}

fn of_vmm2() -> Vec<Seed> {
    let good = vmm2(7, 3, 0x1234_5678, &[readout(3, 0, 0, 0), readout(3, 63, 4095, 0), readout(3, 5, 1, 0)]);
    let full: Vec<_> = (0..1120).map(|n| readout(15, (n % 64) as u8, n % 4096, 0)).collect();
    vec![
        Seed::new("vmm2-good", good.clone()),
        Seed::new("vmm2-full", vmm2(u32::MAX, 15, u32::MAX, &full)),
        Seed::new("vmm2-end-of-frame", END_OF_FRAME.to_be_bytes()),
        Seed::new("vmm2-no-data", spoilt(good[..12].to_vec(), 4, b"VA2\0")),
        Seed::new("vmm2-header-only", &good[..12]),
        Seed::new("vmm2-cut-in-header", &good[..9]),
        Seed::new("vmm2-ragged", &good[..good.len() - 3]),
    ]
}

fn of_vmm3(variant: Vmm3Variant) -> Vec<(&'static str, Vec<u8>)> {
    let all_offsets: Vec<_> = (0..32).map(|offset| Word::Readout(readout(offset, 9, 4095, offset))).collect();
    let markers: Vec<_> = (0..32).map(|chip| marker(chip, (1 << 42) - 1 - u64::from(chip))).collect();
    let full: Vec<_> = (0..1492).map(|n| hit(0, (n % 64) as u8, n % 4096)).collect();
    let good = vmm3(variant, 7, 2, &[marker(0, 65_536), hit(0, 10, 100), hit(0, 11, 101), hit(1, 0, 4095)]);
    let full = vmm3(variant, u32::MAX, 15, &full);
    vec![
        ("good", good.clone()),
        ("full", full.clone()),
        ("oversized", [&full[..], &full[16..106]].concat()),
        ("offsets-of-all-chips", vmm3(variant, 0, 1, &all_offsets)),
        ("markers-only", vmm3(variant, 1, 1, &markers)),
        ("offset-overflow", spoilt(good.clone(), 12, &[0xFF; 4])),
        ("end-of-frame", spoilt(good.clone(), 0, &END_OF_FRAME.to_be_bytes())),
        ("header-only", good[..16].to_vec()),
        ("cut-in-header", good[..14].to_vec()),
        ("ragged", good[..good.len() - 1].to_vec()),
    ]
}

//! Single packets of the demonstrator at CNCS.

use super::Seed;
use super::packets::spoilt;
use evforge_wire::cncs::{Group, GroupEncoder};

/// A packet of these groups.
pub(super) fn packet(groups: &[Group]) -> Vec<u8> {
    let mut encoder = GroupEncoder::default();
    encoder.begin();
    for group in groups {
        assert!(encoder.push(group), "more groups than a packet holds");
    }
    encoder.packet().to_vec()
}

/// A neutron at the calibrated positions `wire` and `grid`.
pub(super) fn neutron(module: u8, wire: u16, grid: u16, time: u32) -> Group {
    Group { module, values: [527, 47, wire, 43, 723, 53, grid, 44], time }
}

/// Good packets, and packets with one fault each.
pub fn seeds() -> Vec<Seed> {
    let good = packet(&[
        neutron(0, 12, 3, 135_645),
        neutron(1, 13, 4, (1 << 30) - 1),
        neutron(255, 16_383, 16_383, 0),
    ]);
    let header = [9, 0, 0, 0x40];
    vec![
        Seed::new("good", good.clone()),
        Seed::new("full", packet(&vec![neutron(2, 5, 6, 7); 224])),
        Seed::new("no-header", spoilt(good.clone(), 3, &[0x30])),
        Seed::new("wrong-number-of-words", spoilt(good.clone(), 0, &[8])),
        Seed::new("misordered", spoilt(good.clone(), 26, &[6])),
        Seed::new("no-data", spoilt(good.clone(), 11, &[0x84])),
        Seed::new("no-footer", spoilt(good.clone(), 39, &[0x40])),
        Seed::new("header-before-header", [&header[..], &good].concat()),
        Seed::new("ragged", &good[..good.len() - 1]),
        Seed::new("cut", &good[..76]),
        Seed::new("nothing", []),
    ]
}

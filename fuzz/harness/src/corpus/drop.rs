//! Single packets of DROP, behind a byte that chooses the layout.

use super::Seed;
use super::packets::spoilt;
use crate::drop::layouts;
use evforge_wire::drop::DropHeader;

/// A packet of the layout with this number: the header, and a counting pattern.
fn packet(layout: u8, identifier: u64) -> Vec<u8> {
    let header = DropHeader { identifier, stream: 3, is_pattern: true, ..DropHeader::default() };
    let layouts = layouts();
    let chosen = &layouts[usize::from(layout)];
    let mut bytes = vec![0; chosen.header_bytes()];
    header.write(chosen, 16, &mut bytes).expect("the header has its place");
    bytes.extend((0..8_u16).flat_map(u16::to_be_bytes));
    [vec![layout], bytes].concat()
}

/// Good packets of every layout, packets with one fault each, and identifiers that jump.
pub fn seeds() -> Vec<Seed> {
    let good = packet(0, 77);
    let identifiers = [5_u64, 6, 8, 7, 9, 9, u64::MAX, 0].map(u64::to_be_bytes).concat();
    vec![
        Seed::new("good", good.clone()),
        Seed::new("raw64be", packet(1, u64::MAX)),
        Seed::new("two-bytes-little", packet(2, 65_535)),
        Seed::new("four-bytes-inside", packet(3, 1 << 31)),
        Seed::new("wrong-magic", spoilt(good.clone(), 1, &[0xD8])),
        Seed::new("wrong-version", spoilt(good.clone(), 3, &[2])),
        Seed::new("longer-than-it-is", spoilt(good.clone(), 7, &[0xFF, 0xFF])),
        Seed::new("padded", [&good[..], &[0; 9]].concat()),
        Seed::new("cut-header", &good[..9]),
        Seed::new("jumps", [&[1_u8][..], &identifiers].concat()),
        Seed::new("nothing", []),
    ]
}

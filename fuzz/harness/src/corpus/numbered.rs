//! Single numbered packets.

use super::Seed;
use super::packets::spoilt;
use evforge_wire::numbered::NumberedHeader;

/// Good packets, and packets with one fault each.
pub fn seeds() -> Vec<Seed> {
    let good = NumberedHeader { flow: 3, number: 77, sent_ns: 1_700_000_000_000_000_000 }.bytes().to_vec();
    vec![
        Seed::new("good", good.clone()),
        Seed::new("filled", [&good[..], &[0x5A; 40]].concat()),
        Seed::new("wrong-magic", spoilt(good.clone(), 1, &[0xD8])),
        Seed::new("wrong-version", spoilt(good.clone(), 4, &[2])),
        Seed::new("not-looked-at", spoilt(good.clone(), 5, &[0xFF])),
        Seed::new("cut-header", &good[..23]),
        Seed::new("nothing", []),
    ]
}

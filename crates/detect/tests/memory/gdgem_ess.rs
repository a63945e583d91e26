//! The memory of a Gd-GEM in the ESS readout is bounded whatever it is fed, and forming events does not allocate.

use crate::gdgem_ess_common::{packet, record, settings};
use crate::hostile_stream::check_boxed;
use evforge_detect::gdgem::ess;
use evforge_detect::gdgem::settings::Plane::{X, Y};
use evforge_detect::workers::{InTurn, Workers};
use std::sync::Arc;

/// Records in a full packet.
const FULL: u32 = 440;

/// A packet with hits at the ticks that `ticks` gives; its pulse comes at those of hit 0.
fn packet_at(number: u64, ticks: impl Fn(u32) -> u32) -> Vec<u8> {
    let settings = settings();
    let records: Vec<_> = (0..FULL)
        .map(|hit| {
            let plane = if hit % 2 == 0 { X } else { Y };
            record(&settings, (hit as u16 / 2 % 2, plane, hit as u16 / 4 % 200, ticks(hit), 500))
        })
        .collect();
    packet(number as u32, [ticks(0), ticks(0)], &records)
}

/// Streams that try to make the pipeline hold more and more: (name, packet by number).
type Hostile = (&'static str, fn(u64) -> Vec<u8>);

const STREAMS: &[Hostile] = &[
    ("time stands still", |number| packet_at(number, |_| 5)),
    ("one endless group", |number| packet_at(number, |hit| (number as u32 * FULL + hit) * 20)),
    ("many neutrons", |number| packet_at(number, |hit| (number as u32 * FULL + hit) / 4 * 100)),
    ("time leaps with every packet", |number| packet_at(number, |hit| number as u32 * 290_000 + hit)),
    ("time leaps with every hit", |number| {
        packet_at(number, |hit| (number as u32 * FULL + hit) % 87 * 1_000_000)
    }),
    ("time runs back", |number| packet_at(number, |hit| 80_000_000 - number as u32 * 1000 + hit)),
    ("no hits, only pulses", |number| {
        let tick = |number: u64| number as u32 * 100_000;
        packet(number as u32, [tick(number + 1), tick(number)], &[])
    }),
    ("no pulse but the first", |number| {
        let hits = packet_at(number, |hit| 1_000_000 + (number as u32 * FULL + hit) * 60);
        [&packet(number as u32, [0, 0], &[])[..6], &hits[6..10], &[0; 16], &hits[26..]].concat()
    }),
];

pub(crate) fn check_all() {
    for (name, stream) in STREAMS {
        for workers in [None, Some(Arc::new(InTurn(2)) as Arc<dyn Workers>)] {
            let detector = || ess::detector(&settings(), None, workers.clone()).expect("sound settings");
            check_boxed(name, detector, (0..300).map(stream));
        }
    }
}

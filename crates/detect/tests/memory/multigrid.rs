//! The memory of a Multi-Grid pipeline is bounded whatever it is fed, and forming events does not allocate.

use crate::hostile_stream::check;
use crate::multigrid_common::{packet, pulse, readout, settings, trigger};
use evforge_detect::multigrid::MultiGrid;
use evforge_detect::multigrid::settings::{DoubleNeutronRule, MaskSettings, Ordering, Strategy};
use evforge_detect::settings::SortingSettings;

/// Streams that try to make the pipeline hold more and more: (name, packet by number).
type Hostile = (&'static str, fn(u64) -> Vec<u8>);

const STREAMS: &[Hostile] = &[
    ("time stands still", |_| many(|_| 1000)),
    ("time runs", |number| many(|n| number * 300 + n)),
    ("time runs back", |number| many(|n| 10_000_000 - number * 300 - n)),
    ("time leaps with every packet", |number| many(|n| number * 100_000_000 + n)),
    ("time leaps with every trigger", |number| many(|n| (number * 200 + n) * 0x1234_5678_9ABC)),
    ("pulses only", |number| packet(&(0..250).map(|n| pulse(number * 250 + n, &[])).collect::<Vec<_>>())),
    ("one endless trigger", |number| {
        packet(&[trigger(number, &(0..2000).map(|n| readout((n % 16) as u8, n, 4095)).collect::<Vec<_>>())])
    }),
    ("nonsense", |number| (0..8000_u64).map(|n| ((n * n * number) >> 7) as u8 | 0x40).collect()),
];

fn many(time: impl Fn(u64) -> u64) -> Vec<u8> {
    let neutron =
        |n| trigger(time(n) % (1 << 46), &[readout(1, 7, 900), readout(1, 95, 300), readout(0, 3, 1)]);
    packet(&(0..200).map(neutron).collect::<Vec<_>>())
}

pub(crate) fn check_all() {
    let mut settings = settings();
    settings.strategy = Strategy::Prioritized;
    settings.double_neutrons = Some(DoubleNeutronRule { threshold: 100, separation: 2 });
    settings.mask = vec![MaskSettings { bus: 0, channel: 3, reason: "hot".into() }];
    settings.time.order = Ordering::Time(SortingSettings {
        window: 500_000_000,
        forward_jump: 2_000_000_000,
        restart: 1_000_000_000_000,
        source_lag: 60_000_000_000_000,
        max_held_hits: 8192,
        max_group_hits: 1,
        decimation: 0,
        highest_rate: None,
    });
    for (name, stream) in STREAMS {
        let build = || MultiGrid::new(&settings).expect("sound settings");
        check(name, build, (0..200).map(stream));
    }
}

//! The memory of a Multi-Blade pipeline is bounded whatever it is fed, and forming events does not allocate.

use crate::hostile_stream::check;
use crate::multiblade_common::{records, settings};
use evforge_detect::multiblade::MultiBlade;
use evforge_detect::multiblade::caen::settings::{HitOrder, WindowRule};
use evforge_wire::caen::Record;

/// Streams that try to make the pipeline hold more and more: (name, record by packet and place in it).
type Hostile = (&'static str, fn(u32, u32) -> Record);

fn record(digitizer: u8, channel: u32, time: u32) -> Record {
    Record { digitizer, channel: (channel % 64) as u8, adc: 50 + channel as u16, time }
}

const STREAMS: &[Hostile] = &[
    ("time stands still", |_, place| record(7, place, 1000)),
    ("one source is silent", |packet, place| record(7, place, packet * 20_000 + place * 100)),
    ("time leaps with every packet", |packet, place| {
        record(7, place, packet.wrapping_mul(100_000_000).wrapping_add(place))
    }),
    ("time leaps with every hit", |packet, place| {
        record(7, place, (packet * 200 + place).wrapping_mul(70_000_000))
    }),
    ("time runs back", |packet, place| record(7, place, 3_000_000_000 - packet * 1000 - place)),
    ("one endless window beside many short ones", |packet, place| {
        let time = packet * 20_000 + place * 100;
        if place % 2 == 0 { record(7, 3, time) } else { record(8, place / 2 % 2 * 32, time) }
    }),
    ("ends of runs", |_, _| Record::END_OF_RUN),
];

pub(crate) fn check_all() {
    for (order, rule) in [
        (HitOrder::Arrival, WindowRule::Box),
        (HitOrder::Time, WindowRule::Box),
        (HitOrder::Time, WindowRule::Gap),
    ] {
        for (name, stream) in STREAMS {
            let mut settings = settings(order);
            settings.window.rule = rule;
            settings.window.separate = true;
            settings.window.max_amplitude_ratio = Some(4000);
            let build = || MultiBlade::new(&settings).expect("sound settings");
            let packet = |number| {
                let hits: Vec<_> = (0..200).map(|place| stream(number, place)).collect();
                records(&hits)
            };
            check(name, build, (0..300).map(packet));
        }
    }
}

//! Streams of packets of a Multi-Blade.

use super::Seed;
use super::packets::{spoilt, stream};
use crate::multiblade::choice;
use evforge_wire::caen::{Element, ElementType, JadaqEncoder, Record, RecordEncoder};

/// A readout: channel, amplitude, time.
type Readout = (u8, u16, u32);

/// The readouts of a neutron at `wire` and `strip`: two wires and three strips. `first_wire` is the channel of
/// wire 0.
fn neutron(first_wire: u8, wire: u8, strip: u8, time: u32) -> [Vec<Readout>; 2] {
    let at = |later: u32| time.wrapping_add(later);
    let wires = vec![(first_wire + wire, 900, at(0)), (first_wire + wire + 1, 100, at(4))];
    let strips = vec![(strip, 200, at(2)), (strip + 1, 700, at(3)), (strip + 2, 150, at(5))];
    [wires, strips]
}

fn packet(format: u8, digitizer: u8, sequence: u32, millisecond: u64, readouts: &[Readout]) -> Vec<u8> {
    if format == choice::RECORDS {
        let mut encoder = RecordEncoder::default();
        encoder.begin();
        for &(channel, adc, time) in readouts {
            assert!(encoder.push(&Record { digitizer, channel, adc, time }), "more than a packet holds");
        }
        return encoder.packet().to_vec();
    }
    let element_type = match format {
        choice::JADAQ_OF_JUNE_2018 => ElementType::OfJune2018,
        choice::JADAQ_1_3 => ElementType::List422,
        _ => ElementType::List8222,
    };
    let mut encoder = JadaqEncoder::new(element_type);
    encoder.begin(1, millisecond, u32::from(digitizer), sequence);
    for &(channel, charge, time) in readouts {
        let element = Element { time: u64::from(time), channel: u16::from(channel), charge, baseline: 0 };
        assert!(encoder.push(&element), "more than a packet holds");
    }
    encoder.packet().to_vec()
}

/// Neutrons in both cassettes, `step` ticks apart.
fn neutrons(format: u8, count: u8, start: u32, step: u32) -> Vec<Vec<u8>> {
    let packets = |n: u8| {
        let time = start.wrapping_add(u32::from(n) * step);
        let (sequence, millisecond) = (u32::from(n), 1_540_000_000_000 + u64::from(n));
        let together = neutron(32, 2 * n, 3 * n, time).concat();
        let [wires, strips] = neutron(0, 3 * n, 2 * n, time ^ 1);
        [
            packet(format, 1, sequence, millisecond, &together),
            packet(format, 2, sequence, millisecond, &strips),
            packet(format, 3, sequence, millisecond, &wires),
        ]
    };
    (0..count).flat_map(packets).collect()
}

/// Streams of every format and order, and streams with faults.
pub fn seeds() -> Vec<Seed> {
    let formats = [
        ("records", choice::RECORDS),
        ("jadaq-of-june-2018", choice::JADAQ_OF_JUNE_2018),
        ("jadaq-1-3", choice::JADAQ_1_3),
        ("global-time", choice::GLOBAL_TIME),
    ];
    let mut seeds = Vec::new();
    for (name, format) in formats {
        let packets = neutrons(format, 5, 1000, 300);
        seeds.push(Seed::new(name, stream(format, &packets)));
        let ordered = format | choice::ORDERED;
        seeds.push(Seed::new(format!("{name}-ordered"), stream(ordered | choice::WATCHED, &packets)));
        let narrow = ordered | choice::NARROW | choice::PUBLISH | choice::MAXIMUM;
        seeds.push(Seed::new(format!("{name}-narrow"), stream(narrow, &neutrons(format, 8, 0, 90))));
        let wrapping = neutrons(format, 4, u32::MAX - 400, 250);
        seeds.push(Seed::new(format!("{name}-over-a-wrap"), stream(ordered, &wrapping)));
        seeds.push(Seed::new(format!("{name}-gaps"), stream(format | choice::GAP, &packets)));
        let mut faulty = packets;
        faulty[1].pop();
        faulty[5] = spoilt(faulty[5].clone(), 0, &[0xFF; 5]);
        faulty.swap(2, 8);
        faulty.push(faulty[0].clone());
        faulty.push(packet(format, 9, 0, 0, &[(0, 500, 0), (70, 500, 4_000_000_000), (1, 0, 5)]));
        faulty.push(Vec::new());
        seeds.push(Seed::new(format!("{name}-faulty"), stream(ordered | choice::NARROW, &faulty)));
    }
    seeds
}

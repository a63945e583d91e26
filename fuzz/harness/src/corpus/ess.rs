//! Single packets of the ESS readout.

use super::Seed;
use super::packets::spoilt;
use evforge_wire::ess::beam_monitor::MonitorKind;
use evforge_wire::ess::{
    EssHeader, EssTime, MonitorFields, R5560Fields, RECORD, TICKS_PER_SECOND, Vmm3aFields, detector_type,
};

const PULSE: EssTime = EssTime { seconds: 1_700_000_000, ticks: 6_289_464 };

/// Good packets with VMM3a records, packets with one fault in the header each, and one of each faulty record.
pub fn vmm3a_seeds() -> Vec<Seed> {
    let header = header(detector_type::NMX);
    let records: Vec<u8> = (0..4).flat_map(|number| vmm3a(number).encode()).collect();
    let mut seeds = headers(header, &records);
    let full: Vec<u8> = (0..447).flat_map(|number| vmm3a(number).encode()).collect();
    seeds.push(Seed::new("full", packet(header, &full)));
    let sound = vmm3a(1);
    for (name, record) in [
        ("fibre", Vmm3aFields { fibre: 24, ..sound }),
        ("fen", Vmm3aFields { fen: 24, ..sound }),
        ("length", Vmm3aFields { length: 24, ..sound }),
        ("length-in-bits", Vmm3aFields { length: 160, ..sound }),
        ("time", Vmm3aFields { time: EssTime { ticks: TICKS_PER_SECOND, ..sound.time }, ..sound }),
        ("bc", Vmm3aFields { bc: 4096, ..sound }),
        ("adc", Vmm3aFields { adc: 1024, ..sound }),
        ("vmm", Vmm3aFields { vmm: 16, ..sound }),
        ("channel", Vmm3aFields { channel: 64, ..sound }),
        ("calibration", Vmm3aFields { geo: 0x80, ..sound }),
    ] {
        let records = [vmm3a(0).encode(), record.encode(), vmm3a(2).encode()].concat();
        seeds.push(Seed::new(format!("record-{name}"), packet(header, &records)));
    }
    seeds
}

/// Good packets of beam monitors, packets with one fault in the header each, and one of each faulty record.
pub fn beam_monitor_seeds() -> Vec<Seed> {
    let header = header(detector_type::CBM);
    let records: Vec<u8> = (0..4).flat_map(|number| monitor(number).encode()).collect();
    let mut seeds = headers(header, &records);
    let sound = monitor(1);
    for (name, record) in [
        ("fibre", MonitorFields { fibre: 24, ..sound }),
        ("fen", MonitorFields { fen: 24, ..sound }),
        ("length", MonitorFields { length: 19, ..sound }),
        ("length-in-bits", MonitorFields { length: 160, ..sound }),
        ("time", MonitorFields { time: EssTime { ticks: TICKS_PER_SECOND, ..sound.time }, ..sound }),
        ("kind-0", MonitorFields { kind: 0, ..sound }),
        ("kind-4", MonitorFields { kind: 4, ..sound }),
    ] {
        let records = [monitor(0).encode(), record.encode(), monitor(2).encode()].concat();
        seeds.push(Seed::new(format!("record-{name}"), packet(header, &records)));
    }
    seeds
}

/// Good packets of helium-3 tubes, packets with one fault in the header each, one of each faulty record, and bytes that are
/// left.
pub fn r5560_seeds() -> Vec<Seed> {
    let header = header(detector_type::LOKI);
    let records: Vec<u8> = (0..4).flat_map(|number| tube(number).encode()).collect();
    let mut seeds = headers(header, &records);
    let full: Vec<u8> = (0..372).flat_map(|number| tube(number).encode()).collect();
    seeds.push(Seed::new("full", packet(header, &full)));
    for left in [2, 10] {
        let records = [&records[..], &vec![9; left]].concat();
        seeds.push(Seed::new(format!("left-{left}"), packet(header, &records)));
    }
    let sound = tube(1);
    for (name, record) in [
        ("fibre", R5560Fields { fibre: 24, ..sound }),
        ("fen", R5560Fields { fen: 24, ..sound }),
        ("length-25", R5560Fields { length: 25, ..sound }),
        ("length-20", R5560Fields { length: 20, ..sound }),
        ("length-in-bits", R5560Fields { length: 192, ..sound }),
        ("time", R5560Fields { time: EssTime { ticks: TICKS_PER_SECOND, ..sound.time }, ..sound }),
        ("flags", R5560Fields { flags: 4, counter: 77, ..sound }),
        ("no-charge", R5560Fields { charges: [0; 4], ..sound }),
        ("negative", R5560Fields { charges: [0xFFFF, 0x8000, 0x7FFF, 1], ..sound }),
    ] {
        let records = [tube(0).encode(), record.encode(), tube(2).encode()].concat();
        seeds.push(Seed::new(format!("record-{name}"), packet(header, &records)));
    }
    seeds
}

/// Packets that are good, and packets that break one rule of the header.
fn headers(header: EssHeader, records: &[u8]) -> Vec<Seed> {
    let good = packet(header, records);
    let earlier = EssTime { seconds: header.pulse.seconds - 1, ..header.pulse };
    let later = EssTime { ticks: header.pulse.ticks + 1, ..header.pulse };
    let over = EssTime { seconds: header.pulse.seconds - 1, ticks: TICKS_PER_SECOND };
    let mut seeds = vec![
        Seed::new("good", good.clone()),
        Seed::new("good-version-0", packet(EssHeader { version: 0, ..header }, records)),
        Seed::new("heartbeat", packet(header, &[])),
        Seed::new("heartbeat-version-0", packet(EssHeader { version: 0, ..header }, &[])),
        Seed::new("padding-of-version-1", spoilt(good.clone(), 30, &[0xC0, 0xDE])),
        Seed::new("ragged", packet(header, &records[..RECORD + 1])),
        Seed::new("nothing", []),
        Seed::new("cut-in-cookie", &good[..4]),
        Seed::new("cut-in-header", &good[..31]),
        Seed::new("cut-in-record", &good[..good.len() - 1]),
        Seed::new("padding", spoilt(good.clone(), 0, &[1])),
        Seed::new("version-2", spoilt(good.clone(), 1, &[2])),
        Seed::new("cookie", spoilt(good.clone(), 2, b"SSE")),
        Seed::new("length", spoilt(good, 6, &[0, 0])),
    ];
    for (name, header) in [
        ("type", EssHeader { detector_type: detector_type::FREIA, ..header }),
        ("queue-255", EssHeader { output_queue: 255, ..header }),
        ("time-source-02", EssHeader { time_source: 0x02, ..header }),
        ("time-source-aa", EssHeader { time_source: 0xAA, ..header }),
        ("time-fraction", EssHeader { previous_pulse: over, ..header }),
        ("pulse-distance", EssHeader { previous_pulse: earlier, ..header }),
        ("pulse-before-previous", EssHeader { previous_pulse: later, ..header }),
    ] {
        seeds.push(Seed::new(name, packet(header, records)));
    }
    seeds
}

fn header(detector_type: u8) -> EssHeader {
    EssHeader {
        version: 1,
        detector_type,
        output_queue: 3,
        time_source: 0x01,
        pulse: PULSE,
        previous_pulse: EssTime { ticks: PULSE.ticks - 6_289_464, ..PULSE },
        sequence: 0x0123_4567,
    }
}

fn packet(header: EssHeader, records: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.write_packet(records, &mut bytes);
    bytes
}

/// When record `number` was.
fn time(number: u32) -> EssTime {
    EssTime { ticks: PULSE.ticks + 1000 * number, ..PULSE }
}

/// A record that is like any other.
fn vmm3a(number: u32) -> Vmm3aFields {
    Vmm3aFields {
        fibre: (number % 24) as u8,
        fen: (number / 2 % 24) as u8,
        time: time(number),
        bc: (37 * number % 4096) as u16,
        over_threshold: number.is_multiple_of(3),
        adc: (100 + 7 * number % 900) as u16,
        tdc: number as u8,
        vmm: (number % 16) as u8,
        channel: (5 * number % 64) as u8,
        ..Vmm3aFields::default()
    }
}

/// A readout of a tube that is like any other.
fn tube(number: u32) -> R5560Fields {
    R5560Fields {
        fibre: (number % 24) as u8,
        fen: (number / 2 % 24) as u8,
        time: time(number),
        group: (number % 15) as u8,
        charges: [100, 200, 300, 400].map(|charge| charge + (7 * number) as u16),
        ..R5560Fields::default()
    }
}

/// A record of each kind in turn.
fn monitor(number: u32) -> MonitorFields {
    let (kind, value) = match number % 3 {
        0 => (MonitorKind::Event0D, 0),
        1 => (MonitorKind::Event2D, MonitorFields::place(255, 511)),
        _ => (MonitorKind::Integrating, MonitorFields::sum(0x00AB_CDEF, 10)),
    };
    MonitorFields {
        fibre: 22 + (number % 2) as u8,
        time: time(number),
        kind: kind.to_byte(),
        channel: number as u8,
        adc: 100,
        value,
        ..MonitorFields::default()
    }
}

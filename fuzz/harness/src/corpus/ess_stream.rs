//! Streams of packets of the ESS readout.

use super::Seed;
use super::packets::{self, spoilt};
use crate::ess_stream::choice;
use evforge_wire::ess::beam_monitor::MonitorKind;
use evforge_wire::ess::{
    EssEncoder, EssTime, MonitorFields, RECORD, TICKS_PER_SECOND, Vmm3aFields, detector_type,
};

/// Ticks between pulses.
const PERIOD: u32 = TICKS_PER_SECOND / 14;

/// The time so many ticks after pulse number `pulse`.
fn time(pulse: u32, ticks: u32) -> EssTime {
    EssTime { seconds: 1_700_000_000 + pulse / 14, ticks: pulse % 14 * PERIOD + ticks }
}

/// The packets of pulses, each with these records, from two queues in turn.
fn stream(detector_type: u8, pulses: &[u32], records: impl Fn(u32) -> Vec<[u8; RECORD]>) -> Vec<Vec<u8>> {
    let mut queues = [0, 1].map(|queue| EssEncoder::new(detector_type, queue, 3));
    let mut packets = Vec::new();
    for &pulse in pulses {
        for encoder in &mut queues {
            encoder.pulse(time(pulse, 0), &records(pulse), &mut packets);
        }
    }
    packets
}

/// Records of every kind of monitor; the last one is of the pulse before.
fn monitors(pulse: u32) -> Vec<[u8; RECORD]> {
    let fields = |fen, kind: MonitorKind, ticks, value| MonitorFields {
        fibre: 22,
        fen,
        kind: kind.to_byte(),
        adc: 1,
        value,
        time: time(pulse, ticks),
        ..MonitorFields::default()
    };
    let mut records = vec![
        fields(0, MonitorKind::Event0D, 700, 0),
        fields(1, MonitorKind::Event2D, 650, MonitorFields::place(3, 2)),
        fields(1, MonitorKind::Event2D, 800, MonitorFields::place(4, 2)),
        fields(2, MonitorKind::Integrating, 900, MonitorFields::sum(1000, 4)),
    ];
    if let Some(before) = pulse.checked_sub(1) {
        records
            .push(MonitorFields { time: time(before, PERIOD - 9), ..fields(0, MonitorKind::Event0D, 0, 0) });
    }
    records.iter().map(MonitorFields::encode).collect()
}

/// Records of VMMs: ring, FEN, VMM, channel, amplitude and ticks after the pulse. The last one comes once more at the
/// end of the pulse before.
fn signals(signals: &[(u8, u8, u8, u8, u16, u32)]) -> impl Fn(u32) -> Vec<[u8; RECORD]> {
    move |pulse| {
        let record = |&(ring, fen, vmm, channel, adc, ticks): &(u8, u8, u8, u8, u16, u32)| {
            let time = time(pulse, ticks);
            Vmm3aFields { fibre: 2 * ring, fen, vmm, channel, adc, tdc: 7, time, ..Vmm3aFields::default() }
        };
        let mut records: Vec<_> = signals.iter().map(record).collect();
        if let (Some(before), Some(last)) = (pulse.checked_sub(1), records.last().copied()) {
            records.push(Vmm3aFields { time: time(before, PERIOD - 9), ..last });
        }
        records.iter().map(Vmm3aFields::encode).collect()
    }
}

/// Neutrons, two in one window, a masked channel, one that is not wired, and lone hits.
const MULTI_BLADE: &[(u8, u8, u8, u8, u16, u32)] = &[
    (0, 0, 0, 17, 200, 700),
    (0, 0, 1, 5, 150, 701),
    (0, 0, 1, 6, 50, 702),
    (1, 0, 0, 40, 90, 690),
    (1, 0, 1, 60, 80, 691),
    (1, 0, 0, 44, 30, 705),
    (1, 0, 1, 10, 20, 706),
    (0, 0, 0, 20, 500, 900),
    (0, 0, 0, 3, 500, 901),
    (0, 0, 0, 30, 2, 902),
    (0, 0, 1, 63, 500, 1500),
    (2, 1, 0, 1, 1, 1600),
];

/// Neutrons in both halves of a vessel, grids that are too far apart, lone wires.
const MULTI_GRID: &[(u8, u8, u8, u8, u16, u32)] = &[
    (0, 0, 0, 40, 300, 700),
    (0, 0, 0, 41, 100, 701),
    (0, 0, 3, 4, 200, 702),
    (0, 1, 1, 0, 500, 690),
    (0, 1, 4, 0, 60, 691),
    (0, 0, 0, 50, 300, 1300),
    (0, 0, 3, 4, 200, 1301),
    (0, 0, 3, 40, 200, 1302),
    (0, 1, 1, 9, 500, 2000),
    (0, 0, 0, 1, 500, 2100),
    (0, 0, 0, 60, 1, 2200),
];

/// Tracks of neutrons on both planes, one that is too wide, lone clusters.
const GD_GEM: &[(u8, u8, u8, u8, u16, u32)] = &[
    (0, 0, 0, 10, 300, 700),
    (0, 0, 0, 11, 100, 702),
    (1, 0, 0, 40, 200, 701),
    (1, 0, 0, 41, 200, 703),
    (0, 1, 1, 63, 300, 1300),
    (0, 1, 1, 56, 300, 1301),
    (1, 0, 1, 0, 300, 1302),
    (0, 0, 1, 7, 500, 2000),
    (1, 0, 0, 1, 500, 2400),
    (1, 0, 0, 2, 1, 2401),
];

/// Makes the records of a pulse.
type RecordsOfPulse = dyn Fn(u32) -> Vec<[u8; RECORD]>;

/// Quiet and busy pulses, pulses that are missing, go back and leap, and damage, for each detector and setting.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let (multi_blade, multi_grid, gd_gem) = (signals(MULTI_BLADE), signals(MULTI_GRID), signals(GD_GEM));
    let detectors: [(&str, u8, u8, &RecordsOfPulse); 4] = [
        ("beam-monitors", choice::BEAM_MONITORS, detector_type::CBM, &monitors),
        ("multi-blade", choice::MULTI_BLADE, detector_type::FREIA, &multi_blade),
        ("multi-grid", choice::MULTI_GRID, detector_type::TREX, &multi_grid),
        ("gd-gem", choice::GD_GEM, detector_type::NMX, &gd_gem),
    ];
    for (name, detector, detector_type, records) in detectors {
        let steady = stream(detector_type, &[0, 1, 2, 4, 5], records);
        let quiet =
            stream(detector_type, &[0, 1, 2], |pulse| if pulse == 1 { records(1) } else { Vec::new() });
        let restart = stream(detector_type, &[90_000, 90_001, 3, 4], records);
        let leap = stream(detector_type, &[0, 1, 700, 701, 2_000_000, 702], records);
        let damaged: Vec<_> = steady.iter().map(|packet| spoilt(packet.clone(), 32, &[0xFF; 2])).collect();
        let sync: Vec<_> = steady.iter().map(|packet| spoilt(packet.clone(), 9, &[0x82])).collect();
        for (kind, choice, packets) in [
            ("steady", choice::WATCHED, &steady),
            ("steady-narrow", choice::NARROW | choice::PUBLISH, &steady),
            ("quiet", choice::PUBLISH, &quiet),
            ("restart", choice::NARROW, &restart),
            ("leap", 0, &leap),
            ("leap-accepted", choice::ACCEPT | choice::NARROW, &leap),
            ("damaged", choice::WATCHED, &damaged),
            ("sync-lost", 0, &sync),
            ("sync-lost-accepted", choice::ACCEPT, &sync),
        ] {
            seeds.push(Seed::new(format!("{name}-{kind}"), packets::stream(detector | choice, packets)));
        }
    }
    seeds
}

use super::*;
use crate::detector_model::{DetectorModel, Strike};
use crate::electronics::Hit;
use crate::random::{Stream, stream};
use crate::readout::{Pulse, Readout};
use evforge_core::quantity::TimeSpan;
use evforge_wire::ess::{EssPacket, HeaderRules, R5560Payload, detector_type};

/// Two triplets on one ring, with the rules of packets that hold for every detector.
fn settings() -> Helium3Settings {
    let text = r#"
geometry = { nx = 200, ny = 3 }
pixels = 100
tubes = [{ interval = [0.0, 0.3] }, { interval = [0.7, 0.4], y = 1 }, { interval = [0.75, 1.0], y = 2 }]
wiring = [{ ring = 4, fen = 2, groups = [{ count = 2, x = 100 }] }]
"#;
    let mut settings: Helium3Settings = toml::from_str(text).unwrap();
    settings.ess.header = HeaderRules::strict(detector_type::BIFROST, u64::MAX);
    settings
}

const STILL: Helium3Physics = Helium3Physics {
    efficiency: 1.0,
    charge: 20_000.0,
    charge_spread: 0.0,
    gain_spread: 0.0,
    wall_effect: 0.0,
    recoil: 0.0,
    noise: 0.0,
    threshold: 100.0,
    shaping: TimeSpan { picoseconds: 1_000_000 },
    dead_time: TimeSpan { picoseconds: 500_000 },
    jitter: TimeSpan { picoseconds: 0 },
};

/// The charges of the records that are sent for these neutrons: time in picoseconds, column, row.
fn records(strikes: &[(u64, f64, f64)]) -> Vec<(u8, [u16; 4])> {
    let settings = settings();
    let groups = settings.expand().unwrap();
    let model = Helium3Model::new(&settings, &groups, STILL);
    let mut readout = Helium3Readout::new(&settings, &groups, STILL, PulseTrain::ess());
    let mut random = stream(1, Stream::Channels);
    let mut charges = Vec::new();
    for &(time_ps, x, y) in strikes {
        let strike = Strike { time_ps, x, y, panel: 0, wavelength: 1.0 };
        model.add_neutron(&strike, &mut random, &mut charges).unwrap();
    }
    let hit = |charge: &crate::electronics::Charge| Hit {
        channel: charge.channel,
        time_ps: charge.time_ps,
        sent_ps: charge.time_ps,
        amplitude: charge.amplitude as u16,
    };
    let hits: Vec<Hit> = charges.iter().map(hit).collect();
    let start_ns = PulseTrain::ess().start_ns(100).unwrap();
    let mut packets = Vec::new();
    readout.pulse(&Pulse { number: 100, start_ns, end_ns: start_ns + 71_428_571 }, &hits, &mut packets);
    let of_packet = |packet: &crate::packet::SimulatedPacket| {
        let packet = EssPacket::parse(&packet.bytes, &settings.ess.header).unwrap();
        R5560Payload::parse(packet.payload)
            .readouts()
            .map(|of| (of.group(), of.charges()))
            .collect::<Vec<_>>()
    };
    packets.iter().flat_map(of_packet).collect()
}

#[test]
fn charges_divide_as_the_interval_of_the_tube_says() {
    // The middle of a pixel of the first tube, and of one that is read from its other end.
    let found = records(&[(0, 49.5, 0.5), (5_000_000, 149.5, 1.5)]);
    let share = 49.0 / 99.0;
    let first = (20_000.0 * 0.3 * share) as u16;
    let second = (20_000.0 * (0.7 - 0.3 * share)) as u16;
    let near = |found: u16, expected: u16| found.abs_diff(expected) <= 1;
    assert_eq!(found.iter().map(|(group, _)| *group).collect::<Vec<_>>(), [0, 1]);
    assert!(near(found[0].1[0], first) && near(found[0].1[1], 20_000 - first), "{found:?}");
    assert!(near(found[1].1[0], second) && near(found[1].1[1], 20_000 - second), "{found:?}");
    assert_eq!(found[0].1[2..], [0, 0]);
}

#[test]
fn charges_within_the_shaping_time_add_up_and_a_group_is_dead_for_a_while() {
    let at = |time_ps| (time_ps, 49.5, 0.5);
    let sums = |found: Vec<(u8, [u16; 4])>| {
        found.iter().map(|(_, [a, b, ..])| u32::from(*a) + u32::from(*b)).collect::<Vec<_>>()
    };
    let close = |sums: Vec<u32>, expected: &[u32]| {
        assert_eq!(sums.len(), expected.len(), "{sums:?}");
        assert!(
            sums.iter().zip(expected).all(|(found, expected)| found.abs_diff(*expected) <= 2),
            "{sums:?}"
        );
    };
    close(sums(records(&[at(0), at(1_000_000)])), &[40_000]);
    close(sums(records(&[at(0), at(1_400_000)])), &[20_000]);
    close(sums(records(&[at(0), at(1_500_000)])), &[20_000, 20_000]);
    // Another group has a time of its own.
    close(sums(records(&[at(0), (0, 149.5, 0.5)])), &[20_000, 20_000]);
}

//! Streams of packets.

use super::Seed;
use super::packets::{hit, marker, neutron, readout, spoilt, stream, vmm2, vmm3};
use crate::gdgem::{choice, panels_choice, settings};
use evforge_detect::gdgem::hit_time::HitTime;
use evforge_detect::gdgem::settings::ReadoutFormat;
use evforge_sim::electronics::Hit;
use evforge_sim::gdgem::{self, GdGemPhysics};
use evforge_sim::readout::Pulse;
use evforge_wire::srs_vmm::{END_OF_FRAME, Vmm3Variant, VmmReadout, Word};

/// Stamps between two neutrons: 16 turns of the bunch-crossing counter.
const RUN: u64 = 65_536;

/// Good streams of every format, and streams that go wrong in one way each.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, choice) in [
        ("vmm2", choice::VMM2),
        ("vmm3-2018", choice::VMM3_OF_2018),
        ("vmm3a", choice::VMM3A),
        ("vmm3a-triggered", choice::TRIGGERED),
    ] {
        let good = neutrons(choice, 1000..1020);
        for (how, also) in [
            ("good", 0),
            ("other-convention", choice::OTHER_CONVENTION),
            ("limits", choice::LIMITS | choice::PUBLISH),
            ("narrow", choice::NARROW),
            ("coarse-plain", choice::COARSE | choice::PLAIN),
        ] {
            seeds.push(seed(&format!("{name}-{how}"), choice | also, &good));
        }
    }
    seeds.push(seed("simulated", choice::VMM3A | choice::PUBLISH, &simulated()));
    seeds.extend(of_bad_packets());
    seeds.extend(of_bad_times());
    seeds.extend(of_many_hits());
    seeds
}

/// Streams for panels of every kind: neutrons that both chips of the cards see, far apart and at once.
pub fn panels_seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let apart = neutrons(choice::VMM3A, 1000..1012);
    let at_once = both_chips();
    for (name, kind) in [
        ("one-plane", panels_choice::ONE_PLANE),
        ("three-planes", panels_choice::THREE_PLANES),
        ("pads", panels_choice::PADS),
        ("all", panels_choice::ALL),
    ] {
        for (how, also) in [
            ("good", 0),
            ("neighbours", panels_choice::NEIGHBOURS | panels_choice::PUBLISH),
            ("limits", panels_choice::LIMITS | panels_choice::DROP | panels_choice::WATCHED),
            ("narrow", panels_choice::NARROW),
        ] {
            seeds.push(seed(&format!("{name}-{how}"), kind | also, &at_once));
        }
        seeds.push(seed(&format!("{name}-apart"), kind, &apart));
    }
    seeds
}

/// Three neutrons at nearly the same time in each packet, on both chips of FEC 1 and FEC 2.
fn both_chips() -> Vec<Vec<u8>> {
    let packet = |run: u64, fec: u16| {
        let mut words = vec![marker(0, run * RUN), marker(1, run * RUN)];
        for neutron in 0..3_u8 {
            let crossing = 100 + u16::from(neutron);
            for step in 0..3_u8 {
                let channel = 5 + 17 * neutron + step + fec as u8;
                words.extend([0, 1].map(|chip| {
                    let channel = if chip == 1 && fec == 2 { channel + 9 * step } else { channel };
                    Word::Readout(VmmReadout {
                        chip,
                        ..readout(0, channel % 64, crossing + u16::from(step), 0)
                    })
                }));
            }
        }
        vmm3(Vmm3Variant::Vmm3a, run as u32 - 1000, fec, &words)
    };
    (1000..1012).flat_map(|run| [packet(run, 1), packet(run, 2)]).collect()
}

/// An input of the exercise.
fn seed(name: &str, choice: u8, packets: &[Vec<u8>]) -> Seed {
    Seed::new(name, stream(choice, packets))
}

fn format(choice: u8) -> ReadoutFormat {
    settings(choice).format
}

fn ticks_per_ns(choice: u8) -> u64 {
    let settings = settings(choice);
    HitTime::new(&settings.time, settings.format).expect("sound clocks").ticks_per_ns()
}

/// A neutron in each of the runs.
fn neutrons(choice: u8, runs: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    let first = runs.start;
    let one = |run: u64| {
        let (x, y) = ((run * 7 % 59) as u8, (run * 11 % 59) as u8);
        neutron(format(choice), (run - first) as u32, run * RUN, x, y)
    };
    runs.flat_map(one).collect()
}

/// Two pulses of simulated cards: tracks over five strips, at first of both planes, and then of one.
fn simulated() -> Vec<Vec<u8>> {
    let simulated = gdgem::srs(&settings(choice::VMM3A), GdGemPhysics::default());
    let (detector, mut readout) = simulated.expect("panels of two planes");
    let channels = detector.layout().channel_count() as u64;
    let hit = |neutron: u64, strip: u64| {
        let time_ps = neutron * 900_000_000 + strip % 5 * 30_000;
        let channel = (neutron * 13 + strip % 5 + strip / 5 * channels / 2) % channels;
        let amplitude = (100 + 37 * neutron + 200 * strip) as u16 % 1024;
        Hit { channel: channel as u32, time_ps, sent_ps: time_ps, amplitude }
    };
    let mut packets = Vec::new();
    for number in 1..3 {
        let strips = if number == 1 { 10 } else { 5 };
        let hits = (0..20).flat_map(|neutron| (0..strips).map(move |strip| (neutron, strip)));
        let hits: Vec<Hit> = hits.map(|(neutron, strip)| hit(neutron, strip)).collect();
        let pulse = Pulse { number, start_ns: number * 71_428_572, end_ns: (number + 1) * 71_428_572 };
        readout.pulse(&pulse, &hits, &mut packets);
    }
    packets.into_iter().map(|packet| packet.bytes).collect()
}

fn of_bad_packets() -> Vec<Seed> {
    let good = neutrons(choice::VMM3A, 10..20);
    let numbered = |packet: Vec<u8>| spoilt(packet, 0, &1_000_000_u32.to_be_bytes());
    let with = |name: &str, bad: Vec<u8>| {
        let packets: Vec<_> = good.iter().flat_map(|packet| [packet.clone(), bad.clone()]).collect();
        seed(name, choice::VMM3A, &packets)
    };
    let one = || numbered(good[0].clone());
    let mut cut = seed("cut-in-the-last-packet", choice::VMM3A, &good);
    cut.bytes.truncate(cut.bytes.len() - 7);
    let mut disordered = good.clone();
    disordered.swap(1, 3);
    disordered.remove(6);
    disordered.insert(12, disordered[9].clone());
    let signs_of_life = [
        neutrons(choice::VMM2, 5..9),
        vec![END_OF_FRAME.to_be_bytes().to_vec(), spoilt(vmm2(8, 0, 1, &[]), 4, b"VA2\0")],
        neutrons(choice::VMM2, 9..12),
    ];
    vec![
        cut,
        with("too-short", vec![0; 15]),
        with("wrong-data-id", spoilt(one(), 4, b"XXXX")),
        with("no-such-fec", spoilt(one(), 7, &[0])),
        with("unmapped-fec", spoilt(one(), 7, &[0x70])),
        with("without-readouts", one()[..16].to_vec()),
        with("ragged", [&one()[..], &[1, 2, 3]].concat()),
        with("empty", Vec::new()),
        seed("oversized", choice::VMM3A, &[[&one()[..], &[0; 9000]].concat(), good[1].clone()]),
        seed("lost-reordered-duplicated", choice::VMM3A, &disordered),
        seed("vmm2-end-of-frame-no-data", choice::VMM2, &signs_of_life.concat()),
    ]
}

fn of_bad_times() -> Vec<Seed> {
    let vmm3a = |number, words: &[Word]| vmm3(Vmm3Variant::Vmm3a, number, 2, words);
    let then = |middle: std::ops::Range<u64>| {
        let mut packets = neutrons(choice::VMM3A, 1000..1010);
        packets.extend(neutrons(choice::VMM3A, middle));
        packets.extend(neutrons(choice::VMM3A, 1010..1020));
        let renumbered = packets.into_iter().enumerate();
        renumbered.map(|(n, packet)| spoilt(packet, 0, &(n as u32 / 2).to_be_bytes())).collect::<Vec<_>>()
    };
    let unmarked: Vec<_> = (0..20).map(|n| hit(n % 20, n, 7)).collect();
    let offsets: Vec<_> = [marker(0, RUN)]
        .into_iter()
        .chain((0..32).map(|offset| Word::Readout(readout(0, offset, 3, offset))))
        .collect();
    let markers = |step: u64| -> Vec<Vec<u8>> {
        let words = |packet: u64| -> Vec<_> {
            let stamp = |n: u64| (packet * 700 + n).wrapping_mul(step) % (1 << 42);
            (0..700).flat_map(|n| [marker(0, stamp(n)), hit(0, 5, 9)]).collect()
        };
        (0..9).map(|packet| vmm3a(packet as u32, &words(packet))).collect()
    };
    // By steps of half a turn up to the last marker before 2^63 ticks, and a readout beyond it.
    let coarse = choice::VMM3A | choice::COARSE;
    let last = (1 << 63) / (settings(coarse).time.marker_tick / 1000 * ticks_per_ns(coarse));
    let stamps = (0..last).step_by((1 << 41) - 1).chain([last]);
    let mut to_the_end: Vec<_> = stamps.map(|stamp| marker(0, stamp % (1 << 42))).collect();
    to_the_end.extend((0..16).map(|offset| Word::Readout(readout(0, 5, 4095, offset))));
    let (near_wrap, half_turn) = ((1 << 42) / RUN - 5, (1 << 41) - 1);
    let wrapped = |runs: std::ops::Range<u64>| neutrons(choice::VMM3A, runs);
    vec![
        seed("hits-before-markers", choice::VMM3A, &[vmm3a(1, &unmarked)]),
        seed("markers-only", choice::VMM3A, &[vmm3a(1, &[marker(0, 5), marker(20, 6), marker(1, 7)])]),
        seed("all-offsets", choice::VMM3A, &[vmm3a(1, &offsets), vmm3a(2, &offsets)]),
        seed("one-leap-ahead", choice::VMM3A, &then(2_000_000..2_000_001)),
        seed("leap-that-stays", choice::VMM3A, &then(2_000_000..2_000_010)),
        seed("one-late-neutron", choice::VMM3A, &then(990..991)),
        seed("restart", choice::VMM3A, &then(5..25)),
        seed("restart-narrow", choice::VMM3A | choice::NARROW | choice::PUBLISH, &then(5..25)),
        seed("wrap-of-the-marker", choice::VMM3A, &wrapped(near_wrap..near_wrap + 10)),
        seed("wrap-of-the-trigger", choice::VMM2, &neutrons(choice::VMM2, 65_530..65_545)),
        seed("many-turns-of-the-marker", choice::VMM3A, &markers(half_turn)),
        seed("many-turns-of-the-marker-coarse", choice::VMM3A | choice::COARSE, &markers(half_turn)[..1]),
        seed("end-of-the-clock-coarse", coarse, &[vmm3a(1, &to_the_end)]),
        seed("many-turns-back-coarse", choice::VMM3A | choice::COARSE, &markers((1 << 42) - half_turn)[..1]),
    ]
}

fn of_many_hits() -> Vec<Seed> {
    let packet = |number: u32, fec, words: &[Word]| vmm3(Vmm3Variant::Vmm3a, number, fec, words);
    let at_once: Vec<_> =
        std::iter::once(marker(0, 9)).chain((0..1400).map(|n| hit(0, (n % 64) as u8, 100))).collect();
    let endless = |run: u32| -> Vec<_> {
        let hits = (0..1000_u16)
            .map(|n| Word::Readout(readout(0, (n % 64) as u8, n * 60 % 4096, (n * 60 / 4096) as u8)));
        std::iter::once(marker(0, u64::from(run) * RUN)).chain(hits).collect()
    };
    let stands_still: Vec<_> = (0..16).map(|number| packet(number, 2, &at_once)).collect();
    let silent: Vec<_> = (0..12).map(|number| packet(number, 1, &endless(number))).collect();
    vec![
        seed("time-stands-still", choice::VMM3A, &stands_still),
        seed("one-fec-is-silent", choice::VMM3A | choice::PLAIN, &silent),
    ]
}

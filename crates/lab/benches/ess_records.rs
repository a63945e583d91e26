//! Records of the ESS readout per second, on one core: headers and records are checked, and the fields of
//! sound VMM3a records are decoded into a list, the place of every detector's mapping.
//!
//! Packets are full (447 records) and in memory; a record in ten thousand is spoilt. In a small set they stay
//! in the processor's cache, as they do behind a network card; a large set comes from memory.
//!
//! `cargo bench -p evforge-lab --bench ess_records`; EVFORGE_BENCH_SECONDS sets the time per line. There
//! is no figure of the reference for this format. Its parser of the VMM3a packets of 2018, with 6 bytes a
//! readout, read 4.4 readouts in the time in which the yardstick sorts a key.

use evforge_lab::benchmark::yardstick;
use evforge_testkit::bench_history::{Figure, keep};
use evforge_wire::ess::{
    EssHeader, EssPacket, EssTime, HeaderRules, RecordRules, Vmm3aFields, Vmm3aPayload, Vmm3aReadout,
    detector_type,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Records of a full packet: 8972 bytes less the header, by 20.
const RECORDS: u32 = 447;
/// Every so many records one is spoilt.
const SPOILT: u32 = 10_000;
/// Passes that are measured at least.
const FEWEST_PASSES: usize = 5;
const RULES: HeaderRules = HeaderRules::strict(detector_type::NMX, 31_447_320);

/// What a detector takes from a readout before it knows its geometry.
#[derive(Clone, Copy, Default)]
#[allow(dead_code)]
struct Decoded {
    ticks: u64,
    adc: u16,
    bc: u16,
    address: u32,
}

fn main() {
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0);
    println!(
        "{:<10} {:<8} {:>8} {:>8} {:>6} {:>8} {:>8}",
        "packets", "work", "Mread/s", "ns/read", "GB/s", "Mkeys/s", "read/key"
    );
    for number in [32, 8192] {
        let packets = packets(number);
        let expected = number * RECORDS - (number * RECORDS).div_ceil(SPOILT);
        for (work, pass) in [("checked", checked as fn(&[Vec<u8>]) -> u64), ("decoded", decoded)] {
            let before = yardstick();
            let time = median_pass(seconds, || assert_eq!(pass(black_box(&packets)), u64::from(expected)));
            let keys = (before + yardstick()) / 2.0;
            let readouts = f64::from(number * RECORDS) / time;
            let bytes = packets.iter().map(Vec::len).sum::<usize>() as f64 / time;
            keep(&Figure {
                bench: "reading",
                case: &format!("{number} packets {work}"),
                figure: "time",
                value: 1e9 / readouts,
                unit: "ns/readout",
                keys_per_second: Some(keys),
            });
            println!(
                "{number:<10} {work:<8} {:>8.1} {:>8.2} {:>6.2} {:>8.1} {:>8.2}",
                readouts / 1e6,
                1e9 / readouts,
                bytes / 1e9,
                keys / 1e6,
                readouts / keys
            );
        }
    }
}

/// Median time of a pass in seconds.
fn median_pass(seconds: f64, mut pass: impl FnMut()) -> f64 {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut times = Vec::new();
    while times.len() < FEWEST_PASSES || Instant::now() < end {
        let start = Instant::now();
        pass();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The records of a packet, which must be a sound one.
fn readouts(packet: &[u8]) -> impl Iterator<Item = Vmm3aReadout> {
    let packet = EssPacket::parse(packet, &RULES).expect("a sound header");
    Vmm3aPayload::parse(packet.payload).expect("whole records").readouts()
}

/// How many records are sound.
fn checked(packets: &[Vec<u8>]) -> u64 {
    let rules = black_box(RecordRules::default());
    packets
        .iter()
        .map(|packet| readouts(packet).filter(|readout| readout.is_sound(&rules)).count() as u64)
        .sum()
}

/// As [`checked`], and what the records tell is written to a list that is begun anew with each packet.
fn decoded(packets: &[Vec<u8>]) -> u64 {
    let rules = black_box(RecordRules::default());
    let mut list = [Decoded::default(); RECORDS as usize];
    let mut sound = 0;
    for packet in packets {
        let mut used = 0;
        for readout in readouts(packet) {
            if !readout.is_sound(&rules) {
                continue;
            }
            let Some(place) = list.get_mut(used) else { break };
            let address = [readout.ring(), readout.fen(), readout.vmm(), readout.channel()];
            *place = Decoded {
                ticks: readout.time().total_ticks(),
                adc: readout.adc(),
                bc: readout.bc(),
                address: u32::from_le_bytes(address),
            };
            used += 1;
        }
        black_box(&list[..used]);
        sound += used as u64;
    }
    sound
}

fn packets(number: u32) -> Vec<Vec<u8>> {
    let pulse = EssTime { seconds: 1_700_000_000, ticks: 10_000_000 };
    (0..number)
        .map(|sequence| {
            let record = |index: u32| {
                let number = sequence * RECORDS + index;
                // Fields that follow no simple pattern.
                let mixed = number.wrapping_mul(0x9E37_79B1);
                Vmm3aFields {
                    fibre: (mixed >> 8) as u8 % 24,
                    fen: if number.is_multiple_of(SPOILT) { 24 } else { (mixed >> 16) as u8 % 24 },
                    time: EssTime { ticks: pulse.ticks + number % 6_000_000, ..pulse },
                    bc: mixed as u16 % 4096,
                    over_threshold: mixed & 1 != 0,
                    adc: (mixed >> 4) as u16 % 1024,
                    tdc: mixed as u8,
                    vmm: (mixed >> 20) as u8 % 16,
                    channel: (mixed >> 24) as u8 % 64,
                    ..Vmm3aFields::default()
                }
            };
            let records: Vec<u8> = (0..RECORDS).flat_map(|index| record(index).encode()).collect();
            let header = EssHeader {
                version: 1,
                detector_type: RULES.detector_type,
                pulse,
                previous_pulse: pulse,
                sequence,
                ..EssHeader::default()
            };
            let mut packet = Vec::new();
            header.write_packet(&records, &mut packet);
            packet
        })
        .collect()
}

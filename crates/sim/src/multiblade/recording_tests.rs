//! The simulated prototype next to the real one: the same analysis for both.

use super::tests::{settings, simulation};
use super::*;
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::multiblade::MultiBladeSettings;
use evforge_detect::multiblade::caen::settings::{ChannelMapping, HitOrder, Plane, ReadoutFormat, TimeBase};
use evforge_testkit::{pkts_payloads, shared_file};
use evforge_wire::caen::{Record, RecordPacket};
use std::collections::HashMap;

/// Hits of one digitizer are of the same neutron if they lie within this many ticks of another one of it: 1 µs.
const GAP: u32 = 62;
/// A strip of the recording that gives hits all the time: digitizer and channel.
const NOISY: (u8, u8) = (143, 51);
/// Amplitudes from here on are saturated.
const SATURATED: u16 = 65_000;

/// What neutrons leave.
#[derive(Debug, Default)]
struct Summary {
    neutrons: usize,
    /// Shares of the neutrons with 1, 2 and more wires.
    wires: [f64; 3],
    /// Shares of the neutrons with 1, 2, 3, 4 and more strips.
    strips: [f64; 5],
    /// Sum of the amplitudes of the wires: 10 %, 25 %, 50 %, 75 % and 90 % of the neutrons have less.
    charge: [f64; 5],
    /// Charge of the strips, as a share of that of the wires: 16 %, 50 %, 84 %.
    strip_charge: [f64; 3],
    /// Ticks from the first wire to each strip: 5 %, 25 %, 50 %, 75 %, 95 %.
    delay: [f64; 5],
    /// Ticks from the first to the last hit: 5 %, 50 %, 95 %.
    length: [f64; 3],
    /// Median share of the middle one of three strips.
    middle_of_three: f64,
}

fn quantiles<const N: usize>(mut values: Vec<f64>, at: [f64; N]) -> [f64; N] {
    values.sort_unstable_by(f64::total_cmp);
    at.map(|at| values[((values.len() - 1) as f64 * at) as usize])
}

/// Groups hits by time, in the order in which they come, and keeps the groups of neighbouring wires and strips.
fn summary(records: impl Iterator<Item = Record>) -> Summary {
    let mut open: HashMap<u8, Vec<Record>> = HashMap::new();
    let mut groups = Vec::new();
    for record in records {
        let group = open.entry(record.digitizer).or_default();
        if !group.iter().any(|other| other.time.abs_diff(record.time) < GAP) {
            groups.push(std::mem::take(group));
        }
        group.push(record);
    }
    let mut found = Summary::default();
    let (mut charge, mut strip_charge, mut delay, mut length, mut middle) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for mut group in groups {
        group.sort_unstable_by_key(|record| record.channel);
        let wire_count = group.partition_point(|record| record.channel < 32);
        let (wires, strips) = group.split_at(wire_count);
        let is_run = |hits: &[Record]| hits.windows(2).all(|pair| pair[1].channel == pair[0].channel + 1);
        let is_neutron = !wires.is_empty() && !strips.is_empty() && is_run(wires) && is_run(strips);
        if !is_neutron || group.iter().any(|record| record.adc >= SATURATED) {
            continue;
        }
        found.neutrons += 1;
        found.wires[wires.len().min(3) - 1] += 1.0;
        found.strips[strips.len().min(5) - 1] += 1.0;
        let sum = |hits: &[Record]| hits.iter().map(|record| f64::from(record.adc)).sum::<f64>();
        charge.push(sum(wires));
        strip_charge.push(sum(strips) / sum(wires).max(1.0));
        let first = wires.iter().map(|record| record.time).min().unwrap_or(0);
        delay.extend(strips.iter().map(|record| f64::from(record.time) - f64::from(first)));
        let times = group.iter().map(|record| record.time);
        length.push(f64::from(times.clone().max().unwrap_or(0) - times.min().unwrap_or(0)));
        if let [_, between, _] = strips {
            middle.push(f64::from(between.adc) / sum(strips));
        }
    }
    let share = |count: f64| count / found.neutrons as f64;
    Summary {
        neutrons: found.neutrons,
        wires: found.wires.map(share),
        strips: found.strips.map(share),
        charge: quantiles(charge, [0.1, 0.25, 0.5, 0.75, 0.9]),
        strip_charge: quantiles(strip_charge, [0.16, 0.5, 0.84]),
        delay: quantiles(delay, [0.05, 0.25, 0.5, 0.75, 0.95]),
        length: quantiles(length, [0.05, 0.5, 0.95]),
        middle_of_three: quantiles(middle, [0.5])[0],
    }
}

/// The prototype: a digitizer for each of six cassettes of 32 wires and 32 strips. Its packets in the order of time.
fn prototype() -> MultiBladeSettings {
    let run = |(cassette, digitizer): (u16, u32)| {
        [(Plane::Wires, 0), (Plane::Strips, 32)].map(|(plane, first_channel)| ChannelMapping {
            digitizer,
            first_channel,
            channels: 32,
            cassette,
            plane,
            first: 0,
        })
    };
    MultiBladeSettings {
        order: HitOrder::Arrival,
        cassettes: 6,
        wires: 32,
        strips: 32,
        mapping: (0..).zip([137, 143, 142, 31, 34, 33]).flat_map(run).collect(),
        geometry: LogicalGeometry::flat(32, 192).unwrap_or_else(|_| unreachable!("a geometry")),
        ..settings(ReadoutFormat::Records, TimeBase::Electronics)
    }
}

fn records_of(payload: &[u8]) -> Vec<Record> {
    RecordPacket::parse(payload).expect("whole records").records().collect()
}

/// What is compared, and how far both may be apart, is what the physics were chosen for; figures of both are printed.
/// Not compared are neutrons with a single strip, of which the recording has four times as many: they are small, and
/// some are no neutrons but noise and gammas that meet, which are not simulated here.
#[test]
fn neutrons_look_like_those_of_the_recording() {
    let name = "neutrons_look_like_those_of_the_recording";
    let Some(file) = shared_file(name, "captures/multiblade/recorded_2018.pkts") else { return };
    let recorded = pkts_payloads(&file).into_iter().flat_map(|payload| records_of(&payload));
    // Every two channels change places.
    let recorded = recorded
        .filter(|record| (record.digitizer, record.channel) != NOISY)
        .map(|record| Record { channel: record.channel ^ 1, ..record });
    let recorded = summary(recorded);
    let mut simulation = simulation(&prototype(), MultiBladePhysics::default(), 1, 3000);
    let packets = (0..140).flat_map(|_| simulation.next_pulse().packets);
    let simulated = summary(packets.flat_map(|packet| records_of(&packet.bytes)));
    println!("recorded  {recorded:?}\nsimulated {simulated:?}");
    assert!(recorded.neutrons > 7000 && simulated.neutrons > 20_000);
    let near = |what: &str, recorded: &[f64], simulated: &[f64], within: &dyn Fn(f64) -> f64| {
        for (real, made) in recorded.iter().zip(simulated) {
            assert!((real - made).abs() <= within(*real), "{what}: {real} recorded, {made} simulated");
        }
    };
    near("wires", &recorded.wires, &simulated.wires, &|_| 0.06);
    let of_more = |strips: &[f64; 5]| {
        let all: f64 = strips[1..].iter().sum();
        strips.map(|share| share / all)
    };
    near("strips", &of_more(&recorded.strips)[1..], &of_more(&simulated.strips)[1..], &|_| 0.2);
    near("charge", &recorded.charge, &simulated.charge, &|real| 0.15 * real);
    near("strips' charge", &recorded.strip_charge[1..], &simulated.strip_charge[1..], &|_| 0.12);
    near("delay", &recorded.delay, &simulated.delay, &|real| 3.0 + 0.2 * real);
    near("length", &recorded.length[1..], &simulated.length[1..], &|real| 0.2 * real);
    let middle = (recorded.middle_of_three, simulated.middle_of_three);
    assert!((middle.0 - middle.1).abs() < 0.03, "{middle:?}");
}

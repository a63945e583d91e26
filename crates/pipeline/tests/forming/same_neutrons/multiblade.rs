//! AMOR: 14 cassettes of 32 wires and 64 strips, read by CAEN digitisers and by hybrids with two VMMs.

use super::{PULSE, config, events_and_ledger};
use evforge_config::Config;
use evforge_wire::caen::{Record, RecordEncoder};
use evforge_wire::ess::{EssEncoder, EssTime, Vmm3aFields, detector_type};
use std::fmt::Write as _;
use std::path::Path;

const CASSETTES: u8 = 14;
/// A tick of the digitisers, in nanoseconds.
const TICK: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plane {
    Wires,
    Strips,
}

/// Charge on a wire or strip.
#[derive(Clone, Copy, Debug)]
struct Charge {
    cassette: u8,
    plane: Plane,
    coordinate: u8,
    adc: u16,
    /// Ticks of the digitisers.
    time: u64,
}

/// Charges on neighbours from the first coordinate on, one tick after the other.
fn run(cassette: u8, plane: Plane, time: u64, first: u8, adcs: &[u16]) -> Vec<Charge> {
    let charge = |(step, &adc): (u8, &u16)| {
        let coordinate = first + step;
        Charge { cassette, plane, coordinate, adc, time: time + u64::from(step) }
    };
    (0..).zip(adcs).map(charge).collect()
}

/// In every cassette: neutrons over the whole of it, with charge on one to three wires and one to four strips; and
/// what is no neutron: one plane only, and strips with a hole.
fn charges() -> Vec<Charge> {
    let amplitudes = [[310, 90, 45, 700], [120, 480, 333, 51], [77, 1023, 640, 640], [500, 500, 20, 1]];
    let mut charges = Vec::new();
    let mut time = 1000;
    for round in 0..29_u8 {
        for cassette in 0..CASSETTES {
            let turn = usize::from(round) + usize::from(cassette);
            let (wires, strips) = (amplitudes[turn % 4], amplitudes[turn / 4 % 4]);
            let neutron_wires = run(cassette, Plane::Wires, time, round, &wires[..1 + turn % 3]);
            let neutron_strips = run(cassette, Plane::Strips, time + 3, 2 * round, &strips[..1 + turn % 4]);
            match turn % 11 {
                7 => charges.extend(neutron_wires),
                8 => charges.extend(neutron_strips),
                9 => {
                    let far = run(cassette, Plane::Strips, time + 5, 2 * round + 6, &strips[..1]);
                    charges.extend([neutron_wires, neutron_strips, far].concat());
                }
                _ => charges.extend([neutron_wires, neutron_strips].concat()),
            }
            time += 313;
        }
    }
    charges.sort_by_key(|charge| charge.time);
    charges
}

/// A digitizer for the wires of each cassette, and one for its strips.
fn prototype() -> Config {
    let mut text = String::from(
        "name = 'prototype'\n[multiblade]\nreadout = 'records'\ncassettes = 14\nwires = 32\nstrips = 64\n\
         geometry = { nx = 64, ny = 448 }\nwindow = { rule = 'gap', ticks = 32 }\nsorting = { max_held_hits = 16384 }\n",
    );
    for cassette in 0..CASSETTES {
        for (plane, channels, digitizer) in [("wires", 32, 2 * cassette), ("strips", 64, 2 * cassette + 1)] {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "[[multiblade.mapping]]\ndigitizer = {digitizer}\nfirst_channel = 0\nchannels = {channels}\n\
                 cassette = {cassette}\nplane = '{plane}'"
            );
        }
    }
    config(&text, &[])
}

fn records(charges: &[Charge]) -> Vec<Vec<u8>> {
    let mut encoder = RecordEncoder::default();
    let packet = |charges: &[Charge]| {
        encoder.begin();
        for charge in charges {
            let digitizer = 2 * charge.cassette + u8::from(charge.plane == Plane::Strips);
            let time = u32::try_from(charge.time).expect("a short run");
            assert!(encoder.push(&Record { digitizer, channel: charge.coordinate, adc: charge.adc, time }));
        }
        encoder.packet().to_vec()
    };
    charges.chunks(150).map(packet).collect()
}

/// The cabling of `amor-ess.toml`: seven hybrids on a ring; section 3: wires on the odd VMM from channel 47 down,
/// strips on the even one from channel 63 down.
fn packets_of_today(charges: &[Charge]) -> Vec<Vec<u8>> {
    let record = |charge: &Charge| {
        let (fibre, hybrid) = (charge.cassette / 7 * 2, charge.cassette % 7);
        let (vmm, channel) = match charge.plane {
            Plane::Wires => (2 * hybrid + 1, 47 - charge.coordinate),
            Plane::Strips => (2 * hybrid, 63 - charge.coordinate),
        };
        let nanoseconds = PULSE.nanoseconds() + charge.time * TICK;
        let time = EssTime::nearest(nanoseconds).expect("a time of today");
        // This fine time adds less than a twentieth of a nanosecond.
        Vmm3aFields { fibre, vmm, channel, adc: charge.adc, tdc: 145, time, ..Vmm3aFields::default() }
            .encode()
    };
    let mut packets = Vec::new();
    let mut encoder = EssEncoder::new(detector_type::FREIA, 0, 100);
    let records: Vec<_> = charges.iter().map(record).collect();
    encoder.pulse(PULSE, &records, &mut packets);
    packets
}

#[test]
fn amor_is_the_same_in_caen_and_in_vmm_readout() {
    let charges = charges();
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    // The prototype makes one event of all that is close in time.
    let joined = ["ess_multiblade.pairing.ambiguous=join", "ess_multiblade.window.max_time_gap=500ns"];
    let today = Config::read(&configs.join("amor-ess.toml"), &joined.map(str::to_owned));
    let today = today.unwrap_or_else(|error| panic!("{error}"));
    let (before, before_ledger) = events_and_ledger(&prototype(), &records(&charges), 0);
    let (now, now_ledger) = events_and_ledger(&today, &packets_of_today(&charges), PULSE.nanoseconds());
    assert!(before.len() > 250);
    assert_eq!(before.len(), now.len());
    for (before, now) in before.iter().zip(&now) {
        assert!(before.1 == now.1 && before.0.abs_diff(now.0) <= TICK, "{before:?} and {now:?}");
    }
    for counter in
        ["hits", "hits_in_events", "only_wires", "only_strips", "not_adjacent", "windows", "events"]
    {
        let values = [&before_ledger, &now_ledger].map(|ledger| ledger.counters.value(counter));
        assert!(values[0] > Some(0) && values[0] == values[1], "{counter}: {values:?}");
    }
}

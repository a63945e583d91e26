//! A Multi-Grid of 12 x 51 x 16 pixels: two buses of VMMR modules, and a short vessel of TREX or LET.

use super::{PULSE, config, events};
use evforge_testkit::properties::cases;
use evforge_wire::ess::{EssEncoder, EssTime, Vmm3aFields, detector_type};
use evforge_wire::mesytec::{DatagramEncoder, TriggerEnd, VmmrReadout, trigger_words};
use proptest::prelude::*;

/// A neutron by the wires and grids that it fires, one after another.
#[derive(Clone, Debug)]
struct Neutron {
    /// Nanoseconds after the neutron before.
    after: u64,
    /// 0 for the first half of the wires, 1 for the second.
    half: u8,
    /// Wires of the half and grids, with amplitudes.
    wires: Vec<(u8, u16)>,
    grids: Vec<(u8, u16)>,
}

/// Wires of a half.
const WIRES: u8 = 96;
/// Grids.
const GRIDS: u8 = 51;

#[derive(Clone, Copy, Debug)]
enum Wiring {
    Trex,
    /// With the channels of wires in swapped pairs.
    Let,
}

fn prototype_config(wiring: Wiring, strategy: &str) -> evforge_config::Config {
    let swapped = matches!(wiring, Wiring::Let);
    let bus = format!(
        "{{ max_channel = {}, max_wire = {WIRES}, max_z = 16, swap_wires = {swapped} }}",
        WIRES + GRIDS
    );
    let text = format!(
        "name = 'prototype'\n[multigrid]\nreadout = 'mesytec'\ntick = '62.5ns'\nstrategy = '{strategy}'\nbus = [{bus}, {bus}]"
    );
    config(&text, &[])
}

fn todays_config(wiring: Wiring, strategy: &str) -> evforge_config::Config {
    let (wiring, front_ends) = match wiring {
        Wiring::Trex => ("trex", "rings = [0], fens = [0, 1]"),
        Wiring::Let => ("let", "rings = [0, 1], fens = [0]"),
    };
    let text = format!(
        "name = 'today'\n[ess]\ntype = 'trex'\noutput_queues = [0]\n[ess_multigrid]\nwiring = '{wiring}'\n\
         strategy = '{strategy}'\ncolumns = 12\nrows = {GRIDS}\nmax_grid_span = {GRIDS}\n\
         vessels = [{{ {front_ends}, short = true }}]"
    );
    config(&text, &[])
}

/// One trigger for each neutron.
fn prototype_packets(wiring: Wiring, neutrons: &[Neutron]) -> Vec<Vec<u8>> {
    let mut nanoseconds = 0;
    let mut packets = Vec::new();
    for neutron in neutrons {
        nanoseconds += neutron.after;
        let readout = |channel: u8, adc| VmmrReadout {
            bus: neutron.half,
            channel: channel.into(),
            adc,
            ..VmmrReadout::default()
        };
        let wire = |&(wire, adc): &(u8, u16)| match wiring {
            Wiring::Trex => readout(wire, adc),
            Wiring::Let => readout(wire ^ 1, adc),
        };
        let wires = neutron.wires.iter().map(wire);
        let grids = neutron.grids.iter().map(|&(grid, adc)| readout(WIRES + grid, adc));
        let readouts: Vec<_> = wires.chain(grids).collect();
        let end = TriggerEnd { time: nanoseconds * 16 / 1000, external_trigger: false };
        let mut datagram = DatagramEncoder::default();
        datagram.begin(0, 0);
        assert!(datagram.push(0, &trigger_words(0, &readouts, end)));
        packets.push(datagram.packet().to_vec());
    }
    packets
}

/// A record for each wire and grid, a tick after one another.
fn todays_packets(wiring: Wiring, neutrons: &[Neutron]) -> Vec<Vec<u8>> {
    let mut nanoseconds = PULSE.nanoseconds();
    let mut records = Vec::new();
    for neutron in neutrons {
        nanoseconds += neutron.after;
        let first = EssTime::nearest(nanoseconds).expect("a time of today").total_ticks();
        let (ring, fen, wire_hybrid, grid_hybrid, swap) = match wiring {
            // FENs with an odd number and rings with an even one have the second half.
            Wiring::Trex => (0, neutron.half, 0, 1, 0),
            Wiring::Let => (1 - neutron.half, 0, 1, 0, 1),
        };
        let wire = |&(wire, adc): &(u8, u16)| (wire_hybrid, (wire + 32) ^ swap, adc);
        let grid = |&(grid, adc): &(u8, u16)| (grid_hybrid, grid, adc);
        let signals = neutron.wires.iter().map(wire).chain(neutron.grids.iter().map(grid));
        for (tick, (hybrid, channel, adc)) in (first..).zip(signals) {
            let (vmm, channel) = (2 * hybrid + channel / 64, channel % 64);
            let time = EssTime::from_total_ticks(tick).expect("a time of today");
            records.push(
                Vmm3aFields { fibre: 2 * ring, fen, vmm, channel, adc, time, ..Vmm3aFields::default() }
                    .encode(),
            );
        }
    }
    let mut packets = Vec::new();
    EssEncoder::new(detector_type::TREX, 0, 20).pulse(PULSE, &records, &mut packets);
    packets
}

fn neutron() -> impl Strategy<Value = Neutron> {
    let adc = || 50..1024_u16;
    let wires = proptest::collection::vec((0..WIRES, adc()), 1..4);
    let grids = proptest::collection::vec((0..GRIDS, adc()), 1..4);
    (2_000..50_000_u64, 0..2_u8, wires, grids).prop_map(|(after, half, wires, grids)| Neutron {
        after,
        half,
        wires,
        grids,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn a_multigrid_has_the_same_pixels_in_both(
        neutrons in proptest::collection::vec(neutron(), 1..60),
        wiring in prop_oneof![Just(Wiring::Trex), Just(Wiring::Let)],
    ) {
        for strategy in ["maximum", "center-mass", "prioritized", "centroid"] {
            let prototype =
                events(&prototype_config(wiring, strategy), &prototype_packets(wiring, &neutrons), 0);
            let today = events(
                &todays_config(wiring, strategy),
                &todays_packets(wiring, &neutrons),
                PULSE.nanoseconds(),
            );
            prop_assert_eq!(prototype.len(), neutrons.len());
            prop_assert_eq!(today.len(), neutrons.len());
            for (one, other) in prototype.iter().zip(&today) {
                prop_assert_eq!(one.1, other.1, "{}", strategy);
                // A tick of 62.5 ns and one of 11.4 ns.
                prop_assert!(one.0.abs_diff(other.0) <= 63 + 12, "{} and {}", one.0, other.0);
            }
        }
    }
}

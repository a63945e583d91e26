//! Hits to packets, and back.

use super::super::wiring::{WIRES, Wiring};
use super::*;
use crate::electronics::Hit;
use crate::readout::{Disturbance, Pulse, Readout};
use evforge_core::quantity::TimeSpan;
use evforge_wire::cncs::groups;
use evforge_wire::mesytec::Datagram;
use proptest::prelude::*;

/// Hits in the order of time.
fn in_order(mut hits: Vec<(u32, u64, u16)>) -> Vec<Hit> {
    hits.sort_unstable_by_key(|(_, time_ps, _)| *time_ps);
    let hit = |(channel, time_ps, amplitude)| Hit { channel, time_ps, sent_ps: time_ps, amplitude };
    hits.into_iter().map(hit).collect()
}

fn pulse_at(start_ns: u64) -> Pulse {
    Pulse { number: 0, start_ns, end_ns: start_ns + 71_428_571 }
}

/// By the rule: a hit triggers its module if nothing is under way there, and has company for a microsecond; nothing
/// triggers in the microsecond after that. Triggers begin in the order of time.
fn by_the_rule(hits: &[Hit], module: impl Fn(&Hit) -> u16) -> Vec<(u64, Vec<Hit>)> {
    let mut triggers: Vec<(u64, Vec<Hit>)> = Vec::new();
    for hit in hits {
        let latest = triggers.iter_mut().rev().find(|(_, company)| module(&company[0]) == module(hit));
        match latest {
            Some((begin, company)) if hit.time_ps <= *begin + 1_000_000 => company.push(*hit),
            Some((begin, _)) if hit.time_ps < *begin + 2_000_000 => {}
            _ => triggers.push((hit.time_ps, vec![*hit])),
        }
    }
    triggers
}

proptest! {
    #[test]
    fn vmmr_triggers_hold_what_came_in_their_window(
        start in 1_u64..1_000_000,
        packet_bytes in 100_usize..10_000,
        hits in prop::collection::vec((0_u32..360, 0_u64..60_000_000, 200_u16..4096), 0..200),
    ) {
        let wiring = Wiring::of_vmmr(&settings()).unwrap();
        let physics = MultiGridPhysics {
            packet_bytes,
            packet_flush: TimeSpan { picoseconds: 20_000_000 },
            ..MultiGridPhysics::default()
        };
        let mut readout = VmmrReadout::new(&settings(), &physics, wiring.layout());
        let hits = in_order(hits);
        let start_ns = start * 1_000_000;
        let pulse = pulse_at(start_ns);
        let mut packets = Vec::new();
        readout.pulse(&pulse, &hits, &mut packets);
        prop_assert!(packets.is_sorted_by_key(|packet| packet.origin.arrival_ns));
        let expected = by_the_rule(&hits, |_| 0);
        let mut found = Vec::new();
        for packet in &packets {
            let datagram = Datagram::parse(&packet.bytes).unwrap();
            prop_assert!(datagram.is_undamaged() && datagram.left_over_bytes() == 0);
            for trigger in datagram.triggers() {
                let trigger = trigger.unwrap();
                prop_assert_eq!(trigger.counter as usize, found.len());
                found.push(readouts(&trigger));
            }
            prop_assert!(packet.bytes.len() <= packet_bytes || datagram.triggers().count() == 1);
        }
        prop_assert_eq!(found.len(), expected.len());
        for ((time, mut readouts), (begin, mut company)) in found.into_iter().zip(expected) {
            prop_assert_eq!(time, (start_ns * 1000 + begin) / 62_500);
            company.sort_by_key(|hit| hit.channel);
            readouts.sort_by_key(|readout| (readout.bus, readout.channel));
            let read: Vec<_> =
                readouts.iter().map(|of| (u32::from(of.bus) * 120 + u32::from(of.channel), of.adc)).collect();
            // Channels of a plane are numbered bus by bus, wires first.
            let number = |channel: u32| match channel {
                0..240 => channel / 80 * 120 + channel % 80,
                _ => (channel - 240) / 40 * 120 + 80 + channel % 40,
            };
            let mut expected: Vec<_> = company.iter().map(|hit| (number(hit.channel), hit.amplitude)).collect();
            expected.sort_by_key(|(channel, _)| *channel);
            let sorted = |mut list: Vec<(u32, u16)>| { list.sort_unstable(); list };
            prop_assert_eq!(sorted(read), sorted(expected));
        }
    }

    #[test]
    fn cncs_groups_hold_the_largest_of_their_window(
        start in 1_u64..1000,
        hits in prop::collection::vec((0_u32..102, 0_u64..60_000_000, 200_u16..4096), 0..200),
    ) {
        let wiring = Wiring::of_cncs(&cncs_settings()).unwrap();
        prop_assert_eq!(wiring.layout().channel_count(), 102);
        let places = wiring.layout().places();
        let mut readout = CncsReadout::new(&cncs_settings(), &MultiGridPhysics::default(), wiring.layout());
        let hits = in_order(hits);
        let start_ns = start * 1_000_000;
        let mut packets = Vec::new();
        readout.pulse(&pulse_at(start_ns), &hits, &mut packets);
        let expected = by_the_rule(&hits, |hit| places[hit.channel as usize].module);
        let found: Vec<_> = packets.iter().flat_map(|packet| groups(&packet.bytes)).collect();
        prop_assert_eq!(found.len(), expected.len());
        prop_assert!(packets.iter().all(|packet| groups(&packet.bytes).count() * 40 == packet.bytes.len()));
        for (group, (begin, company)) in found.into_iter().zip(expected) {
            prop_assert_eq!(u64::from(group.time), (start_ns * 1000 + begin) / 62_500);
            let of_plane = |is_wire: bool| {
                let of_plane = company.iter().filter(|hit| (places[hit.channel as usize].plane == WIRES) == is_wire);
                let mut amplitudes: Vec<u16> = of_plane.map(|hit| hit.amplitude).collect();
                amplitudes.sort_unstable_by(|one, other| other.cmp(one));
                amplitudes.resize(2, 0);
                amplitudes
            };
            let (wires, grids) = (of_plane(true), of_plane(false));
            prop_assert_eq!((group.wire_amplitude(), group.second_wire_amplitude()), (wires[0], wires[1]));
            prop_assert_eq!(group.grid_amplitude(), grids[0]);
            let is_there = |is_wire: bool, amplitude: u16, position: u16| {
                company.iter().any(|hit| {
                    let place = places[hit.channel as usize];
                    (place.plane == WIRES, hit.amplitude, place.coordinate, place.module)
                        == (is_wire, amplitude, position, u16::from(group.module))
                })
            };
            prop_assert!(wires[0] == 0 || is_there(true, wires[0], group.wire_position()));
            prop_assert!(grids[0] == 0 || is_there(false, grids[0], group.grid_position()));
        }
    }
}

#[test]
fn only_clocks_can_be_disturbed() {
    let wiring = Wiring::of_vmmr(&settings()).unwrap();
    let mut readout = VmmrReadout::new(&settings(), &MultiGridPhysics::default(), wiring.layout());
    assert!(!readout.disturb(Disturbance::Restart { source: 0 }));
    assert!(!readout.disturb(Disturbance::CounterBeforeWrap { source: 0, packets: 1 }));
    assert!(!readout.disturb(Disturbance::ClockStep { source: 1, by_ps: 1 }));
    assert!(readout.disturb(Disturbance::ClockStep { source: 0, by_ps: 625_000 }));
    let mut packets = Vec::new();
    readout.pulse(&pulse_at(1_000_000), &in_order(vec![(3, 1_000_000, 500)]), &mut packets);
    let datagram = Datagram::parse(&packets[0].bytes).unwrap();
    let trigger = datagram.triggers().next().unwrap().unwrap();
    assert_eq!(readouts(&trigger).0, 16_000 + 16 + 10);
}

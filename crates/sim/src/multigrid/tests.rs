use super::conversion::convert;
use super::wiring::{GRIDS, Wiring, bus_and_channel};
use super::*;
use crate::detector_model::Strike;
use crate::electronics::Hit;
use crate::random::{Stream, stream};
use crate::readout::{Pulse, Readout};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::Duration;
use evforge_detect::multigrid::digital_geometry::DigitalGeometry;
use evforge_detect::multigrid::settings::{
    BusSettings, EventTime, MesytecSettings, Ordering, Strategy, TimeSettings,
};
use evforge_testkit::{pkts_payloads, shared_file};
use evforge_wire::mesytec::{Datagram, TriggerClock, VmmrReadout as Measured};
use proptest::prelude::*;
use rand::RngExt;

/// Buses as in the shipped configuration, one of them wired otherwise.
fn settings() -> MesytecSettings {
    let bus = BusSettings { swap_wires: true, flipped_x: true, flipped_z: true, ..BusSettings::default() };
    let other = BusSettings { swap_grids: true, flipped_x: true, ..BusSettings::default() };
    MesytecSettings {
        strategy: Strategy::Maximum,
        time: TimeSettings { tick: Some(62_500), event_time: EventTime::Clock, order: Ordering::Arrival },
        spoof_high_time: false,
        discard_damaged_packets: false,
        double_neutrons: None,
        drop_double_neutrons: false,
        buses: vec![bus.clone(), other, bus],
        mask: Vec::new(),
    }
}

fn model() -> MultiGridModel {
    MultiGridModel::of_vmmr(&settings(), MultiGridPhysics::default()).expect("sound settings")
}

fn strike(x: f64, y: f64) -> Strike {
    Strike { time_ps: 1_000_000, x, y, panel: 0, wavelength: 2.5 }
}

#[test]
fn charge_is_on_the_wires_and_grids_that_form_its_event() {
    let (settings, model) = (settings(), model());
    let digital = DigitalGeometry::new(&settings, |_| 0);
    let mut random = stream(1, Stream::Pulse(1));
    let mut charges = Vec::new();
    let (mut seen, mut edges) = (0, 0);
    for neutron in 0..20_000_u32 {
        let (column, row) = (neutron % 12, neutron / 12 % 40);
        charges.clear();
        let at = strike(f64::from(column) + 0.5, f64::from(row) + 0.5);
        let Some(event) = model.add_neutron(&at, &mut random, &mut charges) else { continue };
        seen += 1;
        assert_eq!((event.coordinates().x, event.coordinates().y), (column, row));
        let places: Vec<_> = charges
            .iter()
            .map(|charge| {
                let (bus, channel) =
                    bus_and_channel(model.layout().places()[charge.channel as usize].coordinate);
                assert_eq!(u32::from(bus), column / 4);
                digital.place(bus, channel).expect("a channel of the detector")
            })
            .collect();
        assert!(places[0].is_wire && u32::from(places[0].across) == column);
        assert_eq!(u32::from(places[0].layer), event.coordinates().z);
        for place in &places {
            let differs = if place.is_wire {
                assert_eq!(u32::from(place.across), column);
                u32::from(place.layer).abs_diff(event.coordinates().z)
            } else {
                edges += usize::from(row == 0 || row == 39);
                u32::from(place.across).abs_diff(row)
            };
            assert!(differs <= 1, "{place:?} for {event:?}");
        }
    }
    assert!(seen > 10_000 && edges > 0, "{seen}");
}

/// How many of a million neutrons convert in each layer, so that something gets into the gas.
fn layers(wavelength: f64) -> Vec<usize> {
    let mut random = stream(1, Stream::Pulse(1));
    let mut layers = vec![0; 20];
    for _ in 0..1_000_000 {
        if let Some(converted) = convert(&MultiGridPhysics::default(), wavelength, 20, &mut random) {
            layers[converted.layer as usize] += 1;
        }
    }
    layers
}

#[test]
fn layers_in_front_are_in_the_light_of_those_behind() {
    let (short, long) = (layers(1.0), layers(5.0));
    for (shares, per_coating) in [(&short, 0.0215), (&long, 0.1077)] {
        // Two coatings a layer: each layer gets what the two before it have left.
        let expected = f64::exp(-2.0 * per_coating);
        for pair in shares.windows(2).filter(|pair| pair[1] > 1000) {
            let ratio = pair[1] as f64 / pair[0] as f64;
            let error = 4.0 * ratio / (pair[1] as f64).sqrt();
            assert!((ratio - expected).abs() < error.max(0.01), "{ratio} for {expected}");
        }
    }
    assert!(long[0] > 4 * short[0] && long[19] < short[19]);
    let efficiency = |layers: &[usize]| layers.iter().sum::<usize>() as f64 / 1e6;
    assert!((0.35..0.50).contains(&efficiency(&short)), "{}", efficiency(&short));
    assert!((0.65..0.75).contains(&efficiency(&long)), "{}", efficiency(&long));
}

/// What a trigger with a neutron leaves: amplitudes of wires and of grids, above threshold.
#[derive(Default)]
struct Amplitudes {
    wires: Vec<f64>,
    grids_per_wire: Vec<f64>,
    with_several_grids: usize,
    with_several_wires: usize,
}

impl Amplitudes {
    fn take(&mut self, wires: &[f64], grids: &[f64]) {
        self.with_several_wires += usize::from(wires.len() > 1);
        self.with_several_grids += usize::from(grids.len() > 1);
        self.wires.push(wires.iter().sum());
        self.grids_per_wire.push(grids.iter().sum::<f64>() / wires.iter().sum::<f64>());
    }
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
}

#[test]
fn amplitudes_are_those_of_the_recording() {
    let test = "amplitudes_are_those_of_the_recording";
    let Some(packets) = shared_file(test, "captures/multigrid/recorded_ws1to4.pkts") else { return };
    let mut recorded = Amplitudes::default();
    // The packets before the last hold pulses on all channels.
    let payloads = pkts_payloads(&packets);
    let datagram = Datagram::parse(payloads.last().expect("packets")).expect("a sound packet");
    for (trigger, readouts) in datagram.triggers().map(|trigger| readouts(&trigger.expect("sound"))) {
        let of = |is_grid: bool| -> Vec<f64> {
            let plane = readouts.iter().filter(|readout| (readout.channel >= 80) == is_grid);
            plane.map(|readout| readout.adc.into()).collect()
        };
        let (wires, grids) = (of(false), of(true));
        assert!(trigger > 0);
        // One trigger has two neutrons.
        if wires.len() == 1 {
            recorded.take(&wires, &grids);
        }
    }
    let model = model();
    let threshold = f32::from(model.electronics().threshold);
    let mut simulated = Amplitudes::default();
    let mut random = stream(1, Stream::Pulse(1));
    let mut charges = Vec::new();
    for _ in 0..100_000 {
        charges.clear();
        let at = strike(12.0 * random.random::<f64>(), 5.0 + 30.0 * random.random::<f64>());
        let _ = model.add_neutron(&at, &mut random, &mut charges);
        let of = |plane: u8| -> Vec<f64> {
            let above = charges.iter().filter(|charge| charge.amplitude >= threshold);
            let of_plane = above
                .filter(|charge| model.layout().places()[charge.channel as usize].plane == plane)
                .map(|charge| f64::from(charge.amplitude));
            of_plane.collect()
        };
        let (wires, grids) = (of(0), of(GRIDS));
        if !wires.is_empty() && !grids.is_empty() {
            simulated.take(&wires, &grids);
        }
    }
    assert_eq!(recorded.wires.len(), 22);
    let count = recorded.wires.len() as f64;
    for (what, of) in [
        ("wires", [&recorded.wires, &simulated.wires]),
        ("grids per wire", [&recorded.grids_per_wire, &simulated.grids_per_wire]),
    ] {
        let [(recorded, spread), (simulated, simulated_spread)] = of.map(|values| moments(values));
        println!("{what}: recorded {recorded} ± {spread}, simulated {simulated} ± {simulated_spread}");
        assert!((recorded - simulated).abs() < 2.0 * spread / count.sqrt(), "{what}");
        // The standard deviation of 22 values is known to some 15 %.
        assert!((spread / simulated_spread - 1.0).abs() < 0.45, "{what}");
    }
    let share = |of: &Amplitudes, several: usize| several as f64 / of.wires.len() as f64;
    let grids = [&recorded, &simulated].map(|of| share(of, of.with_several_grids));
    let wires = share(&simulated, simulated.with_several_wires);
    println!("several grids: {grids:?}, several wires: {wires}");
    assert!((grids[0] - grids[1]).abs() < 2.0 * (grids[0] / count).sqrt(), "{grids:?}");
    assert!(wires < 0.02, "{wires}");
}

/// Time and readouts of a trigger.
fn readouts(trigger: &evforge_wire::mesytec::Trigger<'_>) -> (u64, Vec<Measured>) {
    let (readouts, end) =
        trigger.read(&mut TriggerClock::extended(), Vec::new(), |readouts, word, context| {
            readouts.extend(Measured::of(word, context));
        });
    (end.expect("a time").time, readouts)
}

proptest! {
    #[test]
    fn triggers_hold_what_came_in_their_window(
        start in 1_u64..1_000_000,
        packet_bytes in 100_usize..10_000,
        mut hits in prop::collection::vec((0_u32..360, 0_u64..60_000_000, 200_u16..4096), 0..200),
    ) {
        let settings = settings();
        let wiring = Wiring::of_vmmr(&settings).unwrap();
        let physics = MultiGridPhysics {
            packet_bytes,
            packet_flush: Duration { picoseconds: 20_000_000 },
            ..MultiGridPhysics::default()
        };
        let mut readout = VmmrReadout::new(&settings, &physics, wiring.layout());
        hits.sort_unstable_by_key(|(_, time_ps, _)| *time_ps);
        let hits: Vec<Hit> = hits
            .into_iter()
            .map(|(channel, time_ps, amplitude)| Hit { channel, time_ps, sent_ps: time_ps, amplitude })
            .collect();
        let start_ns = start * 1_000_000;
        let pulse = Pulse { number: 0, start_ns, end_ns: start_ns + 71_428_571 };
        let mut packets = Vec::new();
        readout.pulse(&pulse, &hits, &mut packets);
        prop_assert!(packets.is_sorted_by_key(|packet| packet.origin.arrival_ns));
        // By the rule: a hit triggers if nothing is under way, and has company for a microsecond.
        let mut expected: Vec<(u64, Vec<Hit>)> = Vec::new();
        for hit in hits {
            match expected.last_mut() {
                Some((begin, company)) if hit.time_ps <= *begin + 1_000_000 => company.push(hit),
                Some((begin, _)) if hit.time_ps < *begin + 2_000_000 => {}
                _ => expected.push((hit.time_ps, vec![hit])),
            }
        }
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
}

#[test]
fn gammas_stay_below_threshold() {
    let model = model();
    let mut random = stream(1, Stream::Pulse(1));
    let mut charges = Vec::new();
    for _ in 0..100_000 {
        model.add_gamma(&strike(3.5, 7.2), &mut random, &mut charges);
    }
    let threshold = f32::from(model.electronics().threshold);
    let above = charges.iter().filter(|charge| charge.amplitude >= threshold).count();
    assert!(charges.len() >= 200_000 && above < 1000, "{above}");
}

#[test]
fn nothing_is_sensitive_beside_the_detector() {
    let model = model();
    let inside = LogicalGeometry::new(12, 40, 20, 1).unwrap();
    assert_eq!(*model.geometry(), inside);
    assert!((0..12).all(|x| (0..40).all(|y| model.is_sensitive(x, y, 0))));
    assert!(!model.is_sensitive(12, 0, 0) && !model.is_sensitive(0, 40, 0) && !model.is_sensitive(0, 0, 1));
}

//! What neutrons leave on wires and grids.

use super::super::conversion::convert;
use super::super::wiring::{GRIDS, bus_and_channel};
use super::*;
use crate::random::{Stream, stream};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::multigrid::cncs::CncsGeometry;
use evforge_detect::multigrid::digital_geometry::DigitalGeometry;
use evforge_testkit::{pkts_payloads, shared_file};
use evforge_wire::mesytec::Datagram;
use rand::RngExt;

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

#[test]
fn charge_at_cncs_is_on_the_positions_that_form_its_event() {
    let settings = cncs_settings();
    let model = MultiGridModel::of_cncs(&settings, MultiGridPhysics::default()).expect("sound settings");
    let cncs = CncsGeometry::new(&settings).expect("sound settings");
    let geometry = *model.geometry();
    let mut random = stream(1, Stream::Pulse(1));
    let mut charges = Vec::new();
    let (mut seen, mut right) = (0, 0);
    for _ in 0..20_000 {
        charges.clear();
        // Layers are the first coordinate of pixels, over which the picture is stretched.
        let at = strike(6.0 * random.random::<f64>(), 10.0 * random.random::<f64>());
        // One of two panels.
        let is_here = model.is_sensitive(at.x as u32, at.y as u32, 0);
        let Some(event) = model.add_neutron(&at, &mut random, &mut charges) else { continue };
        assert!(is_here);
        seen += 1;
        let places = charges.iter().map(|charge| model.layout().places()[charge.channel as usize]);
        let largest = |plane| {
            let of_plane = places.clone().zip(&charges).filter(|(place, _)| place.plane == plane);
            let largest = of_plane.max_by(|one, other| one.1.amplitude.total_cmp(&other.1.amplitude));
            largest.expect("charge on both planes").0
        };
        let (wire, grid) = (largest(0), largest(GRIDS));
        assert_eq!((wire.module, grid.module), (event.module, event.module));
        right +=
            usize::from(cncs.pixel(wire.coordinate, grid.coordinate) == geometry.pixel(event.coordinates()));
    }
    assert!(seen > 2000 && right > seen * 9 / 10 && right < seen, "{right} of {seen}");
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

#[test]
fn impossible_physics_are_refused_by_their_key() {
    let sound = MultiGridPhysics::default();
    assert_eq!(sound.check(), Ok(()));
    for (physics, expected) in [
        (MultiGridPhysics { coating_um: f64::NAN, ..sound }, "coating_um: found NaN, expected 0.001 to 100"),
        (MultiGridPhysics { cell_mm: [1.0, -1.0, 1.0], ..sound }, "cell_mm: found -1, expected 0.1 to 1000"),
        (
            MultiGridPhysics { packet_bytes: 9000, ..sound },
            "packet_bytes: found 9000, expected 1 to 8972 bytes",
        ),
    ] {
        let error = physics.check().unwrap_err().to_string();
        assert_eq!(error, format!("simulation.multigrid.{expected}"));
    }
}

/// The shadow of the walls of a tilted detector: the deeper the layer, the larger the share of a cell that they hide.
#[test]
fn a_tilted_detector_has_shadows_that_grow_with_depth() {
    let physics = MultiGridPhysics { tilt_deg: 2.0, side_coating_um: 50.0, ..MultiGridPhysics::default() };
    let model = MultiGridModel::of_vmmr(&settings(), physics).expect("sound settings");
    let mut random = stream(1, Stream::Pulse(1));
    let mut charges = Vec::new();
    let mut hidden = [[0_u32; 2]; 20];
    for neutron in 0..200_000_u32 {
        charges.clear();
        let at = 5.0 + f64::from(neutron % 1000) / 1000.0;
        let Some(event) = model.add_neutron(&strike(at, 20.5), &mut random, &mut charges) else { continue };
        // No neutron gets through a wall that is so thick.
        assert_eq!(event.coordinates().x, 5);
        let layer = event.coordinates().z as usize;
        hidden[layer][usize::from(at.fract() > 0.5)] += 1;
    }
    let drift = 2_f64.to_radians().tan() * 9.5 / 23.5;
    for (layer, [left, right]) in
        hidden.into_iter().enumerate().filter(|(layer, _)| [0, 10, 19].contains(layer))
    {
        // Neutrons of the right half meet the wall on the right, those of the left half do not.
        let expected = 1.0 - 2.0 * drift * (layer as f64 + 0.5);
        let found = f64::from(right) / f64::from(left);
        assert!((found - expected).abs() < 0.15, "layer {layer}: {found:.2} of {expected:.2}");
    }
}

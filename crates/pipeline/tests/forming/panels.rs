//! A Gd-GEM of several panels: the sectors of NMX, each with strips of its own.

use evforge_config::{Config, DetectorSettings};
use evforge_core::detector::{self, Detector};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::Coordinates;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::gdgem::settings::Plane;
use evforge_detect::gdgem::{GdGem, GdGemSettings};
use evforge_lab::simulation::simulation;
use evforge_sim::truth::Neutron;
use std::collections::HashSet;
use std::path::Path;

/// The settings of the instrument, with sources that stop holding the others back when they are silent.
fn nmx_config() -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/gdgem-nmx.toml");
    let overrides = [
        "gdgem.sorting.max_held_hits=16384",
        "simulation.seed=11",
        "simulation.beam.neutrons=4kHz",
        "simulation.electronics.noise=5kHz",
    ];
    Config::read(&path, &overrides.map(String::from)).expect("the configuration")
}

fn nmx() -> GdGemSettings {
    let DetectorSettings::GdGem(settings) = nmx_config().detector else { panic!("another detector") };
    settings
}

fn simulated() -> (Vec<Vec<u8>>, Vec<Neutron>) {
    let mut simulation = simulation(&nmx_config()).expect("a detector that can be simulated");
    let (mut packets, mut truth) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let pulse = simulation.next_pulse();
        packets.extend(pulse.packets.into_iter().map(|packet| packet.bytes));
        truth.extend(pulse.truth);
    }
    (packets, truth)
}

fn form(settings: &GdGemSettings, packets: &[Vec<u8>], at_once: usize, batch: usize) -> Vec<Event> {
    let mut detector = GdGem::new(settings).expect("sound settings");
    let mut batch = EventBatch::new(batch);
    let mut events = Vec::new();
    for packets in packets.chunks(at_once) {
        let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
        for packet in packets {
            assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        }
        detector::form(&mut detector, &slab.batch(), &mut batch, &mut |batch: &mut EventBatch| {
            events.extend(batch.iter());
            batch.clear();
        });
    }
    detector::form_rest(&mut detector, &mut batch, &mut |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    });
    assert_eq!(detector.ledger().unaccounted(), 0);
    assert_eq!(detector.ledger().counters.value("held"), Some(0));
    events
}

/// 4 sectors with 640 strips in x and y, read out by 5 hybrids of two chips: 5120 strips and 40 hybrids in all.
#[test]
fn the_configuration_of_nmx_has_its_strips_and_hybrids() {
    let settings = nmx();
    let geometry = settings.geometry;
    assert_eq!((geometry.nx(), geometry.ny(), geometry.panels()), (640, 640, 4));
    let strips: HashSet<_> = settings
        .mapping
        .iter()
        .flat_map(|chip| {
            (0..64).filter_map(|channel| Some((chip.panel, chip.plane.index(), chip.strip(channel)?)))
        })
        .collect();
    assert_eq!((strips.len(), settings.mapping.len()), (5120, 2 * 40));
    for panel in 0..4 {
        for plane in [Plane::X, Plane::Y] {
            assert!((0..640).all(|strip| strips.contains(&(panel, plane.index(), strip))));
        }
    }
    for fec in 1..=8 {
        let chips = settings.mapping.iter().filter(|chip| chip.fec == fec).count();
        assert!(chips <= 16, "a FEC has up to eight hybrids");
    }
}

#[test]
fn neutrons_are_found_on_their_panel_in_order_however_packets_are_cut() {
    let settings = nmx();
    let (packets, truth) = simulated();
    let events = form(&settings, &packets, 64, 1000);
    assert!(events.is_sorted_by_key(|event| event.time_ns), "in order over all panels");
    assert_eq!(form(&settings, &packets, 1, 7), events);
    let panel = |pixel_id| settings.geometry.coordinates(pixel_id).map(|place| place.panel);
    for number in 0..4 {
        let found = events.iter().filter(|event| panel(event.pixel_id) == Some(number)).count();
        let true_ones = truth.iter().filter(|neutron| panel(neutron.pixel_id) == Some(number)).count();
        assert!(true_ones > 50 && found * 10 >= true_ones * 9, "{found} of {true_ones} on panel {number}");
    }
    // An event lies close to a neutron: same panel, a few strips, some hundred nanoseconds.
    let near = |event: &Event| {
        let place: Coordinates = settings.geometry.coordinates(event.pixel_id).expect("a pixel");
        truth.iter().any(|neutron| {
            let other = settings.geometry.coordinates(neutron.pixel_id).expect("a pixel");
            other.panel == place.panel
                && other.x.abs_diff(place.x) <= 3
                && other.y.abs_diff(place.y) <= 3
                && neutron.time_ns.abs_diff(event.time_ns) < 500
        })
    };
    let right = events.iter().filter(|event| near(event)).count();
    assert!(right * 10 >= events.len() * 9, "{right} of {} are where a neutron was", events.len());
}

/// A panel's events do not depend on what happens on the others.
#[test]
fn panels_do_not_disturb_one_another() {
    let settings = nmx();
    let (packets, _) = simulated();
    let all = form(&settings, &packets, 64, 1000);
    let geometry = settings.geometry;
    for panel in 0..4 {
        let alone = GdGemSettings {
            mapping: settings.mapping.iter().filter(|chip| chip.panel == panel).copied().collect(),
            ..settings.clone()
        };
        let of_panel = |event: &&Event| {
            geometry.coordinates(event.pixel_id).map(|place| place.panel) == Some(panel.into())
        };
        let expected: Vec<Event> = all.iter().filter(of_panel).copied().collect();
        assert_eq!(form(&alone, &packets, 64, 1000), expected, "panel {panel}");
    }
}

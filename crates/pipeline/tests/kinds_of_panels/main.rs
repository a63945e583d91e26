//! Gd-GEM detectors of one plane, of three planes and of pads: packets with neutrons of known place and time, whose events
//! are scored against the truth. With geometries as users of vmm-sdat write them, and with small wirings of their own.

mod neutrons;
mod wired;

use evforge_config::{Config, DetectorSettings};
use evforge_core::detector::{self, Detector};
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::gdgem::{GdGem, GdGemSettings};
use evforge_sim::score::{Score, ScoreSettings, score};
use evforge_sim::truth::Neutron;
use evforge_testkit::shared_file;
use neutrons::{Beam, neutrons};
use std::collections::BTreeMap;
use wired::Wired;

/// What all detectors here have.
const COMMON: &str = r#"
name = "panels"

[gdgem]
readout = "vmm3a"
GEOMETRY
ONE_PLANE

[gdgem.time]
convention = "signed-offset"
bunch_crossing = "22.5ns"
tac_range = "60ns"
marker_tick = "22.5ns"

[gdgem.sorting]
max_held_hits = 65536

[gdgem.clustering.x]
max_time_gap = "60ns"
time_gap_of = "neighbours"
max_strip_gap = 1

[gdgem.clustering.y]
max_time_gap = "60ns"
time_gap_of = "neighbours"
max_strip_gap = 1

[gdgem.matching]
ambiguous = "nearest"
max_difference = "60ns"
usual = { difference = "10ns" }
"#;

const THIRD_PLANE: &str = "
[gdgem.third_plane]
from_x = 1
from_y = 1
";

/// A configuration in a folder of its own, with a geometry of vmm-sdat if there is one.
fn config(geometry: &str, one_plane: &str, rest: &str, file: Option<&[u8]>) -> Config {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("detector.toml");
    let geometry = match file {
        Some(bytes) => {
            std::fs::write(folder.path().join("geometry.json"), bytes).expect("a file");
            format!("{geometry}\nmapping_file = \"geometry.json\"")
        }
        None => geometry.to_owned(),
    };
    let text = COMMON.replace("GEOMETRY", &geometry).replace("ONE_PLANE", one_plane) + rest;
    std::fs::write(&path, text).expect("a file");
    Config::read(&path, &[]).expect("a sound configuration")
}

fn settings(config: &Config) -> &GdGemSettings {
    let DetectorSettings::GdGem(settings) = &config.detector else { panic!("another detector") };
    settings
}

/// A geometry of a user.
fn of_user(name: &str, geometry: &str, rest: &str) -> Option<Config> {
    let bytes = shared_file("kinds_of_panels", &format!("captures/gdgem/{name}"))?;
    Some(config(geometry, "", rest, Some(&bytes)))
}

fn chip(fec: u16, vmm: u8, panel: u16, plane: &str, offset: u16) -> String {
    format!(
        "\n[[gdgem.mapping]]\nfec = {fec}\nvmm = {vmm}\npanel = {panel}\nplane = \"{plane}\"\nstrip_offset = {offset}\n"
    )
}

/// Panel 0 has x only, panel 1 both planes, panel 2 y only.
fn small_planes() -> Config {
    let chips = [
        chip(1, 0, 0, "x", 0),
        chip(1, 1, 1, "x", 0),
        chip(1, 2, 1, "y", 0),
        chip(2, 0, 2, "y", 0),
        chip(2, 1, 2, "y", 64),
    ];
    config("geometry = { nx = 64, ny = 128, panels = 3 }", "one_plane = [0, 2]", &chips.concat(), None)
}

/// 128 strips of x, 64 of y and 192 of u.
fn small_xyu() -> Config {
    let mut rest = THIRD_PLANE.to_owned();
    for (plane, fec, chips) in [("x", 1, 2_u8), ("y", 2, 1), ("u", 3, 3)] {
        rest.extend((0..chips).map(|vmm| chip(fec, vmm, 0, plane, 64 * u16::from(vmm))));
    }
    config("geometry = { nx = 128, ny = 64 }", "", &rest, None)
}

/// 8 x 8 pads, the rows from the top.
fn small_pads() -> Config {
    let columns: Vec<i64> = (0..64).map(|channel| channel % 8).collect();
    let rows: Vec<i64> = (0..64).map(|channel| 7 - channel / 8).collect();
    let rest = format!(
        "\n[[gdgem.mapping]]\nfec = 1\nvmm = 3\nplane = \"pads\"\ncolumns = {columns:?}\nrows = {rows:?}\n"
    );
    config("geometry = { nx = 8, ny = 8 }", "", &rest, None)
}

struct Formed {
    events: Vec<Event>,
    counters: BTreeMap<String, u64>,
}

impl Formed {
    fn counter(&self, name: &str) -> u64 {
        *self.counters.get(name).unwrap_or_else(|| panic!("no counter {name}"))
    }
}

/// Forms events of packets that come so many at once, into batches of this size. The laws hold after each slab.
fn form(settings: &GdGemSettings, packets: &[Vec<u8>], at_once: usize, batch: usize) -> Formed {
    let mut detector = GdGem::new(settings).expect("sound settings");
    let mut batch = EventBatch::new(batch);
    let mut events = Vec::new();
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    for (number, packets) in packets.chunks(at_once).enumerate() {
        let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
        for packet in packets {
            assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        }
        detector::form(&mut detector, &slab.batch(), &mut batch, &mut keep);
        if number % 16 == 0 {
            assert_eq!(detector.ledger().unaccounted(), 0, "in slab {number}");
        }
    }
    detector::form_rest(&mut detector, &mut batch, &mut keep);
    let ledger = detector.ledger();
    assert_eq!((ledger.unaccounted(), ledger.counters.value("held")), (0, Some(0)));
    let counters = ledger.counters.iter().map(|(info, value)| (info.name.to_string(), value)).collect();
    Formed { events, counters }
}

/// A pixel beside, and a tenth of a microsecond.
fn limits() -> ScoreSettings {
    ScoreSettings { largest_time_ns: 100, largest_distance: [1.01; 3], time_offset_ns: 0 }
}

fn simulated(settings: &GdGemSettings, beam: &Beam) -> (Vec<Neutron>, Vec<Vec<u8>>) {
    let wired = Wired::new(settings);
    let (truth, charges) = neutrons(settings, &wired, beam);
    (truth, wired.packets(&charges))
}

fn scored(name: &str, settings: &GdGemSettings, beam: &Beam) -> (Score, Formed) {
    let (truth, packets) = simulated(settings, beam);
    let formed = form(settings, &packets, 64, 1000);
    let score = score(&settings.geometry, &truth, &formed.events, &limits()).expect("a score");
    println!(
        "{name}: {:.0} neutrons/s per panel: found {:.4}, ghosts {} of {}, split {}, x {:?}, y {:?}, time {:?} ns",
        beam.rate,
        score.all.efficiency.unwrap_or(0.0),
        score.events.ghosts,
        score.events.events,
        score.events.split,
        score.all.position[0].as_ref().map(|residual| residual.rms.unwrap_or(0.0)),
        score.all.position[1].as_ref().map(|residual| residual.rms.unwrap_or(0.0)),
        score.all.time_ns.mean,
    );
    (score, formed)
}

const LOW: Beam = Beam { seed: 1, neutrons: 6000, rate: 10e3, noise: 50e3, lost: 0.0 };
const HIGH: Beam = Beam { seed: 2, neutrons: 30_000, rate: 1e6, noise: 1e6, lost: 0.0 };

/// At a low rate (nearly) all are found, and nothing else; at a high rate at least this share, with fewer ghosts than that.
fn check(name: &str, config: &Config, found_at_high_rate: f64, ghosts_at_high_rate: f64) {
    let settings = settings(config);
    let (low, _) = scored(name, settings, &LOW);
    assert!(low.all.efficiency.unwrap_or(0.0) >= 0.99, "{name}: {low:?}");
    assert!(low.ghost_share.unwrap_or(1.0) <= 0.001, "{name}: {:?}", low.events);
    let (high, _) = scored(name, settings, &HIGH);
    assert!(high.all.efficiency.unwrap_or(0.0) >= found_at_high_rate, "{name}: {:?}", high.all.efficiency);
    assert!(high.ghost_share.unwrap_or(1.0) <= ghosts_at_high_rate, "{name}: {:?}", high.events);
}

#[test]
fn neutrons_of_single_planes_are_found() {
    check("planes", &small_planes(), 0.0, 1.0);
}

#[test]
fn neutrons_of_pads_are_found() {
    check("pads", &small_pads(), 0.0, 1.0);
}

#[test]
fn neutrons_of_three_planes_are_found() {
    check("x, y, u", &small_xyu(), 0.0, 1.0);
}

#[test]
fn geometries_of_users_have_events() {
    let of_two = "geometry = { nx = 256, ny = 256, panels = 5 }";
    let Some(rpc) = of_user("example_rpc.json", of_two, "") else { return };
    check("example_rpc", &rpc, 0.0, 1.0);
    let Some(lone) = of_user("example_rpc_plane1.json", "geometry = { nx = 1, ny = 16 }", "") else { return };
    check("example_rpc_plane1", &lone, 0.0, 1.0);
    let flat = "geometry = { nx = 256, ny = 256 }";
    let Some(xyu) = of_user("example_geometry_xyu.json", flat, THIRD_PLANE) else { return };
    check("example_geometry_xyu", &xyu, 0.0, 1.0);
    let Some(pads) = of_user("example_geometry_pad.json", "geometry = { nx = 8, ny = 8 }", "") else {
        return;
    };
    check("example_geometry_pad", &pads, 0.0, 1.0);
}

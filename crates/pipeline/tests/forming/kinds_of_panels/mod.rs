//! Gd-GEM detectors of one plane, of three planes and of pads: packets with neutrons of known place and time, whose events
//! are scored against the truth. With geometries as users of vmm-sdat write them, and with small wirings of their own.

mod neutrons;
mod wired;

use evforge_config::{Config, DetectorSettings};
use evforge_core::detector::{self, Detector};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::gdgem::settings::{
    ChannelThreshold, ChipMapping, ChipPlane, MaskedChannels, MatchingSettings, Plane, ThirdPlaneSettings,
};
use evforge_detect::gdgem::{GdGem, GdGemSettings};
use evforge_detect::pairing::Ambiguous;
use evforge_detect::settings::SortingSettings;
use evforge_lab::simulation::simulation;
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
    form_with(&mut GdGem::new(settings).expect("sound settings"), packets, at_once, batch)
}

fn form_with(detector: &mut GdGem, packets: &[Vec<u8>], at_once: usize, batch: usize) -> Formed {
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
        detector::form(detector, &slab.batch(), &mut batch, &mut keep);
        if number % 16 == 0 {
            assert_eq!(detector.ledger().unaccounted(), 0, "in slab {number}");
        }
    }
    detector::form_rest(detector, &mut batch, &mut keep);
    let ledger = detector.ledger();
    assert_eq!((ledger.unaccounted(), ledger.counters.value("held")), (0, Some(0)));
    let counters = ledger.counters.iter().map(|(info, value)| (info.name.to_string(), value)).collect();
    Formed { events, counters }
}

/// A pixel beside, and a tenth of a microsecond.
fn limits() -> ScoreSettings {
    ScoreSettings { largest_time_ns: 100, largest_distance: [1.01; 3], ..ScoreSettings::default() }
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
    check("planes", &small_planes(), 0.96, 0.01);
}

#[test]
fn neutrons_of_pads_are_found() {
    check("pads", &small_pads(), 0.92, 0.02);
}

#[test]
fn neutrons_of_three_planes_are_found() {
    check("x, y, u", &small_xyu(), 0.99, 0.002);
}

/// Each plane misses some neutrons: two of three suffice, and each kind of event is counted as what it is.
#[test]
fn two_planes_of_three_suffice() {
    let config = small_xyu();
    let settings = settings(&config);
    let (score, formed) = scored("x, y, u with losses", settings, &Beam { lost: 0.1, ..LOW });
    // 0.9^3 + 3 * 0.9^2 * 0.1 = 0.972 of all are seen by two planes.
    let share = |name: &str| formed.counter(name) as f64 / LOW.neutrons as f64;
    assert!((score.all.efficiency.unwrap_or(0.0) - 0.972).abs() < 0.008, "{:?}", score.all.efficiency);
    assert!(score.events.ghosts <= 3, "{:?}", score.events);
    for (name, expected) in
        [("confirmed_events", 0.729), ("unconfirmed_events", 0.081), ("events_from_u", 0.162)]
    {
        assert!((share(name) - expected).abs() < 0.02, "{name}: {}", share(name));
    }
    let kinds = ["confirmed_events", "unconfirmed_events", "events_from_u"].map(|name| formed.counter(name));
    assert_eq!(kinds.iter().sum::<u64>(), formed.counter("events"));
    for plane in ["only_x", "only_y", "only_u"] {
        // About 0.9 % of the neutrons, with three or four hits each.
        let hits = formed.counter(plane);
        assert!((90..=300).contains(&hits), "{plane}: {hits}");
    }
}

/// Where several neutrons come at once, their times alone do not tell which x belongs to which y; u does.
#[test]
fn a_third_plane_tells_neutrons_apart_that_come_together() {
    let with = small_xyu();
    let with = settings(&with);
    let without = GdGemSettings {
        mapping: with.mapping.iter().filter(|chip| chip.plane != ChipPlane::U).copied().collect(),
        third_plane: None,
        ..with.clone()
    };
    let (truth, packets) = simulated(with, &HIGH);
    let [with, without] = [with, &without].map(|settings| {
        let formed = form(settings, &packets, 64, 1000);
        score(&settings.geometry, &truth, &formed.events, &limits()).expect("a score")
    });
    let missed = |score: &Score| score.all.neutrons - score.all.found;
    println!("missed with u {}, without {}", missed(&with), missed(&without));
    assert!(missed(&without) > 5 * missed(&with) && without.events.ghosts > 5 * with.events.ghosts);
}

/// Events do not depend on how packets come or on the size of batches.
#[test]
fn events_do_not_depend_on_how_packets_come() {
    let beam = Beam { lost: 0.05, neutrons: 6000, ..HIGH };
    for config in [small_planes(), small_xyu(), small_pads()] {
        let settings = settings(&config);
        let (_, packets) = simulated(settings, &beam);
        let expected = form(settings, &packets, 64, 1000);
        assert!(expected.events.is_sorted_by_key(|event| event.time_ns), "in order over all panels");
        for (at_once, batch) in [(1, 7), (packets.len(), 1), (13, 100_000)] {
            let found = form(settings, &packets, at_once, batch);
            assert!(found.events == expected.events, "{at_once} packets at once, batches of {batch}");
            assert_eq!(found.counters, expected.counters);
        }
        // Nor on how often time is closed.
        let narrow = GdGemSettings {
            sorting: SortingSettings { max_held_hits: 8192, ..settings.sorting },
            ..settings.clone()
        };
        assert!(form(&narrow, &packets, 64, 1000).events == expected.events);
    }
}

/// Masks and thresholds of single channels are those of pads and of u as well.
#[test]
fn channels_of_pads_and_of_u_have_masks_and_thresholds() {
    for (config, fec, chip) in [(small_pads(), 1, 3), (small_xyu(), 3, 1)] {
        let settings = settings(&config);
        let wired = Wired::new(settings);
        let (_, charges) = neutrons(settings, &wired, &LOW);
        let [packets, not_over_threshold] = [true, false].map(|over| wired.packets_over(&charges, over));
        let whole = form(settings, &packets, 64, 1000);
        let mask = MaskedChannels { fec, chip, channels: (0..32).collect(), reason: "hot".into() };
        let masked = form(&GdGemSettings { mask: vec![mask], ..settings.clone() }, &packets, 64, 1000);
        assert!(masked.counter("masked") > 1000, "{}", masked.counter("masked"));
        assert_eq!(masked.counter("masked") + masked.counter("hits"), whole.counter("hits"));
        let clusters = |formed: &Formed| formed.counter("clusters_u") + formed.counter("clusters_of_pads");
        assert!(clusters(&masked) < clusters(&whole));
        let fec_chip = ChannelThreshold { fec, chip, channels: (0..32).collect(), adc: 1023 };
        let above = GdGemSettings { channel_thresholds: vec![fec_chip], ..settings.clone() };
        let above = form(&above, &not_over_threshold, 64, 1000);
        assert_eq!(above.counter("below_threshold"), masked.counter("masked"));
    }
}

/// A watched detector has the same events; clusters of pads are shown as those of pads.
#[test]
fn who_looks_on_changes_nothing() {
    for (config, planes) in
        [(small_planes(), vec!["x", "y"]), (small_xyu(), vec!["x", "y"]), (small_pads(), vec!["pads"])]
    {
        let settings = settings(&config);
        let (_, packets) = simulated(settings, &Beam { neutrons: 600, ..LOW });
        let expected = form(settings, &packets, 64, 1000);
        let mut detector = GdGem::new(settings).expect("sound settings");
        detector.set_monitoring(true);
        let found = form_with(&mut detector, &packets, 64, 1000);
        assert!(found.events == expected.events);
        let data = detector.monitor().expect("somebody looks on");
        assert_eq!(data.plan().planes, planes);
        let clusters: u64 = data.planes().iter().map(|plane| plane.multiplicity.iter().sum::<u64>()).sum();
        let counted = ["clusters_x", "clusters_y", "clusters_of_pads"].map(|name| found.counter(name));
        assert_eq!(clusters, counted.iter().sum::<u64>());
    }
}

/// What is wrong in a configuration, with the key that it is about.
#[test]
fn what_does_not_fit_together_is_refused() {
    let planes = settings(&small_planes()).clone();
    let xyu = settings(&small_xyu()).clone();
    let pads = settings(&small_pads()).clone();
    let third = xyu.third_plane;
    let problems = [
        (
            GdGemSettings { one_plane: vec![1], ..planes.clone() },
            "one_plane[0]",
            "has more than strips of x or of y",
        ),
        (GdGemSettings { one_plane: vec![3], ..planes.clone() }, "one_plane[0]", "of a detector of 3 panels"),
        (GdGemSettings { third_plane: None, ..xyu.clone() }, "mapping[3].plane", "needs [gdgem.third_plane]"),
        (
            GdGemSettings {
                third_plane: third.map(|third| ThirdPlaneSettings { from: [1, 0], ..third }),
                ..xyu.clone()
            },
            "third_plane.from_y",
            "neither 0",
        ),
        (
            GdGemSettings {
                matching: MatchingSettings { ambiguous: Ambiguous::Join, ..xyu.matching },
                ..xyu.clone()
            },
            "matching",
            "needs ambiguous",
        ),
        (
            GdGemSettings { geometry: LogicalGeometry::flat(7, 8).expect("a geometry"), ..pads.clone() },
            "mapping[0].columns",
            "column 7 of 7",
        ),
        (
            GdGemSettings { geometry: LogicalGeometry::flat(128, 65).expect("a geometry"), ..pads.clone() },
            "geometry",
            "at most 8192",
        ),
        (
            GdGemSettings {
                mapping: pads
                    .mapping
                    .iter()
                    .copied()
                    .chain([ChipMapping::following(1, 0, Plane::X, 0)])
                    .collect(),
                ..pads
            },
            "mapping[0].panel",
            "strips as well as pads",
        ),
    ];
    for (settings, key, problem) in problems {
        let error = settings.check().expect_err(key);
        assert!(error.key.starts_with(key) && error.problem.contains(problem), "{key}: {error}");
    }
    assert!(planes.check().is_ok());
}

/// A forgotten plane does not turn into events: it is said.
#[test]
fn a_panel_of_one_plane_has_events_only_if_told() {
    let chips = [chip(1, 0, 0, "x", 0), chip(1, 1, 1, "x", 0), chip(1, 2, 1, "y", 0)].concat();
    let geometry = "geometry = { nx = 64, ny = 64, panels = 2 }";
    let forgotten = config(geometry, "", &chips, None);
    let note =
        "panel 0 has strips of x only, and no events: if it has one plane only, list it in gdgem.one_plane";
    assert_eq!(forgotten.notes, [note]);
    let told = config(geometry, "one_plane = [0]", &chips, None);
    assert!(told.notes.is_empty(), "{:?}", told.notes);
    let (_, packets) = simulated(settings(&told), &LOW);
    let [forgotten, told] = [&forgotten, &told].map(|config| form(settings(config), &packets, 64, 1000));
    assert!(forgotten.counter("only_x") > 9000 && told.counter("only_x") < 100);
    assert!(told.events.len() > forgotten.events.len() + 2900);
    let error = simulation(&config(geometry, "one_plane = [0]", &chips, None)).err().expect("a refusal");
    assert!(error.to_string().contains("two planes of strips"), "{error}");
}

#[test]
fn geometries_of_users_have_events() {
    let of_two = "geometry = { nx = 256, ny = 256, panels = 5 }";
    let Some(rpc) = of_user("example_rpc.json", of_two, "") else { return };
    check("example_rpc", &rpc, 0.96, 0.01);
    let Some(lone) = of_user("example_rpc_plane1.json", "geometry = { nx = 1, ny = 16 }", "") else { return };
    // Of 16 strips, a neutron has 3 or 4.
    check("example_rpc_plane1", &lone, 0.90, 0.02);
    let flat = "geometry = { nx = 256, ny = 256 }";
    let Some(xyu) = of_user("example_geometry_xyu.json", flat, THIRD_PLANE) else { return };
    check("example_geometry_xyu", &xyu, 0.99, 0.002);
    let Some(pads) = of_user("example_geometry_pad.json", "geometry = { nx = 8, ny = 8 }", "") else {
        return;
    };
    check("example_geometry_pad", &pads, 0.92, 0.02);
}

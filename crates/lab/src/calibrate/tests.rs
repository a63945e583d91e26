use super::*;
use evforge_config::Config;
use evforge_core::counter::CounterSnapshot;
use evforge_core::packet_source::PacketSource;
use evforge_core::pulse::PulseTrain;
use evforge_detect::helium3::Helium3Settings;
use evforge_sim::detector_model::{Charge, DetectorModel, Strike};
use evforge_sim::electronics::Channels;
use evforge_sim::helium3::{Helium3Model, Helium3Physics, Helium3Readout};
use evforge_sim::random::{Stream, stream};
use evforge_sim::readout::{Pulse, Readout};
use rand::RngExt;
use std::path::Path;

/// Slits as shares of a tube.
const SLITS: [f64; 7] = [0.06, 0.2, 0.35, 0.5, 0.65, 0.8, 0.94];
/// Neutrons of a slit in each tube.
const NEUTRONS: usize = 600;

/// Three triplets on one ring.
const TRIPLETS: &str = r#"
name = "triplets"
[ess]
type = "bifrost"
[ess_helium3]
geometry = { nx = 300, ny = 3 }
pixels = 100
tubes = [{ interval = [0.0, 0.32] }, { interval = [0.34, 0.66], y = 1 }, { interval = [0.68, 1.0], y = 2 }]
wiring = [{ ring = 1, groups = [{ count = 3, x = 100 }] }]
"#;

/// Two bundles of seven straws.
const STRAWS: &str = r#"
name = "straws"
[ess]
type = "loki"
[ess_helium3]
geometry = { nx = 256, ny = 14 }
charges = "four"
pixels = 256
tubes = [
    { interval = [0.0, 0.142] }, { interval = [0.144, 0.285], y = 1 }, { interval = [0.287, 0.428], y = 2 },
    { interval = [0.43, 0.571], y = 3 }, { interval = [0.573, 0.714], y = 4 }, { interval = [0.716, 0.857], y = 5 },
    { interval = [0.859, 1.0], y = 6 },
]
wiring = [{ ring = 0, groups = [{ count = 2, y = 7 }] }]
"#;

fn config(text: &str, more: &str) -> Config {
    Config::parse(Path::new("tubes.toml"), &format!("{text}{more}"), &[])
        .unwrap_or_else(|error| panic!("{error}"))
}

fn settings(config: &Config) -> &Helium3Settings {
    config.detector.tubes().expect("tubes")
}

/// Packets of neutrons behind a mask.
struct Packets(Vec<Vec<u8>>);

impl PacketSource for Packets {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, evforge_core::packet_source::SourceError> {
        while let Some(packet) = self.0.last() {
            if !slab.push(packet, packet.len(), Default::default()) {
                return Ok(Fill::More);
            }
            self.0.pop();
        }
        Ok(Fill::End)
    }

    fn path(&self) -> &Path {
        Path::new("in memory")
    }

    fn packets(&self) -> u64 {
        0
    }

    fn position(&self) -> u64 {
        0
    }

    fn total_bytes(&self) -> Option<u64> {
        None
    }

    fn stage(&self) -> &'static str {
        "in memory"
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::default()
    }
}

/// What tubes that are in truth calibrated like this send.
fn behind_a_mask(truth: &Config, seed: u64) -> Box<dyn PacketSource> {
    let settings = settings(truth);
    let groups = settings.expand().unwrap();
    let physics = Helium3Physics::default();
    let model = Helium3Model::new(settings, &groups, physics);
    let mut readout = Helium3Readout::new(settings, &groups, physics, PulseTrain::ess());
    let mut random = stream(seed, Stream::Channels);
    let channels = Channels::new(model.electronics(), model.layout().channel_count(), 0.0, &mut random);
    let rows = model.geometry().ny();
    let columns = model.geometry().nx() / u32::from(settings.pixels);
    let mut packets = Vec::new();
    for pass in 0..NEUTRONS as u64 {
        let mut charges: Vec<Charge> = Vec::new();
        let mut time_ps = 0;
        for slit in SLITS {
            for (column, row) in (0..columns).flat_map(|column| (0..rows).map(move |row| (column, row))) {
                // A slit that is a pixel wide; half a pixel is added because pixels are rounded to the nearest.
                let along = slit * (f64::from(settings.pixels) - 1.0) + 0.5 + random.random_range(-0.5..0.5);
                let x = f64::from(column * u32::from(settings.pixels)) + along;
                time_ps += 3_000_000;
                let strike = Strike { time_ps, x, y: f64::from(row) + 0.5, panel: 0, wavelength: 1.0 };
                model.add_neutron(&strike, &mut random, &mut charges).unwrap();
            }
        }
        let hits = channels.digitise(&mut charges, &mut random);
        let number = 100 + pass;
        let start_ns = PulseTrain::ess().start_ns(number).unwrap();
        readout.pulse(&Pulse { number, start_ns, end_ns: start_ns + 71_428_571 }, &hits, &mut packets);
    }
    packets.reverse();
    Box::new(Packets(packets.into_iter().map(|packet| packet.bytes.to_vec()).collect()))
}

/// Calibrations of the triplets, whose ends are elsewhere than the configuration says.
const ENDS: [[[f64; 2]; 3]; 3] = [
    [[0.015, 0.31], [0.355, 0.645], [0.692, 0.985]],
    [[0.01, 0.325], [0.35, 0.65], [0.69, 0.985]],
    [[0.015, 0.31], [0.655, 0.345], [0.69, 0.985]],
];

fn ends_as_text(order: [usize; 3]) -> String {
    let entry = |(group, of): (usize, usize)| {
        format!(
            "[[ess_helium3.calibration]]\ngroup = {group}\nintervals = {:?}\npolynomials = {:?}\n",
            ENDS[of], [[0.0; 4]; 3]
        )
    };
    order.into_iter().enumerate().map(entry).collect()
}

#[test]
fn ends_of_tubes_and_gains_are_recovered_within_their_errors() {
    let truth = config(TRIPLETS, &ends_as_text([0, 1, 2]));
    // The second tube of the third group is read from its other end: the calibration before must say that.
    let before = config(
        TRIPLETS,
        "[[ess_helium3.calibration]]\ngroup = 2\nintervals = [[0.0, 0.32], [0.66, 0.34], [0.68, 1.0]]\npolynomials = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]\n",
    );
    let found = calibrate(&before, behind_a_mask(&truth, 1), &SLITS).unwrap();
    let (mut squares, mut count) = (0.0, 0.0);
    for (measured, expected) in found.groups.iter().zip(ENDS) {
        for (tube, expected) in measured.tubes.as_ref().expect("all slits").iter().zip(expected) {
            for ((end, error), expected) in tube.interval.iter().zip(tube.errors).zip(expected) {
                squares += ((end - expected) / error).powi(2);
                count += 1.0;
                assert!(error < 0.0003, "{tube:?}");
                assert!((end - expected).abs() < 5.0 * error, "{end} +- {error} for {expected}");
            }
        }
    }
    // 18 ends: their mean squared deviation lies within this range for 999 of 1000 seeds, and for less if errors are too large or too small.
    let mean = squares / count;
    assert!((0.2..3.0).contains(&mean), "{mean}");
    assert!(found.swapped.is_empty());
    let gains = Helium3Model::gains(3, Helium3Physics::default().gain_spread);
    let mean_gain = gains.iter().sum::<f64>() / 3.0;
    for (measured, gain) in found.groups.iter().zip(gains) {
        let (found, error) = measured.gain.unwrap();
        assert!((found - gain / mean_gain).abs() < 6.0 * error, "{found} +- {error} for {gain}");
    }
    // What was found is a configuration and a file of the instrument.
    let after = config(TRIPLETS, &found.toml("ess_helium3"));
    let again = calibrate(&after, behind_a_mask(&truth, 2), &SLITS).unwrap();
    for tube in again.groups.iter().flat_map(|group| group.tubes.as_ref().unwrap()) {
        assert!(tube.residuals[1] < 0.35, "a slit is {} pixels off", tube.residuals[1]);
    }
    let mut by_file = settings(&config(TRIPLETS, "")).clone();
    let file = evforge_detect::helium3::as_json("bifrost", "2026-01-01", "a test", &found.calibration());
    by_file.take_calibration(&file).unwrap();
    assert_eq!(by_file.calibration, settings(&after).calibration);
}

#[test]
fn corrections_along_straws_are_recovered() {
    let polynomials = [[0.004, -0.01, 0.02, -0.012]; 7];
    let intervals: Vec<[f64; 2]> =
        (0..7).map(|straw| [f64::from(straw) / 7.0 + 0.002, f64::from(straw + 1) / 7.0 - 0.002]).collect();
    let entry = format!(
        "[[ess_helium3.calibration]]\ngroup = 1\nintervals = {intervals:?}\npolynomials = {polynomials:?}\n"
    );
    let truth = config(STRAWS, &entry);
    let before = config(STRAWS, "");
    let found = calibrate(&before, behind_a_mask(&truth, 3), &SLITS).unwrap();
    let after = config(STRAWS, &found.toml("ess_helium3"));
    let again = calibrate(&after, behind_a_mask(&truth, 4), &SLITS).unwrap();
    let off: Vec<f64> =
        found.groups[1].tubes.as_ref().unwrap().iter().map(|tube| tube.residuals[1]).collect();
    assert!(off.iter().all(|pixels| *pixels > 0.5), "what was wrong before is seen: {off:?}");
    for tube in again.groups.iter().flat_map(|group| group.tubes.as_ref().expect("all slits")) {
        assert!(tube.residuals[1] < 0.4, "a slit is {} pixels off", tube.residuals[1]);
    }
}

#[test]
fn tubes_that_have_changed_places_and_slits_that_are_missing_are_named() {
    let truth = config(TRIPLETS, &ends_as_text([0, 1, 2]));
    let exchanged = config(TRIPLETS, &ends_as_text([1, 0, 2]));
    let found = calibrate(&exchanged, behind_a_mask(&truth, 5), &SLITS).unwrap();
    assert_eq!(found.swapped, [(0, 1)]);
    let text = found.text();
    assert!(
        text.contains("group 0 of ring 1, FEN 0 and group 1 of ring 1, FEN 0 have changed places"),
        "{text}"
    );

    // A slit that is nowhere: what is there stays as configured, and it is said.
    let slits = [0.06, 0.13, 0.2, 0.35, 0.5, 0.65, 0.8, 0.94];
    let found = calibrate(&truth, behind_a_mask(&truth, 6), &slits).unwrap();
    assert!(found.groups.iter().all(|group| group.tubes.is_none()));
    assert!(found.text().contains("3 slits are missing: as configured"), "{}", found.text());
    assert_eq!(found.calibration()[0].intervals, ENDS[0]);

    for (slits, expected) in
        [(vec![0.1, 0.5], "expected at least 3 numbers"), (vec![0.5, 0.1, 0.9], "in order")]
    {
        let error = calibrate(&truth, Box::new(Packets(Vec::new())), &slits).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

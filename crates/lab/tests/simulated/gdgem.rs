//! Simulated Gd-GEMs through the configured pipelines: what becomes of neutrons that are known.

use evforge_config::Config;
use evforge_lab::simulation::form_simulation;
use evforge_sim::score::{Score, ScoreSettings, score};
use std::path::Path;

/// An event is a neutron's own if it lies on its track, which has up to 20 strips.
const ON_THE_TRACK: ScoreSettings = ScoreSettings {
    largest_time_ns: 1000,
    largest_distance: [20.0; 3],
    time_offset_ns: 0,
    rate_window_ns: 1_000_000,
};

fn scored(file: &str, overrides: &[&str], pulses: usize) -> Score {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(file);
    let overrides: Vec<String> = overrides.iter().map(|of| (*of).into()).collect();
    let config = Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let formed = form_simulation(&config, pulses).expect("a detector that can be simulated");
    let events: Vec<_> = formed.events.events().collect();
    score(&formed.detector.geometry(), &formed.truth, &events, &ON_THE_TRACK).expect("pixels fit")
}

/// What there is where there are events.
fn known<T>(value: Option<T>) -> T {
    value.expect("there are events")
}

/// `rate` neutrons in a second, some four times as many at the height of a pulse.
fn at_a_low_rate(file: &str, rate: usize) {
    let score = scored(file, &[&format!("simulation.beam.neutrons={rate}Hz")], 14 * 8000 / rate);
    assert!(score.all.neutrons > 7000 && known(score.not_resolvable_share) < 0.01);
    let found = &score.resolvable;
    assert!(known(found.efficiency) >= 0.995, "{:?}", found.efficiency);
    assert!(known(score.ghost_share) < 0.001 && known(score.split_share) < 0.001, "{:?}", score.events);
    for axis in &found.position[..2] {
        let axis = known(axis.as_ref());
        assert!(known(axis.mean).abs() < 0.25 && known(axis.rms) < 1.6, "{:?}, {:?}", axis.mean, axis.rms);
    }
    let time = &found.time_ns;
    assert!(known(time.mean).abs() < 10.0 && known(time.rms) < 25.0, "{:?}, {:?}", time.mean, time.rms);
}

#[test]
fn srs_cards_nearly_every_neutron_is_found_and_nothing_else() {
    at_a_low_rate("gdgem-srs.toml", 2000);
}

#[test]
fn four_panels_on_srs_cards_nearly_every_neutron_is_found_and_nothing_else() {
    at_a_low_rate("gdgem-nmx.toml", 8000);
}

#[test]
fn todays_readout_nearly_every_neutron_is_found_and_nothing_else() {
    // Clusters within 500 ns of one another are one event there, wherever in a sector they are.
    at_a_low_rate("nmx.toml", 1000);
}

#[test]
fn the_readouts_of_2018_and_triggered_cards_find_the_same() {
    let of_2018 = |readout: &'static str| {
        [
            readout,
            "gdgem.time.bunch_crossing=50ns",
            "gdgem.time.marker_tick=25ns",
            "gdgem.time.trigger_tick=3.125ns",
        ]
    };
    let mapping = "gdgem.mapping=[{fec=1,vmm=0,plane='x',strip_offset=0},{fec=1,vmm=1,plane='x',strip_offset=64},\
                   {fec=1,vmm=2,plane='y',strip_offset=0},{fec=1,vmm=3,plane='y',strip_offset=64}]";
    let convention = "gdgem.time.convention='trigger-period-2018'";
    for overrides in [
        vec!["gdgem.readout='vmm3a-triggered'"],
        [&of_2018("gdgem.readout='vmm2'")[..], &[convention, mapping]].concat(),
        [&of_2018("gdgem.readout='vmm3-2018'")[..], &[convention]].concat(),
    ] {
        let score =
            scored("gdgem-srs.toml", &[&overrides[..], &["simulation.beam.neutrons=2kHz"]].concat(), 14);
        let found = &score.resolvable;
        assert!(known(found.efficiency) >= 0.995, "{overrides:?}: {:?}", found.efficiency);
        assert!(known(found.time_ns.rms) < 25.0, "{overrides:?}: {:?}", found.time_ns.rms);
    }
}

/// What a reconstruction that is wrong costs.
#[test]
fn wrong_parameters_show() {
    let efficiency = |overrides: &[&str]| {
        let all = [&["simulation.beam.neutrons=2kHz"], overrides].concat();
        known(scored("gdgem-srs.toml", &all, 14).all.efficiency)
    };
    let right = efficiency(&[]);
    for wrong in [
        "gdgem.clustering.x.max_time_gap=10ns",
        "gdgem.clustering.x.min_hits=7",
        "gdgem.matching.max_difference=5ns",
    ] {
        let found = efficiency(&[wrong]);
        assert!(found < 0.95 * right, "{wrong}: {found} and not {right}");
    }
}

//! Simulated Multi-Grids through the configured pipelines: what becomes of neutrons that are known.

use evforge_config::Config;
use evforge_core::event::Event;
use evforge_lab::simulation::form_simulation;
use evforge_sim::score::{Score, ScoreSettings, score};
use std::path::Path;

/// The score of a shipped configuration with changes, over so many pulses.
fn scored(configuration: &str, changes: &[String], pulses: usize) -> Score {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(configuration);
    let config = Config::read(&path, changes).expect("a sound configuration");
    let formed = form_simulation(&config, pulses).expect("a detector that can be simulated");
    let events: Vec<Event> = formed.events.events().collect();
    let settings = ScoreSettings { largest_time_ns: 300, ..ScoreSettings::default() };
    let score = score(&formed.detector.geometry(), &formed.truth, &events, &settings)
        .expect("events of the detector");
    let resolvable = &score.resolvable;
    let rms = resolvable.position.each_ref().map(|of| of.as_ref().and_then(|residual| residual.rms));
    println!(
        "{configuration} {changes:?}: {} neutrons, not resolvable {:?}, efficiency {:?}, in wrong pixel {:?}, ghosts \
         {:?}, rms {rms:?}, time {:?} ± {:?} ns",
        score.all.neutrons,
        score.not_resolvable_share,
        resolvable.efficiency,
        resolvable.in_wrong_pixel_share,
        score.ghost_share,
        resolvable.time_ns.mean,
        resolvable.time_ns.rms,
    );
    score
}

/// Configurations, each with its low rate: few enough neutrons that hardly any two of them get in each other's way.
const LOW_RATES: [(&str, &str, usize); 4] = [
    ("multigrid.toml", "500Hz", 1000),
    ("multigrid-cncs.toml", "500Hz", 1000),
    ("trex.toml", "100kHz", 14),
    ("let.toml", "5kHz", 100),
];

#[test]
fn nearly_every_neutron_is_found_and_hardly_anything_else() {
    for (configuration, rate, pulses) in LOW_RATES {
        let score = scored(configuration, &[format!("simulation.beam.neutrons={rate}")], pulses);
        let resolvable = &score.resolvable;
        assert!(score.all.neutrons > 4000 && score.not_resolvable_share.unwrap() < 0.05, "{configuration}");
        assert!(resolvable.efficiency.unwrap() > 0.995, "{configuration}");
        assert!(score.ghost_share.unwrap() < 0.001, "{configuration}");
        // Wires are right, and so are grids where most of the charge is on the grid of the conversion. Neutrons convert
        // at the front and at the rear of a layer, half a layer from its middle.
        let mut rms = resolvable.position.each_ref().map(|of| of.as_ref().unwrap().rms.unwrap());
        if configuration == "multigrid-cncs.toml" {
            // Layers are the first coordinate of its pixels.
            rms.swap(0, 2);
        }
        assert!(rms[0] < 0.30 && rms[1] < 0.32 && rms[2] < 0.50, "{configuration}: {rms:?}");
        assert!(resolvable.in_wrong_pixel_share.unwrap() < 0.06, "{configuration}");
        // A tick of the VMMR modules is 62.5 ns.
        assert!(resolvable.time_ns.rms.unwrap() < 60.0, "{configuration}");
    }
}

#[test]
fn wrong_parameters_worsen_the_score() {
    let of = |configuration, change: &str| {
        scored(configuration, &["simulation.beam.neutrons=2kHz".into(), change.into()], 70)
    };
    let in_wrong_pixel = |score: &Score| score.resolvable.in_wrong_pixel_share.unwrap();
    // Charge on neighbouring grids pulls a mean that is rounded down.
    let [largest, mean] = ["detector.strategy=maximum", "detector.strategy=center-mass"]
        .map(|strategy| in_wrong_pixel(&of("multigrid.toml", strategy)));
    assert!(mean > largest + 0.01, "{mean} and {largest}");
    // Neutrons on two grids are thrown away.
    let [right, narrow] = ["detector.max_grid_span=3", "detector.max_grid_span=1"]
        .map(|span| of("let.toml", span).resolvable.efficiency.unwrap());
    assert!(narrow < right - 0.05, "{narrow} and {right}");
    // Charge on two grids looks like that on one.
    let [low, high] =
        ["detector.min_adc=20", "detector.min_adc=100"].map(|least| of("let.toml", least).all.neutrons);
    assert!(high < low * 9 / 10, "{high} and {low}");
}

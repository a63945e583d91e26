//! A simulated Multi-Blade through the configured pipeline, in each of its readouts: what becomes of neutrons that are
//! known.

use evforge_config::Config;
use evforge_lab::simulation::form_simulation;
use evforge_sim::score::{Score, ScoreSettings, run_table, score};
use std::path::Path;

fn simulate(config: &str, changes: &[&str], pulses: usize) -> Score {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(config);
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    let config = Config::read(&path, &changes).expect("a shipped configuration");
    let formed = form_simulation(&config, pulses).expect("it can be simulated");
    let events: Vec<_> = formed.events.events().collect();
    let score = score(&formed.detector.geometry(), &formed.truth, &events, &ScoreSettings::default())
        .expect("pixels of the detector");
    println!("{} {changes:?}\n{}", config.name, run_table([("", &score)]));
    score
}

/// What is demanded at a low rate. Neutrons that always get their pixel have a residual of 0.29 pixels; that of the
/// middle of tracks of up to 1.9 pitches beside where they begin is 0.2.
fn demand(score: &Score) {
    let resolvable = &score.resolvable;
    assert!(resolvable.neutrons > 10_000 && score.not_resolvable_share < Some(0.05), "{score:?}");
    assert!(resolvable.efficiency >= Some(0.995) && score.ghost_share < Some(0.001), "{score:?}");
    let spread = |axis: usize| resolvable.position[axis].as_ref().and_then(|residual| residual.rms);
    assert!(spread(0) < Some(0.4) && spread(1) < Some(0.4), "{score:?}");
    assert!(resolvable.time_ns.rms <= Some(100.0), "{score:?}");
}

#[test]
fn the_prototype() {
    // Windows are 3 us long: at higher rates neutrons run into one another that could be told apart.
    let rate = "simulation.beam.neutrons=500Hz";
    demand(&simulate("multiblade.toml", &[rate], 378));
    for format in ["jadaq-2018-06", "jadaq-1.3"] {
        let format = format!("multiblade.readout={format}");
        let changes = [rate, &format, "multiblade.time_base=global-time"];
        demand(&simulate("multiblade.toml", &changes, 378));
    }
}

#[test]
fn fifty_cassettes() {
    demand(&simulate("multiblade-50.toml", &["simulation.beam.neutrons=5kHz"], 70));
}

#[test]
fn todays_readout() {
    for config in ["freia.toml", "estia.toml", "amor-ess.toml", "tblmb.toml"] {
        demand(&simulate(config, &["simulation.beam.neutrons=50kHz"], 7));
    }
}

/// Of the neutrons that could be found at the low rate, so many are lost, and events that are none appear, where a
/// parameter is set in the wrong direction.
#[test]
fn wrong_parameters_are_seen() {
    let rate = "simulation.beam.neutrons=3kHz";
    let of = |change: &str| simulate("multiblade.toml", &[rate, change], 28);
    let efficiency = |change: &str| of(change).resolvable.efficiency.unwrap();
    let right = efficiency("multiblade.window.ticks=185");
    assert!(right > 0.985, "{right}");
    // Late strips are cut off, and some make a neutron of their own with a late wire.
    let short = of("multiblade.window.ticks=30");
    assert!(short.events.split > 50 && short.resolvable.efficiency < Some(0.95), "{short:?}");
    for (change, most) in [
        ("multiblade.window.max_amplitude_ratio=2.0", 0.9),
        ("multiblade.window.max_wires=1", 0.8),
        ("multiblade.window.max_strips=2", 0.6),
    ] {
        let found = efficiency(change);
        assert!(found < most, "{change}: {found}");
    }
    let pairs = ["multiblade.window.max_amplitude_ratio=4.0", "multiblade.window.separate=true"];
    let separated = simulate("multiblade.toml", &[rate, pairs[0], pairs[1]], 280);
    assert!(separated.ghost_share > Some(0.001), "{separated:?}");
}

/// Today's readout, if windows are one neutron each: gaps that are too long join neutrons, too short ones cut them.
#[test]
fn wrong_gaps_are_seen() {
    let rate = "simulation.beam.neutrons=200kHz";
    let of = |gap: &str| {
        let gap = format!("ess_multiblade.window.max_time_gap={gap}");
        simulate("amor-ess.toml", &[rate, &gap, "ess_multiblade.pairing.ambiguous=join"], 7)
    };
    let (short, right, long) = (of("5ns"), of("60ns"), of("20us"));
    assert!(right.resolvable.efficiency > Some(0.99), "{right:?}");
    assert!(short.resolvable.efficiency < Some(0.99), "{short:?}");
    assert!(long.all.efficiency < right.all.efficiency.map(|right| right - 0.2), "{long:?}");
}

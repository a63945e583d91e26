//! What can be told apart is fixed by the detector and its electronics: gaps and windows of a configuration, which are the
//! reconstruction's, do not change it.

use evforge_config::Config;
use evforge_lab::simulation::{settings, simulation_with};
use evforge_sim::truth::Neutron;
use std::path::Path;

/// The truth of a pulse at a rate at which neutrons get into each other's way.
fn truth(name: &str, rate: &str, overrides: &[&str]) -> Vec<Neutron> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let config = Config::read(&path, &overrides).expect("a shipped configuration");
    let mut settings = settings(&config).expect("settings of a simulation");
    settings.beam.neutrons = rate.parse().expect("a rate");
    let mut simulation = simulation_with(&config, &settings).expect("a detector that is simulated");
    simulation.next_pulse().truth
}

#[test]
fn gaps_and_windows_of_a_configuration_do_not_change_what_is_resolvable() {
    for (name, rate, overrides) in [
        (
            "nmx",
            "500kHz",
            &["ess_gdgem.clustering.x.max_time_gap=20ns", "ess_gdgem.clustering.x.max_strip_gap=7"][..],
        ),
        ("nmx", "500kHz", &["ess_gdgem.clustering.y.min_hits=6", "ess_gdgem.matching.max_difference=2us"]),
        ("gdgem-srs", "300kHz", &["gdgem.clustering.x.max_time_gap=1us"]),
        ("freia", "2MHz", &["ess_multiblade.window.max_time_gap=60ns"]),
        ("freia", "2MHz", &["ess_multiblade.window.max_gap_wires=3", "ess_multiblade.window.max_wires=9"]),
        ("multiblade", "500kHz", &["multiblade.window.ticks=600"]),
        ("trex", "2MHz", &["ess_multigrid.gap=50ns"]),
    ] {
        let shipped = truth(name, rate, &[]);
        let resolvable = shipped.iter().filter(|neutron| neutron.resolvable).count();
        assert!(resolvable > 1000 && resolvable < shipped.len(), "{name}: {resolvable} of {}", shipped.len());
        assert_eq!(truth(name, rate, overrides), shipped, "{name} {overrides:?}");
    }
}

/// What the electronics do changes it.
#[test]
fn a_longer_dead_time_leaves_less_to_be_told_apart() {
    let resolvable = |overrides: &[&str]| {
        truth("freia", "10MHz", overrides).iter().filter(|neutron| neutron.resolvable).count()
    };
    let (shipped, long) = (resolvable(&[]), resolvable(&["simulation.electronics.dead_time=5us"]));
    assert!(long < shipped * 9 / 10, "{long} of {shipped}");
}

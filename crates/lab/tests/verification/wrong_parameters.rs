//! A parameter of the reconstruction that is changed in the wrong direction worsens the score, for each detector.
//!
//! The simulated detector keeps the shipped configuration; events are formed by another one that differs in one place.

use evforge_config::Config;
use evforge_lab::accuracy::accuracy_by;
use evforge_sim::score::{Score, ScoreSettings};
use std::path::Path;

/// What gets worse.
#[derive(Clone, Copy, Debug)]
enum Figure {
    /// Fewer neutrons are found.
    Lost,
    /// More events are ghosts.
    Ghosts,
    /// More events are further ones of the same neutron.
    Split,
    /// Events lie further from their neutrons, in pixels, along columns, rows or layers.
    Position(usize),
}

impl Figure {
    /// Larger is worse.
    fn of(self, score: &Score) -> f64 {
        let known = |value: Option<f64>| value.expect("there are neutrons and events");
        match self {
            Self::Lost => 1.0 - known(score.resolvable.efficiency),
            Self::Ghosts => known(score.ghost_share),
            Self::Split => known(score.split_share),
            Self::Position(axis) => {
                known(score.all.position[axis].as_ref().and_then(|residual| residual.rms))
            }
        }
    }

    /// By how much it has to get worse to be visible beside the noise of a few thousand neutrons.
    fn margin(self) -> f64 {
        match self {
            Self::Lost | Self::Ghosts | Self::Split => 0.01,
            Self::Position(_) => 0.1,
        }
    }
}

/// A detector, and what it is scored with.
struct Scored {
    name: &'static str,
    rate: &'static str,
    distance: f64,
}

impl Scored {
    fn config(&self, change: impl Fn(String) -> String, overrides: &[&str]) -> Config {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{}.toml", self.name));
        let text = std::fs::read_to_string(&path).expect("a shipped configuration");
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        Config::parse(&path, &change(text), &overrides)
            .unwrap_or_else(|error| panic!("{overrides:?}: {error}"))
    }

    fn score(&self, config: &Config) -> Score {
        let right = self.config(|text| text, &[]);
        let limits = ScoreSettings { largest_distance: [self.distance; 3], ..ScoreSettings::default() };
        let rate = self.rate.parse().expect("a frequency");
        accuracy_by(&right, config, rate, 4000, &limits).unwrap_or_else(|error| panic!("{error}")).score
    }

    /// Scores each wrong configuration against the right one.
    fn worsens(&self, wrong: &[(Config, &str, Figure)]) {
        let right = self.score(&self.config(|text| text, &[]));
        for (config, what, figure) in wrong {
            let (good, bad) = (figure.of(&right), figure.of(&self.score(config)));
            println!("{} with {what}: {figure:?} {good:.4}, now {bad:.4}", self.name);
            assert!(bad > good + figure.margin(), "{} with {what}: {figure:?} {good} and {bad}", self.name);
        }
    }

    /// Scores the configuration with one key overridden at a time.
    fn worsens_with(&self, overrides: &[(&str, Figure)]) {
        let wrong = overrides.iter().map(|(key, figure)| (self.config(|text| text, &[key]), *key, *figure));
        self.worsens(&wrong.collect::<Vec<_>>());
    }
}

use Figure::{Ghosts, Lost, Position, Split};

#[test]
fn sonde() {
    let sonde = Scored { name: "sonde", rate: "20kHz", distance: 1.0 };
    // Modules in each other's places.
    let swapped =
        "sonde.modules=[{system=1,x=0,y=0},{system=0,x=8,y=0},{system=2,x=0,y=8},{system=3,x=8,y=8}]";
    sonde.worsens_with(&[(swapped, Lost), (swapped, Ghosts)]);
    // Modules that nobody waits for: boards keep triggers for up to 200 us.
    let impatient = "sonde.sorting={window='20us',forward_jump='1s',restart='1s',source_lag='20us',max_held_hits=1048576}";
    Scored { rate: "2MHz", ..sonde }.worsens_with(&[(impatient, Lost)]);
}

#[test]
fn multi_grid() {
    let multi_grid = Scored { name: "multigrid", rate: "1kHz", distance: 3.0 };
    let swapped = multi_grid.config(|text| text.replace("swap_wires = true", "swap_wires = false"), &[]);
    let too_high = multi_grid.config(
        |text| text.replace("max_z = 20\n", "max_z = 20\nwire_filters = { blanket = { min = 2000 } }\n"),
        &[],
    );
    multi_grid.worsens(&[
        (swapped, "wires in each other's places", Position(2)),
        (too_high, "a threshold that is too high", Lost),
    ]);
    multi_grid.worsens_with(&[("multigrid.tick=62.4ns", Lost)]);
}

#[test]
fn multi_grid_with_todays_readout() {
    let trex = Scored { name: "trex", rate: "10MHz", distance: 3.0 };
    trex.worsens_with(&[
        ("ess_multigrid.gap=20ns", Lost),
        ("ess_multigrid.pairing.ambiguous=join", Lost),
        ("ess_multigrid.pairing.max_difference=5ns", Lost),
        ("ess_multigrid.max_grid_span=1", Lost),
        ("ess_multigrid.min_adc=600", Lost),
    ]);
}

#[test]
fn multi_blade() {
    let multi_blade = Scored { name: "multiblade", rate: "10kHz", distance: 3.0 };
    multi_blade.worsens_with(&[
        ("multiblade.window.ticks=20", Split),
        ("multiblade.window.ticks=2000", Lost),
        ("multiblade.window.max_amplitude_ratio=1.1", Lost),
    ]);
}

#[test]
fn multi_blade_with_todays_readout() {
    let freia = Scored { name: "freia", rate: "100kHz", distance: 3.0 };
    freia.worsens_with(&[
        ("ess_multiblade.window.max_time_gap=10ns", Lost),
        ("ess_multiblade.window.max_wires=1", Lost),
    ]);
    // Where windows have several neutrons.
    let freia = Scored { name: "freia", rate: "5MHz", distance: 3.0 };
    freia.worsens_with(&[
        ("ess_multiblade.pairing.ambiguous=join", Lost),
        ("ess_multiblade.pairing.max_cluster_gap=5ns", Lost),
        ("ess_multiblade.pairing.max_cluster_gap=10us", Lost),
        ("ess_multiblade.pairing.max_difference=5ns", Lost),
        ("ess_multiblade.pairing.max_amplitude_ratio=1.1", Lost),
        ("ess_multiblade.pairing.typical_amplitude_ratio=0.1", Lost),
    ]);
}

#[test]
fn gd_gem() {
    let gd_gem = Scored { name: "gdgem-srs", rate: "2kHz", distance: 20.0 };
    gd_gem.worsens_with(&[
        ("gdgem.clustering.x.max_time_gap=10ns", Lost),
        ("gdgem.clustering.x.min_hits=7", Lost),
        ("gdgem.matching.max_difference=5ns", Lost),
    ]);
}

#[test]
fn gd_gem_with_todays_readout() {
    let nmx = Scored { name: "nmx", rate: "4kHz", distance: 20.0 };
    nmx.worsens_with(&[
        ("ess_gdgem.matching.max_difference=10ns", Lost),
        ("ess_gdgem.clustering.x.min_hits=7", Lost),
        ("ess_gdgem.position.spans={max_x=4,min_x=1,max_y=4,min_y=1,max_time='500ns'}", Lost),
    ]);
}

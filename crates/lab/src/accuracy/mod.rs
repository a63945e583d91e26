//! How right the events of a configured detector are: simulated with known truth, formed in memory, and scored.

mod document;
pub mod instruments;
mod plan;

pub use document::Document;

use crate::simulation::{form_simulated, settings, simulation_with};
use plan::Plan;

use evforge_config::Config;
use evforge_core::counter::Role;
use evforge_core::quantity::Frequency;
use evforge_sim::beam::parts::Parts;
use evforge_sim::score::{Score, ScoreSettings, ids_to_pixels, score};
use evforge_sim::simulation::SimulationError;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What was found at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct AccuracyRun {
    /// Neutrons per second that reached the detector, on average over all time.
    pub rate: Frequency,
    /// Pulses that were simulated.
    pub pulses: u64,
    /// The parts of them that were, if a whole one has too many neutrons.
    pub parts: Option<Parts>,
    /// Hits that the electronics have digitised.
    pub readouts: u64,
    /// What the detector has discarded, by the names of the counters; what was not is not in it.
    pub discarded: Vec<(&'static str, u64)>,
    /// Times that the detector closed time early for want of room: an alarm.
    pub forced_closings: u64,
    /// How right the events are.
    pub score: Score,
}

impl AccuracyRun {
    /// The rate in hertz.
    pub fn hertz(&self) -> f64 {
        self.rate.millihertz as f64 / 1000.0
    }

    /// What is wrong if time was closed early, in words.
    pub fn forced_closings_problem(&self) -> Option<String> {
        let times = self.forced_closings;
        (times > 0).then(|| {
            format!(
                "time was closed early for want of room {times} times (forced_closings): there must be room"
            )
        })
    }

    /// Everything that was found, with histograms.
    pub fn to_json(&self) -> Value {
        json!({
            "neutrons_per_second": self.hertz(),
            "pulses": self.pulses,
            "parts_of_a_pulse": self.parts.map(|parts| json!({
                "count": parts.count,
                "nanoseconds": parts.length_ps / 1000,
            })),
            "readouts": self.readouts,
            "forced_closings": self.forced_closings,
            "discarded": self.discarded.iter().copied().collect::<BTreeMap<_, _>>(),
            "score": self.score,
        })
    }
}

/// Simulates about `neutrons` neutrons at a rate, at least one pulse or, where a pulse has millions, parts that are spread
/// evenly over it, forms their events by the configured detector, and
/// scores them. The same configuration gives the same run.
///
/// # Errors
/// If the detector cannot be simulated or fails, packets, readouts or hits are unaccounted for, or the limits make no
/// sense.
pub fn accuracy(
    config: &Config,
    rate: Frequency,
    neutrons: u64,
    limits: &ScoreSettings,
) -> Result<AccuracyRun, SimulationError> {
    accuracy_by(config, config, rate, neutrons, limits)
}

/// As [`accuracy`], but events are formed as another configuration says than the simulated one: what a wrong parameter
/// costs.
///
/// # Errors
/// As [`accuracy`].
pub fn accuracy_by(
    simulated: &Config,
    config: &Config,
    rate: Frequency,
    neutrons: u64,
    limits: &ScoreSettings,
) -> Result<AccuracyRun, SimulationError> {
    let mut settings = settings(simulated).map_err(|error| SimulationError(error.to_string()))?;
    settings.beam.neutrons = rate;
    let Plan { pulses, parts } = Plan::new(simulated, rate, neutrons);
    let simulation = simulation_with(simulated, &settings)?.in_parts(parts);
    let formed = form_simulated(simulation, config, usize::try_from(pulses).unwrap_or(usize::MAX))?;
    if let Some(failure) = formed.detector.failure() {
        return Err(SimulationError(failure.to_owned()));
    }
    let ledger = formed.detector.ledger();
    let unaccounted = ledger.unaccounted();
    if unaccounted != 0 {
        return Err(SimulationError(format!("{unaccounted} packets, readouts or hits are unaccounted for")));
    }
    let mut events: Vec<_> = formed.events.events().collect();
    let mut truth = formed.truth;
    if let Some(ids) = formed.detector.pixel_ids() {
        ids_to_pixels(&ids, &mut truth, &mut events);
    }
    let limits = ScoreSettings {
        rate_window_ns: parts.map_or(limits.rate_window_ns, |parts| plan::rate_window_ns(&parts)),
        ..*limits
    };
    let score = score(&formed.detector.geometry(), &truth, &events, &limits)
        .map_err(|error| SimulationError(error.to_string()))?;
    let discarded = ledger
        .counters
        .iter()
        .filter(|(info, count)| matches!(info.role, Role::Discarded(_)) && *count > 0)
        .map(|(info, count)| (info.name, count))
        .collect();
    let forced_closings = ledger.counters.value("forced_closings").unwrap_or(0);
    Ok(AccuracyRun { rate, pulses, parts, readouts: formed.readouts, discarded, forced_closings, score })
}

/// Everything that was found by simulations of this seed, with histograms.
pub fn json_of(configuration: &str, seed: u64, runs: &[AccuracyRun]) -> Value {
    let runs: Vec<Value> = runs.iter().map(AccuracyRun::to_json).collect();
    json!({ "configuration": configuration, "seed": seed, "runs": runs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config(overrides: &[&str]) -> Config {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sonde-module.toml");
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        Config::read(&path, &overrides).expect("a shipped configuration")
    }

    fn run(config: &Config, rate: &str) -> AccuracyRun {
        let limits = ScoreSettings::default();
        accuracy(config, rate.parse().expect("a frequency"), 3000, &limits).expect("a SoNDe is simulated")
    }

    #[test]
    fn more_neutrons_in_the_same_time_are_harder_to_tell_apart() {
        let (slow, fast) = (run(&config(&[]), "1kHz"), run(&config(&[]), "3MHz"));
        assert_eq!((slow.pulses, fast.pulses), (42, 1));
        assert!((slow.score.all.neutrons as f64 - 3000.0).abs() < 300.0, "{}", slow.score.all.neutrons);
        assert!(slow.score.resolvable.efficiency > Some(0.99), "{}", slow.score);
        assert!(fast.score.not_resolvable_share > slow.score.not_resolvable_share, "{}", fast.score);
        assert!(fast.score.all.efficiency < slow.score.all.efficiency, "{}", fast.score);
        assert_eq!((run(&config(&[]), "1kHz"), slow.parts, slow.forced_closings), (slow.clone(), None, 0));
    }

    #[test]
    fn what_cannot_be_scored_is_told() {
        let limits = ScoreSettings { largest_distance: [0.0; 3], ..ScoreSettings::default() };
        let rate = "1kHz".parse().unwrap();
        let error = accuracy(&config(&[]), rate, 10, &limits).unwrap_err().to_string();
        assert!(error.contains("half a pixel"), "{error}");
        let too_many = "2000MHz".parse().unwrap();
        let error = accuracy(&config(&[]), too_many, 10, &ScoreSettings::default()).unwrap_err().to_string();
        assert!(error.contains("neutrons"), "{error}");
    }
}

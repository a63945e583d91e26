//! Runs whose events are in files, scored against the truth of their simulation.

use crate::LabError;
use crate::plots::accuracy::svg;
use crate::plots::figures::{Figures, RatePoint};
use evforge_core::detector::Detector;
use evforge_sim::score::{Score, ScoreSettings, event_file, ids_to_pixels, run_table, score};
use evforge_sim::truth;
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A run that was scored.
#[derive(Clone, Debug)]
pub struct ScoredRun {
    /// The file with its true neutrons.
    pub truth: PathBuf,
    /// The file with its events.
    pub events: PathBuf,
    /// How right they are.
    pub score: Score,
}

impl ScoredRun {
    /// Scores the events of a file, of this detector.
    ///
    /// # Errors
    /// If a file cannot be read, or both do not belong together.
    pub fn of(
        detector: &dyn Detector,
        truth_path: &Path,
        event_path: &Path,
        settings: &ScoreSettings,
    ) -> Result<Self, LabError> {
        let mut neutrons = truth::read(open(truth_path)?).map_err(|error| in_file(truth_path, &error))?;
        let mut events = event_file::read(open(event_path)?).map_err(|error| in_file(event_path, &error))?;
        if let Some(ids) = detector.pixel_ids() {
            ids_to_pixels(&ids, &mut neutrons, &mut events);
        }
        let score = score(&detector.geometry(), &neutrons, &events, settings)
            .map_err(|error| format!("{} and {}: {error}", truth_path.display(), event_path.display()))?;
        Ok(Self { truth: truth_path.to_owned(), events: event_path.to_owned(), score })
    }

    /// What the run is called: the file with its events.
    pub fn name(&self) -> String {
        self.events.display().to_string()
    }
}

fn open(path: &Path) -> Result<BufReader<File>, LabError> {
    File::open(path).map(BufReader::new).map_err(|error| in_file(path, &error))
}

fn in_file(path: &Path, error: &dyn Display) -> LabError {
    format!("{}: {error}", path.display()).into()
}

/// The score of a single run, or a table of several.
pub fn text_of(runs: &[ScoredRun]) -> String {
    let names: Vec<String> = runs.iter().map(ScoredRun::name).collect();
    match runs {
        [only] => only.score.to_string(),
        _ => run_table(names.iter().map(String::as_str).zip(runs.iter().map(|run| &run.score))),
    }
}

/// Everything that was found with the configuration of this name, with histograms.
pub fn json_of(configuration: &str, runs: &[ScoredRun]) -> Value {
    let runs: Vec<Value> = runs
        .iter()
        .map(|run| json!({ "truth": run.truth, "events": run.events, "score": run.score }))
        .collect();
    json!({ "configuration": configuration, "runs": runs })
}

/// A picture of efficiency and ghosts against the rate, within a single run or over several, with the residuals of the
/// first; none without runs.
///
/// # Errors
/// As [`svg`].
pub fn plot_of(configuration: &str, runs: &[ScoredRun]) -> Result<Option<String>, LabError> {
    let Some(first) = runs.first() else { return Ok(None) };
    let points: Vec<RatePoint> = match runs {
        [only] => only.score.against_rate.iter().map(RatePoint::of_bin).collect(),
        _ => runs
            .iter()
            .filter_map(|run| Some(RatePoint::at_rate(run.score.neutrons_per_second?, &run.score)))
            .collect(),
    };
    svg(&Figures::new(configuration, points, &first.score.resolvable)).map(Some)
}

//! `evforge score`: events against the truth.

use crate::CommandError;
use crate::output::{Ending, check_writable, write_file};
use crate::same_file::NamedFiles;
use crate::score_plot::{RatePoint, svg};
use clap::Args;
use evforge_pipeline::config::{Config, Duration};
use evforge_sim::score::{Score, ScoreSettings, event_file, run_table, score as score_events};
use evforge_sim::truth;
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Arguments of `evforge score`.
#[derive(Args)]
pub(crate) struct ScoreArguments {
    /// Configuration that truth and events were made with
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: PathBuf,
    /// The truth, as `evforge simulate --truth` writes it; several files are several runs
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    truth: Vec<PathBuf>,
    /// The events, as `evforge run --events` writes them: a file for each of --truth, in the same order
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    events: Vec<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
    /// Write everything as JSON, with histograms
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw efficiency and ghosts against the rate, and the residuals, into an SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    demands: DemandArguments,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// How far an event may lie from its neutron.
#[derive(Args)]
pub(crate) struct LimitArguments {
    /// Largest difference in time between an event and its neutron
    #[arg(long, value_name = "TIME", default_value = "1us")]
    time: Duration,
    /// Largest distance in pixels between the centre of an event's pixel and its neutron, along each axis: 3, or three
    /// for columns, rows and layers: 3,3,0.5
    #[arg(long, value_name = "PIXELS", default_value = "3", value_parser = distance)]
    distance: PerAxis,
    /// How much later than the truth events are by design; -20ns for earlier
    #[arg(long, value_name = "TIME", default_value = "0ns", allow_hyphen_values = true)]
    offset: Offset,
}

impl LimitArguments {
    /// The limits.
    pub(crate) fn settings(&self) -> ScoreSettings {
        ScoreSettings {
            largest_time_ns: self.time.picoseconds / 1000,
            largest_distance: self.distance.0,
            time_offset_ns: self.offset.0,
        }
    }
}

/// How good a score has to be.
#[derive(Args)]
pub(crate) struct DemandArguments {
    /// Fail if a smaller share of the resolvable neutrons is found: 99.5%
    #[arg(long, value_name = "SHARE")]
    min_efficiency: Option<Percent>,
    /// Fail if a larger share of the events are ghosts: 0.1%
    #[arg(long, value_name = "SHARE")]
    max_ghosts: Option<Percent>,
    /// Fail if a larger share of the neutrons is not resolvable: 5%
    #[arg(long, value_name = "SHARE")]
    max_not_resolvable: Option<Percent>,
    /// Fail if events of resolvable neutrons are spread more about the true position: 0.5, or for columns, rows and
    /// layers 0.5,0.5,1
    #[arg(long, value_name = "PIXELS", value_parser = spread)]
    max_rms: Option<PerAxis>,
    /// Fail if events of resolvable neutrons are earlier or later by more, on average, or spread more in time
    #[arg(long, value_name = "TIME")]
    max_time_residual: Option<Duration>,
}

impl DemandArguments {
    /// Whether a score is as good as demanded; says on standard error what of the run of this name is not.
    pub(crate) fn are_met_by(&self, name: &str, score: &Score) -> bool {
        let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
        let mut meets = true;
        let mut complain = |problem: String| {
            eprintln!("evforge: {name}: {problem}");
            meets = false;
        };
        match (percent(score.resolvable.efficiency), self.min_efficiency) {
            (Some(found), Some(Percent(least))) if found < least => {
                complain(format!("{found:.3} % of the resolvable neutrons were found, less than {least} %"));
            }
            (None, Some(_)) => complain("there are no resolvable neutrons, so none were found".to_owned()),
            _ => {}
        }
        for (share, most, what) in [
            (score.ghost_share, self.max_ghosts, "of the events are ghosts"),
            (score.not_resolvable_share, self.max_not_resolvable, "of the neutrons are not resolvable"),
        ] {
            match (percent(share), most) {
                (Some(found), Some(Percent(most))) if found > most => {
                    complain(format!("{found:.3} % {what}, more than {most} %"));
                }
                _ => {}
            }
        }
        let axes = score.resolvable.position.iter().zip(["x", "y", "z"]);
        for ((residual, axis), most) in axes.zip(self.max_rms.into_iter().flat_map(|of| of.0)) {
            match residual.as_ref().and_then(|residual| residual.rms) {
                Some(rms) if rms > most => {
                    complain(format!("events are spread by {rms:.3} pixels along {axis}, more than {most}"));
                }
                _ => {}
            }
        }
        let time = &score.resolvable.time_ns;
        if let Some(most) = self.max_time_residual {
            let most = most.picoseconds as f64 / 1000.0;
            for (value, what) in [(time.mean, "late, on average,"), (time.rms, "spread in time")] {
                match value {
                    Some(value) if value.abs() > most => {
                        complain(format!("events are {what} by {value:.1} ns, more than {most} ns"));
                    }
                    _ => {}
                }
            }
        }
        meets
    }
}

/// A share in percent.
#[derive(Clone, Copy, Debug)]
struct Percent(f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        number
            .filter(|number| (0.0..=100.0).contains(number))
            .map(Self)
            .ok_or_else(|| "expected a share between 0% and 100%, such as 99.5%".to_owned())
    }
}

/// Pixels along each axis.
#[derive(Clone, Copy, Debug)]
struct PerAxis([f64; 3]);

impl PerAxis {
    /// One number for all axes, or three; none if one is less than `least`, or not a number.
    fn parse(text: &str, least: f64) -> Result<Self, String> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        let numbers = numbers.unwrap_or_default();
        let are_large_enough = numbers.iter().all(|number| number.is_finite() && *number >= least);
        match numbers[..] {
            [all] if are_large_enough => Ok(Self([all; 3])),
            [x, y, z] if are_large_enough => Ok(Self([x, y, z])),
            _ => Err(format!(
                "expected one number of pixels, or three with commas between them, each at least {least}: 3 or \
                 3,3,0.5"
            )),
        }
    }
}

/// A largest distance.
fn distance(text: &str) -> Result<PerAxis, String> {
    PerAxis::parse(text, ScoreSettings::SMALLEST_DISTANCE)
}

/// A largest spread.
fn spread(text: &str) -> Result<PerAxis, String> {
    PerAxis::parse(text, 0.0)
}

/// A time with a sign, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Offset(i64);

impl FromStr for Offset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (sign, length) = text.trim().strip_prefix('-').map_or((1, text), |length| (-1, length));
        let length: Duration = length.parse().map_err(|error| format!("{error}"))?;
        // A length in picoseconds is, in nanoseconds, never too large for a number with a sign.
        Ok(Self(sign * (length.picoseconds / 1000) as i64))
    }
}

/// A run that was scored.
struct ScoredRun {
    name: String,
    truth: PathBuf,
    events: PathBuf,
    score: Score,
}

/// Runs the command. False if a score is not as good as it was demanded to be.
pub(crate) fn score(arguments: &ScoreArguments) -> Result<bool, CommandError> {
    let config = Config::read(&arguments.config, &arguments.overrides)?;
    let (truths, events) = (arguments.truth.len(), arguments.events.len());
    if truths != events {
        let problem = format!("{truths} files of truth and {events} of events: each run has one of both");
        return Err(problem.into());
    }
    NamedFiles::default()
        .input("--config", Some(&arguments.config))
        .input("--truth", &arguments.truth)
        .input("--events", &arguments.events)
        .output("--json", &arguments.json)
        .output("--plot", &arguments.plot)
        .check()?;
    for (what, path) in [("the score", &arguments.json), ("the plot", &arguments.plot)] {
        if let Some(path) = path {
            check_writable(what, path)?;
        }
    }
    let geometry = config.build_detector()?.geometry();
    let settings = arguments.limits.settings();
    let mut runs = Vec::new();
    for (truth_path, event_path) in arguments.truth.iter().zip(&arguments.events) {
        let neutrons = truth::read(open(truth_path)?).map_err(|error| in_file(truth_path, &error))?;
        let events = event_file::read(open(event_path)?).map_err(|error| in_file(event_path, &error))?;
        let score = score_events(&geometry, &neutrons, &events, &settings)
            .map_err(|error| format!("{} and {}: {error}", truth_path.display(), event_path.display()))?;
        runs.push(ScoredRun {
            name: event_path.display().to_string(),
            truth: truth_path.clone(),
            events: event_path.clone(),
            score,
        });
    }
    let text = match &runs[..] {
        [only] => only.score.to_string(),
        _ => run_table(runs.iter().map(|run| (run.name.as_str(), &run.score))),
    };
    let mut ending = Ending::default();
    ending.print(&text);
    if arguments.json.is_some() {
        let runs: Vec<Value> = runs
            .iter()
            .map(|run| json!({ "truth": run.truth, "events": run.events, "score": run.score }))
            .collect();
        let json = json!({ "configuration": config.name, "runs": runs });
        ending.write_json("the score", arguments.json.as_deref(), &json);
    }
    if let (Some(path), Some(first)) = (&arguments.plot, runs.first()) {
        let points: Vec<RatePoint> = match &runs[..] {
            [only] => only.score.against_rate.iter().map(RatePoint::of_bin).collect(),
            _ => runs
                .iter()
                .filter_map(|run| Some(RatePoint::at_rate(run.score.neutrons_per_second?, &run.score)))
                .collect(),
        };
        let picture = svg(&config.name, &points, &first.score.resolvable);
        ending.attempt(picture.and_then(|picture| write_file("the plot", path, picture.as_bytes())));
    }
    // All are looked at, so that all that fail are named.
    let missed = runs.iter().filter(|run| !arguments.demands.are_met_by(&run.name, &run.score)).count();
    Ok(missed == 0 && ending.is_good())
}

fn open(path: &Path) -> Result<BufReader<File>, CommandError> {
    File::open(path).map(BufReader::new).map_err(|error| in_file(path, &error))
}

fn in_file(path: &Path, error: &dyn std::fmt::Display) -> CommandError {
    format!("{}: {error}", path.display()).into()
}

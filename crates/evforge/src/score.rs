//! `evforge score`: events against the truth.

use crate::CommandError;
use crate::arguments::{ConfigArguments, OverwriteArguments};
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable, write_file};
use crate::same_file::NamedFiles;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_lab::demands::Demands;
use evforge_lab::scored_runs::{ScoredRun, json_of, plot_of, text_of};
use evforge_sim::score::{Score, ScoreSettings, tolerance};
use std::path::PathBuf;
use std::str::FromStr;

/// Arguments of `evforge score`.
#[derive(Args)]
pub(crate) struct ScoreArguments {
    // The one that truth and events were made with.
    #[command(flatten)]
    config: ConfigArguments,
    /// The truth, as `evforge simulate --truth` writes it; several files are several runs
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    truth: Vec<PathBuf>,
    /// The events, as `evforge run --events` writes them: a file for each of --truth, in the same order
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    events: Vec<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    #[command(flatten)]
    limits: LimitArguments,
    /// Write everything as JSON, with histograms
    #[arg(long, alias = "json", env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    /// Draw efficiency and ghosts against the rate, and the residuals, into an SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    demands: DemandArguments,
}

/// How far an event may lie from its neutron.
#[derive(Args)]
pub(crate) struct LimitArguments {
    /// Largest difference in time between an event and its neutron
    #[arg(long, value_name = "TIME", default_value = "1us", help_heading = "What counts as found")]
    time: TimeSpan,
    /// Largest distance in pixels between the centre of an event's pixel and its neutron, along each axis: 3, or three
    /// for columns, rows and layers: 3,3,0.5. Without it twice the width at half maximum that --max-rms means, or else 3
    #[arg(long, value_name = "PIXELS", value_parser = distance, help_heading = "What counts as found")]
    distance: Option<PerAxis>,
    /// How much later than the truth events are by design; -20ns for earlier
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0ns",
        allow_hyphen_values = true,
        help_heading = "What counts as found"
    )]
    offset: Offset,
}

impl LimitArguments {
    /// The limits; `demands` say what the detector can resolve.
    pub(crate) fn settings(&self, demands: &DemandArguments) -> ScoreSettings {
        let usual = ScoreSettings::default();
        let tolerance = demands.max_rms.map(|PerAxis(spread)| tolerance(spread));
        ScoreSettings {
            largest_time_ns: self.time.picoseconds / 1000,
            largest_distance: self
                .distance
                .map(|PerAxis(pixels)| pixels)
                .or(tolerance)
                .unwrap_or(usual.largest_distance),
            time_offset_ns: self.offset.0,
            ..usual
        }
    }
}

/// How good a score has to be.
#[derive(Args)]
pub(crate) struct DemandArguments {
    /// Fail if a smaller share of the resolvable neutrons is found: 99.5%
    #[arg(long, value_name = "SHARE", help_heading = "Demands")]
    min_efficiency: Option<Percent>,
    /// Fail if a smaller share of all neutrons is found, resolvable or not: 80%
    #[arg(long, value_name = "SHARE", help_heading = "Demands")]
    min_found: Option<Percent>,
    /// Fail if a larger share of the events are ghosts: 0.1%
    #[arg(long, value_name = "SHARE", help_heading = "Demands")]
    max_ghosts: Option<Percent>,
    /// Fail if a larger share of the neutrons is not resolvable: 5%
    #[arg(long, value_name = "SHARE", help_heading = "Demands")]
    max_not_resolvable: Option<Percent>,
    /// Fail if events of resolvable neutrons are spread more about the true position: 0.5, or for columns, rows and
    /// layers 0.5,0.5,1
    #[arg(long, value_name = "PIXELS", value_parser = spread, help_heading = "Demands")]
    max_rms: Option<PerAxis>,
    /// Fail if events of resolvable neutrons are earlier or later by more, on average, or spread more in time
    #[arg(long, value_name = "TIME", help_heading = "Demands")]
    max_time_residual: Option<TimeSpan>,
}

impl DemandArguments {
    /// The demands.
    pub(crate) fn demands(&self) -> Demands {
        let percent = |share: Option<Percent>| share.map(|Percent(percent)| percent);
        Demands {
            min_efficiency: percent(self.min_efficiency),
            min_found: percent(self.min_found),
            max_ghosts: percent(self.max_ghosts),
            max_not_resolvable: percent(self.max_not_resolvable),
            max_rms: self.max_rms.map(|PerAxis(pixels)| pixels),
            max_time_residual_ns: self.max_time_residual.map(|most| most.picoseconds as f64 / 1000.0),
        }
    }
}

/// Whether a score is as good as demanded; says on standard error what of the run of this name is not.
pub(crate) fn are_met(demands: &Demands, name: &str, score: &Score) -> bool {
    let problems = demands.problems(score);
    for problem in &problems {
        eprintln!("evforge: {name}: {problem}");
    }
    problems.is_empty()
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
        let length: TimeSpan = length.parse().map_err(|error| format!("{error}"))?;
        // A length in picoseconds is, in nanoseconds, never too large for a number with a sign.
        Ok(Self(sign * (length.picoseconds / 1000) as i64))
    }
}

/// Runs the command. False if a score is not as good as it was demanded to be.
pub(crate) fn score(arguments: &ScoreArguments) -> Result<ExitStatus, CommandError> {
    let config = arguments.config.read()?;
    let (truths, events) = (arguments.truth.len(), arguments.events.len());
    if truths != events {
        let problem = format!("{truths} files of truth and {events} of events: each run has one of both");
        return Err(problem.into());
    }
    NamedFiles::default()
        .input("--config", Some(&arguments.config.config))
        .input("--truth", &arguments.truth)
        .input("--events", &arguments.events)
        .output("--report", &arguments.report)
        .output("--plot", &arguments.plot)
        .check(arguments.overwrite)?;
    check_writable("the score", &arguments.report)?;
    check_writable("the plot", &arguments.plot)?;
    let detector = config.build_detector()?;
    let settings = arguments.limits.settings(&arguments.demands);
    let mut runs = Vec::new();
    for (truth, events) in arguments.truth.iter().zip(&arguments.events) {
        runs.push(ScoredRun::of(&*detector, truth, events, &settings)?);
    }
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.print(&text_of(&runs));
    if arguments.report.is_some() {
        ending.write_json("the score", arguments.report.as_deref(), &json_of(&config.name, &runs));
    }
    if let Some(path) = &arguments.plot
        && let Some(plot) = plot_of(&config.name, &runs).transpose()
    {
        ending.attempt(plot.and_then(|plot| write_file("the plot", path, plot.as_bytes())));
    }
    // All are looked at, so that all that fail are named.
    let demands = arguments.demands.demands();
    let missed = runs.iter().filter(|run| !are_met(&demands, &run.name(), &run.score)).count();
    Ok(ExitStatus::of(missed == 0 && ending.is_good()))
}

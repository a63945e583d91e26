//! `evforge accuracy`: how right the events of a configured detector are, against the rate.

use crate::CommandError;
use crate::arguments::OverwriteArguments;
use crate::configuration::read_configuration;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable, write_file};
use crate::same_file::NamedFiles;
use crate::score::{DemandArguments, LimitArguments, are_met};
use clap::Args;
use evforge_core::quantity::Frequency;
use evforge_core::suggestion::did_you_mean;
use evforge_lab::accuracy::instruments::{
    self, Found, ROWS, Row, markdown_table as markdown_table_of_instruments,
};
use evforge_lab::accuracy::{Document, accuracy as measure, json_of};
use evforge_lab::plots::accuracy::svg;
use evforge_lab::plots::figures::{Figures, RatePoint};
use evforge_lab::simulation;
use evforge_sim::score::text::rate;
use evforge_sim::score::{markdown_table, run_table};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments of `evforge accuracy`.
#[derive(Args)]
pub(crate) struct AccuracyArguments {
    /// Configuration of the instrument to simulate and to form events with
    #[arg(
        long,
        short = 'f',
        env = "EVFORGE_CONFIG",
        value_name = "FILE",
        required_unless_present = "instruments"
    )]
    config: Option<PathBuf>,
    /// Instead of a configuration: the instruments of the EFU paper (table 1) at their average rates, with the shipped
    /// configurations; of these names, or all. Fails if one is not as good as it has to be
    #[arg(long, value_name = "NAME", num_args = 0.., conflicts_with_all = ["rates", "plot", "figures", "overrides"], help_heading = "The table of all instruments")]
    instruments: Option<Vec<String>>,
    /// Neutrons per second, on average over all time: one run for each; the first is the low rate that demands are for
    #[arg(long, value_name = "RATE", num_args = 1.., default_values = ["1kHz", "10kHz", "100kHz", "1MHz"])]
    rates: Vec<Frequency>,
    /// Neutrons to simulate at each rate
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    neutrons: u64,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    demands: DemandArguments,
    /// Fail if time was closed early for want of room, at any of the rates
    #[arg(long, help_heading = "Demands")]
    no_forced_closings: bool,
    /// Write everything as JSON, with histograms
    #[arg(long, alias = "json", env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    /// Draw efficiency and ghosts against the rate, and the residuals at the low rate, into an SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Write the figures that the plot shows as JSON; `make pictures` draws plots of documents from such files
    #[arg(long, value_name = "FILE")]
    figures: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// Put the table into this document in Markdown, between the lines `<!-- accuracy of NAME -->`, with the name of the
    /// instrument or `instruments`, and `<!-- end -->`
    #[arg(long, value_name = "FILE", help_heading = "The table of all instruments")]
    document: Option<PathBuf>,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs the command. False if a score is not as good as it was demanded to be.
pub(crate) fn accuracy(arguments: &AccuracyArguments) -> Result<ExitStatus, CommandError> {
    match (&arguments.instruments, &arguments.config) {
        (Some(names), _) => of_instruments(arguments, names),
        (None, Some(config)) => of_configuration(arguments, config),
        // The command line is refused before.
        (None, None) => Err("a configuration is needed: give --config".into()),
    }
}

/// The instruments of the EFU paper.
fn of_instruments(arguments: &AccuracyArguments, names: &[String]) -> Result<ExitStatus, CommandError> {
    let is_named = |row: &&Row, name: &String| row.instrument.eq_ignore_ascii_case(name);
    if let Some(unknown) = names.iter().find(|name| !ROWS.iter().any(|row| is_named(&row, name))) {
        let mut known: Vec<&str> = ROWS.iter().map(|row| row.instrument).collect();
        known.dedup();
        let meant = did_you_mean(unknown, known.iter().copied());
        return Err(
            format!("there is no instrument `{unknown}`{meant} Known are {}", known.join(", ")).into()
        );
    }
    if !names.is_empty() && arguments.document.is_some() {
        return Err("--document has the table of all instruments: leave out their names".into());
    }
    NamedFiles::default()
        .output("--report", &arguments.report)
        .kept_output("--document", &arguments.document)
        .check(arguments.overwrite)?;
    check_writable("the scores", &arguments.report)?;
    let document =
        arguments.document.as_deref().map(|path| Document::open(path, "instruments")).transpose()?;
    let mut found: Vec<Found> = Vec::new();
    let is_wanted = |row: &&Row| names.is_empty() || names.iter().any(|name| is_named(row, name));
    for row in ROWS.iter().filter(is_wanted) {
        found.push(row.measure(arguments.neutrons)?);
    }
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    let table = markdown_table_of_instruments(&found);
    ending.print(&table);
    ending.write_json("the scores", arguments.report.as_deref(), &instruments::json_of(&found));
    if let Some(document) = document {
        ending.attempt(write_file("the table", document.path(), document.with(&table).as_bytes()));
    }
    let mut is_met = true;
    for found in &found {
        for problem in found.problems() {
            is_met = false;
            eprintln!("evforge: {}: {problem}", found.row.name());
        }
    }
    Ok(ExitStatus::of(is_met && ending.is_good()))
}

/// A configuration at several rates.
fn of_configuration(arguments: &AccuracyArguments, path: &Path) -> Result<ExitStatus, CommandError> {
    let config = read_configuration(path, &arguments.overrides)?;
    let seed = simulation::settings(&config)?.seed;
    NamedFiles::default()
        .input("--config", &arguments.config)
        .output("--report", &arguments.report)
        .output("--plot", &arguments.plot)
        .output("--figures", &arguments.figures)
        .kept_output("--document", &arguments.document)
        .check(arguments.overwrite)?;
    check_writable("the scores", &arguments.report)?;
    check_writable("the plot", &arguments.plot)?;
    check_writable("the figures", &arguments.figures)?;
    // What is wrong with the document is said before the long work.
    let document =
        arguments.document.as_deref().map(|path| Document::open(path, &config.name)).transpose()?;
    let limits = arguments.limits.settings(&arguments.demands);
    let mut runs = Vec::new();
    for rate in &arguments.rates {
        runs.push(measure(&config, *rate, arguments.neutrons, &limits)?);
    }
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.print(&run_table(runs.iter().map(|run| (config.name.as_str(), &run.score))));
    ending.write_json("the scores", arguments.report.as_deref(), &json_of(&config.name, seed, &runs));
    if let Some(low) = runs.first() {
        let points = runs.iter().map(|run| RatePoint::at_rate(run.hertz(), &run.score)).collect();
        let figures = Figures::new(&config.name, points, &low.score.resolvable);
        if let Some(path) = &arguments.plot {
            let plot = svg(&figures);
            ending.attempt(plot.and_then(|plot| write_file("the plot", path, plot.as_bytes())));
        }
        ending.write_json("the figures", arguments.figures.as_deref(), &json!(figures));
    }
    if let Some(document) = document {
        let table = markdown_table(runs.iter().map(|run| (run.hertz(), &run.score)));
        ending.attempt(write_file("the table", document.path(), document.with(&table).as_bytes()));
    }
    let mut is_met =
        runs.first().is_none_or(|low| are_met(&arguments.demands.demands(), &config.name, &low.score));
    for run in &runs {
        if let Some(problem) = run.forced_closings_problem() {
            eprintln!("evforge: {} at {}: {problem}", config.name, rate(run.hertz()));
            is_met &= !arguments.no_forced_closings;
        }
    }
    Ok(ExitStatus::of(is_met && ending.is_good()))
}

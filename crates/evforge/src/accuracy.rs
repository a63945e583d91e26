//! `evforge accuracy`: how right the events of a configured detector are, against the rate.

use crate::CommandError;
use crate::configuration::read_configuration;
use crate::output::{Ending, check_writable, write_file};
use crate::same_file::NamedFiles;
use crate::score::{DemandArguments, LimitArguments, are_met};
use clap::Args;
use evforge_core::quantity::Frequency;
use evforge_lab::accuracy::{Document, accuracy as measure, json_of};
use evforge_lab::score_plot::{RatePoint, svg};
use evforge_lab::simulation;
use evforge_sim::score::{markdown_table, run_table};
use std::path::PathBuf;

/// Arguments of `evforge accuracy`.
#[derive(Args)]
pub(crate) struct AccuracyArguments {
    /// Configuration of the instrument to simulate and to form events with
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: PathBuf,
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
    /// Write everything as JSON, with histograms
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw efficiency and ghosts against the rate, and the residuals at the low rate, into an SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Put the table into this document in Markdown, between the lines `<!-- accuracy of NAME -->`, with the name of the
    /// instrument, and `<!-- end -->`
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs the command. False if the score at the low rate is not as good as it was demanded to be.
pub(crate) fn accuracy(arguments: &AccuracyArguments) -> Result<bool, CommandError> {
    let config = read_configuration(&arguments.config, &arguments.overrides)?;
    let seed = simulation::settings(&config)?.seed;
    NamedFiles::default()
        .input("--config", Some(&arguments.config))
        .output("--json", &arguments.json)
        .output("--plot", &arguments.plot)
        .output("--document", &arguments.document)
        .check()?;
    check_writable("the scores", &arguments.json)?;
    check_writable("the plot", &arguments.plot)?;
    // What is wrong with the document is said before the long work.
    let document =
        arguments.document.as_deref().map(|path| Document::open(path, &config.name)).transpose()?;
    let limits = arguments.limits.settings();
    let mut runs = Vec::new();
    for rate in &arguments.rates {
        runs.push(measure(&config, *rate, arguments.neutrons, &limits)?);
    }
    let mut ending = Ending::default();
    ending.print(&run_table(runs.iter().map(|run| (config.name.as_str(), &run.score))));
    ending.write_json("the scores", arguments.json.as_deref(), &json_of(&config.name, seed, &runs));
    if let (Some(path), Some(low)) = (&arguments.plot, runs.first()) {
        let points: Vec<RatePoint> =
            runs.iter().map(|run| RatePoint::at_rate(run.hertz(), &run.score)).collect();
        let plot = svg(&config.name, &points, &low.score.resolvable);
        ending.attempt(plot.and_then(|plot| write_file("the plot", path, plot.as_bytes())));
    }
    if let Some(document) = document {
        let table = markdown_table(runs.iter().map(|run| (run.hertz(), &run.score)));
        ending.attempt(write_file("the table", document.path(), document.with(&table).as_bytes()));
    }
    let is_met =
        runs.first().is_none_or(|low| are_met(&arguments.demands.demands(), &config.name, &low.score));
    Ok(is_met && ending.is_good())
}

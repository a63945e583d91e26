//! `evforge measure`: measurements to repeat, and what has changed between two of them. What is measured is in `evforge_measure`.

mod compare;
mod hosts;
mod link;
mod points;
mod rate;
mod sweep;

use crate::CommandError;
use crate::arguments::OverwriteArguments;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, print};
use clap::{Args, Subcommand};
use evforge_measure::{Measurement, ResultFolder, result_file, text};
use std::path::PathBuf;

/// Arguments of `evforge measure`.
#[derive(Args)]
pub(crate) struct MeasureArguments {
    #[command(subcommand)]
    command: MeasureCommand,
}

#[derive(Subcommand)]
enum MeasureCommand {
    /// Calculate what a link carries at most, for any speed, MTU and size: Table 1 of the UDP paper
    Link(link::LinkArguments),
    /// Measure speed, packet error ratio and processor time by size, methods side by side: Table 3 and Figure 3 of the UDP paper
    Sweep(sweep::SweepArguments),
    /// Search the highest rate without loss, by size and method
    Rate(rate::RateArguments),
    /// Compare two results of the same measurement: what differs of the hosts, and which figures differ by more than noise
    Compare(compare::CompareArguments),
}

/// Runs the command.
pub(crate) fn measure(arguments: &MeasureArguments) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        MeasureCommand::Link(arguments) => link::link(arguments),
        MeasureCommand::Sweep(arguments) => sweep::sweep(arguments),
        MeasureCommand::Rate(arguments) => rate::rate(arguments),
        MeasureCommand::Compare(arguments) => compare::compare(arguments),
    }
}

/// Where a result goes: the same for all measurements.
#[derive(Args)]
struct ResultArguments {
    /// Write the result into this folder: report.html, result.json, a CSV file for each table, an SVG file for each plot
    #[arg(long, short = 'o', value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// Print the result as JSON, as in result.json
    #[arg(long)]
    json: bool,
}

impl ResultArguments {
    /// Makes sure that the result can be written, before anything is measured.
    fn folder(&self) -> Result<Option<ResultFolder>, CommandError> {
        let make = |path: &PathBuf| {
            crate::output::refuse_standard_output("--output", path, "a result, which is a folder of files")?;
            Ok(ResultFolder::to_be_made(path, self.overwrite.overwrite)?)
        };
        self.output.as_ref().map(make).transpose()
    }

    /// Prints the result, and writes it into its folder. Good if its verdict is.
    fn hand_over(
        &self,
        result: &Measurement,
        folder: Option<&ResultFolder>,
    ) -> Result<ExitStatus, CommandError> {
        let mut ending = Ending::default();
        if let Some(folder) = folder {
            ending.attempt(folder.write(result).map_err(Into::into));
        }
        match self.json {
            true => print(&result_file::to_json(result)?)?,
            false => ending.print(&text::of(result)),
        }
        if let Some(folder) = folder.filter(|_| ending.is_good() && !self.json) {
            ending.print(&format!("Report: {}\n", folder.report().display()));
        }
        Ok(ExitStatus::of(result.verdict.is_good && ending.is_good()))
    }
}

/// The command line of this process; the program by its name, wherever it is.
fn command_line() -> Vec<String> {
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("evforge".to_owned()).chain(arguments).collect()
}

//! `evforge measure compare`: two results of the same measurement.

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::Args;
use evforge_measure::compare::{Comparison, to_text};
use evforge_measure::result_file;
use std::path::PathBuf;

/// Arguments of `evforge measure compare`.
#[derive(Args)]
pub(super) struct CompareArguments {
    /// The older result: its folder, or its result.json
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The newer one
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command. That figures differ is no failure.
pub(super) fn compare(arguments: &CompareArguments) -> Result<ExitStatus, CommandError> {
    let (a, b) = (result_file::read(&arguments.a)?, result_file::read(&arguments.b)?);
    let compared = Comparison::of(&a, &b)?;
    let text = match arguments.json {
        true => format!("{}\n", serde_json::to_string_pretty(&compared)?),
        false => to_text(&compared),
    };
    print(&text).map(|()| ExitStatus::Good)
}

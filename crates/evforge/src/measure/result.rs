//! Where the result of a measurement goes.

use crate::CommandError;
use crate::arguments::OverwriteArguments;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, print};
use clap::Args;
use evforge_measure::{Measurement, ResultFolder, result_file, text};
use std::path::{Path, PathBuf};

/// Where a result goes: the same for all measurements.
#[derive(Args)]
pub(super) struct ResultArguments {
    /// Write the result into this folder: report.html, result.json, a CSV file for each table, an SVG file for each plot
    #[arg(long, short = 'o', value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// Print the result as JSON, as in result.json
    #[arg(long)]
    pub(super) json: bool,
}

impl ResultArguments {
    /// Makes sure that the result can be written, before anything is measured.
    pub(super) fn folder(&self) -> Result<Option<ResultFolder>, CommandError> {
        let make = |path: &PathBuf| {
            crate::output::refuse_standard_output("--output", path, "a result, which is a folder of files")?;
            Ok(ResultFolder::to_be_made(path, self.overwrite.overwrite)?)
        };
        self.output.as_ref().map(make).transpose()
    }

    /// The folder that was asked for.
    pub(super) fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Whether a result that is there may be replaced.
    pub(super) fn overwrites(&self) -> bool {
        self.overwrite.overwrite
    }

    /// Prints the result, and writes it into its folder. Good if its verdict is.
    pub(super) fn hand_over(
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
pub(super) fn command_line() -> Vec<String> {
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("evforge".to_owned()).chain(arguments).collect()
}

//! `evforge train repair`: files that a killed receiver has left.

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::Args;
use evforge_pipeline::report::grouped;
use evforge_train::file::{Repaired, repair, repair_run};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `evforge train repair`.
#[derive(Args)]
pub(super) struct RepairArguments {
    /// The folder of a run, or unfinished files (`….h5.writing`)
    #[arg(value_name = "FOLDER|FILE", required = true)]
    input: Vec<PathBuf>,
}

/// Runs the command.
pub(super) fn repair_files(arguments: &RepairArguments) -> Result<ExitStatus, CommandError> {
    let mut repaired: Vec<Repaired> = Vec::new();
    for path in &arguments.input {
        if path.is_dir() {
            repaired.extend(repair_run(path)?);
        } else {
            repaired.push(repair(path)?);
        }
    }
    let mut text = String::new();
    for Repaired { path, trains, images, images_cut } in &repaired {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {} trains, {} images; {} images after the last commit cut away",
            path.display(),
            grouped(*trains),
            grouped(*images),
            grouped(*images_cut)
        );
    }
    if repaired.is_empty() {
        text.push_str("nothing to repair: no file ends with .h5.writing\n");
    }
    print(&text)?;
    Ok(ExitStatus::Good)
}

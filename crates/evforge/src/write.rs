//! `evforge write`: care for NeXus files.

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::Args;
use evforge_stream::nexus::recover;
use std::path::PathBuf;

/// Arguments of `evforge write`.
#[derive(Args)]
pub(crate) struct WriteArguments {
    /// Repair files that a killed run has left, cut back to their last flush
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    recover: Vec<PathBuf>,
}

/// Runs the command.
pub(crate) fn write(arguments: &WriteArguments) -> Result<ExitStatus, CommandError> {
    let mut all_well = true;
    for path in &arguments.recover {
        match recover(path) {
            Ok(recovered) => print(&format!("{recovered}\n"))?,
            Err(error) => {
                eprintln!("evforge: {error}");
                all_well = false;
            }
        }
    }
    Ok(ExitStatus::of(all_well))
}

//! `evforge train`: trains of the European XFEL.

mod receive;
mod received;

use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::{Args, Subcommand};

/// Arguments of `evforge train`.
#[derive(Args)]
pub(crate) struct TrainArguments {
    #[command(subcommand)]
    command: TrainCommand,
}

#[derive(Subcommand)]
enum TrainCommand {
    /// Receive trains, put them together, check them, and write files that EXtra-data opens
    Receive(Box<receive::ReceiveArguments>),
}

/// Runs the command.
pub(crate) fn trains(arguments: &TrainArguments) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        TrainCommand::Receive(arguments) => receive::receive(arguments),
    }
}

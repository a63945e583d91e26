//! `evforge train`: trains of the European XFEL.

mod send;
mod text;

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
    /// Send trains of images as a train builder does
    Send(Box<send::SendArguments>),
}

/// Runs the command.
pub(crate) fn trains(arguments: &TrainArguments) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        TrainCommand::Send(arguments) => send::send(arguments),
    }
}

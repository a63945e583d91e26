//! `evforge drop`: streams of test data that are verified word by word.

mod addresses;
mod receive;
mod send;
mod text;
mod words_picture;
mod words_view;

use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::{Args, Subcommand};

/// Arguments of `evforge drop`.
#[derive(Args)]
pub(crate) struct DropArguments {
    #[command(subcommand)]
    command: DropCommand,
}

#[derive(Subcommand)]
enum DropCommand {
    /// Send streams of numbered packets with a test pattern
    Send(Box<send::SendArguments>),
    /// Receive such streams and verify every packet and every word
    Receive(Box<receive::ReceiveArguments>),
}

/// Runs the command.
pub(crate) fn drop_streams(arguments: &DropArguments) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        DropCommand::Send(arguments) => send::send(arguments),
        DropCommand::Receive(arguments) => receive::receive(arguments),
    }
}

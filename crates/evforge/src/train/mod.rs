//! `evforge train`: trains of the European XFEL.

mod arrival;
mod detector;
mod node_plan;
mod receive;
mod receive_arguments;
mod received;
mod received_text;
mod received_threads;
mod repair;
mod send;
mod sent;
mod sent_here;
mod steps;
mod summaries;
mod train_ledger;
mod trains_view;

pub(crate) use summaries::SummaryCounters;

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
    /// Receive trains, put them together, check them, and write files that EXtra-data opens
    Receive(Box<receive_arguments::ReceiveArguments>),
    /// Repair files of trains that a killed receiver has left
    Repair(repair::RepairArguments),
}

/// Runs the command.
pub(crate) fn trains(arguments: &TrainArguments) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        TrainCommand::Send(arguments) => send::send(arguments),
        TrainCommand::Receive(arguments) => receive::receive(arguments),
        TrainCommand::Repair(arguments) => repair::repair_files(arguments),
    }
}

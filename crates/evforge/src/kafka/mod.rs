//! `evforge kafka`: what is in topics, and what people fill them with. What is done is in `evforge_kafka::tools`.

mod aggregate;
mod aggregate_text;
pub(crate) mod client;
pub(crate) mod ending;
mod forward;
mod replay;
mod tail;
mod test_image;
mod topics;

use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::{Args, Subcommand};

/// Arguments of `evforge kafka`.
#[derive(Args)]
pub(crate) struct KafkaArguments {
    #[command(subcommand)]
    command: KafkaCommand,
}

#[derive(Subcommand)]
enum KafkaCommand {
    /// Tell what is in topics: offsets, schemas, sources, rates, last times, what is refused
    Topics(topics::TopicsArguments),
    /// Print the messages of a topic, decoded, one line each, as they come
    Tail(Box<tail::TailArguments>),
    /// Send a topic, or the events of a NeXus file, to a topic again, with its timing or faster
    Replay(Box<replay::ReplayArguments>),
    /// Put the messages of several boards together into frames: ISIS's rawEvents into events
    Aggregate(Box<aggregate::AggregateArguments>),
    /// Send values of logs (f144) from lines: NAME VALUE [TIME]
    Forward(forward::ForwardArguments),
    /// Send known events, a letter in a frame: is the chain alive, and nothing turned or mirrored?
    TestImage(test_image::TestImageArguments),
}

/// Runs the command.
pub(crate) fn kafka(arguments: &KafkaArguments) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        KafkaCommand::Topics(arguments) => topics::topics(arguments),
        KafkaCommand::Tail(arguments) => tail::tail(arguments),
        KafkaCommand::Replay(arguments) => replay::replay(arguments),
        KafkaCommand::Aggregate(arguments) => aggregate::aggregate(arguments),
        KafkaCommand::Forward(arguments) => forward::forward(arguments),
        KafkaCommand::TestImage(arguments) => test_image::test_image(arguments),
    }
}

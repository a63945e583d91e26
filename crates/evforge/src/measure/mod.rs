//! `evforge measure`: measurements to repeat, and what has changed between two of them. What is measured is in `evforge_measure`.

mod agent;
mod buffers;
mod formation;
mod hosts;
mod kafka;
mod latency;
mod link;
mod load;
mod observer;
mod placement;
mod points;
mod pulses;
mod rate;
mod result;
mod soak;
mod streams;
mod sweep;
mod trains;

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::{Args, Subcommand};
use evforge_measure::compare::{Comparison, to_text};
use evforge_measure::result_file;
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
    /// Measure speed, processor time and loss by buffer, MTU and direction, over UDP and TCP: the 10GE slides
    Buffers(buffers::BuffersArguments),
    /// Search the highest rate without loss, by size and method
    Rate(rate::RateArguments),
    /// Search the highest peak at which pulses are received whole, by buffer, and hold it against what the buffer can keep
    Pulses(pulses::PulsesArguments),
    /// Search the highest rate from UDP to events, per detector and destination of the events: Table 4 of the EFU paper
    Formation(formation::FormationArguments),
    /// Measure how long it takes from a packet to its event, into a file and onto the page, against load
    Latency(latency::LatencyArguments),
    /// Measure what it costs a run to be looked at: counters read, metrics asked for, the page with browsers
    Observer(observer::ObserverArguments),
    /// Find out which thread and which interrupt belong on which core, by rules from measured assignments: the XDP paper
    Placement(placement::PlacementArguments),
    /// Send streams for hours to days and verify every packet and word: the long run of the XDP paper; goes on after a kill
    Soak(soak::SoakArguments),
    /// Measure how many packets arrive at most of one stream and of several, with and without decoding: Figure 6 of the XDP paper
    Streams(streams::StreamsArguments),
    /// Send trains from several senders to several receivers: which pair loses packets, when, and where the receivers' time goes
    Trains(trains::TrainsArguments),
    /// Let measurements of other hosts send packets from this one: what their `--sender` names
    Agent(agent::AgentArguments),
    /// Stand for a program on the host of an agent
    #[command(hide = true)]
    At(agent::AtArguments),
    /// Compare two results of the same measurement: what differs of the hosts, and which figures differ by more than noise
    Compare(CompareArguments),
}

impl MeasureArguments {
    /// Whether network namespaces are made, which needs what root may do. What only reads files does without.
    pub(crate) fn makes_namespaces(&self) -> bool {
        match &self.command {
            MeasureCommand::Sweep(arguments) => {
                arguments.hosts.has_namespaces() && !arguments.points.other.is_given()
            }
            MeasureCommand::Rate(arguments) => {
                arguments.hosts.has_namespaces() && !arguments.points.other.is_given()
            }
            MeasureCommand::Buffers(arguments) => arguments.makes_namespaces(),
            MeasureCommand::Pulses(arguments) => arguments.hosts.has_namespaces(),
            MeasureCommand::Formation(arguments) => arguments.hosts.has_namespaces(),
            MeasureCommand::Latency(arguments) => arguments.hosts.has_namespaces(),
            MeasureCommand::Observer(arguments) => arguments.hosts.has_namespaces(),
            MeasureCommand::Soak(arguments) => arguments.hosts.has_namespaces(),
            MeasureCommand::Placement(arguments) => arguments.makes_namespaces(),
            MeasureCommand::Streams(arguments) => {
                arguments.hosts.has_namespaces() && !arguments.other.is_given()
            }
            MeasureCommand::Trains(arguments) => arguments.place.has_namespaces(),
            MeasureCommand::Link(_)
            | MeasureCommand::Compare(_)
            | MeasureCommand::Agent(_)
            | MeasureCommand::At(_) => false,
        }
    }
}

/// Runs the command.
pub(crate) fn measure(arguments: &MeasureArguments) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        MeasureCommand::Link(arguments) => link::link(arguments),
        MeasureCommand::Sweep(arguments) => sweep::sweep(arguments),
        MeasureCommand::Buffers(arguments) => buffers::buffers(arguments),
        MeasureCommand::Rate(arguments) => rate::rate(arguments),
        MeasureCommand::Pulses(arguments) => pulses::pulses(arguments),
        MeasureCommand::Formation(arguments) => formation::formation(arguments),
        MeasureCommand::Latency(arguments) => latency::latency(arguments),
        MeasureCommand::Observer(arguments) => observer::observer(arguments),
        MeasureCommand::Placement(arguments) => placement::placement(arguments),
        MeasureCommand::Soak(arguments) => soak::soak(arguments),
        MeasureCommand::Streams(arguments) => streams::streams(arguments),
        MeasureCommand::Trains(arguments) => trains::trains(arguments),
        MeasureCommand::Agent(arguments) => agent::agent(arguments),
        MeasureCommand::At(arguments) => agent::at(arguments),
        MeasureCommand::Compare(arguments) => compare(arguments),
    }
}

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

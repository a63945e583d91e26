//! The command line of evforge. Each command has a module of its own; here is only the choice between them.
//!
//! It is a library so that others can have it with outputs of their own, in a few lines (`examples/json-lines`):
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     evforge::main_with(evforge::shipped_outputs() /* .with::<MySettings>("mine", "what it does") */)
//! }
//! ```

#![forbid(unsafe_code)]

/// As that of the standard library, which it takes the place of in all modules below; but it goes by way of the log, so that programs
/// that read JSON lines get this, too, and a terminal that has gone away (SIGHUP) or a closed standard error is no reason to panic
/// in the middle of a run.
macro_rules! eprint {
    ($($text:tt)*) => { evforge_log::say(format_args!($($text)*)) };
}

/// The same, with an end of line.
macro_rules! eprintln {
    ($($text:tt)*) => { eprint!("{}\n", format_args!($($text)*)) };
}

mod accuracy;
mod apart;
mod arguments;
mod bench;
mod calibrate;
mod command_error;
mod completion;
mod configuration;
mod control;
mod counter_table;
mod ctl;
mod demo;
mod drop;
mod dump;
mod exit_status;
mod fit;
mod help;
mod host;
mod input;
mod inspect;
mod inspect_dump;
mod kafka;
mod left_over;
mod manual;
mod masks;
mod measure;
mod memory;
mod monitor_control;
mod numbered;
mod other_ports;
mod output;
mod outputs;
mod overlay;
mod own_folder;
mod page_address;
mod privileges;
mod progress;
mod rate_line;
mod reading_watch;
mod record;
mod replay;
mod run;
mod same_file;
mod schema;
mod score;
mod selftest;
mod serve;
mod signals;
mod simulate;
mod simulated_electronics;
mod status_line;
mod train;
mod view;
mod windows;
mod write;

pub(crate) use command_error::CommandError;
pub use counter_table::{counter_stages, counter_table};
pub use outputs::shipped_outputs;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use evforge_outputs::Registry;
use exit_status::ExitStatus;
use std::process::ExitCode;

/// Software data acquisition for detectors: readouts in, neutron events out.
#[derive(Parser)]
#[command(name = "evforge", version, about, max_term_width = 100, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    /// Become this user (name or number) before anything is read or written; for root (docs/receive.md)
    #[arg(long, global = true, env = "EVFORGE_USER", value_name = "USER", help_heading = "Privileges")]
    user: Option<String>,
}

impl Command {
    /// Whether packets may be received or sent, which the helper may have to do something for.
    fn uses_the_network(&self) -> bool {
        match self {
            Self::Run(arguments) => arguments.is_live(),
            Self::Demo(_)
            | Self::Selftest(_)
            | Self::Doctor(_)
            | Self::Serve(_)
            | Self::Record(_)
            | Self::Replay(_)
            | Self::Send(_)
            | Self::Receive(_)
            | Self::Drop(_)
            | Self::Train(_)
            | Self::Simulate(_) => true,
            Self::Tune(_)
            | Self::Kafka(_)
            | Self::View(_)
            | Self::Score(_)
            | Self::Accuracy(_)
            | Self::Overlay(_)
            | Self::Write(_)
            | Self::Inspect(_)
            | Self::Dump(_)
            | Self::Bench(_)
            | Self::Masks(_)
            | Self::Measure(_)
            | Self::Ctl(_)
            | Self::Windows(_)
            | Self::Calibrate(_)
            | Self::Completion(_)
            | Self::Man(_) => false,
        }
    }
}

#[derive(Subcommand)]
enum Command {
    /// A simulated detector, live in the browser and into a NeXus file
    Demo(Box<demo::DemoArguments>),
    /// Form events from readouts, of a capture or live from the network
    Run(Box<run::RunArguments>),
    /// Stay up over runs: form events all the time, and write files while a run goes on
    Serve(Box<serve::ServeArguments>),
    /// The live page of a file that is written or complete, or of Kafka topics
    View(Box<view::ViewArguments>),
    /// Ask a run that goes on, and change it
    Ctl(ctl::CtlArguments),
    /// Compare events with the truth of a simulation: efficiency, ghosts, residuals
    Score(score::ScoreArguments),
    /// Simulate a detector at several rates and report how accurate its events are
    Accuracy(accuracy::AccuracyArguments),
    /// Overlay copies of a capture, with its isolated events as truth
    Overlay(overlay::OverlayArguments),
    /// Simulate a detector with known truth: into a capture, over UDP, or into its pipeline
    Simulate(Box<simulate::SimulateArguments>),
    /// Report what limits receiving on this host, and the command that fixes it
    Doctor(host::DoctorArguments),
    /// Send, receive and form simulated readouts on this host, and say whether all was there
    Selftest(selftest::SelftestArguments),
    /// Change the settings that limit receiving on this host, and take it back
    Tune(host::TuneArguments),
    /// Record UDP packets into pcapng files, with every loss counted
    Record(record::RecordArguments),
    /// Send a capture over UDP, with its own timing or at a rate
    Replay(replay::ReplayArguments),
    /// Send numbered packets at a rate or in pulses, to measure a link and a receiver
    Send(numbered::SendArguments),
    /// Receive numbered packets: rate, packet error ratio, loss breakdown, latency
    Receive(numbered::ReceiveArguments),
    /// Send and receive test data in which every packet and every word is accounted for
    Drop(drop::DropArguments),
    /// Send and receive trains of images, as detectors of the European XFEL do
    Train(train::TrainArguments),
    /// Look into Kafka topics, and send messages to them
    Kafka(kafka::KafkaArguments),
    /// Write Kafka topics into NeXus files; repair files that a killed run has left
    Write(Box<write::WriteArguments>),
    /// Tell what is in a capture, and write a configuration that reads it
    Inspect(inspect::InspectArguments),
    /// Write the raw readouts of a capture into an HDF5 file
    Dump(dump::DumpArguments),
    /// Measure how fast events are formed from memory
    Bench(bench::BenchArguments),
    /// Report which channels stand out in a capture and should be masked
    Masks(masks::MasksArguments),
    /// Propose a calibration of helium-3 tubes from a capture behind a mask with slits
    Calibrate(calibrate::CalibrateArguments),
    /// Report which gaps and matching windows fit a capture, for its configuration
    Windows(windows::WindowsArguments),
    /// Print what a shell needs to complete command lines
    Completion(completion::CompletionArguments),
    /// The papers' measurements, repeated: reports with plots, comparisons
    Measure(measure::MeasureArguments),
    /// Write the manual pages
    #[command(hide = true)]
    Man(manual::ManualArguments),
}

/// Runs the program with the arguments of the process. `[outputs.…]` may be of the kinds in `registry`.
pub fn main_with(registry: Registry) -> ExitCode {
    evforge_log::begin();
    let status = obey(registry);
    if let Some(log) = evforge_log::global() {
        log.end();
    }
    status
}

fn obey(registry: Registry) -> ExitCode {
    // Before all else: what cannot be registered stays as it was.
    let _ = signals::ignore_others();
    evforge_net::freed_memory::keep_large_pieces_apart();
    // Where the system refuses, the limit is what it was.
    let _ = evforge_net::descriptors::raise_limit();
    let CommandLine { command, user } = command_line();
    // What changes settings of the host, or makes network namespaces, needs what root may do; nothing else does.
    let needs_privileges = match &command {
        Command::Tune(_) => true,
        Command::Measure(arguments) => arguments.makes_namespaces(),
        _ => false,
    };
    let keeps_privileges = needs_privileges && user.is_none();
    if let Err(error) = privileges::give_up(command.uses_the_network(), user.as_deref(), keeps_privileges) {
        evforge_log::fail(&error.to_string());
        return ExitStatus::Failed.into();
    }
    let result = match command {
        Command::Demo(arguments) => demo::demo(&arguments, &registry),
        Command::Run(arguments) => run::run(&arguments, &registry),
        Command::Serve(arguments) => serve::serve(*arguments, registry),
        Command::Simulate(arguments) => simulate::simulate(&arguments, &registry),
        Command::Ctl(arguments) => ctl::ctl(&arguments),
        Command::Score(arguments) => score::score(&arguments),
        Command::Accuracy(arguments) => accuracy::accuracy(&arguments),
        Command::Overlay(arguments) => overlay::overlay(&arguments),
        Command::Doctor(arguments) => host::doctor(&arguments),
        Command::Selftest(arguments) => selftest::selftest(&arguments, &registry),
        Command::Tune(arguments) => host::tune(&arguments),
        Command::Record(arguments) => record::record(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Send(arguments) => numbered::send(&arguments),
        Command::Receive(arguments) => numbered::receive(&arguments),
        Command::Drop(arguments) => drop::drop_streams(&arguments),
        Command::Train(arguments) => train::trains(&arguments),
        Command::Kafka(arguments) => kafka::kafka(&arguments),
        Command::View(arguments) => view::view(&arguments),
        Command::Write(arguments) => write::write(&arguments),
        Command::Inspect(arguments) => inspect::inspect(&arguments),
        Command::Dump(arguments) => dump::dump(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Masks(arguments) => masks::masks(&arguments),
        Command::Measure(arguments) => measure::measure(&arguments),
        Command::Windows(arguments) => windows::windows(&arguments),
        Command::Calibrate(arguments) => calibrate::calibrate(&arguments),
        Command::Completion(arguments) => completion::completion(&arguments, all_help()),
        Command::Man(arguments) => manual::manual(&arguments, all_help()),
    };
    match result {
        Ok(status) => status.into(),
        // A reader that has seen enough (`| head`) closes the pipe: that is no failure.
        Err(error) if output::is_closed_pipe(error.as_ref()) => ExitStatus::Good.into(),
        Err(error) => {
            let text = error.to_string();
            evforge_log::fail(&text);
            if let Some(advice) = privileges::advice(&text) {
                eprintln!("{advice}");
            }
            ExitStatus::Failed.into()
        }
    }
}

/// The command line with all of its help.
fn all_help() -> clap::Command {
    help::with_help(CommandLine::command(), false)
}

/// The arguments of the process.
fn command_line() -> CommandLine {
    let is_short = std::env::args_os().any(|argument| argument == "-h");
    let mut command = help::with_help(CommandLine::command(), is_short);
    let matches = command
        .try_get_matches_from_mut(std::env::args_os())
        .unwrap_or_else(|error| help::with_remedy(error, &command).exit());
    CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// An option of a command with the name of one of all commands would silently take its place: `--user` drops privileges.
    #[test]
    fn no_command_has_an_option_of_the_name_of_one_of_all_commands() {
        fn check(command: &clap::Command, global: &[&str]) {
            for own in command.get_subcommands() {
                let names = own.get_arguments().map(|argument| argument.get_id().as_str());
                let shadowed = names.filter(|name| global.contains(name)).collect::<Vec<_>>();
                assert!(shadowed.is_empty(), "`{}` has {shadowed:?}", own.get_name());
                check(own, global);
            }
        }
        let all = CommandLine::command();
        let global: Vec<&str> = all
            .get_arguments()
            .filter(|argument| argument.is_global_set())
            .map(|argument| argument.get_id().as_str())
            .collect();
        assert_eq!(global, ["user"]);
        check(&all, &global);
    }
}

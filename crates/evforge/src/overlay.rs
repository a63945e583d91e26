//! `evforge overlay`: a capture, laid several times over itself, with its isolated events as truth.

use crate::CommandError;
use crate::arguments::{CaptureArguments, ConfigArguments, OverwriteArguments};
use crate::exit_status::ExitStatus;
use crate::input::open;
use crate::output::{check_writable, print_alongside, write_file};
use crate::same_file::NamedFiles;
use clap::Args;
use evforge_core::quantity::TimeSpan;
use evforge_lab::overlay::{OverlayFormat, OverlayOutcome, OverlayRun};
use evforge_net::staged_file::{is_standard_output, shown};
use evforge_pipeline::report::grouped;
use evforge_sim::overlay::OverlayOptions;
use evforge_sim::overlay::copies::CopyShift;
use evforge_sim::truth;
use std::path::PathBuf;

/// Arguments of `evforge overlay`.
#[derive(Args)]
pub(crate) struct OverlayArguments {
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    capture: CaptureArguments,
    /// The capture to write: pcapng, or .pkts by its name; - is standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    output: PathBuf,
    /// Write the true neutrons as CSV, for evforge score
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// How many times the capture is there
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    copies: u32,
    /// First make the time between neutrons N times longer, for rates below that of the capture
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What is laid over what")]
    stretch: u32,
    /// Begin each copy this long after the one before it; otherwise copies begin at random times
    #[arg(long, value_name = "TIME", help_heading = "What is laid over what")]
    shift: Option<TimeSpan>,
    /// Move copies on the detector too, by random numbers of strips: for one that is the same everywhere
    #[arg(long, help_heading = "What is laid over what")]
    strips: bool,
    /// Also overlay what is not an isolated neutron; its events are in the truth as not resolvable
    #[arg(long, help_heading = "What is laid over what")]
    background: bool,
    /// Drop readouts of a channel that come sooner than this after another one
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "What is laid over what")]
    dead_time: TimeSpan,
    /// Silence around an isolated neutron, in multiples of the largest gap of time that the configuration has
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0, value_parser = factor, help_heading = "What is laid over what")]
    isolation: f64,
    /// The same seed gives the same overlay
    #[arg(long, default_value_t = 1, help_heading = "What is laid over what")]
    seed: u64,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| (1.0..=1000.0).contains(factor));
    factor.ok_or_else(|| "expected a factor from 1 to 1000".to_owned())
}

/// Runs the command.
pub(crate) fn overlay(arguments: &OverlayArguments) -> Result<ExitStatus, CommandError> {
    let config = arguments.config.read()?;
    let format = OverlayFormat::of(&config)?;
    let path = arguments.capture.path()?;
    NamedFiles::default()
        .input("--config", Some(&arguments.config.config))
        .input("--input", Some(&path))
        .output("--output", Some(&arguments.output))
        .output("--truth", Some(&arguments.truth))
        .check(arguments.overwrite)?;
    check_writable("the truth", Some(&arguments.truth))?;
    let run = OverlayRun {
        input: open(&path, arguments.capture.port, &config)?,
        path: &path,
        config: &config,
        isolation: arguments.isolation,
        options: OverlayOptions {
            copies: arguments.copies,
            stretch: arguments.stretch,
            shift: arguments.shift.map_or(CopyShift::Random, |time| CopyShift::Every(time.picoseconds)),
            move_channels: arguments.strips,
            background: arguments.background,
            dead_time_ps: arguments.dead_time.picoseconds,
            seed: arguments.seed,
        },
        output: &arguments.output,
    };
    let OverlayOutcome { truth, packets, mut text } = run.run(format)?;
    let mut file = Vec::new();
    truth::write_header(&mut file)?;
    truth::write(&truth, &mut file)?;
    write_file("the truth", &arguments.truth, &file)?;
    text.push_str(&format!(
        "written       {} packets to {}, {} neutrons to {}\n",
        grouped(packets),
        shown(&arguments.output),
        grouped(truth.len() as u64),
        shown(&arguments.truth)
    ));
    print_alongside(is_standard_output(&arguments.output), &text)?;
    Ok(ExitStatus::Good)
}

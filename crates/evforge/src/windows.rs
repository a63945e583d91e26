//! `evforge windows`: gaps and matching windows that fit a capture.

use crate::CommandError;
use crate::configuration::read_configuration;
use crate::exit_status::ExitStatus;
use crate::input::open;
use crate::output::print;
use clap::Args;
use evforge_core::quantity::TimeSpan;
use evforge_lab::windows::propose;
use std::path::PathBuf;

/// Arguments of `evforge windows`.
#[derive(Args)]
pub(crate) struct WindowsArguments {
    /// Configuration of the instrument
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: PathBuf,
    /// The capture whose neutrons are measured
    #[arg(long, env = "EVFORGE_INPUT", value_name = "FILE")]
    input: PathBuf,
    /// Of a capture, take only what was sent to this UDP port
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT")]
    port: Option<u16>,
    /// Silence around a neutron that stands alone [default: 2us or twice the longest configured window; less where too
    /// few stand alone]
    #[arg(long, value_name = "TIME")]
    silence: Option<TimeSpan>,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs the command.
pub(crate) fn windows(arguments: &WindowsArguments) -> Result<ExitStatus, CommandError> {
    let config = read_configuration(&arguments.config, &arguments.overrides)?;
    let input = open(&arguments.input, arguments.port, &config)?;
    let silence_ps = arguments.silence.map(|silence| silence.picoseconds);
    print(&propose(&config, input, &arguments.input, silence_ps)?.text)?;
    Ok(ExitStatus::Good)
}

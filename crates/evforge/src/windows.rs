//! `evforge windows`: gaps and matching windows that fit a capture.

use crate::CommandError;
use crate::arguments::{CaptureArguments, ConfigArguments};
use crate::exit_status::ExitStatus;
use crate::input::open;
use crate::output::print;
use clap::Args;
use evforge_core::quantity::TimeSpan;
use evforge_lab::windows::propose;

/// Arguments of `evforge windows`.
#[derive(Args)]
pub(crate) struct WindowsArguments {
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    capture: CaptureArguments,
    /// Silence around a neutron that stands alone [default: 2us or twice the longest configured window; less where too
    /// few stand alone]
    #[arg(long, value_name = "TIME")]
    silence: Option<TimeSpan>,
}

/// Runs the command.
pub(crate) fn windows(arguments: &WindowsArguments) -> Result<ExitStatus, CommandError> {
    let config = arguments.config.read()?;
    let path = arguments.capture.path()?;
    let input = open(&path, arguments.capture.port, &config)?;
    let silence_ps = arguments.silence.map(|silence| silence.picoseconds);
    print(&propose(&config, input, &path, silence_ps)?.text)?;
    Ok(ExitStatus::Good)
}

//! The files that a command reads: positional, or by `--input`.

use crate::CommandError;
use clap::Args;
use std::path::{Path, PathBuf};

/// The variable that stands for `--input`.
const VARIABLE: &str = "EVFORGE_INPUT";

/// At least `LEAST` (0 or 1) and at most `MOST` inputs.
#[derive(Args)]
#[group(id = "inputs", required = LEAST > 0, multiple = true)]
pub(crate) struct Inputs<const LEAST: usize, const MOST: usize> {
    /// Capture (pcap, pcapng, .pkts) or dump of readouts (HDF5); - is standard input
    #[arg(
        value_name = "INPUT",
        num_args = 0..=MOST,
        action = if MOST > 1 { clap::ArgAction::Append } else { clap::ArgAction::Set }
    )]
    positional: Vec<PathBuf>,
    /// The same as INPUT
    #[arg(
        long = "input",
        env = VARIABLE,
        value_name = "INPUT",
        num_args = 1..=MOST,
        action = clap::ArgAction::Append,
        help_heading = "Input"
    )]
    option: Vec<PathBuf>,
}

impl<const LEAST: usize, const MOST: usize> Inputs<LEAST, MOST> {
    /// The inputs. Those on the command line go before the variable.
    ///
    /// # Errors
    /// If there are more than the command reads.
    pub(crate) fn paths(&self) -> Result<Vec<PathBuf>, CommandError> {
        let variable = std::env::var_os(VARIABLE).map(PathBuf::from);
        let is_variable = |path: &PathBuf| Some(path) == variable.as_ref() && !self.positional.is_empty();
        let named = self.option.iter().filter(|path| !is_variable(path));
        let paths: Vec<PathBuf> = self.positional.iter().chain(named).map(|path| from_stream(path)).collect();
        if paths.len() > MOST {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            return Err(format!(
                "{} inputs are given, but this command reads {MOST}: {}. Run it once for each",
                paths.len(),
                names.join(", ")
            )
            .into());
        }
        Ok(paths)
    }
}

/// `-` as the file that standard input is.
fn from_stream(path: &Path) -> PathBuf {
    if path.as_os_str() == "-" { PathBuf::from("/dev/stdin") } else { path.to_owned() }
}

/// One capture, and what of it is taken.
#[derive(Args)]
pub(crate) struct CaptureArguments {
    #[command(flatten)]
    inputs: Inputs<1, 1>,
    /// Take only what was sent to this UDP port
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT", help_heading = "Input")]
    pub(crate) port: Option<u16>,
}

impl CaptureArguments {
    /// The capture.
    ///
    /// # Errors
    /// If there are several.
    pub(crate) fn path(&self) -> Result<PathBuf, CommandError> {
        // The command line is refused before if there is none.
        Ok(self.inputs.paths()?.pop().unwrap_or_default())
    }
}

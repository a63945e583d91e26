//! `evforge calibrate`: a calibration of helium-3 tubes from a capture behind a mask with slits.

use crate::CommandError;
use crate::arguments::{CaptureArguments, ConfigArguments, OverwriteArguments};
use crate::exit_status::ExitStatus;
use crate::input::open;
use crate::output::{print, write_file};
use crate::same_file::NamedFiles;
use clap::Args;
use evforge_detect::helium3::as_json;
use evforge_lab::calibrate::calibrate as measure;
use evforge_wire::ess::detector_type;
use std::path::PathBuf;

/// Arguments of `evforge calibrate`.
#[derive(Args)]
pub(crate) struct CalibrateArguments {
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    capture: CaptureArguments,
    /// Where the slits are, as shares of a tube: 0.1,0.3,0.5,0.7,0.9
    #[arg(long, value_name = "SHARES", value_delimiter = ',', required = true)]
    slits: Vec<f64>,
    /// Write the calibration as entries of the configuration
    #[arg(long, value_name = "FILE")]
    toml: Option<PathBuf>,
    /// Write the calibration as the JSON of the instrument, for calibration_file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
}

/// Runs the command.
pub(crate) fn calibrate(arguments: &CalibrateArguments) -> Result<ExitStatus, CommandError> {
    let config = arguments.config.read()?;
    let path = arguments.capture.path()?;
    NamedFiles::default()
        .input("--config", Some(&arguments.config.config))
        .input("--input", Some(&path))
        .output("--toml", &arguments.toml)
        .output("--json", &arguments.json)
        .check(arguments.overwrite)?;
    let input = open(&path, arguments.capture.port, &config)?;
    let found = measure(&config, input, &arguments.slits)?;
    print(&found.text())?;
    if let Some(file) = &arguments.toml {
        write_file("the calibration", file, found.toml(config.section).as_bytes())?;
    }
    if let Some(file) = &arguments.json {
        let header = config.detector.tubes().map(|tubes| tubes.ess.header.detector_type);
        let instrument = header.and_then(detector_type::name).unwrap_or("unknown");
        let info = format!("evforge calibrate, slits {:?}", arguments.slits);
        let text = as_json(instrument, &jiff::Timestamp::now().to_string(), &info, &found.calibration());
        write_file("the calibration", file, text.as_bytes())?;
    }
    // What does not fit is for a person to look at.
    let is_whole = found.swapped.is_empty() && found.groups.iter().all(|group| group.tubes.is_some());
    Ok(if is_whole { ExitStatus::Good } else { ExitStatus::Incomplete })
}

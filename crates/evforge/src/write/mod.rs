//! `evforge write`: topics into NeXus files, and care for files that a killed writer has left.

mod arguments;
mod base;
mod file;
mod progress_line;
mod rehearsal;
mod service;
mod service_arguments;
mod start;

pub(crate) use arguments::WriteArguments;

use crate::CommandError;
use crate::configuration::read_common;
use crate::exit_status::ExitStatus;
use crate::output::print;
use evforge_log::LogSettings;
use evforge_net::crash_note::CrashNote;
use evforge_stream::nexus::recover;
use std::path::PathBuf;

/// Runs the command.
pub(crate) fn write(arguments: &WriteArguments) -> Result<ExitStatus, CommandError> {
    if !arguments.recover.is_empty() {
        return repair(&arguments.recover);
    }
    if let Some(job) = arguments.service.job_to_rehearse() {
        rehearsal::rehearse_and_end(arguments, job)?;
    }
    let (log, name) = match &arguments.config {
        Some(path) => {
            let config = read_common(path, &arguments.overrides)?;
            (config.log, config.name)
        }
        None => (LogSettings::default(), String::new()),
    };
    arguments.log.set_up(&log, &name, arguments.quiet)?;
    if arguments.service.is_asked_for() { service::serve(arguments) } else { file::write_file(arguments) }
}

/// Repairs event files.
fn repair(paths: &[PathBuf]) -> Result<ExitStatus, CommandError> {
    let mut all_well = true;
    for path in paths {
        let _note = CrashNote::while_hdf5_reads(path);
        match recover(path) {
            Ok(recovered) => print(&format!("{recovered}\n"))?,
            Err(error) => {
                evforge_log::fail(&error.to_string());
                all_well = false;
            }
        }
    }
    Ok(ExitStatus::of(all_well))
}

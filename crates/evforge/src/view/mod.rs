//! `evforge view`: the live page of a file, or of topics, instead of a run. Reading is in `evforge_stream::nexus` and
//! `evforge_kafka::events`.

mod arguments;
mod beam;
mod ending;
mod file;
mod frames;
mod page;
mod status;
mod topics;

pub(crate) use arguments::ViewArguments;

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::check_writable;
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use evforge_config::Config;
use evforge_log::LogSettings;

/// Runs the command.
pub(crate) fn view(arguments: &ViewArguments) -> Result<ExitStatus, CommandError> {
    NamedFiles::default()
        .input("--config", &arguments.config)
        .input("FILE", &arguments.file)
        .output("--report", &arguments.report)
        .check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    let config = arguments.configuration()?;
    let log = config.as_ref().map(|config: &Config| config.log.clone());
    let name = config.as_ref().map_or("", |config| config.name.as_str());
    arguments.log.set_up(&log.unwrap_or_else(LogSettings::default), name, arguments.quiet)?;
    let stop = stop_on_signals()?;
    match &arguments.file {
        Some(path) => file::view_file(arguments, path, config.as_ref(), &stop),
        None => topics::view_topics(arguments, config.as_ref(), &stop),
    }
}

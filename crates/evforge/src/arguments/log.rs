//! What a command says while it works, how much of it, and where to.

use crate::CommandError;
use clap::{ArgAction, Args, ValueEnum};
use evforge_log::{Form, Level, Levels, LogSettings};
use std::path::PathBuf;

/// What a command says while it works, how much of it, and where to.
#[derive(Args, Default)]
pub(crate) struct LogArguments {
    /// Say more: -v what an engineer wants to know who looks for a fault, -vv everything
    #[arg(long, short, action = ArgAction::Count, help_heading = "Log")]
    verbose: u8,
    /// How much each group says: parse=debug,kafka=trace, or debug for all (docs/logs.md) [configuration: log.levels]
    #[arg(
        long,
        env = "EVFORGE_LOG",
        value_name = "GROUP=LEVEL",
        value_parser = words,
        help_heading = "Log"
    )]
    log: Vec<String>,
    /// What standard error gets; auto: journald where it leads there, sentences elsewhere [configuration: log.format]
    #[arg(long, env = "EVFORGE_LOG_FORMAT", value_name = "FORM", help_heading = "Log")]
    log_format: Option<LogForm>,
    /// Add what is said to this file as well, as JSON lines [configuration: log.file]
    #[arg(long, env = "EVFORGE_LOG_FILE", value_name = "FILE", help_heading = "Log")]
    log_file: Option<PathBuf>,
}

/// Forms, by the names of the configuration.
#[derive(Clone, Copy, ValueEnum)]
enum LogForm {
    /// journald where standard error leads there, sentences elsewhere
    Auto,
    /// Sentences for people
    Human,
    /// JSON, an object in each line
    Json,
    /// journald, by its socket
    Journald,
}

impl LogArguments {
    /// Sets the log up: as the configuration says, and over that as the command line does.
    ///
    /// # Errors
    /// If journald or the file cannot be had.
    pub(crate) fn set_up(
        &self,
        settings: &LogSettings,
        instrument: &str,
        quiet: bool,
    ) -> Result<(), CommandError> {
        let mut settings = settings.clone();
        match self.verbose {
            0 => {}
            1 => settings.levels.at_least(Level::Debug),
            _ => settings.levels.at_least(Level::Trace),
        }
        for words in &self.log {
            settings.levels.take(words)?;
        }
        if let Some(form) = self.log_format {
            settings.format = match form {
                LogForm::Auto => Form::Auto,
                LogForm::Human => Form::Human,
                LogForm::Json => Form::Json,
                LogForm::Journald => Form::Journald,
            };
        }
        if let Some(file) = &self.log_file {
            settings.file = Some(file.clone());
        }
        Ok(evforge_log::begin().set_up(&settings, instrument, quiet)?)
    }
}

/// Checks the words of `--log`.
fn words(text: &str) -> Result<String, String> {
    Levels::default().take(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

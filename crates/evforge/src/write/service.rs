//! Files for control programs: started and stopped by messages.

use super::{WriteArguments, file::storage};
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_filewriter::control::{JobRunner, JobRunnerSettings, service};
use evforge_filewriter::job::{JobSettings, PlainBases};
use std::path::PathBuf;
use std::sync::Arc;

/// The conversation with control programs.
#[derive(Args)]
pub(super) struct ServiceArguments {
    /// Write files that are asked for in this topic (pl72, 6s4t) instead of one from the command line
    #[arg(long, value_name = "TOPIC", conflicts_with_all = ["template", "config", "output", "recover"], help_heading = "Service")]
    commands: Option<String>,
    /// Take starts from this topic as well, which several writers share: whoever has room takes one
    #[arg(long, value_name = "TOPIC", requires = "commands", help_heading = "Service")]
    pool: Option<String>,
    /// The group that all writers of a pool have in common
    #[arg(
        long,
        value_name = "NAME",
        default_value = "evforge-filewriter",
        requires = "pool",
        help_heading = "Service"
    )]
    pool_group: String,
    /// The folder for files: names in messages are below it
    #[arg(long, value_name = "FOLDER", requires = "commands", help_heading = "Service")]
    folder: Option<PathBuf>,
    /// The folder of templates: for the instrument NAME, NAME/NAME.hdf in it is copied first
    #[arg(long, value_name = "FOLDER", requires = "commands", help_heading = "Service")]
    templates: Option<PathBuf>,
    /// The name of this writer, which no other has: with it, what a writer that was killed has begun is taken up again
    #[arg(long, value_name = "NAME", requires = "commands", help_heading = "Service")]
    service_id: Option<String>,
    /// Files that are written at the same time, at most
    #[arg(long, value_name = "NUMBER", default_value = "4", requires = "commands", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Service")]
    jobs: u16,
    /// Say nothing on the topic of commands, as in ISIS's conversation (runInfo), where nobody answers
    #[arg(long, requires = "commands", help_heading = "Service")]
    no_answers: bool,
}

impl ServiceArguments {
    /// True if files are asked for by messages.
    pub(super) fn is_asked_for(&self) -> bool {
        self.commands.is_some()
    }
}

/// Writes files until a signal ends it.
pub(super) fn serve(arguments: &WriteArguments) -> Result<ExitStatus, CommandError> {
    let ServiceArguments { commands, pool, pool_group, folder, templates, service_id, jobs, no_answers } =
        &arguments.service;
    let Some(commands) = commands else { return Err("--commands names no topic".into()) };
    let client = arguments.client.settings();
    let say = |line: &str| eprintln!("evforge: {line}");
    let leeway = arguments.start.leeways();
    let mut settings = service::ServiceSettings::new(client.clone(), commands.as_str());
    settings.pool_topic.clone_from(pool);
    settings.pool_group.clone_from(pool_group);
    settings.is_command_topic_quiet = *no_answers;
    settings.service_id = service_id.clone().unwrap_or_default();
    settings.jobs_at_most = usize::from(*jobs);
    let runner = JobRunnerSettings {
        files: folder.clone().unwrap_or_else(|| PathBuf::from(".")),
        templates: templates.clone(),
        owner: service_id
            .clone()
            .unwrap_or_else(|| format!("{commands} {}", pool.as_deref().unwrap_or_default())),
        job: JobSettings {
            client,
            readers: usize::from(arguments.storage.readers),
            flush_interval: arguments.storage.flush_interval.to_std(),
            storage: storage(&arguments.storage),
            bases: Arc::new(PlainBases),
        },
        leeway_before: leeway.0,
        leeway_after: leeway.1,
    };
    let stop = stop_on_signals()?;
    let mut runner = JobRunner::open(runner, &mut |line| say(line))?;
    service::run(&settings, &mut runner, &stop, &mut |line| say(line)).map_err(|error| error.to_string())?;
    Ok(ExitStatus::Good)
}

//! Files for control programs: started and stopped by messages.

use super::arguments::WriteArguments;
use super::rehearsal::ByThisProgram;
use super::service_arguments::ServiceArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::signals::stop_on_signals;
use evforge_filewriter::control::{JobRunner, JobRunnerSettings, service};
use evforge_filewriter::job::{JobSettings, PlainBases};
use std::path::PathBuf;
use std::sync::Arc;

/// Writes files until a signal ends it.
pub(super) fn serve(arguments: &WriteArguments) -> Result<ExitStatus, CommandError> {
    let ServiceArguments {
        commands, pool, pool_group, folder, templates, service_id, jobs, no_answers, ..
    } = &arguments.service;
    let Some(commands) = commands else { return Err("--commands names no topic".into()) };
    let client = arguments.client.settings();
    let say = |line: &str| tracing::info!(target: evforge_log::group::FILE, notice = true, "{line}");
    let leeway = arguments.start.leeways();
    let mut settings = service::ServiceSettings::new(client.clone(), commands.as_str());
    settings.pool_topic.clone_from(pool);
    settings.pool_group.clone_from(pool_group);
    settings.is_command_topic_quiet = *no_answers;
    settings.service_id = service_id.clone().unwrap_or_default();
    settings.jobs_at_most = usize::from(*jobs);
    let stop = stop_on_signals()?;
    let runner = JobRunnerSettings {
        files: folder.clone().unwrap_or_else(|| PathBuf::from(".")),
        templates: templates.clone(),
        owner: service_id.clone().unwrap_or_else(|| owner(commands, pool.as_deref())),
        job: JobSettings {
            client,
            readers: usize::from(arguments.storage.readers),
            flush_interval: arguments.storage.flush_interval.to_std(),
            storage: arguments.storage.storage(),
            bases: Arc::new(PlainBases),
            rehearsal: Some(Arc::new(ByThisProgram)),
            budget: Arc::default(),
            stop: Arc::clone(&stop),
        },
        leeway_before: leeway.0,
        leeway_after: leeway.1,
    };
    let mut runner = JobRunner::open(runner, &mut |line| say(line))?;
    service::run(&settings, &mut runner, &stop, &mut |line| say(line)).map_err(|error| error.to_string())?;
    Ok(ExitStatus::Good)
}

/// Who writes, by what stays the same over restarts: the host and the topics.
fn owner(commands: &str, pool: Option<&str>) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} {commands} {}", host.trim(), pool.unwrap_or_default())
}

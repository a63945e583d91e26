//! `evforge serve`: a unit that stays up over its runs.
//!
//! ```text
//! between runs ──start──► run 1 ──stop──► between runs ──start──► run 2 …
//!   pages, Graphite         all outputs, a ledger and a report of its own
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | one phase after the other | [`phases`] |
//! | what a phase is made of: the configuration, its outputs | [`phase`] |
//! | runs as others start, stop and see them | [`runs`] |
//! | starts and ends of runs from Kafka | [`run_topic`] |
//! | the number of the last run, over restarts | [`number_file`] |
//! | files that a run names for itself | [`own_files`] |
//! | files of a run that was killed | [`left_files`] |
//! | what systemd is told | [`supervisor`] |

mod left_files;
mod number_file;
mod own_files;
mod phase;
mod phases;
mod run_topic;
mod supervisor;

use crate::CommandError;
use crate::arguments::{IdentityArguments, LogArguments, ReceivingArguments};
use crate::control::{ControlArguments, ControlPorts};
use crate::exit_status::ExitStatus;
use crate::host::tell_what_matters;
use crate::outputs::{OutputArguments, text_path};
use crate::record::RecordLimits;
use crate::signals::{also_on_signals, stop_on_signals};
use clap::Args;
use evforge_control::{RunService as _, Runs, WantedRun};
use evforge_log::group;
use evforge_outputs::{Kept, Registry};
use number_file::NumberFile;
use phase::Source;
use phases::Phases;
use run_topic::RunTopic;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use supervisor::Supervisor;

/// Arguments of `evforge serve`.
#[derive(Args)]
pub(crate) struct ServeArguments {
    /// Configuration of the instrument (TOML; examples are in configs/); read again for each run
    #[arg(value_name = "CONFIG", env = "EVFORGE_CONFIG", required_unless_present = "config_option")]
    config: Option<PathBuf>,
    /// The same, as other commands take it
    #[arg(id = "config_option", long = "config", short = 'f', value_name = "FILE")]
    config_option: Option<PathBuf>,
    #[command(flatten)]
    receiving: ReceivingArguments,
    /// Begin with a run, and do not wait for one to be started [configuration: serve.start_at_once]
    #[arg(long)]
    start: bool,
    /// Record the packets of each run, as pcapng: data/{run:6}.pcapng [configuration: serve.record]
    #[arg(long, env = "EVFORGE_RECORD", value_name = "FILE", value_parser = text_path(), help_heading = "Recording")]
    record: Option<PathBuf>,
    #[command(flatten)]
    record_limits: RecordLimits,
    #[command(flatten)]
    outputs: OutputArguments,
    #[command(flatten)]
    identity: IdentityArguments,
    #[command(flatten)]
    control: ControlArguments,
    #[command(flatten)]
    log: LogArguments,
    /// Override a key of the configuration (gdgem.sorting.window=1ms); repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// No status line, and no reports of runs on the terminal
    #[arg(long, short)]
    quiet: bool,
}

impl ServeArguments {
    /// The configuration, which may be named in two ways; an option wins over the environment.
    fn path(&self) -> Result<PathBuf, CommandError> {
        let is_of_environment =
            |path: &PathBuf| std::env::var_os("EVFORGE_CONFIG").is_some_and(|named| named == *path);
        match (&self.config, &self.config_option) {
            (Some(argument), Some(option)) if argument != option && !is_of_environment(argument) => {
                Err(format!(
                    "the configuration is named twice: {} and --config {}",
                    argument.display(),
                    option.display()
                )
                .into())
            }
            (argument, option) => option
                .as_ref()
                .or(argument.as_ref())
                .cloned()
                .ok_or_else(|| "no configuration is named".into()),
        }
    }

    /// Keys of the configuration that options of their own set, with the names of these.
    fn named_overrides(&self) -> Vec<(String, String)> {
        let record = |file: &PathBuf| {
            (format!("serve.record={:?}", file.display().to_string()), "--record".to_owned())
        };
        let at_once = self.start.then(|| ("serve.start_at_once=true".to_owned(), "--start".to_owned()));
        self.record
            .iter()
            .map(record)
            .chain(at_once)
            .chain(self.receiving.overrides())
            .chain(self.control.overrides())
            .collect()
    }
}

/// Runs the command.
pub(crate) fn serve(arguments: ServeArguments, registry: Registry) -> Result<ExitStatus, CommandError> {
    let named = arguments.named_overrides();
    let of_options = named.iter().map(|(assignment, _)| assignment.clone());
    let overrides = arguments.overrides.iter().cloned().chain(of_options).collect();
    let path = arguments.path()?;
    let ServeArguments { receiving, record_limits, outputs, identity, log, quiet, .. } = arguments;
    let source = Arc::new(Source { path, overrides, receiving, outputs, identity, registry });
    let first = source.between_runs()?;
    log.set_up(&first.config.log, &first.config.name, quiet)?;
    for note in &first.config.notes {
        tracing::info!(target: group::RUN, lead = "note", always = true, "{note}");
    }
    tell_what_matters(&first.config);
    let number_file = NumberFile::of(&first.config);
    // A number in the configuration is that of the first run.
    let first_number = source.config(&[])?.run.number.unwrap_or(0);
    let last = number_file.read()?;
    let number = last.number.max(first_number.saturating_sub(1));
    let end = stop_on_signals()?;
    let stop = Arc::new(AtomicBool::new(false));
    also_on_signals(&stop)?;
    let of_runs = Arc::clone(&source);
    let prepare = move |wanted: &WantedRun, number| of_runs.run(wanted, number);
    let runs = Runs::new(Box::new(prepare), Arc::clone(&stop), Arc::clone(&end), number);
    let ports = ControlPorts::open_for(&first.config, named, Some(Arc::new(runs.clone())))?;
    // What another program is writing at this moment is left to it.
    left_files::recover_all(last.number, &last.left);
    let topic = RunTopic::follow(&first.config, &runs, &end)?;
    let at_once = first.config.serve.start_at_once;
    let phases = Phases {
        source: &source,
        runs: &runs,
        ports,
        service: None,
        kept: Kept::default(),
        record_limits,
        number_file,
        stop,
        end,
        supervisor: Supervisor::of_this_program(),
        quiet,
    };
    if at_once {
        // The time between runs begins first: then all that a run may be asked is there already.
        let runs = runs.clone();
        std::thread::spawn(move || {
            if let Err(refusal) = runs.start(WantedRun::default()) {
                tracing::error!(target: group::RUN, "the first run is not started: {refusal}");
            }
        });
    }
    let ended = phases.run(first);
    runs.close();
    drop(topic);
    ended
}

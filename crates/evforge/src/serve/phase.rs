//! What a service does for a while: a run with its outputs, or the time between two.

use super::own_files::check_own_files;
use crate::CommandError;
use crate::arguments::{IdentityArguments, ReceivingArguments};
use crate::configuration::read_configuration;
use crate::outputs::{OutputArguments, OutputPlans, fill_file_names};
use crate::same_file::NamedFiles;
use evforge_config::{Config, check_of_run};
use evforge_control::{Refusal, WantedRun};
use evforge_core::run_identity::RunIdentity;
use evforge_outputs::Registry;
use std::path::PathBuf;
use std::time::Duration;
use toml::Value;

/// What outputs are there between runs, unless the configuration says it: by their kind.
const BETWEEN_RUNS: [&str; 2] = ["view", "graphite"];

/// A phase that can begin.
pub(super) struct Phase {
    pub(super) config: Config,
    pub(super) plans: OutputPlans,
    /// The run, if it is one: otherwise it is the time between two.
    pub(super) is_run: bool,
    /// When it ends by itself.
    pub(super) ends_after: Option<Duration>,
    /// What it writes, by name.
    pub(super) files: Vec<PathBuf>,
}

/// Where phases come from: the configuration as it is in its file whenever one begins, and what the command line says.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) overrides: Vec<String>,
    pub(super) receiving: ReceivingArguments,
    pub(super) outputs: OutputArguments,
    /// What all runs are called, unless somebody says something else for one of them.
    pub(super) identity: IdentityArguments,
    pub(super) registry: Registry,
}

impl Source {
    /// The configuration as it is in its file now.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn config(&self, further: &[String]) -> Result<Config, CommandError> {
        let mut config = read_configuration(&self.path, &[&self.overrides[..], further].concat())?;
        self.receiving.apply(&mut config);
        self.outputs.apply(&mut config);
        self.identity.apply(&mut config)?;
        Ok(config)
    }

    /// The time between runs: what others look at goes on, and nothing is kept.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub(super) fn between_runs(&self) -> Result<Phase, CommandError> {
        let mut config = self.config(&[])?;
        let named = config.serve.between_runs.clone();
        config.common.outputs.retain(|id, table| match &named {
            Some(names) => names.contains(id),
            None => BETWEEN_RUNS.contains(&table.get("kind").and_then(Value::as_str).unwrap_or(id)),
        });
        config.common.serve.record = None;
        config.common.run = RunIdentity::default();
        let plans = OutputPlans::read(&self.outputs, &config, &self.registry)?;
        Ok(Phase { config, plans, is_run: false, ends_after: None, files: Vec::new() })
    }

    /// A run. It has this number if nobody says another.
    ///
    /// # Errors
    /// What is wrong with the configuration or with what is wanted, or which file is there already.
    pub(super) fn run(&self, wanted: &WantedRun, number: u32) -> Result<Phase, Refusal> {
        self.checked_run(wanted, number).map_err(|error| Refusal::Invalid(error.to_string()))
    }

    fn checked_run(&self, wanted: &WantedRun, number: u32) -> Result<Phase, CommandError> {
        let further =
            wanted.overrides.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
        let own_files = check_of_run(&self.path, &self.overrides, &further)?;
        let mut config = self.config(&further)?;
        // Not what an option of the service says.
        for (id, file) in &own_files {
            config.set_output(id, "file", file.as_str());
        }
        let number = match wanted.number {
            Some(number) => u32::try_from(number)
                .map_err(|_| format!("{number} is no number of a run: at most 2^32 − 1"))?,
            None => number,
        };
        let said = RunIdentity {
            title: wanted.title.clone(),
            number: Some(number),
            experiment: wanted.experiment.clone(),
            user: wanted.user.clone(),
            sample: wanted.sample.clone(),
            ..RunIdentity::default()
        };
        said.check().map_err(|error| error.to_string())?;
        config.common.run = std::mem::take(&mut config.common.run).overridden_by(said);
        fill_file_names(&mut config)?;
        if !own_files.is_empty() {
            let of_service = self.config(&[])?;
            check_own_files(&config, &of_service, own_files.iter().map(|(id, _)| id.as_str()))?;
        }
        let plans = OutputPlans::read(&self.outputs, &config, &self.registry)?;
        let record = config.serve.record.clone();
        let files: Vec<PathBuf> = plans.files().chain(record.clone()).collect();
        let named = plans.name(NamedFiles::default().input("the configuration", [&self.path]));
        named.kept_output("serve.record", &record).check(self.outputs.overwrite).map_err(|error| {
            format!("{error} Or have the number of the run in the name: `run-{{run}}.nxs`.")
        })?;
        Ok(Phase { config, plans, is_run: true, ends_after: wanted.duration, files })
    }
}

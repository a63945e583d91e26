//! Options that say what a run is called: short forms of the table `[run]`.

use crate::CommandError;
use clap::Args;
use evforge_config::Config;
use evforge_core::run_identity::RunIdentity;

/// Options that say what a run is called, and whose it is. They are shown in files and reports.
#[derive(Args, Default)]
pub(crate) struct IdentityArguments {
    /// What is measured, in a line [configuration: run.title]
    #[arg(long, value_name = "TEXT", help_heading = "Identity of the run")]
    title: Option<String>,
    /// The number of the run [configuration: run.number]
    #[arg(long, value_name = "NUMBER", help_heading = "Identity of the run")]
    run_number: Option<u32>,
    /// The experiment or proposal that it belongs to, by the facility's identifier [configuration: run.experiment]
    #[arg(long, value_name = "ID", help_heading = "Identity of the run")]
    experiment: Option<String>,
    /// Who measures [configuration: run.user]
    // Not `--user`: that is the user of this host that evforge becomes.
    #[arg(long, value_name = "NAME", help_heading = "Identity of the run")]
    run_user: Option<String>,
    /// What is in the beam [configuration: run.sample]
    #[arg(long, value_name = "NAME", help_heading = "Identity of the run")]
    sample: Option<String>,
}

impl IdentityArguments {
    /// Puts what the options say into the configuration.
    ///
    /// # Errors
    /// If one of them cannot be kept.
    pub(crate) fn apply(&self, config: &mut Config) -> Result<(), CommandError> {
        let said = RunIdentity {
            title: self.title.clone(),
            number: self.run_number,
            experiment: self.experiment.clone(),
            experiment_description: None,
            user: self.run_user.clone(),
            sample: self.sample.clone(),
        };
        said.check().map_err(|error| {
            let option = match &*error.key {
                "number" => "run-number",
                "user" => "run-user",
                key => key,
            };
            format!("--{option} {}", error.problem)
        })?;
        config.run = std::mem::take(&mut config.run).overridden_by(said);
        Ok(())
    }
}

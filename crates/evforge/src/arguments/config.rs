//! The configuration of the instrument, for commands that cannot do without one.

use crate::configuration::read_configuration;
use clap::Args;
use evforge_config::{Config, ConfigError};
use std::path::PathBuf;

/// The configuration of the instrument, with keys that are overridden.
#[derive(Args)]
pub(crate) struct ConfigArguments {
    /// Configuration of the instrument (TOML; examples are in configs/)
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Override a key of the configuration (gdgem.sorting.window=1ms); repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

impl ConfigArguments {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with the file or an override, and where.
    pub(crate) fn read(&self) -> Result<Config, ConfigError> {
        read_configuration(&self.config, &self.overrides)
    }
}

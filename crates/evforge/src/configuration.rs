//! The configuration that a command is given.

use evforge_config::{CommonConfig, Config, ConfigError};
use evforge_lab::simulation;
use std::path::Path;

/// Reads a configuration with a detector. `[simulation]` is checked as well, whether the command simulates or not: an error
/// in it is reported by whatever reads the file first.
pub(crate) fn read_configuration(path: &Path, overrides: &[String]) -> Result<Config, ConfigError> {
    checked(Config::read(path, overrides)?)
}

/// As [`read_configuration`], with the detector of a library; see [`Config::read_with_library`].
pub(crate) fn read_with_library(
    path: Option<&Path>,
    library: &Path,
    overrides: &[String],
) -> Result<Config, ConfigError> {
    checked(Config::read_with_library(path, library, overrides)?)
}

/// As [`read_configuration`], where no detector is needed.
pub(crate) fn read_common(path: &Path, overrides: &[String]) -> Result<CommonConfig, ConfigError> {
    let config = CommonConfig::read(path, overrides)?;
    simulation::settings(&config).map(|_| config)
}

fn checked(config: Config) -> Result<Config, ConfigError> {
    simulation::settings(&config).map(|_| config)
}

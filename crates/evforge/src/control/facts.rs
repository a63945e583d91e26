//! What is known of a run from its beginning, for those that ask.

use evforge_config::Config;
use evforge_control::RunFacts;
use evforge_control::control::Configuration;

/// The facts of a run. `named` are overrides of its configuration that are options, with their names.
pub(crate) fn facts(config: &Config, named: &[(String, String)]) -> RunFacts {
    RunFacts {
        version: env!("CARGO_PKG_VERSION").into(),
        build: format!("evforge-{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        instrument: config.name.clone(),
        detector: config.section.into(),
        configuration: Configuration {
            path: config.path.display().to_string(),
            text: config.text.clone(),
            overrides: config.overrides.clone(),
            values: config.values(named),
        },
    }
}

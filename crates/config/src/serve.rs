//! The table `[serve]`: a service that has one run after the other.

use evforge_core::settings::SettingsError;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// `[serve]`: what `evforge serve` needs to know. Other commands have no use for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServeSettings {
    /// Begin with a run, and do not wait for one to be started.
    pub start_at_once: bool,
    /// Outputs that get events between runs, too, by their names in `[outputs]`.
    #[schemars(extend("x-default" = "live views, Graphite"))]
    pub between_runs: Option<Vec<String>>,
    /// Where the packets of each run are recorded, as pcapng: a name with `{run}` in it.
    #[schemars(extend("x-range" = "a name with `{run}`"))]
    pub record: Option<PathBuf>,
    /// Where the number of the last run is kept over restarts.
    #[schemars(extend("x-default" = "that of systemd, if any"))]
    pub number_file: Option<PathBuf>,
    /// The topic with starts and ends of runs (pl72, 6s4t), at the brokers of `[kafka]`.
    pub run_topic: Option<String>,
    /// Starts for another service are not followed. What names no service is for all of them.
    #[schemars(extend("x-default" = "any"))]
    pub service_id: Option<String>,
}

impl ServeSettings {
    /// Checks the settings against the outputs there are.
    ///
    /// # Errors
    /// If an output between runs is not configured, or a topic has no name.
    pub fn check<'a>(&self, outputs: impl Iterator<Item = &'a str> + Clone) -> Result<(), SettingsError> {
        for name in self.between_runs.iter().flatten() {
            if !outputs.clone().any(|output| output == name) {
                let known = outputs.clone().collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".to_owned() } else { known };
                let problem = format!("there is no output `{name}`; the configuration has {known}");
                return SettingsError::refuse("serve.between_runs", problem);
            }
        }
        if self.run_topic.as_ref().is_some_and(String::is_empty) {
            return SettingsError::refuse("serve.run_topic", "a topic has a name");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_between_runs_is_one_of_those_there_are() {
        let settings =
            ServeSettings { between_runs: Some(vec!["veiw".to_owned()]), ..ServeSettings::default() };
        let error = settings.check(["csv", "view"].into_iter()).unwrap_err();
        assert_eq!(
            (&*error.key, &*error.problem),
            ("serve.between_runs", "there is no output `veiw`; the configuration has csv, view")
        );
        assert!(settings.check(["veiw"].into_iter()).is_ok());
        let settings = ServeSettings { run_topic: Some(String::new()), ..ServeSettings::default() };
        assert!(settings.check(std::iter::empty()).is_err());
    }
}

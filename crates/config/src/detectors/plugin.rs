//! The `[plugin]` section of a configuration file: a detector in a shared library.

use super::configured::{ConfiguredDetector, Parts};
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::settings::SettingsError;
use evforge_detect::measured_windows::MeasuredWindows;
use evforge_inspect::expected::Expected;
use evforge_plugin::PluginCounters;
use evforge_plugin::{CreateError, PluginDetector, PluginLibrary};
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A library, and what it is told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginSettings {
    /// The library. A relative path is taken from the folder of the configuration. `evforge run --detector LIBRARY` replaces it (relative to
    /// the working directory) and makes a configuration of its own if there is no `--config`.
    #[schemars(length(min = 1), extend("x-unit" = "file"))]
    pub library: PathBuf,
    /// A table that the library gets as TOML text, `key = value`. Only the library knows its keys.
    #[serde(default, deserialize_with = "as_toml")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>", extend("default" = {}))]
    pub settings: String,
}

impl ConfiguredDetector for PluginSettings {
    fn shipped() -> &'static [&'static str] {
        &[]
    }

    /// The library is not loaded: reading a configuration runs no code of others.
    fn lies_in(&mut self, folder: &Path) -> Result<(), SettingsError> {
        if self.library.as_os_str().is_empty() {
            return SettingsError::refuse("library", "expected the path of a shared library");
        }
        // With a folder in front: a bare name would be looked for among the libraries of the system.
        self.library = std::path::absolute(folder.join(&self.library))
            .or_else(|error| SettingsError::refuse("library", error.to_string()))?;
        Ok(())
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![CountedStage::of::<PluginCounters>("Forming events of a plugin")]
    }

    /// Nobody knows what a library takes but the library, which is not loaded for this.
    fn check(&self) -> Result<(), SettingsError> {
        Ok(())
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        Ok(None)
    }

    fn expected(&self, _: Option<u8>) -> Expected {
        Expected::Anything
    }

    fn simulated(&self, _: &SimulationSettings, _: PulseTrain) -> Result<Simulated, SimulationError> {
        Err(SimulationError("a detector with a section [plugin] cannot be simulated".into()))
    }

    /// Loads the library if this process has not done so yet.
    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        let refuse = |key: &str, problem: String| SettingsError { key: key.to_owned(), problem };
        let library =
            PluginLibrary::load(&self.library).map_err(|error| refuse("library", error.to_string()))?;
        let detector = PluginDetector::new(library, &self.settings).map_err(|error| {
            let key = match error {
                CreateError::Settings(_) => "settings",
                CreateError::Description(_) => "library",
            };
            refuse(key, format!("{}: {error}", self.library.display()))
        })?;
        Ok(Box::new(detector))
    }
}

/// A table as TOML.
fn as_toml<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    toml::to_string(&toml::Table::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::PluginSettings;
    use crate::{Config, DetectorSettings};
    use std::path::Path;

    fn plugin(config: &Config) -> &PluginSettings {
        let DetectorSettings::Plugin(settings) = &config.detector else { panic!("another detector") };
        settings
    }

    const TEXT: &str =
        "name = \"mine\"\n[plugin]\nlibrary = \"libmine.so\"\n[plugin.settings]\nnx = 5\na = 'b'\n";

    #[test]
    fn the_library_lies_beside_the_configuration_and_gets_its_settings_as_toml() {
        let config = Config::parse(Path::new("/some/where/mine.toml"), TEXT, &[]).unwrap();
        let settings = plugin(&config);
        assert_eq!(settings.library, Path::new("/some/where/libmine.so"));
        assert_eq!(settings.settings, "a = \"b\"\nnx = 5\n");
        let changed = ["detector.settings.nx=7".to_owned()];
        let config = Config::parse(Path::new("mine.toml"), TEXT, &changed).unwrap();
        assert_eq!(plugin(&config).settings, "a = \"b\"\nnx = 7\n");
        let error = config.build_detector().err().unwrap().to_string();
        assert!(
            error.starts_with("plugin.library: ") && error.contains("libmine.so: No such file"),
            "{error}"
        );
        let error = Config::parse(Path::new("m"), &TEXT.replace("nx", "ny.z"), &[]).unwrap();
        assert_eq!(plugin(&error).settings, "a = \"b\"\n\n[ny]\nz = 5\n");
        for (from, to, expected) in [
            ("library = \"libmine.so\"", "", "missing field `library`"),
            ("libmine.so", "", "m:3:11: plugin.library: expected the path of a shared library"),
            ("library =", "libary =", "unknown field `libary`"),
        ] {
            let error = Config::parse(Path::new("m"), &TEXT.replace(from, to), &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\n  expected {expected}");
        }
    }

    #[test]
    fn a_library_can_be_named_beside_a_file_or_without_one() {
        let here = std::env::current_dir().unwrap();
        let library = Path::new("some/libmine.so");
        let config = Config::read_with_library(None, library, &["plugin.settings.nx=3".to_owned()]).unwrap();
        assert_eq!((&*config.name, &*plugin(&config).settings), ("mine", "nx = 3\n"));
        assert_eq!(plugin(&config).library, here.join(library));
        assert!(config.text.contains("[plugin]\nlibrary = "), "{}", config.text);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, TEXT).unwrap();
        let config = Config::read_with_library(Some(&path), library, &[]).unwrap();
        assert_eq!(plugin(&config).library, here.join(library));
        assert_eq!(plugin(&config).settings, "a = \"b\"\nnx = 5\n");
        std::fs::write(&path, "name = 'x'\n[adc_readout]\nchannels = 4\n").unwrap();
        let error = Config::read_with_library(Some(&path), library, &[]).unwrap_err().to_string();
        assert!(error.contains("a second detector in addition to [adc_readout]"), "{error}");
    }
}

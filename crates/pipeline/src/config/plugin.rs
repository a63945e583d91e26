//! The `[plugin]` section of a configuration file: a detector from outside.

use super::{Config, ConfigError, SettingsError};
use evforge_plugin::{CreateError, PluginDetector, PluginLibrary};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A library, and what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginSettings {
    /// The library.
    pub library: PathBuf,
    /// Its settings as TOML, in the order of their keys.
    pub settings: String,
}

impl PluginSettings {
    /// A fresh detector. Loads the library if this process has not done so yet.
    ///
    /// # Errors
    /// If the library is refused, or refuses its settings.
    pub(super) fn build(&self) -> Result<PluginDetector, SettingsError> {
        let refuse = |key: &str, problem: String| SettingsError { key: key.to_owned(), problem };
        let library =
            PluginLibrary::load(&self.library).map_err(|error| refuse("library", error.to_string()))?;
        PluginDetector::new(library, &self.settings).map_err(|error| {
            let key = match error {
                CreateError::Settings(_) => "settings",
                CreateError::Description(_) => "library",
            };
            refuse(key, format!("{}: {error}", self.library.display()))
        })
    }
}

/// The section as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PluginSection {
    library: PathBuf,
    #[serde(default)]
    settings: toml::Table,
}

impl PluginSection {
    /// The settings. The library is looked for in `folder`, and not loaded: reading a configuration runs no code of
    /// others.
    pub(super) fn settings(&self, folder: &Path) -> Result<PluginSettings, SettingsError> {
        if self.library.as_os_str().is_empty() {
            return SettingsError::refuse("library", "expected the path of a shared library".to_owned());
        }
        let settings = toml::to_string(&self.settings)
            .or_else(|error| SettingsError::refuse("settings", error.to_string()))?;
        // With a folder in front: a bare name would be looked for among the libraries of the system.
        let library = std::path::absolute(folder.join(&self.library))
            .or_else(|error| SettingsError::refuse("library", error.to_string()))?;
        Ok(PluginSettings { library, settings })
    }
}

impl Config {
    /// As [`Config::read`], with the detector of a library in the place of the one that the file names. Without a file
    /// everything else has its default, and the instrument is called as the library is.
    ///
    /// # Errors
    /// As [`Config::read`]; if the file has the section of another detector, or the library's path is not UTF-8.
    pub fn read_with_library(
        path: Option<&Path>,
        library: &Path,
        overrides: &[String],
    ) -> Result<Self, ConfigError> {
        let told = format!("--detector {}", library.display());
        let refuse =
            |problem: String| ConfigError::Invalid { path: told.clone().into(), place: None, problem };
        let absolute = std::path::absolute(library).map_err(|error| refuse(error.to_string()))?;
        let absolute = absolute.to_str().ok_or_else(|| refuse("the path is not UTF-8".to_owned()))?;
        let mut changes = vec![format!("plugin.library={}", toml::Value::from(absolute))];
        let Some(path) = path else {
            let stem = library.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let name = stem.strip_prefix("lib").unwrap_or(stem);
            let text = format!("name = {}\n", toml::Value::from(name));
            changes.extend_from_slice(overrides);
            return Self::parse(Path::new(&told), &text, &changes);
        };
        changes.extend_from_slice(overrides);
        Self::read(path, &changes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::DetectorSettings;
    use super::*;

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
        assert!(error.contains("a second detector beside [adc_readout]"), "{error}");
    }
}

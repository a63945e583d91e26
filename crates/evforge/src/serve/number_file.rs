//! The number of the last run, which is kept over restarts.

use crate::CommandError;
use crate::output::write_file;
use evforge_config::Config;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where systemd says that a service keeps its state.
const STATE_DIRECTORY: &str = "STATE_DIRECTORY";

/// The file with the number, if there is one.
pub(super) struct NumberFile {
    path: Option<PathBuf>,
}

impl NumberFile {
    /// The one that the configuration names; otherwise one in the folder that systemd has given this service.
    pub(super) fn of(config: &Config) -> Self {
        let given = std::env::var_os(STATE_DIRECTORY).filter(|folder| !folder.is_empty());
        let own = || given.map(|folder| Path::new(&folder).join("run-number"));
        Self { path: config.serve.number_file.clone().or_else(own) }
    }

    /// The number of the last run; 0 if there was none.
    ///
    /// # Errors
    /// If the file cannot be read, or has something else in it.
    pub(super) fn read(&self) -> Result<u32, CommandError> {
        let Some(path) = &self.path else { return Ok(0) };
        let name = path.display();
        match std::fs::read_to_string(path) {
            Ok(text) => text.trim().parse().map_err(|_| {
                let found: String = text.trim().chars().take(40).collect();
                format!("serve.number_file {name}: expected the number of the last run, found `{found}`")
                    .into()
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            Err(error) => Err(format!("serve.number_file {name} cannot be read: {error}").into()),
        }
    }

    /// Keeps a number: before the run writes anything.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn keep(&self, number: u32) -> Result<(), CommandError> {
        let Some(path) = &self.path else { return Ok(()) };
        write_file("the number of the run", path, format!("{number}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_kept_and_what_is_none_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("number");
        let file = NumberFile { path: Some(path.clone()) };
        assert_eq!(file.read().unwrap(), 0);
        file.keep(41).unwrap();
        file.keep(42).unwrap();
        assert_eq!(file.read().unwrap(), 42);
        std::fs::write(&path, "forty-two").unwrap();
        assert!(file.read().unwrap_err().to_string().contains("found `forty-two`"));
        let nowhere = NumberFile { path: None };
        nowhere.keep(7).unwrap();
        assert_eq!(nowhere.read().unwrap(), 0);
    }
}

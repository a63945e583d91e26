//! The number of the last run, and the files of one that goes on: kept over restarts, also over one that nobody has asked for.
//!
//! The first line is the number. Behind it are the files of the run, a line each, as long as it goes on: those that a service which was
//! killed has left behind.

use crate::CommandError;
use crate::output::write_file;
use evforge_config::Config;
use evforge_core::whole_file;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where systemd says that a service keeps its state.
const STATE_DIRECTORY: &str = "STATE_DIRECTORY";

/// The file with the number, if there is one.
pub(super) struct NumberFile {
    path: Option<PathBuf>,
}

/// What it says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LastRun {
    /// The number of the last run; 0 if there was none.
    pub(super) number: u32,
    /// The files of a run that was not brought to its end.
    pub(super) left: Vec<PathBuf>,
}

impl NumberFile {
    /// The one that the configuration names; otherwise one in the folder that systemd has given this service.
    pub(super) fn of(config: &Config) -> Self {
        let given = std::env::var_os(STATE_DIRECTORY).filter(|folder| !folder.is_empty());
        let own = || given.map(|folder| Path::new(&folder).join("run-number"));
        Self { path: config.serve.number_file.clone().or_else(own) }
    }

    /// What is known of the last run.
    ///
    /// # Errors
    /// If the file cannot be read, or has something else in it.
    pub(super) fn read(&self) -> Result<LastRun, CommandError> {
        let Some(path) = &self.path else { return Ok(LastRun::default()) };
        let name = path.display();
        let text = match whole_file::text(path, whole_file::SETTINGS) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(LastRun::default()),
            Err(error) => return Err(format!("serve.number_file {name} cannot be read: {error}").into()),
        };
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default().trim();
        let number = first.parse().map_err(|_| {
            let found: String = first.chars().take(40).collect();
            format!("serve.number_file {name}: expected the number of the last run, found `{found}`")
        })?;
        Ok(LastRun { number, left: lines.filter(|line| !line.is_empty()).map(PathBuf::from).collect() })
    }

    /// Keeps the number of a run, and its files, before it writes anything.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn begin(&self, number: u32, files: &[PathBuf]) -> Result<(), CommandError> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut text = format!("{number}\n");
        for file in files {
            // Wherever the next one is started.
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            let _ = writeln!(text, "{}", file.display());
        }
        write_file("the number of the run", path, text.as_bytes())
    }

    /// The run with this number has been brought to its end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn end(&self, number: u32) -> Result<(), CommandError> {
        self.begin(number, &[])
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
        assert_eq!(file.read().unwrap(), LastRun::default());
        let left = vec![folder.path().join("a.nxs"), folder.path().join("b c.pcapng")];
        file.begin(41, &left).unwrap();
        assert_eq!(file.read().unwrap(), LastRun { number: 41, left });
        file.end(42).unwrap();
        assert_eq!(file.read().unwrap(), LastRun { number: 42, left: Vec::new() });
        std::fs::write(&path, "forty-two").unwrap();
        assert!(file.read().unwrap_err().to_string().contains("found `forty-two`"));
        let nowhere = NumberFile { path: None };
        nowhere.begin(7, &[]).unwrap();
        assert_eq!(nowhere.read().unwrap(), LastRun::default());
    }
}

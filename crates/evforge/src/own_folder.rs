//! A folder for files that only this command needs.

use crate::CommandError;
use std::path::Path;
use tempfile::TempDir;

/// Makes a folder in `folder`, named after the command, that is there for as long as what is returned. Its name is new: in a
/// namespace of processes, each command has the number 1.
pub(crate) fn make_in(folder: &Path, command: &str) -> Result<TempDir, CommandError> {
    let made = tempfile::Builder::new().prefix(&format!("evforge-{command}-")).tempdir_in(folder);
    made.map_err(|error| format!("no folder can be made in {}: {error}", folder.display()).into())
}

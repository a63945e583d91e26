//! A folder for files that only this command needs.

use crate::CommandError;
use std::path::{Path, PathBuf};

/// A folder that is there for as long as this.
pub(crate) struct OwnFolder(pub(crate) PathBuf);

impl OwnFolder {
    /// Makes it in `folder`, named after the command.
    pub(crate) fn make_in(folder: &Path, command: &str) -> Result<Self, CommandError> {
        let own = folder.join(format!("evforge-{command}-{}", std::process::id()));
        std::fs::create_dir(&own)
            .map_err(|error| format!("the folder {} cannot be made: {error}", own.display()))?;
        Ok(Self(own))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // What is left of it is nobody's loss, and named after this command.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

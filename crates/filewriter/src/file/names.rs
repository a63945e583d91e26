//! What a file is called while it is written, and what lies next to it.
//!
//! | name | what it is |
//! |---|---|
//! | `run.nxs` | the file, once it is complete; read-only |
//! | `run.nxs.sha256` | its checksum, as `sha256sum --check` reads it |
//! | `run.nxs.making` | the file until it can be followed: nothing is in it |
//! | `run.nxs.writing` | the file while it is written; it can be followed |
//! | `run.nxs.job` | what the job is: with it a writer that was killed goes on |
//! | `run.nxs.attempts` | how often the job has ended its process before a commit |
//! | `run.nxs.lock` | held by the process that writes |
//! | `run.nxs.damaged-1` | a file that could not be taken up again; the job began from its first messages |
//! | `run.nxs.aborted-1` | a file whose run was aborted |
//! | `run.nxs.set-aside-1` | what a job was that has ended its process twice |

use super::FileError;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Numbers of files that are set aside, at most.
const MOST_ASIDE: u32 = 1000;

/// The names of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    path: PathBuf,
}

impl Names {
    /// Of the file that will be called so.
    pub fn of(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The complete file.
    pub fn complete(&self) -> &Path {
        &self.path
    }

    /// The file while it is written.
    pub fn writing(&self) -> PathBuf {
        self.with(".writing")
    }

    /// What the job is.
    pub fn job(&self) -> PathBuf {
        self.with(".job")
    }

    /// How often the job has ended the process that did it.
    pub fn attempts(&self) -> PathBuf {
        self.with(".attempts")
    }

    /// The name of a file that is never there: it is counted what one would take.
    pub(super) fn counted(&self) -> PathBuf {
        self.with(".counted")
    }

    /// The checksum.
    pub fn checksum(&self) -> PathBuf {
        self.with(".sha256")
    }

    /// A free name for a file that is set aside: `damaged`, `aborted`, `set-aside`.
    ///
    /// # Errors
    /// If there is none.
    pub fn aside(&self, why: &str) -> Result<PathBuf, FileError> {
        (1..=MOST_ASIDE)
            .map(|number| self.with(&format!(".{why}-{number}")))
            .find(|path| !is_there(path))
            .ok_or_else(|| FileError::Exists(self.with(&format!(".{why}-{MOST_ASIDE}"))))
    }

    fn with(&self, ending: &str) -> PathBuf {
        let mut name: OsString = self.path.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        self.path.with_file_name(name)
    }
}

/// True if there is something of this name, a link that leads nowhere included.
pub fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        let names = Names::of(&path);
        assert_eq!(names.writing(), folder.path().join("run.nxs.writing"));
        assert_eq!(names.aside("damaged").unwrap(), folder.path().join("run.nxs.damaged-1"));
        fs::write(folder.path().join("run.nxs.damaged-1"), "").unwrap();
        assert_eq!(names.aside("damaged").unwrap(), folder.path().join("run.nxs.damaged-2"));
    }
}

//! What was changed on this host, so that it can be taken back: a file that is on disk before anything changes.

use crate::place::Place;
use crate::rows::is_of_a_row;
use crate::writers::who_else_writes;
use evforge_core::whole_file;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The format of the file.
const FORMAT: u32 = 1;

/// A value that was changed, or is about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its name: `eth2: ring rx`.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// The value before evforge changed it first.
    pub before: String,
    /// The value that evforge has set, as the host then told it; what was to be set, as long as it is not.
    pub after: String,
}

/// Everything that was changed and not yet taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    format: u32,
    /// In the order in which it was changed.
    pub changes: Vec<Recorded>,
    #[serde(skip)]
    path: PathBuf,
}

/// What is wrong with a journal.
#[derive(Debug, Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("the journal {} of changed settings: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Others could have written what it says, which would then be written by root.
    #[error("the journal {} of changed settings: {why}; give --journal a file that nobody else can write, in a folder of which that holds, too", path.display())]
    Others {
        /// Which.
        path: PathBuf,
        /// Who, and by what.
        why: String,
    },
    /// It names a setting that evforge never changes.
    #[error("the journal {} of changed settings names {}, which `evforge tune` never changes: it has not written this", path.display(), place.subject())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// What it names.
        place: Place,
    },
    /// It is not one.
    #[error("the journal {} of changed settings is damaged: {error}; what it says has to be taken back by hand, then remove it", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// Of a later version.
    #[error("the journal {} of changed settings has format {found}, and this evforge knows {FORMAT}: take back what it says with the version that wrote it", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// Its number.
        found: u32,
    },
}

impl Journal {
    /// Where it is, unless a user says otherwise.
    pub const DEFAULT: &str = "/var/lib/evforge/tuned.json";

    /// Reads the journal; without a file it is empty. What it says is written by root, so nobody else may have a hand in it.
    ///
    /// # Errors
    /// If there is a file, and it cannot be read or is no journal, names what no row of the table has, or somebody else than this user
    /// and root can write it or its folder.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        let file_error = |error| JournalError::File { path: path.to_owned(), error };
        refuse_writers(path)?;
        let text = match whole_file::bytes(path, whole_file::SETTINGS) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { format: FORMAT, changes: Vec::new(), path: path.to_owned() });
            }
            Err(error) => return Err(file_error(error)),
        };
        let damaged = |error| JournalError::Damaged { path: path.to_owned(), error };
        let mut journal: Self = serde_json::from_slice(&text).map_err(damaged)?;
        if journal.format != FORMAT {
            return Err(JournalError::Format { path: path.to_owned(), found: journal.format });
        }
        if let Some(change) = journal.changes.iter().find(|change| !is_of_a_row(&change.place)) {
            return Err(JournalError::Foreign { path: path.to_owned(), place: change.place.clone() });
        }
        path.clone_into(&mut journal.path);
        Ok(journal)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps other programs from changing settings under the same journal, for as long as what is returned exists.
    ///
    /// # Errors
    /// If another does it now, the folder cannot be made, or others can write it.
    pub fn lock(path: &Path) -> Result<File, JournalError> {
        refuse_writers(path)?;
        let locked = || -> io::Result<File> {
            let folder = folder_of(path);
            fs::create_dir_all(folder)?;
            // The folder itself: no file is left behind.
            let folder = File::open(folder)?;
            folder.try_lock().map_err(|error| match error {
                fs::TryLockError::WouldBlock => io::Error::other("another evforge tune is at work"),
                fs::TryLockError::Error(error) => error,
            })?;
            Ok(folder)
        };
        locked().map_err(|error| JournalError::File { path: path.to_owned(), error })
    }

    /// Notes a change that is about to be made, and says at which place. A value that was changed before keeps what it was at first.
    pub(crate) fn note(&mut self, change: Recorded) -> usize {
        let noted = self.changes.iter().position(|noted| noted.place == change.place);
        match noted {
            Some(at) => self.changes[at].after = change.after,
            None => self.changes.push(change),
        }
        noted.unwrap_or(self.changes.len() - 1)
    }

    /// Writes it: as a whole or not at all, and on disk when this returns. An empty one is removed.
    ///
    /// # Errors
    /// If that is not possible. Then what it was before is still there.
    pub fn write(&self) -> Result<(), JournalError> {
        self.try_to_write().map_err(|error| JournalError::File { path: self.path.clone(), error })
    }

    fn try_to_write(&self) -> io::Result<()> {
        let folder = folder_of(&self.path);
        if self.changes.is_empty() {
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => return Ok(()),
            }
        }
        fs::create_dir_all(folder)?;
        let mut name = self.path.as_os_str().to_owned();
        name.push(".new");
        let mut file = File::create(&name)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(&name, &self.path)?;
        File::open(folder)?.sync_all()
    }
}

/// Looks before anything is made or believed.
fn refuse_writers(path: &Path) -> Result<(), JournalError> {
    match who_else_writes(path) {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(JournalError::Others { path: path.to_owned(), why }),
        Err(error) => Err(JournalError::File { path: path.to_owned(), error }),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn change(path: &str, before: &str, after: &str) -> Recorded {
        let (before, after) = (before.to_owned(), after.to_owned());
        Recorded { name: path.to_owned(), place: Place::File(path.into()), before, after }
    }

    #[test]
    fn it_is_read_as_it_was_written_and_keeps_the_first_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/tuned.json");
        let mut journal = Journal::read(&path).unwrap();
        assert!(journal.changes.is_empty());
        let (a, b) = ("/proc/sys/net/core/rmem_max", "/sys/class/net/eth2/mtu");
        journal.note(change(a, "1", "2"));
        journal.note(change(b, "1", "2"));
        journal.note(change(a, "2", "3"));
        journal.write().unwrap();
        let read = Journal::read(&path).unwrap();
        assert_eq!(read, journal);
        assert_eq!(read.changes, [change(a, "1", "3"), change(b, "1", "2")]);
        journal.changes.clear();
        journal.write().unwrap();
        assert!(!path.exists());
        journal.write().unwrap();
    }

    #[test]
    fn only_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuned.json");
        let lock = Journal::lock(&path).unwrap();
        assert!(Journal::lock(&path).unwrap_err().to_string().contains("another evforge tune"));
        drop(lock);
        assert!(Journal::lock(&path).is_ok());
    }

    #[test]
    fn what_is_no_journal_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuned.json");
        for (text, expected) in [
            ("{", "damaged"),
            (r#"{"format": 2, "changes": []}"#, "format 2"),
            (r#"{"format": 1}"#, "damaged"),
            (
                r#"{"format": 1, "changes": [{"name": "x", "place": {"file": "/etc/passwd"}, "before": "", "after": ""}]}"#,
                "/etc/passwd, which `evforge tune` never changes",
            ),
        ] {
            fs::write(&path, text).unwrap();
            let said = Journal::read(&path).unwrap_err().to_string();
            assert!(said.contains(expected) && said.contains("tuned.json"), "{said}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_journal_that_others_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, path) = (folder.path().join("kept"), folder.path().join("kept/tuned.json"));
        let refused = |expected: &str| {
            let said = Journal::read(&path).unwrap_err().to_string();
            assert!(said.contains(expected) && said.contains("--journal"), "{said}");
        };
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(&path, r#"{"format": 1, "changes": []}"#).unwrap();
        assert!(Journal::read(&path).is_ok());
        mode(&path, 0o666);
        refused("others can write");
        mode(&path, 0o600);
        // Who can write the folder can put another file there.
        for writable in [0o770, 0o1777] {
            mode(&kept, writable);
            refused("others can write");
        }
        mode(&kept, 0o755);
        // Above it, only the owner of a folder that is sticky can do so.
        mode(folder.path(), 0o1777);
        assert!(Journal::read(&path).is_ok());
        mode(folder.path(), 0o777);
        refused("others can write");
        let new = folder.path().join("new/tuned.json");
        assert!(
            Journal::lock(&new).is_err() && !folder.path().join("new").exists(),
            "no folder is made in it"
        );
        mode(folder.path(), 0o700);
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        refused("no plain file");
        if std::os::unix::fs::chown(&elsewhere, Some(65534), None).is_ok() {
            fs::rename(&elsewhere, &path).unwrap();
            refused("belongs to user 65534");
        }
    }
}

//! A name for an event file, held from before the run until its end.
//!
//! An event file is begun with the first events, so it cannot itself say before that somebody is going to write it. A
//! lock file next to it does: `run.nxs.lock`, locked (`flock`) by the run and removed at its end. The lock goes with the
//! process, so the lock file that a killed one leaves holds nothing. On file systems without locks nobody is kept out.

use std::path::{Path, PathBuf};

use super::error::{NexusError, numbered};
use super::lock::Lock;
use super::options::ExistingFile;
use super::place::{HIGHEST_NUMBER, occupied};
use super::recovered::Recovered;
use super::recovery::{needs_recovery, recover_held};

/// The name of an event file that nobody else is going to write, repair or reserve until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    path: PathBuf,
    recovered: Option<Recovered>,
    _lock: Lock,
}

impl Reservation {
    /// Reserves `path`, or with [`ExistingFile::Number`] the first free name made of it. A file that a killed writer has
    /// left at `path` is recovered first. Nothing is made or removed but the lock file.
    ///
    /// # Errors
    /// If somebody else holds or writes it, a file exists that must not be touched or cannot be recovered, or no lock
    /// file can be made there.
    pub fn take(path: &Path, existing: ExistingFile) -> Result<Self, NexusError> {
        let mut recovered = None;
        let first = Lock::take(path).and_then(|lock| {
            if occupied(path)? {
                match needs_recovery(path) {
                    Ok(true) => recovered = Some(recover_held(path)?),
                    Err(error @ NexusError::InUse(_)) => return Err(error),
                    // Something else, which is not touched unless it is to be replaced.
                    _ => {}
                }
            }
            Ok(lock)
        });
        let is_numbered = existing == ExistingFile::Number;
        match first {
            Err(NexusError::InUse(_)) if is_numbered => {}
            first => {
                let lock = first?;
                let is_taken = occupied(path)?;
                if !is_taken || existing == ExistingFile::Overwrite {
                    return Ok(Self { path: path.to_owned(), recovered, _lock: lock });
                }
                if !is_numbered {
                    return Err(NexusError::Exists { path: path.to_owned(), unfinished: false });
                }
            }
        }
        for number in 1..=HIGHEST_NUMBER {
            let candidate = numbered(path, number);
            if occupied(&candidate)? {
                continue;
            }
            match Lock::take(&candidate) {
                Err(NexusError::InUse(_)) => {}
                // Whoever held the name a moment ago may have made the file meanwhile.
                Ok(_) if occupied(&candidate)? => {}
                lock => return Ok(Self { path: candidate, recovered, _lock: lock? }),
            }
        }
        Err(NexusError::Option(format!(
            "{} and all its numbers up to {HIGHEST_NUMBER} exist: choose another name",
            path.display()
        )))
    }

    /// The name that is reserved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was recovered at `path`, if anything was.
    pub fn recovered(&self) -> Option<&Recovered> {
        self.recovered.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_name_is_held_by_one_until_it_ends_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        let first = Reservation::take(&path, ExistingFile::Refuse).unwrap();
        assert_eq!((first.path(), names(folder.path())), (&*path, vec!["run.nxs.lock".to_owned()]));
        for existing in [ExistingFile::Refuse, ExistingFile::Overwrite] {
            assert!(matches!(Reservation::take(&path, existing), Err(NexusError::InUse(_))));
        }
        let numbered = Reservation::take(&path, ExistingFile::Number).unwrap();
        let further = Reservation::take(&path, ExistingFile::Number).unwrap();
        assert_eq!(numbered.path(), folder.path().join("run-1.nxs"));
        assert_eq!(further.path(), folder.path().join("run-2.nxs"));
        drop((first, numbered));
        assert_eq!(Reservation::take(&path, ExistingFile::Number).unwrap().path(), path);
        drop(further);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn what_a_killed_process_has_left_holds_nothing_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        let lock = folder.path().join("run.nxs.lock");
        fs::write(&lock, "left").unwrap();
        drop(Reservation::take(&path, ExistingFile::Refuse).unwrap());
        assert!(!lock.exists());
        let elsewhere = folder.path().join("somebody's");
        fs::write(&elsewhere, "data").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
        assert!(matches!(Reservation::take(&path, ExistingFile::Refuse), Err(NexusError::Io { .. })));
        assert_eq!(fs::read(elsewhere).unwrap(), b"data");
    }

    #[test]
    fn many_at_once_never_hold_the_same_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let held = Reservation::take(&path, ExistingFile::Number).unwrap();
                        // Whoever else had the name would have made this file, too.
                        let mark = held.path().with_extension("mark");
                        File::create_new(&mark).unwrap();
                        std::thread::yield_now();
                        fs::remove_file(mark).unwrap();
                    }
                });
            }
        });
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn files_that_exist_are_left_alone_by_the_rule_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        fs::write(&path, "not HDF5").unwrap();
        let refused = Reservation::take(&path, ExistingFile::Refuse);
        assert!(matches!(refused, Err(NexusError::Exists { unfinished: false, .. })));
        assert_eq!(Reservation::take(&path, ExistingFile::Overwrite).unwrap().path(), path);
        let numbered = Reservation::take(&path, ExistingFile::Number).unwrap();
        assert_eq!(numbered.path(), folder.path().join("run-1.nxs"));
        drop(numbered);
        assert_eq!((fs::read(&path).unwrap(), names(folder.path()).len()), (b"not HDF5".into(), 1));
    }
}

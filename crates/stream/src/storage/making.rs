//! A file that gets its name when it can be followed, and not before.
//!
//! HDF5 cannot open what a process leaves that is killed between the first group and the moment from which a file can be followed.
//! Such a file has nothing in it, but its name would be taken. It is therefore made under another name.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// A file that is being made. Dropped before it has its name, it is removed.
#[derive(Debug)]
pub struct Making {
    making: PathBuf,
    is_named: bool,
}

impl Making {
    /// The name under which the file at `path` is made.
    pub fn name_for(path: &Path) -> PathBuf {
        let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
        name.push(".making");
        path.with_file_name(name)
    }

    /// Frees the name under which the file at `path` is made: removes what a process that was killed has left there.
    ///
    /// # Errors
    /// [`ErrorKind::ResourceBusy`] if another process is making the file at this moment; else if it cannot be removed.
    pub fn begin(path: &Path) -> Result<Self> {
        let making = Self::name_for(path);
        if let Some(left) = opened_if_there(&making)? {
            // HDF5 locks a file for as long as nobody can follow it.
            if matches!(left.try_lock(), Err(TryLockError::WouldBlock)) {
                return Err(Error::new(ErrorKind::ResourceBusy, "another process is making it"));
            }
            fs::remove_file(&making)?;
        }
        Ok(Self { making, is_named: false })
    }

    /// What the file is called while it is made.
    pub fn path(&self) -> &Path {
        &self.making
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is something of that name; else what the operating system refuses.
    pub fn name_it(mut self, path: &Path) -> Result<()> {
        rename_unless_there(&self.making, path)?;
        self.is_named = true;
        Ok(())
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.is_named {
            // Nothing is in it. That it may not be there is one reason to be here.
            let _ = fs::remove_file(&self.making);
        }
    }
}

fn opened_if_there(path: &Path) -> Result<Option<File>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(about) if about.is_file() => File::open(path).map(Some),
        Ok(_) => Err(Error::new(ErrorKind::AlreadyExists, format!("{} is not a plain file", path.display()))),
    }
}

/// Renames, but never over another file.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if there is something called `to`; else what the operating system refuses.
pub fn rename_unless_there(from: &Path, to: &Path) -> Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // A file system that cannot do both in one step.
        Err(Errno::INVAL | Errno::NOSYS) => match fs::symlink_metadata(to) {
            Ok(_) => Err(Errno::EXIST.into()),
            Err(_) => fs::rename(from, to),
        },
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_when_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        let left = folder.path().join("run.nxs.making");
        fs::write(&left, "left by a process that was killed").unwrap();
        let making = Making::begin(&path).unwrap();
        assert!(!left.exists());
        fs::write(making.path(), "made").unwrap();
        assert!(!path.exists());
        making.name_it(&path).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), left.exists()), ("made", false));
    }

    #[test]
    fn what_is_not_made_is_removed_and_nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        let making = Making::begin(&path).unwrap();
        fs::write(making.path(), "half").unwrap();
        drop(making);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let making = Making::begin(&path).unwrap();
        fs::write(making.path(), "made").unwrap();
        fs::write(&path, "somebody's").unwrap();
        assert_eq!(making.name_it(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_another_process_makes_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        let theirs = File::create(Making::name_for(&path)).unwrap();
        theirs.lock().unwrap();
        assert_eq!(Making::begin(&path).unwrap_err().kind(), ErrorKind::ResourceBusy);
        assert!(Making::name_for(&path).exists());
        std::os::unix::fs::symlink("elsewhere", folder.path().join("other.nxs.making")).unwrap();
        let refused = Making::begin(&folder.path().join("other.nxs")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    }
}

//! Where a new file goes when there is one already, and how processes keep out of each other's way.
//!
//! HDF5 gives up its own lock on a file once others may follow it, so a second process could not tell a
//! file that is being written from one whose writer was killed. The writer therefore holds a shared lock
//! (`flock`) of its own: it leaves all readers alone, ends with the process however that ends, and makes the
//! exclusive lock fail by which repair and overwriting ask whether somebody is writing. On file systems
//! without locks that question cannot be asked and is answered with "nobody".

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::{NexusError, numbered};
use super::layout::length_at_the_beginning;
use super::options::{ExistingFile, NexusOptions};
use crate::storage::space::{DiskSpace, folder_of};
use crate::storage::superblock::{SUPERBLOCK_LENGTH, Superblock, SuperblockError};

/// Files numbered higher than this are a mistake, not a habit.
pub(crate) const HIGHEST_NUMBER: u32 = 99_999;

/// The path for a new file at `path`, made free by the rule `existing`.
pub(crate) fn make_room(path: &Path, existing: ExistingFile) -> Result<PathBuf, NexusError> {
    if !occupied(path)? {
        return Ok(path.to_owned());
    }
    match existing {
        ExistingFile::Refuse => {
            let unfinished = superblock_of(path).is_ok_and(|superblock| superblock.is_marked_as_open());
            if unfinished && is_in_use(path)? {
                return Err(NexusError::InUse(path.to_owned()));
            }
            Err(NexusError::Exists { path: path.to_owned(), unfinished })
        }
        ExistingFile::Overwrite => {
            if is_in_use(path)? {
                return Err(NexusError::InUse(path.to_owned()));
            }
            // Removed rather than truncated: whoever still reads the old file keeps it whole.
            std::fs::remove_file(path).map_err(|cause| NexusError::io("overwrite", path, cause))?;
            Ok(path.to_owned())
        }
        ExistingFile::Number => {
            for number in 1..=HIGHEST_NUMBER {
                let candidate = numbered(path, number);
                if !occupied(&candidate)? {
                    return Ok(candidate);
                }
            }
            Err(NexusError::Option(format!(
                "{} and all its numbers up to {HIGHEST_NUMBER} exist: choose another name",
                path.display()
            )))
        }
    }
}

/// Whether a file can be begun, before anything is made or removed for it.
pub(crate) fn check_room(options: &NexusOptions, space: &dyn DiskSpace) -> Result<(), NexusError> {
    let mut needed = length_at_the_beginning(options);
    if options.existing == ExistingFile::Overwrite {
        // Its room becomes free.
        let old = std::fs::symlink_metadata(&options.path).map_or(0, |about| about.blocks() * 512);
        needed = needed.saturating_sub(old);
    }
    space
        .has_room(folder_of(&options.path), needed)
        .map_err(|shortage| NexusError::NoSpace { path: options.path.clone(), shortage })
}

/// Takes the shared lock of a writer. None on file systems without locks.
pub(crate) fn hold(path: &Path) -> Result<Option<File>, NexusError> {
    let file = File::open(path).map_err(|cause| NexusError::io("open", path, cause))?;
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(NexusError::InUse(path.to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// True if another process is writing the file (or has it open in a way that excludes writing).
pub(crate) fn is_in_use(path: &Path) -> Result<bool, NexusError> {
    let file = File::open(path).map_err(|cause| NexusError::io("open", path, cause))?;
    // The lock ends where `file` does.
    Ok(matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// True if another process holds a lock on the file, or nobody can know. For whoever has the file open in HDF5, whose own lock makes
/// [`is_in_use`] true. Files are told apart by their number alone: file systems that lie over others have several devices.
pub(crate) fn is_held_by_others(file: &File) -> bool {
    let (Ok(about), Ok(locks)) = (file.metadata(), std::fs::read_to_string("/proc/locks")) else {
        return true;
    };
    let own = std::process::id().to_string();
    // 1: FLOCK  ADVISORY  READ 4321 fe:01:123456 0 EOF
    locks.lines().any(|line| {
        let mut fields = line.split_whitespace().skip_while(|field| *field != "FLOCK").skip(3);
        let (process, place) = (fields.next(), fields.next());
        let number = place.and_then(|place| place.rsplit(':').next()).and_then(|number| number.parse().ok());
        number == Some(about.ino()) && process != Some(own.as_str())
    })
}

/// The superblock of the file at `path`.
pub(crate) fn superblock_of(path: &Path) -> Result<Superblock, NexusError> {
    let mut start = Vec::with_capacity(SUPERBLOCK_LENGTH);
    let file = File::open(path).map_err(|cause| NexusError::io("open", path, cause))?;
    file.take(SUPERBLOCK_LENGTH as u64)
        .read_to_end(&mut start)
        .map_err(|cause| NexusError::io("read", path, cause))?;
    Superblock::parse(&start).map_err(|error| match error {
        SuperblockError::NotHdf5 => NexusError::NotHdf5(path.to_owned()),
        SuperblockError::OtherKind(missing) => NexusError::NotOurs { path: path.to_owned(), missing },
        SuperblockError::Damaged(finding) => NexusError::Damaged { path: path.to_owned(), finding },
    })
}

/// True if there is something of this name.
pub(crate) fn occupied(path: &Path) -> Result<bool, NexusError> {
    // Not `Path::exists`: a dangling link occupies the name, too.
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(NexusError::io("create", path, cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_where_a_name_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        assert_eq!(make_room(&path, ExistingFile::Number).unwrap(), path);
        std::fs::write(&path, b"").unwrap();
        std::fs::write(folder.path().join("run-1.nxs"), b"").unwrap();
        assert_eq!(make_room(&path, ExistingFile::Number).unwrap(), folder.path().join("run-2.nxs"));
        assert_eq!(numbered(Path::new("a/run"), 3), Path::new("a/run-3"));
    }

    #[test]
    fn who_holds_a_file_is_seen_and_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        std::fs::write(&path, b"").unwrap();
        let held = hold(&path).unwrap();
        assert!(held.is_some() && is_in_use(&path).unwrap());
        assert!(matches!(make_room(&path, ExistingFile::Overwrite), Err(NexusError::InUse(_))));
        drop(held);
        assert!(!is_in_use(&path).unwrap());
        assert_eq!(make_room(&path, ExistingFile::Overwrite).unwrap(), path);
        assert!(!path.exists());
    }
}

//! Partial files that others have left.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What stands behind the name of a file that is not complete.
pub(super) const PARTIAL: &str = ".partial";

/// The name that a partial file was to have in the end; none for a file whose name does not say that it is partial.
pub fn target_of(partial: &Path) -> Option<PathBuf> {
    let name = partial.file_name()?.as_bytes();
    // The last one: a file may be called `my.partial-run.csv`.
    let at = name.windows(PARTIAL.len()).rposition(|part| part == PARTIAL.as_bytes())?;
    let (target, rest) = name.split_at(at);
    let is_partial = matches!(rest.get(PARTIAL.len()), None | Some(b'-'));
    (is_partial && !target.is_empty()).then(|| partial.with_file_name(OsStr::from_bytes(target)))
}

/// The partial files in a folder that are to have a name of which `wanted` is true, and that nobody is writing; in the
/// order of their names.
///
/// # Errors
/// If the folder cannot be read.
pub fn left_over(folder: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
        if is_file && target_of(&path).is_some_and(|target| wanted(&target)) && !is_being_written(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// True if a process is writing the partial file at this moment. On file systems without locks that cannot be asked, and
/// the answer is no.
pub fn is_being_written(partial: &Path) -> bool {
    // Nobody is waited for where the name is that of a pipe.
    const FLAGS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(FLAGS).open(partial);
    // The lock ends where the file is dropped.
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::super::StagedName;
    use super::*;

    #[test]
    fn partial_names_tell_what_the_file_was_to_be() {
        let target = |name: &str| target_of(&Path::new("folder").join(name));
        let expected = Some(Path::new("folder/run.csv").to_owned());
        for name in ["run.csv.partial", "run.csv.partial-1", "run.csv.partial-20261031T120000Z-1-5be0c2a7"] {
            assert_eq!(target(name), expected, "{name}");
        }
        assert_eq!(target("a.partial-b.csv.partial-1"), Some(Path::new("folder/a.partial-b.csv").to_owned()));
        for name in ["run.csv", "run.csv.partially", ".partial", ".partial-1", "run.partials-1"] {
            assert_eq!(target(name), None, "{name}");
        }
    }

    #[test]
    fn a_file_that_is_being_written_is_not_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.csv");
        let all = || left_over(folder.path(), |target| target.ends_with("run.csv")).unwrap();
        let (mut name, file) = StagedName::replacing(&target).unwrap();
        assert!(is_being_written(name.temporary()) && all().is_empty());
        drop(file);
        assert_eq!(all(), [name.temporary()]);
        let kept = name.keep_partial().unwrap();
        assert_eq!(all(), [kept]);
        assert!(left_over(folder.path(), |target| target.ends_with("other.csv")).unwrap().is_empty());
        assert!(left_over(&folder.path().join("absent"), |_| true).is_err());
    }
}

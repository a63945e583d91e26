//! The temporary name of a file, and what it is called in the end.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::no_replace::rename_new;
use super::partial::PARTIAL;
use super::utc::utc;

/// Names that are tried before it is believed that none is free.
const ATTEMPTS: u32 = 100;
/// A symbolic link is not followed. (A newly created file never follows one; this says it a second time.)
const NO_LINK: i32 = libc::O_NOFOLLOW;

/// A file under a temporary name next to its target. It is renamed by [`StagedName::finish`] and removed when this is
/// dropped before that, except by a panic: what was written until then is kept.
#[derive(Debug)]
pub struct StagedName {
    target: PathBuf,
    temporary: PathBuf,
    /// Device and number of the file, by which another one of the same name is told from it.
    identity: (u64, u64),
    replaces: bool,
    /// The file is not removed any more.
    is_kept: bool,
}

impl StagedName {
    /// Makes an empty file next to `target`. An existing plain file called `target` is replaced in the end.
    ///
    /// # Errors
    /// Of kind `InvalidInput` if `target` is something other than a plain file; else if no file can be made.
    pub fn replacing(target: &Path) -> io::Result<(Self, File)> {
        if fs::metadata(target).is_ok_and(|about| !about.is_file()) {
            let why = format!("{} exists and is not a plain file: choose another name", target.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Self::create(target, true, unique_ending)
    }

    /// Makes an empty file next to `target`, which must not exist, and is not replaced if it does in the end.
    ///
    /// # Errors
    /// Of kind `AlreadyExists` if there is something called `target`; else if no file can be made.
    pub fn of_new(target: &Path) -> io::Result<(Self, File)> {
        if target.symlink_metadata().is_ok() {
            return Err(exists(target));
        }
        Self::create(target, false, unique_ending)
    }

    fn create(target: &Path, replaces: bool, mut ending: impl FnMut() -> String) -> io::Result<(Self, File)> {
        for _ in 0..ATTEMPTS {
            let temporary = with_ending(target, &ending());
            let file = match OpenOptions::new()
                .write(true)
                .create_new(true)
                .custom_flags(NO_LINK)
                .open(&temporary)
            {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            // Only says that somebody writes it. Where the file system has no locks, nobody can ask.
            let _ = file.try_lock();
            let identity = identity(&file.metadata()?);
            let target = target.to_owned();
            return Ok((Self { target, temporary, identity, replaces, is_kept: false }, file));
        }
        let why = format!("no temporary name next to {} is free", target.display());
        Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
    }

    /// The name the file will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The name the file has until then.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Makes sure that the file is still there under its temporary name: nobody has removed, renamed or replaced it.
    ///
    /// # Errors
    /// If it is not; the error says so in words.
    pub fn check(&self) -> io::Result<()> {
        let name = self.temporary.display();
        match self.temporary.symlink_metadata() {
            Ok(about) if identity(&about) == self.identity => Ok(()),
            Ok(_) => {
                let why = format!("{name} was replaced by another file while it was written");
                Err(io::Error::new(io::ErrorKind::NotFound, why))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let why = format!("{name} was removed or renamed while it was written");
                Err(io::Error::new(io::ErrorKind::NotFound, why))
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If that fails; the file is then not there under its name. One that would have replaced another but must not
    /// stays under its temporary name, which the error tells.
    pub fn finish(&mut self) -> io::Result<()> {
        self.check()?;
        if self.replaces {
            fs::rename(&self.temporary, &self.target)?;
        } else if let Err(error) = rename_new(&self.temporary, &self.target) {
            self.is_kept = true;
            let kept = self.temporary.display();
            let why = match error.kind() {
                io::ErrorKind::AlreadyExists => exists(&self.target).to_string(),
                _ => error.to_string(),
            };
            return Err(io::Error::new(error.kind(), format!("{why}; what was written is in {kept}")));
        }
        self.is_kept = true;
        Ok(())
    }

    /// Keeps the file under a name that says that it is not complete, and tells it: that of the target with `.partial`
    /// behind it, or the temporary one if there is a file of that name already, or it cannot be renamed.
    ///
    /// # Errors
    /// If the file is not there any more.
    pub fn keep_partial(&mut self) -> io::Result<PathBuf> {
        self.check()?;
        if std::mem::replace(&mut self.is_kept, true) {
            // It could not get its name, and where it is was told then.
            return Ok(self.temporary.clone());
        }
        let partial = with_ending(&self.target, PARTIAL);
        match rename_new(&self.temporary, &partial) {
            Ok(()) => Ok(partial),
            Err(_) => Ok(self.temporary.clone()),
        }
    }
}

impl Drop for StagedName {
    fn drop(&mut self) {
        if !self.is_kept && !std::thread::panicking() && self.check().is_ok() {
            // Nobody is left to be told; the name itself says that the file is partial.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

fn exists(target: &Path) -> io::Error {
    let why = format!("{} exists, and is never replaced", target.display());
    io::Error::new(io::ErrorKind::AlreadyExists, why)
}

fn identity(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

/// `name` with something behind it.
fn with_ending(name: &Path, ending: &str) -> PathBuf {
    let mut longer: OsString = name.file_name().unwrap_or_default().to_owned();
    longer.push(ending);
    name.with_file_name(longer)
}

/// `.partial-20261031T120000Z-1-5be0c2a7`.
fn unique_ending() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // The keys of a hasher are random; the time of the call tells two of this process apart.
    let chance = RandomState::new().hash_one(since) as u32;
    format!("{PARTIAL}-{}-{}-{chance:08x}", utc(since.as_secs()), std::process::id())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let names: BTreeSet<String> = fs::read_dir(folder).unwrap().map(name).collect();
        names.into_iter().collect()
    }

    #[test]
    fn names_of_one_process_and_second_differ() {
        let endings: BTreeSet<String> = (0..1000).map(|_| unique_ending()).collect();
        assert_eq!(endings.len(), 1000);
        let expected = format!("{PARTIAL}-{}", "20261031T120000Z-").len();
        assert!(endings.iter().all(|ending| ending.len() > expected && ending.starts_with(".partial-2")));
    }

    #[test]
    fn a_temporary_name_that_is_taken_is_left_to_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.pcapng");
        let of_another = |number: u32| format!(".partial-{number}");
        fs::write(with_ending(&target, &of_another(0)), "theirs").unwrap();
        // A name can be taken by a link to nowhere as well.
        std::os::unix::fs::symlink(folder.path().join("nowhere"), with_ending(&target, &of_another(1)))
            .unwrap();
        let mut numbers = 0..;
        let ending = || of_another(numbers.next().unwrap());
        let (name, mut file) = StagedName::create(&target, true, ending).unwrap();
        file.write_all(b"ours").unwrap();
        assert_eq!(name.temporary(), with_ending(&target, &of_another(2)));
        assert_eq!(fs::read(with_ending(&target, &of_another(0))).unwrap(), b"theirs");
        assert!(!folder.path().join("nowhere").exists());
        let none_is_free = StagedName::create(&target, true, || of_another(0)).unwrap_err();
        assert_eq!(none_is_free.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_new_file_does_not_replace_one_that_appeared_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.pcapng");
        let (mut name, mut file) = StagedName::of_new(&target).unwrap();
        file.write_all(b"ours").unwrap();
        fs::write(&target, "theirs").unwrap();
        let error = name.finish().unwrap_err();
        let temporary = name.temporary().to_owned();
        assert_eq!(name.keep_partial().unwrap(), temporary);
        drop(name);
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(error.to_string().contains(temporary.to_str().unwrap()), "{error}");
        assert_eq!(fs::read(target).unwrap(), b"theirs");
        assert_eq!(fs::read(temporary).unwrap(), b"ours");
        assert_eq!(StagedName::of_new(&folder.path().join("run.pcapng")).unwrap_err().kind(), error.kind());
    }

    #[test]
    fn partial_files_of_earlier_runs_are_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.csv");
        let keep = |content: &str| {
            let (mut name, mut file) = StagedName::replacing(&target).unwrap();
            file.write_all(content.as_bytes()).unwrap();
            name.keep_partial().unwrap()
        };
        let (first, second) = (keep("first"), keep("second"));
        assert_eq!(first, folder.path().join("run.csv.partial"));
        assert_ne!(first, second);
        assert_eq!(
            (fs::read(first).unwrap(), fs::read(second).unwrap()),
            (b"first".into(), b"second".into())
        );
    }

    #[test]
    fn a_file_that_was_removed_or_replaced_is_noticed_and_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.csv");
        let (mut name, _file) = StagedName::replacing(&target).unwrap();
        assert!(name.check().is_ok());
        fs::remove_file(name.temporary()).unwrap();
        assert!(name.check().unwrap_err().to_string().contains("was removed"));
        fs::write(name.temporary(), "somebody's").unwrap();
        assert!(name.finish().unwrap_err().to_string().contains("was replaced"));
        assert!(name.keep_partial().is_err());
        let temporary = name.temporary().to_owned();
        drop(name);
        assert_eq!(fs::read(temporary).unwrap(), b"somebody's");
        assert_eq!(names(folder.path()).len(), 1);
    }

    #[test]
    fn what_is_not_finished_is_removed_unless_a_panic_was_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.csv");
        drop(StagedName::replacing(&target).unwrap());
        assert_eq!(names(folder.path()), [""; 0]);
        let panics = || {
            let (_name, mut file) = StagedName::replacing(&target).unwrap();
            file.write_all(b"events").unwrap();
            panic!("a fault of the program");
        };
        assert!(std::panic::catch_unwind(panics).is_err());
        let left = names(folder.path());
        assert!(left[0].starts_with("run.csv.partial-") && left.len() == 1, "{left:?}");
    }
}

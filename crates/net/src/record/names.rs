//! The names of a recording's files.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::staged_file::{left_over, target_of};

/// The names of a recording's files: one file of the name given, or a numbered series next to it. `run.pcapng` becomes
/// `run-0001.pcapng`, `run-0002.pcapng` and so on; after 9999 there are more digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNames {
    path: PathBuf,
    numbered: bool,
}

impl FileNames {
    /// The single file `path`.
    pub fn single(path: &Path) -> Self {
        Self { path: path.to_owned(), numbered: false }
    }

    /// A series of files with numbers before the ending of `path`.
    pub fn numbered(path: &Path) -> Self {
        Self { path: path.to_owned(), numbered: true }
    }

    /// True if this is a series.
    pub fn is_numbered(&self) -> bool {
        self.numbered
    }

    /// The name of the file with this number, which counts from 1.
    pub fn path(&self, number: u32) -> PathBuf {
        if !self.numbered {
            return self.path.clone();
        }
        let mut name = self.stem();
        name.push(format!("-{number:04}"));
        if let Some(ending) = self.path.extension() {
            name.push(".");
            name.push(ending);
        }
        self.path.with_file_name(name)
    }

    /// The number of a file of this series, from its name without the folder; none for any other file.
    pub fn number_of(&self, name: &OsStr) -> Option<u32> {
        let (stem, name) = (self.stem(), name.to_str()?);
        let rest = name.strip_prefix(stem.to_str()?)?.strip_prefix('-')?;
        let digits = match self.path.extension() {
            Some(ending) => rest.strip_suffix(ending.to_str()?)?.strip_suffix('.')?,
            None => rest,
        };
        let number = digits.parse().ok().filter(|&number| number > 0)?;
        // Only names as they are made here: `run-1.pcapng` and `run-+001.pcapng` are somebody else's.
        (self.numbered && self.path(number).file_name()? == name).then_some(number)
    }

    /// The first number that can be used so that no file is replaced: the one after the highest there is, those of
    /// partial files included, which can still get their names.
    ///
    /// # Errors
    /// Of kind `AlreadyExists` if this is a single file and it is there; else if the folder cannot be read.
    pub fn first_number(&self) -> io::Result<u32> {
        if !self.numbered {
            if self.path.symlink_metadata().is_ok() {
                let why = "it exists: give --overwrite to replace it, or choose another name";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            return Ok(1);
        }
        let mut highest = 0;
        for entry in std::fs::read_dir(self.folder())? {
            let name = entry?.file_name();
            // A partial file keeps its number for when it is finished.
            let partial = target_of(Path::new(&name)).map(PathBuf::into_os_string);
            highest = highest.max(self.number_of(partial.as_deref().unwrap_or(&name)).unwrap_or(0));
        }
        highest.checked_add(1).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "there is no number left for another file")
        })
    }

    /// The partial files of recordings of these names that nobody is writing: what a process that was killed, or a full
    /// disk, has left.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn left_over(&self) -> io::Result<Vec<PathBuf>> {
        left_over(self.folder(), |target| match target.file_name() {
            Some(name) if self.numbered => self.number_of(name).is_some(),
            name => name == self.path.file_name(),
        })
    }

    fn stem(&self) -> OsString {
        self.path.file_stem().unwrap_or_default().to_owned()
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_stand_before_the_ending() {
        let names = FileNames::numbered(Path::new("/data/a.b/run.pcapng"));
        assert_eq!(names.path(1), Path::new("/data/a.b/run-0001.pcapng"));
        assert_eq!(names.path(12_345), Path::new("/data/a.b/run-12345.pcapng"));
        assert_eq!(FileNames::numbered(Path::new("run")).path(7), Path::new("run-0007"));
        for foreign in ["run-1.pcapng", "run-+001.pcapng", "run-0000.pcapng", "run.pcapng", "ran-0001.pcapng"]
        {
            assert_eq!(names.number_of(OsStr::new(foreign)), None, "{foreign}");
        }
    }

    #[test]
    fn nothing_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.pcapng");
        let (single, series) = (FileNames::single(&path), FileNames::numbered(&path));
        assert_eq!((single.first_number().unwrap(), series.first_number().unwrap()), (1, 1));
        std::fs::write(&path, "").unwrap();
        std::fs::write(series.path(12), "").unwrap();
        assert_eq!(single.first_number().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(series.first_number().unwrap(), 13);
        // The number of a partial file is not given a second time.
        let left = folder.path().join("run-0015.pcapng.partial-20261031T120000Z-1-5be0c2a7");
        std::fs::write(&left, "").unwrap();
        assert_eq!(series.first_number().unwrap(), 16);
        assert_eq!((series.left_over().unwrap(), single.left_over().unwrap()), (vec![left], vec![]));
        let left = folder.path().join("run.pcapng.partial");
        std::fs::write(&left, "").unwrap();
        assert_eq!(single.left_over().unwrap(), [left]);
    }

    proptest! {
        #[test]
        fn a_name_tells_its_number(
            stem in "[a-z.0-9-]{0,8}[a-z]", ending in proptest::option::of("[a-z0-9]{1,6}"),
            numbers in proptest::collection::btree_set(1..=u32::MAX, 1..20),
        ) {
            let name = ending.map_or(stem.clone(), |ending| format!("{stem}.{ending}"));
            let names = FileNames::numbered(&Path::new("folder").join(name));
            let mut seen = std::collections::BTreeSet::new();
            for &number in &numbers {
                let path = names.path(number);
                prop_assert_eq!(path.parent(), Some(Path::new("folder")));
                prop_assert_eq!(names.number_of(path.file_name().unwrap()), Some(number));
                prop_assert!(seen.insert(path));
            }
        }

        #[test]
        fn names_are_in_order_of_time(first in 1..9999_u32, second in 1..9999_u32) {
            let names = FileNames::numbered(Path::new("run.pcapng"));
            prop_assert_eq!(first.cmp(&second), names.path(first).cmp(&names.path(second)));
        }

        #[test]
        fn any_name_is_looked_at_without_a_panic(name in "\\PC{0,20}") {
            let _ = FileNames::numbered(Path::new("run.pcapng")).number_of(OsStr::new(&name));
        }
    }
}

//! Saving what was read of a host, to look at it elsewhere.

use crate::host::Host;
use crate::saved::{EMPTY, LINK, file_of};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A host, and a note of everything that was read of it: settings of the kernel and of cards, nothing else. Nothing can be changed
/// through it.
pub struct SavingHost<'a> {
    host: &'a dyn Host,
    /// Path below the folder, and text.
    read: RefCell<BTreeMap<PathBuf, String>>,
}

impl<'a> SavingHost<'a> {
    /// The host to read.
    pub fn new(host: &'a dyn Host) -> Self {
        Self { host, read: RefCell::default() }
    }

    /// Writes what was read into a folder, which [`SavedHost`](crate::SavedHost) reads: the number of files.
    ///
    /// # Errors
    /// If the folder is there already, or cannot be written.
    pub fn save(&self, folder: &Path) -> io::Result<usize> {
        fs::create_dir(folder)?;
        fs::create_dir(folder.join("files"))?;
        let read = self.read.borrow();
        for (place, text) in &*read {
            let path = folder.join(place);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        Ok(read.len())
    }

    fn note(&self, place: PathBuf, text: &str) {
        self.read.borrow_mut().insert(place, text.to_owned());
    }
}

fn below_files(path: &Path) -> PathBuf {
    Path::new("files").join(path.strip_prefix("/").unwrap_or(path))
}

impl Host for SavingHost<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        let text = self.host.read(path)?;
        self.note(below_files(path), &text);
        Ok(text)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let names = self.host.list(folder)?;
        // Names that nothing else is read of are there again as files without text.
        for name in &names {
            let place = below_files(&folder.join(name));
            let is_folder = self.host.list(&folder.join(name)).is_ok();
            if is_folder {
                self.note(place.join(EMPTY), "");
            } else {
                self.read.borrow_mut().entry(place).or_default();
            }
        }
        Ok(names)
    }

    fn link(&self, path: &Path) -> io::Result<String> {
        let target = self.host.link(path)?;
        self.note(below_files(Path::new(&format!("{}{LINK}", path.display()))), &target);
        Ok(target)
    }

    fn write(&self, _path: &Path, _text: &str) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn run(&self, command: &[&str]) -> io::Result<String> {
        let place = Path::new("commands").join(file_of(command));
        match self.host.run(command) {
            Ok(answer) => {
                self.note(place, &answer);
                Ok(answer)
            }
            Err(error) => {
                // A service that does not run is told by a failure.
                if command.get(1) == Some(&"is-active") && error.kind() != io::ErrorKind::NotFound {
                    self.note(place, &error.to_string());
                }
                Err(error)
            }
        }
    }
}

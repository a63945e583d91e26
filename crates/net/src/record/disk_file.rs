//! The files of a recording on disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::names::FileNames;
use super::writer::{RecordingFile, RecordingFiles};
use crate::staged_file::StagedName;

/// Makes the files of a recording on disk. Each has a temporary name (`….partial-<process id>`) until it is closed; it
/// is all there except for what had not been written when the process was killed.
#[derive(Debug)]
pub struct DiskFiles {
    names: FileNames,
    next: u32,
}

impl DiskFiles {
    /// Files of these names, from the first one that replaces nothing.
    ///
    /// # Errors
    /// As [`FileNames::first_number`].
    pub fn new(names: FileNames) -> io::Result<Self> {
        let next = names.first_number()?;
        Ok(Self { names, next })
    }
}

impl RecordingFiles for DiskFiles {
    fn begin(&mut self) -> io::Result<Box<dyn RecordingFile>> {
        let target = self.names.path(self.next);
        let why = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", target.display()));
        let name = StagedName::beside(&target).map_err(why)?;
        // Not `create_new`: what is left of a process of the same number that was killed is of no use.
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(name.temporary());
        let file = DiskFile { file: file.map_err(why)?, name };
        self.next = self.next.saturating_add(1);
        Ok(Box::new(file))
    }
}

#[derive(Debug)]
struct DiskFile {
    file: File,
    name: StagedName,
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl RecordingFile for DiskFile {
    fn path(&self) -> &Path {
        self.name.target()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        self.name.finish()
    }

    fn finish_cut(&mut self, length: u64) -> io::Result<PathBuf> {
        self.file.set_len(length)?;
        self.name.finish_partial()
    }
}

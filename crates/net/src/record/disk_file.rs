//! The files of a recording on disk.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::names::FileNames;
use super::recording_file::{RecordingFile, RecordingFiles};
use super::reserve::{Reserve, is_out_of_descriptors};
use crate::staged_file::StagedName;

/// Makes the files of a recording on disk. Each has a temporary name ([`staged_file`](crate::staged_file)) until it is
/// closed; it is all there except for what had not been written when the process was killed. Nothing that exists is
/// ever replaced.
#[derive(Debug)]
pub struct DiskFiles {
    names: FileNames,
    next: u32,
    reserve: Reserve,
}

impl DiskFiles {
    /// Files of these names, from the first one that replaces nothing.
    ///
    /// # Errors
    /// As [`FileNames::first_number`]; or if there is no file descriptor for a reserve.
    pub fn new(names: FileNames) -> io::Result<Self> {
        let next = names.first_number()?;
        Ok(Self { names, next, reserve: Reserve::new()? })
    }
}

impl RecordingFiles for DiskFiles {
    fn begin(&mut self) -> io::Result<Box<dyn RecordingFile>> {
        // Another recording may be counting here, too.
        while self.names.is_numbered() && self.names.path(self.next).symlink_metadata().is_ok() {
            self.next = self.next.saturating_add(1);
        }
        let target = self.names.path(self.next);
        let (name, file) = self.reserve.open(|| StagedName::of_new(&target)).map_err(|error| {
            // The system has no kind for it; it may pass, as all that is of this kind.
            let kind = if is_out_of_descriptors(&error) { io::ErrorKind::WouldBlock } else { error.kind() };
            io::Error::new(kind, format!("{}: {error}", target.display()))
        })?;
        self.next = self.next.saturating_add(1);
        Ok(Box::new(DiskFile { file: Some(file), name, reserve: self.reserve.clone() }))
    }

    fn look_after(&mut self) {
        self.reserve.fill();
    }
}

#[derive(Debug)]
struct DiskFile {
    /// None once it is closed.
    file: Option<File>,
    name: StagedName,
    reserve: Reserve,
}

impl DiskFile {
    fn open(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }

    fn close(&mut self) {
        if let Some(file) = self.file.take() {
            self.reserve.close(file);
        }
    }
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open()?.flush()
    }
}

impl RecordingFile for DiskFile {
    fn path(&self) -> &Path {
        self.name.target()
    }

    fn check(&self) -> io::Result<()> {
        self.name.check()
    }

    fn cut_back(&mut self, length: u64) -> io::Result<()> {
        let file = self.open()?;
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length)).map(|_| ())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.open()?.sync_all()?;
        self.name.finish()?;
        self.close();
        Ok(())
    }

    fn finish_cut(&mut self, length: u64) -> io::Result<PathBuf> {
        self.open()?.set_len(length)?;
        let path = self.name.keep_partial()?;
        self.close();
        Ok(path)
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        self.close();
    }
}

//! A file that gets its name only when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::CaptureError;

/// Bytes gathered before they are given to the system.
const WRITE_BEHIND: usize = 1 << 20;

/// Written under a temporary name beside its target, renamed by [`StagedFile::finish`], removed when it is
/// dropped before that.
#[derive(Debug)]
pub(super) struct StagedFile {
    target: PathBuf,
    temporary: PathBuf,
    output: BufWriter<File>,
    finished: bool,
}

impl StagedFile {
    /// Begins a file. An existing plain file of that name is replaced in the end.
    pub(super) fn create(target: &Path) -> Result<Self, CaptureError> {
        if fs::metadata(target).is_ok_and(|about| !about.is_file()) {
            return Err(CaptureError::NotReplaceable { path: target.to_owned() });
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let temporary = target.with_file_name(name);
        // Not `create_new`: what is left of a process of the same number that was killed is of no use.
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)
            .map_err(|source| CaptureError::Write { path: target.to_owned(), packets: 0, source })?;
        Ok(Self {
            target: target.to_owned(),
            temporary,
            output: BufWriter::with_capacity(WRITE_BEHIND, file),
            finished: false,
        })
    }

    /// The name the file will have.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)
    }

    /// Brings everything to the disk and gives the file its name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.output.get_ref().sync_all()?;
        fs::rename(&self.temporary, &self.target)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.finished {
            // Nobody is left to be told; the name itself says that the file is partial.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// The folder a file lies in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

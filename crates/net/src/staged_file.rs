//! A file that gets its name only when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes gathered before they are given to the system.
const WRITE_BEHIND: usize = 1 << 20;

/// The temporary name of a file that somebody else writes, such as a library that wants to open its files
/// itself. The file is renamed by [`StagedName::finish`] and removed when this is dropped before that.
#[derive(Debug)]
pub struct StagedName {
    target: PathBuf,
    temporary: PathBuf,
    finished: bool,
}

impl StagedName {
    /// A name beside `target`. An existing plain file called `target` is replaced in the end.
    ///
    /// # Errors
    /// Of kind `InvalidInput` if `target` is something other than a plain file.
    pub fn beside(target: &Path) -> io::Result<Self> {
        if fs::metadata(target).is_ok_and(|about| !about.is_file()) {
            let why = format!("{} exists and is not a plain file: choose another name", target.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let temporary = target.with_file_name(name);
        Ok(Self { target: target.to_owned(), temporary, finished: false })
    }

    /// The name the file will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The name the file has until then.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If that fails; the file is then not there under its name.
    pub fn finish(&mut self) -> io::Result<()> {
        self.finish_as(&self.target.clone())
    }

    /// Gives the file a name that says that it is not complete: its own with `.partial` behind it.
    ///
    /// # Errors
    /// As [`StagedName::finish`].
    pub fn finish_partial(&mut self) -> io::Result<PathBuf> {
        let mut name = self.target.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        let partial = self.target.with_file_name(name);
        self.finish_as(&partial)?;
        Ok(partial)
    }

    fn finish_as(&mut self, name: &Path) -> io::Result<()> {
        fs::rename(&self.temporary, name)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for StagedName {
    fn drop(&mut self) {
        if !self.finished {
            // Nobody is left to be told; the name itself says that the file is partial.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Written under a temporary name beside its target, renamed by [`StagedFile::finish`], removed when it is
/// dropped before that.
#[derive(Debug)]
pub struct StagedFile {
    output: BufWriter<File>,
    name: StagedName,
}

impl StagedFile {
    /// Begins a file. An existing plain file of that name is replaced in the end.
    ///
    /// # Errors
    /// If no file can be made beside `target`, or (kind `InvalidInput`) if `target` is something other than a
    /// plain file.
    pub fn create(target: &Path) -> io::Result<Self> {
        let name = StagedName::beside(target)?;
        // Not `create_new`: what is left of a process of the same number that was killed is of no use.
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(name.temporary())?;
        Ok(Self { output: BufWriter::with_capacity(WRITE_BEHIND, file), name })
    }

    /// The name the file will have.
    pub fn target(&self) -> &Path {
        self.name.target()
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails; the file is then not there under its name.
    pub fn finish(&mut self) -> io::Result<()> {
        self.settle()?;
        self.name.finish()
    }

    /// Brings everything to the disk and gives the file a name that says that it is not complete: its own
    /// with `.partial` behind it.
    ///
    /// # Errors
    /// As [`StagedFile::finish`].
    pub fn finish_partial(&mut self) -> io::Result<PathBuf> {
        self.settle()?;
        self.name.finish_partial()
    }

    /// Brings everything to the disk.
    fn settle(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.output.get_ref().sync_all()
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

//! What a recording is written into: a disk, or a test that wants to see what a slow or full one does.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where the files of a recording come from: a disk, or a test that wants to see what a slow or full one does.
pub trait RecordingFiles: Send {
    /// Makes the next file.
    ///
    /// # Errors
    /// If that is impossible; the error names the file. What is of kind `WouldBlock`, `Interrupted`, `StorageFull`,
    /// `QuotaExceeded` or `OutOfMemory` may pass.
    fn begin(&mut self) -> io::Result<Box<dyn RecordingFile>>;

    /// Called about once a second.
    fn look_after(&mut self) {}
}

/// A file of a recording that is being written.
pub trait RecordingFile: Write + Send {
    /// The name that it will have.
    fn path(&self) -> &Path;

    /// Makes sure that the file is still there: nobody has removed or replaced it.
    ///
    /// # Errors
    /// If it is not, in words.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    /// The disk was full in the middle of a write: leaves the first `length` bytes, which end with a whole packet, and
    /// goes on behind them with the next write.
    ///
    /// # Errors
    /// If that fails.
    fn cut_back(&mut self, length: u64) -> io::Result<()>;

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails.
    fn finish(&mut self) -> io::Result<()>;

    /// Writing has failed: keeps the first `length` bytes, which end with a whole packet, under a name that says that
    /// the file is not complete, and tells that name.
    ///
    /// # Errors
    /// If that fails as well.
    fn finish_cut(&mut self, length: u64) -> io::Result<PathBuf>;
}

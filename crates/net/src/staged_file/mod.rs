//! Files that get their name only when they are complete, and what is left of those that never were.
//!
//! | name | what it is |
//! |---|---|
//! | `run.csv.partial-20261031T120000Z-1-5be0c2a7` | being written, or left by a process that was killed: time of its beginning in UTC, number of the process, chance |
//! | `run.csv.partial` | kept by a run that failed: what it had written until then |
//! | `run.csv` | complete |
//!
//! A temporary name never comes again, also where every process has the number 1, and its file is made by whoever
//! writes it: neither an existing file nor one behind a symbolic link is ever opened. The file is locked (`flock`) while
//! it is written, so that others can tell it from one that was left.
//!
//! The name `-` stands for standard output, which has no name to get: what is written goes there at once.

mod name;
mod no_replace;
mod partial;
mod standard_output;
mod utc;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use name::StagedName;
pub(crate) use no_replace::rename_new;
pub use partial::{is_being_written, left_over, target_of};
pub use standard_output::{is_standard_output, shown, standard_output};
pub(crate) use utc::utc_in_words;

/// Bytes gathered before they are given to the system.
const WRITE_BEHIND: usize = 1 << 20;

/// Written under a temporary name next to its target, renamed by [`StagedFile::finish`], removed when it is
/// dropped before that.
#[derive(Debug)]
pub struct StagedFile {
    output: BufWriter<File>,
    /// None for standard output.
    name: Option<StagedName>,
    target: PathBuf,
}

impl StagedFile {
    /// Begins a file. An existing plain file of that name is replaced in the end. `-` is standard output.
    ///
    /// # Errors
    /// If no file can be made next to `target`, or (kind `InvalidInput`) if `target` is something other than a
    /// plain file.
    pub fn create(target: &Path) -> io::Result<Self> {
        let (name, file) = if is_standard_output(target) {
            (None, standard_output()?)
        } else {
            let (name, file) = StagedName::replacing(target)?;
            (Some(name), file)
        };
        Ok(Self { output: BufWriter::with_capacity(WRITE_BEHIND, file), name, target: target.to_owned() })
    }

    /// The name the file will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails; the file is then not there under its name.
    pub fn finish(&mut self) -> io::Result<()> {
        self.output.flush()?;
        // A pipe or a terminal has no disk behind it, and no name to get.
        let Some(name) = &mut self.name else { return Ok(()) };
        self.output.get_ref().sync_all()?;
        name.finish()
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

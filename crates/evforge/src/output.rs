//! What commands print and write: standard output that may be closed, files that are whole or absent.

use crate::CommandError;
use evforge_core::whole_file::not_writable;
use evforge_net::staged_file::{StagedFile, is_standard_output};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Prints a text to standard output.
///
/// # Errors
/// If standard output is closed or full.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Prints a text to standard output; to standard error if `is_taken`: standard output has the data then, and nothing else.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_alongside(is_taken: bool, text: &str) -> Result<(), CommandError> {
    if is_taken {
        eprint!("{text}");
        return Ok(());
    }
    print(text)
}

/// Refuses `-` for an output that cannot go to standard output.
///
/// # Errors
/// If `path` is `-`, saying that it is `what`.
pub(crate) fn refuse_standard_output(option: &str, path: &Path, what: &str) -> Result<(), CommandError> {
    if is_standard_output(path) {
        return Err(format!("{option} -: {what}, cannot go to standard output: name a file").into());
    }
    Ok(())
}

/// The end of a command: everything that is to be written is tried, whatever fails before. What fails is reported on standard
/// error at once.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    has_failed: bool,
    /// Standard output has data: texts go to standard error.
    is_taken: bool,
}

impl Ending {
    /// As the default; texts go to standard error if standard output `is_taken`.
    pub(crate) fn alongside(is_taken: bool) -> Self {
        Self { is_taken, ..Self::default() }
    }

    /// As [`Ending::alongside`], for a command whose only file is this one.
    pub(crate) fn alongside_file(path: Option<&Path>) -> Self {
        Self::alongside(path.is_some_and(is_standard_output))
    }

    /// Takes note of how something went, and reports it if it failed.
    pub(crate) fn attempt(&mut self, result: Result<(), CommandError>) {
        if let Err(error) = result {
            evforge_log::fail(&error.to_string());
            self.has_failed = true;
        }
    }

    /// Writes JSON into a file, if one is wanted.
    pub(crate) fn write_json(&mut self, what: &str, path: Option<&Path>, json: &serde_json::Value) {
        let Some(path) = path else { return };
        let write = || {
            let mut bytes = serde_json::to_vec_pretty(json)?;
            bytes.push(b'\n');
            write_file(what, path, &bytes)
        };
        self.attempt(write());
    }

    /// Prints a text to standard output. That nobody reads it any more is no failure.
    pub(crate) fn print(&mut self, text: &str) {
        match print_alongside(self.is_taken, text) {
            Err(error) if is_closed_pipe(error.as_ref()) => {}
            result => self.attempt(result),
        }
    }

    /// True if nothing has failed.
    pub(crate) fn is_good(&self) -> bool {
        !self.has_failed
    }
}

/// True if the error is that nobody reads standard output any more.
pub(crate) fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// True if standard output is a pipe that nobody reads any more: known before the next line is written, of which there may be none.
pub(crate) fn is_reader_gone() -> bool {
    let output = std::io::stdout();
    let mut polled = [PollFd::new(&output, PollFlags::empty())];
    // Where the system does not tell, writing does.
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().contains(PollFlags::ERR)
}

/// Writes a whole file; it gets its name only when it is complete.
///
/// # Errors
/// If it cannot be written, naming `what` it is and the file.
pub(crate) fn write_file(what: &str, path: &Path, content: &[u8]) -> Result<(), CommandError> {
    let write = || {
        let mut file = StagedFile::create(path)?;
        file.write_all(content)?;
        file.finish()
    };
    write().map_err(|error| format!("{what} cannot be written to {}: {error}", path.display()).into())
}

/// Makes sure that files could be written at `paths`, as far as there are some, before long work begins.
///
/// # Errors
/// As [`write_file`].
pub(crate) fn check_writable<'a>(
    what: &str,
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), CommandError> {
    for path in paths {
        // A staged file that is dropped leaves nothing behind.
        StagedFile::create(path).map(drop).map_err(|error| not_writable(what, path, &error))?;
    }
    Ok(())
}

//! What commands print and write: standard output that may be closed, files that are whole or absent.

use crate::CommandError;
use evforge_net::staged_file::StagedFile;
use std::io::{ErrorKind, Write};
use std::path::Path;

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

/// True if the error is that nobody reads standard output any more.
pub(crate) fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
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

/// Makes sure that a file could be written at `path`, before long work begins.
///
/// # Errors
/// As [`write_file`].
pub(crate) fn check_writable(what: &str, path: &Path) -> Result<(), CommandError> {
    // A staged file that is dropped leaves nothing behind.
    StagedFile::create(path).map(drop).map_err(|error| {
        format!(
            "{what} cannot be written to {}: {error} (does the folder exist, and may you write there?)",
            path.display()
        )
        .into()
    })
}

//! Standard output in the place of a file.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// True for `-`, which stands for standard output. A file of that name is `./-`.
pub fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A path as people are told of it.
pub fn shown(path: &Path) -> impl std::fmt::Display {
    if is_standard_output(path) { "standard output".to_owned() } else { path.display().to_string() }
}

/// Standard output as a file of its own: it is not buffered, and stays open for others when it is closed.
///
/// # Errors
/// If standard output is closed.
pub fn standard_output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

//! What can go wrong around a result.

use std::path::Path;

/// A result cannot be made, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A file or folder: which one, and why.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// What is wrong, and what helps.
        problem: String,
    },
    /// The result itself, or what was asked for: in words for a person.
    #[error("{0}")]
    Wrong(String),
}

impl MeasureError {
    /// A problem with a file.
    pub(crate) fn of_file(path: &Path, problem: impl ToString) -> Self {
        Self::File { path: path.display().to_string(), problem: problem.to_string() }
    }
}

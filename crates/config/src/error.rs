//! Why there is no valid configuration.

use evforge_core::suggestion::with_suggestion;
use std::path::PathBuf;

/// Why there is no valid configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {} cannot be read: {source} (see configs/ for examples)", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// evforge comes with no configuration of a name.
    #[error("{0}")]
    NotShipped(String),
    /// The file, or an override, does not make a valid configuration.
    #[error("{}{}: {}", path.display(), place.map_or(String::new(), |(line, column)| format!(":{line}:{column}")), with_suggestion(problem))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line and column, if the problem lies in the file.
        place: Option<(usize, usize)>,
        /// What is wrong and what is expected.
        problem: String,
    },
}

//! Why a command failed.

/// Why a command failed, in words for a person.
pub(crate) type CommandError = Box<dyn std::error::Error>;

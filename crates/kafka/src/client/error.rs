//! What stands between evforge and a topic, in words.

use super::Cause;

/// Why Kafka cannot be used: what is wrong, and what fixes it.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("Kafka: {message}")]
pub struct ClientError {
    /// What it is, for programs.
    pub cause: Cause,
    /// What it is, for people.
    pub message: String,
}

impl ClientError {
    /// An error of this cause, in these words.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into() }
    }

    /// Settings are wrong, in these words.
    pub fn settings(message: impl Into<String>) -> Self {
        Self::new(Cause::Settings, message)
    }
}

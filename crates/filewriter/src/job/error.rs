//! Why a job cannot begin or go on.

use crate::file::FileError;
use evforge_kafka::client::ClientError;

/// Why a job cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The file.
    #[error("{0}")]
    File(#[from] FileError),
    /// Kafka.
    #[error("{0}")]
    Kafka(#[from] ClientError),
    /// What the file is to contain.
    #[error("{0}")]
    Structure(String),
}

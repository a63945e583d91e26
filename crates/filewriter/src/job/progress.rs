//! What is known of a job while it runs.

use super::counters::WriterCounters;
use evforge_kafka::topic::Change;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a job does at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// It looks for topics and makes the file.
    #[default]
    Starting,
    /// It writes.
    Writing,
    /// The disk is full: it waits, and reads no more.
    WaitsForDisk(String),
    /// The run has ended; it waits for what comes late.
    Closing,
    /// The file has its name.
    Complete,
    /// The run was aborted.
    Aborted,
    /// It cannot go on.
    Failed(String),
}

impl Phase {
    /// The word for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Writing => "writing",
            Self::WaitsForDisk(_) => "waits_for_disk",
            Self::Closing => "closing",
            Self::Complete => "complete",
            Self::Aborted => "aborted",
            Self::Failed(_) => "failed",
        }
    }

    /// True if nothing follows.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Complete | Self::Aborted | Self::Failed(_))
    }
}

/// A snapshot of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What it does.
    pub phase: Phase,
    /// The file as it is called at this moment.
    pub file: PathBuf,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// What was counted.
    pub counters: WriterCounters,
    /// The newest time of data in the file, nanoseconds since 1970.
    pub newest_ns: Option<i64>,
    /// Messages that the topics have and the job has not read yet, as far as that is known.
    pub lag: Option<u64>,
    /// Sources of which nothing has come: topic and name.
    pub never_came: Vec<(String, String)>,
    /// What the brokers have been complained about.
    pub complaints: Vec<String>,
    /// What has happened to topics while they were read: the first of it.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// How often something has happened to a partition by which messages may be missing.
    #[serde(default)]
    pub losses: u64,
    /// Files that had to be set aside, with the reasons.
    pub set_aside: Vec<(PathBuf, String)>,
}

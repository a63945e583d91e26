//! What a conversation asks of the part that writes files, and what it is told of them.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRequest {
    /// The job.
    pub id: String,
    /// The file, below the folder for files: checked, without `..` and not absolute.
    pub file: PathBuf,
    /// NeXus structure JSON: tens of megabytes, which all copies of a request share. The plan of the job keeps it.
    #[serde(skip)]
    pub structure: Arc<str>,
    /// The instrument whose template is copied first; none to make everything from the structure.
    pub instrument: Option<String>,
    /// Name of the run.
    pub run_name: String,
    /// The first time that belongs to the run, milliseconds since 1970.
    pub start_ms: u64,
    /// The last one, if it is known already.
    pub stop_ms: Option<u64>,
    /// What the control program wants to have back with the end of the file (JSON).
    pub metadata: Option<String>,
    /// The topic of this conversation, to be kept for a restart; none where nobody wants answers.
    pub control_topic: Option<String>,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobPhase {
    /// It writes.
    Writing,
    /// It has ended. `error` says what is wrong with the file, if anything is.
    Ended {
        /// What is wrong, for people.
        error: Option<String>,
        /// What is said of the file, as JSON.
        metadata: String,
    },
}

/// What is known of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// What it was asked for, with the stop as it was set last.
    pub request: JobRequest,
    /// The file as it is called at this moment.
    pub file: PathBuf,
    /// How far it is.
    pub phase: JobPhase,
}

/// Writes files. An error is a sentence for a person: it becomes the message of the answer.
pub trait Jobs {
    /// Begins a file: when this returns, the structure is made and topics are there.
    ///
    /// # Errors
    /// If it cannot be begun.
    fn start(&mut self, request: JobRequest) -> Result<(), String>;

    /// Sets the end of a run, milliseconds since 1970; none is now.
    ///
    /// # Errors
    /// If there is no such job, or its end has passed.
    fn set_stop(&mut self, id: &str, stop_ms: Option<u64>) -> Result<(), String>;

    /// Ends a job at once; the file is kept and says that it was aborted.
    ///
    /// # Errors
    /// If there is no such job.
    fn abort(&mut self, id: &str) -> Result<(), String>;

    /// All jobs that have not been forgotten.
    fn states(&self) -> Vec<JobState>;

    /// Forgets a job that has ended.
    fn forget(&mut self, id: &str);

    /// What people should know of jobs and were not told yet, as sentences.
    fn news(&mut self) -> Vec<String>;
}

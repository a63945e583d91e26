//! The conversation with control programs.

mod jobs;

pub use jobs::{JobPhase, JobRequest, JobState, Jobs};

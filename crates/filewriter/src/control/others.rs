//! Jobs of other writers: their stops are no business of this one.

use std::collections::VecDeque;

/// How many are remembered, the newest.
const REMEMBERED: usize = 256;

/// Jobs that other writers have answered for, or have said that they write.
#[derive(Debug, Default)]
pub(super) struct Others {
    jobs: VecDeque<String>,
}

impl Others {
    /// Remembers a job.
    pub(super) fn note(&mut self, job: &str) {
        // A UUID in whatever form; what is longer is no job.
        if job.is_empty() || job.len() > 45 || self.knows(job) {
            return;
        }
        if self.jobs.len() >= REMEMBERED {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job.to_owned());
    }

    /// True for a job that was remembered.
    pub(super) fn knows(&self, job: &str) -> bool {
        self.jobs.iter().any(|known| known == job)
    }
}

//! What a conversation knows of the jobs that run.

use super::jobs::JobRequest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is said of a job, and where.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) file: PathBuf,
    pub(super) start_ms: u64,
    pub(super) stop_ms: Option<u64>,
    pub(super) metadata: Option<String>,
    /// Where commands for it may come, apart from the command topic.
    pub(super) listens: Vec<String>,
    /// Where answers go; none where nobody wants any.
    pub(super) answers: Option<String>,
    /// When this program began with it, milliseconds since 1970.
    pub(super) begun_ms: u64,
    /// It was begun before this program started.
    pub(super) is_resumed: bool,
}

impl Talk {
    pub(super) fn new(
        request: &JobRequest,
        listens: Vec<String>,
        answers: Option<String>,
        begun_ms: u64,
    ) -> Self {
        Self {
            file: request.file.clone(),
            start_ms: request.start_ms,
            stop_ms: request.stop_ms,
            metadata: request.metadata.clone(),
            listens,
            answers,
            begun_ms,
            is_resumed: false,
        }
    }
}

/// All jobs that run.
#[derive(Debug, Default)]
pub(super) struct Talks {
    jobs: BTreeMap<String, Talk>,
}

impl Talks {
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Talk> {
        self.jobs.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Talk> {
        self.jobs.get_mut(id)
    }

    pub(super) fn insert(&mut self, id: String, talk: Talk) {
        self.jobs.insert(id, talk);
    }

    /// Takes a job out, with the topics that no other one needs.
    pub(super) fn remove(&mut self, id: &str) -> Option<(Talk, Vec<String>)> {
        let talk = self.jobs.remove(id)?;
        let free = talk.listens.iter().filter(|topic| !self.needs(topic)).cloned().collect();
        Some((talk, free))
    }

    /// True if a job listens there.
    pub(super) fn needs(&self, topic: &str) -> bool {
        self.jobs.values().any(|talk| talk.listens.iter().any(|one| one == topic))
    }

    /// When this writer began to listen there, for the job that has done so for the longest time.
    pub(super) fn listened_since(&self, topic: &str) -> Option<u64> {
        let listening = self.jobs.values().filter(|talk| talk.listens.iter().any(|one| one == topic));
        listening.map(|talk| talk.begun_ms).min()
    }

    /// True if a job listens there that nobody wants answers for.
    pub(super) fn is_quiet(&self, topic: &str) -> bool {
        let silent = self.jobs.values().filter(|talk| talk.answers.is_none());
        silent.flat_map(|talk| &talk.listens).any(|one| one == topic)
    }

    /// Ids and files.
    pub(super) fn files(&self) -> Vec<(&str, &Path)> {
        self.iter().map(|(id, talk)| (id, talk.file.as_path())).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Talk)> {
        self.jobs.iter().map(|(id, talk)| (id.as_str(), talk))
    }
}

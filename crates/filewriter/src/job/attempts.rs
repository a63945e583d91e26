//! How often a job has ended the process that did it: such a job is set aside, so that it does not end the jobs next to it for ever.
//!
//! A job counts from when its file is made or taken up until its first commit is on the disk, or until it has had nothing to write
//! for a minute. Waiting for brokers is not counted, nor what ends with an error, nor a writer that ends in good order: then only power
//! cuts and kills in those seconds count, and what is set aside for them is there still.

use super::plan::JobPlan;
use crate::file::{FileError, Names};
use evforge_stream::storage::space::folder_of;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A job that has ended its process so often is not taken up again.
const MOST: u32 = 2;

/// How often a job has ended its process, kept next to its file.
#[derive(Debug)]
pub(super) struct Attempts {
    /// None for a job of a command: whoever gives it sees what comes of it.
    path: Option<PathBuf>,
    /// Without this process.
    before: u32,
    is_noted: bool,
    /// Set while the writer ends in good order.
    stop: Arc<AtomicBool>,
}

impl Attempts {
    pub(super) fn of(plan: &JobPlan, stop: &Arc<AtomicBool>) -> Self {
        let path = Names::of(&plan.file).attempts();
        let (before, stop) = (read(&path), Arc::clone(stop));
        Self { path: (!plan.about.is_null()).then_some(path), before, is_noted: before > 0, stop }
    }

    /// From here on the process may be ended by it.
    pub(super) fn begin(&mut self) {
        self.note(self.before + 1);
    }

    /// It may not be for a while: this process does not count.
    pub(super) fn pause(&mut self) {
        if self.before == 0 { self.forget() } else { self.note(self.before) }
    }

    /// Does what cannot end it: brokers may take hours.
    pub(super) fn except<T>(&mut self, what: impl FnOnce() -> T) -> T {
        let was_noted = self.is_noted;
        self.pause();
        let done = what();
        if was_noted {
            self.begin();
        }
        done
    }

    /// It has not been.
    pub(super) fn forget(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| self.is_noted) {
            // A power cut must not bring the number back.
            let _ = fs::remove_file(path)
                .and_then(|()| fs::File::open(folder_of(path)))
                .and_then(|folder| folder.sync_all());
        }
        (self.before, self.is_noted) = (0, false);
    }

    /// On a disk that takes nothing it is not noted, which keeps no job from going on.
    fn note(&mut self, times: u32) {
        let Some(path) = self.path.as_ref().filter(|_| !self.stop.load(Ordering::Relaxed)) else { return };
        let kept = fs::File::create(path).and_then(|mut file| {
            file.write_all(times.to_string().as_bytes())?;
            file.sync_all()
        });
        self.is_noted |= kept.is_ok();
    }
}

fn read(path: &Path) -> u32 {
    fs::read_to_string(path).ok().and_then(|times| times.parse().ok()).unwrap_or(0)
}

/// Sets the job of a plan aside, if it has ended its process twice: why, for people. What it has written stays where it is.
pub(crate) fn set_aside(plan: &JobPlan) -> Option<String> {
    let names = Names::of(&plan.file);
    let times = read(&names.attempts());
    if times < MOST {
        return None;
    }
    let job = names.job();
    let aside = names.aside("set-aside").and_then(|aside| {
        fs::rename(&job, &aside).map_err(|cause| FileError::io("set aside", &job, cause))?;
        Ok(aside)
    });
    let why =
        format!("it has ended the file writer {times} times before a commit, and is not taken up again");
    Some(match aside {
        Ok(aside) => {
            let _ = fs::remove_file(names.attempts());
            let (aside, job) = (aside.display(), job.display());
            format!("{why}: what it is lies in {aside}. To have it tried once more, rename that to {job}")
        }
        Err(error) => format!("{why}: {error}"),
    })
}

/// Forgets what is noted of a file: whoever wrote it ends in good order.
pub(crate) fn forget_attempts(file: &Path) {
    let _ = fs::remove_file(Names::of(file).attempts());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Begin, Until, Window};
    use serde_json::{Value, json};

    fn plan(folder: &Path, about: Value) -> JobPlan {
        JobPlan {
            id: "1".into(),
            file: folder.join("run.nxs"),
            structure: String::new(),
            base: Value::Null,
            window: Window { start_ns: 0, stop_ns: None },
            begin: Begin::Oldest,
            until: Until::Stop,
            leeway_after_s: 0.0,
            about,
            set_aside: Vec::new(),
        }
    }

    #[test]
    fn a_job_counts_from_where_it_begins_until_it_is_safe() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), json!("a conversation"));
        let counted = || read(&Names::of(&plan.file).attempts());
        // Killed once; then brokers are away, which is no attempt, however often.
        Attempts::of(&plan, &Arc::default()).begin();
        for _ in 0..3 {
            let mut waits = Attempts::of(&plan, &Arc::default());
            waits.begin();
            waits.pause();
            assert_eq!(counted(), 1);
        }
        assert_eq!(set_aside(&plan), None);
        // One process is one attempt, though it opens the file again.
        let mut second = Attempts::of(&plan, &Arc::default());
        second.begin();
        second.begin();
        assert_eq!(counted(), 2);
        // With its first commit it is safe, and counts from 0 again.
        second.forget();
        assert_eq!(counted(), 0);
        second.begin();
        assert_eq!((counted(), second.before), (1, 0));
        second.pause();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_power_cut_left_of_the_number_counts_nothing_and_commands_count_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let by_hand = plan(folder.path(), Value::Null);
        Attempts::of(&by_hand, &Arc::default()).begin();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join("run.nxs.attempts"), "").unwrap();
        assert_eq!(read(&folder.path().join("run.nxs.attempts")), 0);
    }
}

//! The thread of a job: it makes or takes up the file, reads until the run is over, and ends it.

use super::attempts::Attempts;
use super::end::JobEnd;
use super::error::JobError;
use super::opening::{Begun, open};
use super::plan::JobPlan;
use super::progress::{Phase, Progress};
use super::session::{Command, Session};
use super::settings::JobSettings;
use crate::file::{FileError, Names};
use evforge_kafka::client::Deadline;
use std::fs;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Times that a file is taken up again in a row without a commit in between.
const TRIES: u32 = 5;

/// A job that runs in threads of its own.
pub struct Job {
    plan: JobPlan,
    commands: SyncSender<Command>,
    shown: Arc<Mutex<Progress>>,
    thread: Option<JoinHandle<JobEnd>>,
}

impl Job {
    /// Begins a file, or takes up one that a writer has left. When this returns, it is there with its structure, and is written.
    ///
    /// # Errors
    /// If it cannot be begun.
    pub fn start(plan: JobPlan, settings: JobSettings) -> Result<Self, JobError> {
        let (commands, told) = sync_channel(64);
        let (said, began) = sync_channel(1);
        let shown =
            Arc::new(Mutex::new(Progress { file: Names::of(&plan.file).writing(), ..Progress::default() }));
        let of_thread = (plan.clone(), Arc::clone(&shown));
        let spawned = thread::Builder::new().name("file".into()).spawn(move || {
            let (plan, shown) = of_thread;
            run(plan, &settings, &told, &shown, &said)
        });
        let thread = spawned.map_err(|cause| FileError::Io {
            attempt: "start the thread that writes",
            path: plan.file.clone(),
            cause,
        })?;
        match began.recv() {
            Ok(Ok(())) => Ok(Self { plan, commands, shown, thread: Some(thread) }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(JobError::Structure("the thread that writes has ended".to_owned())),
        }
    }

    /// What it is, with the end as it was set at the beginning.
    pub fn plan(&self) -> &JobPlan {
        &self.plan
    }

    /// Sets the end of the run, nanoseconds since 1970; none is now.
    pub fn set_stop(&self, stop_ns: Option<i64>) {
        // A job that has ended does not care.
        let _ = self.commands.try_send(Command::Stop(stop_ns));
    }

    /// Ends it at once. What is in the file is kept under another name.
    pub fn abort(&self) {
        let _ = self.commands.try_send(Command::Abort);
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True once it has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for its end.
    pub fn wait(mut self) -> JobEnd {
        let progress = self.progress();
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(end)) => end,
            _ => JobEnd {
                id: self.plan.id.clone(),
                progress: Progress {
                    phase: Phase::Failed("the thread that writes has ended".into()),
                    ..progress
                },
                ..JobEnd::default()
            },
        }
    }
}

fn run(
    mut plan: JobPlan,
    settings: &JobSettings,
    told: &Receiver<Command>,
    shown: &Mutex<Progress>,
    began: &SyncSender<Result<(), JobError>>,
) -> JobEnd {
    let deadline = Deadline::of_opening().or_when(&settings.stop);
    let mut attempts = Attempts::of(&plan, &settings.stop);
    let rehearsal = settings.rehearsal.as_deref();
    let mut opened = match open(&mut plan, settings, rehearsal, &deadline, &mut attempts) {
        Ok(Begun::Open(opened)) => *opened,
        Ok(Begun::WasComplete(end)) => {
            attempts.forget();
            let _ = began.send(Ok(()));
            return *end;
        }
        Err(error) => {
            attempts.pause();
            let failed = Phase::Failed(error.to_string());
            let _ = began.send(Err(error));
            return JobEnd {
                id: plan.id,
                progress: Progress { phase: failed, ..Progress::default() },
                ..JobEnd::default()
            };
        }
    };
    let _ = began.send(Ok(()));
    let (mut tries, mut is_aborted) = (0, false);
    loop {
        let mut session = Session::new(&mut plan, settings, told, shown, &mut is_aborted, &mut attempts);
        let before = opened.running.commits;
        let error = match session.run(opened) {
            Ok(end) => {
                attempts.forget();
                return end;
            }
            Err(error) => error,
        };
        let gives_back = session.gives_back;
        if session.begins_again {
            let _ = fs::remove_file(Names::of(&plan.file).writing());
        }
        // The file is as the disk has it: it is cut back to its last commit and goes on from there.
        tries = match error.commits > before {
            _ if gives_back => 0,
            true => 1,
            false => tries + 1,
        };
        let again = match error.cause {
            cause if tries > TRIES => Err(cause),
            JobError::File(FileError::Gone(path)) => Err(JobError::File(FileError::Gone(path))),
            // A file that is being written is taken up again, even at the end. Nobody has to try it first: this process has had it open.
            _ => open(&mut plan, settings, None, &Deadline::of_opening(), &mut attempts),
        };
        opened = match again {
            Ok(Begun::Open(opened)) => *opened,
            Ok(Begun::WasComplete(end)) => {
                attempts.forget();
                return *end;
            }
            Err(error) => {
                attempts.forget();
                let progress = Progress {
                    phase: Phase::Failed(error.to_string()),
                    file: Names::of(&plan.file).writing(),
                    set_aside: plan.set_aside,
                    ..Progress::default()
                };
                *shown.lock().unwrap_or_else(PoisonError::into_inner) = progress.clone();
                return JobEnd { id: plan.id, progress, ..JobEnd::default() };
            }
        };
    }
}

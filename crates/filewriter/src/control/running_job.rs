//! A job of the runner: taken up again, running, ended.

use super::jobs::JobPhase;
use crate::file::{FileError, Names};
use crate::job::{Job, JobEnd, JobError, JobPlan, JobSettings, Phase, Progress};
use evforge_kafka::client::Cause;
use evforge_stream::nexus::NexusError;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often a job that cannot be taken up yet is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the program that wrote a file before may take to let go of it.
const LET_GO: Duration = Duration::from_secs(60);
/// A report of the end that is longer than this is not sent, bytes.
const REPORT: usize = 64 << 10;

/// What a job does.
enum Doing {
    /// It is being taken up again. What it is told waits; `why` says what is in the way.
    Waits { stop_ns: Option<i64>, is_aborted: bool, why: Option<String> },
    /// It runs.
    Runs(Job),
    /// It has ended.
    Ended { file: PathBuf, error: Option<String>, metadata: String, news: Vec<String> },
}

/// A job that runs or has run.
pub(super) struct RunningJob {
    doing: Arc<Mutex<Doing>>,
    /// The file while nothing is known of it.
    file: PathBuf,
    told: Told,
}

/// What people were told.
#[derive(Default)]
struct Told {
    /// Why it waits.
    why: Option<String>,
    /// What has happened to files and topics.
    news: Vec<String>,
}

impl RunningJob {
    /// Begins a new one.
    pub(super) fn start(plan: JobPlan, settings: JobSettings) -> Result<Self, JobError> {
        let file = plan.file.clone();
        let job = Job::start(plan, settings)?;
        Ok(Self { doing: Arc::new(Mutex::new(Doing::Runs(job))), file, told: Told::default() })
    }

    /// Takes one up again, however long brokers are away.
    pub(super) fn take_up(plan: JobPlan, settings: JobSettings) -> Self {
        let file = Names::of(&plan.file).writing();
        let doing = Arc::new(Mutex::new(Doing::Waits { stop_ns: None, is_aborted: false, why: None }));
        let (shared, of_thread) = (Arc::clone(&doing), file.clone());
        let spawned = thread::Builder::new()
            .name("take up".into())
            .spawn(move || try_until_it_runs(&shared, &plan, &settings, &of_thread));
        if let Err(error) = spawned {
            *held(&doing) =
                failed(file.clone(), format!("the thread that takes it up cannot be started: {error}"));
        }
        Self { doing, file, told: Told::default() }
    }

    /// One that is not taken up again, and why.
    pub(super) fn given_up(plan: &JobPlan, why: String) -> Self {
        let file = Names::of(&plan.file).writing();
        let doing = Arc::new(Mutex::new(failed(file.clone(), why)));
        Self { doing, file, told: Told::default() }
    }

    /// Sets its end.
    pub(super) fn set_stop(&self, ns: i64) {
        match &mut *held(&self.doing) {
            Doing::Waits { stop_ns, .. } => *stop_ns = Some(ns),
            Doing::Runs(job) => job.set_stop(Some(ns)),
            Doing::Ended { .. } => {}
        }
    }

    /// Ends it at once.
    pub(super) fn abort(&self) {
        match &mut *held(&self.doing) {
            Doing::Waits { is_aborted, .. } => *is_aborted = true,
            Doing::Runs(job) => job.abort(),
            Doing::Ended { .. } => {}
        }
    }

    /// What people should know and were not told yet.
    pub(super) fn news(&mut self) -> Vec<String> {
        let mut news = match &*held(&self.doing) {
            Doing::Waits { why, .. } if *why != self.told.why => {
                self.told.why.clone_from(why);
                return why.iter().map(|why| format!("not taken up again yet: {why}")).collect();
            }
            Doing::Waits { .. } => return Vec::new(),
            Doing::Runs(job) => news_of(&job.progress()),
            Doing::Ended { news, .. } => news.clone(),
        };
        news.retain(|line| !self.told.news.contains(line));
        self.told.news.extend_from_slice(&news);
        news
    }

    /// The file as it is called, and how far it is.
    pub(super) fn state(&self) -> (PathBuf, JobPhase) {
        let mut doing = held(&self.doing);
        if let Doing::Runs(job) = &*doing
            && job.has_ended()
        {
            let unknown = Doing::Waits { stop_ns: None, is_aborted: false, why: None };
            if let Doing::Runs(job) = std::mem::replace(&mut *doing, unknown) {
                *doing = ended(&job.wait());
            }
        }
        match &*doing {
            Doing::Waits { .. } => (self.file.clone(), JobPhase::Writing),
            Doing::Runs(job) => (job.progress().file, JobPhase::Writing),
            Doing::Ended { file, error, metadata, .. } => {
                (file.clone(), JobPhase::Ended { error: error.clone(), metadata: metadata.clone() })
            }
        }
    }
}

fn held(doing: &Mutex<Doing>) -> MutexGuard<'_, Doing> {
    doing.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_until_it_runs(
    doing: &Arc<Mutex<Doing>>,
    plan: &JobPlan,
    settings: &JobSettings,
    file: &std::path::Path,
) {
    let since = Instant::now();
    // Whoever wants to have it written may be gone.
    while Arc::strong_count(doing) > 1 {
        match Job::start(plan.clone(), settings.clone()) {
            Ok(job) => {
                let mut doing = held(doing);
                if let Doing::Waits { stop_ns, is_aborted, .. } = &*doing {
                    if stop_ns.is_some() {
                        job.set_stop(*stop_ns);
                    }
                    if *is_aborted {
                        job.abort();
                    }
                }
                *doing = Doing::Runs(job);
                return;
            }
            Err(error) if passes(&error, since) => {
                if let Doing::Waits { why, .. } = &mut *held(doing) {
                    *why = Some(error.to_string());
                }
                thread::sleep(AGAIN);
            }
            Err(error) => {
                let why = format!("it cannot be taken up again: {error}");
                *held(doing) = failed(file.to_owned(), why);
                return;
            }
        }
    }
}

/// True for what goes away by itself.
fn passes(error: &JobError, since: Instant) -> bool {
    match error {
        // Brokers that have just been started may not know their topics yet.
        JobError::Kafka(error) => {
            let is_new = error.cause == Cause::UnknownTopic && since.elapsed() < LET_GO;
            // Whoever has asked for the end ends this, too; the next start takes it up.
            !error.cause.is_final() || is_new || error.cause == Cause::AskedToEnd
        }
        JobError::File(FileError::NoSpace { .. } | FileError::NotRehearsed { .. }) => true,
        JobError::File(FileError::InUse(_) | FileError::Nexus(NexusError::InUse(_))) => {
            since.elapsed() < LET_GO
        }
        _ => false,
    }
}

/// What people should know: files that had to be set aside, and what has happened to topics.
fn news_of(progress: &Progress) -> Vec<String> {
    let set_aside = progress.set_aside.iter().map(|(path, why)| {
        format!(
            "the file that was begun is now {}, and is written again from its first messages: {why}",
            path.display()
        )
    });
    set_aside.chain(progress.changes.iter().map(ToString::to_string)).collect()
}

fn failed(file: PathBuf, why: String) -> Doing {
    let metadata = json!({ "file": file }).to_string();
    Doing::Ended { file, error: Some(why), metadata, news: Vec::new() }
}

/// What is said of the end of a job.
fn ended(end: &JobEnd) -> Doing {
    let file = end.progress.file.clone();
    let error = match &end.progress.phase {
        Phase::Complete => None,
        Phase::Aborted => Some(format!("the run was aborted: {} has what had come", file.display())),
        Phase::Failed(why) => Some(why.clone()),
        other => Some(format!("it ended while it was {}", other.name())),
    };
    let news = news_of(&end.progress);
    Doing::Ended { error, metadata: metadata(end).to_string(), file, news }
}

/// Of the file and what is in it, with the report if that is not too long.
fn metadata(end: &JobEnd) -> Value {
    // A file that was complete when it was taken up again was not counted.
    if end.partitions.is_empty() {
        return json!({ "file": end.progress.file });
    }
    let counters = &end.progress.counters;
    let mut report = end.to_json();
    if report.to_string().len() > REPORT {
        report = json!({ "counters": report["counters"] });
    }
    json!({
        "file": end.progress.file,
        "events": counters.events_written,
        "messages": counters.messages_written,
        "is_whole": end.is_whole(),
        "evforge_report": report,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::SourceRow;
    use crate::job::PartitionEnd;

    #[test]
    fn a_long_report_is_not_sent() {
        let mut end = JobEnd::default();
        end.progress.file = "/data/a.nxs".into();
        assert_eq!(metadata(&end), json!({"file": "/data/a.nxs"}));
        end.partitions.push(PartitionEnd { topic: "t".into(), number: 0, next: 1 });
        end.sources = vec![SourceRow { source: "s".into(), ..SourceRow::default() }; 3];
        let said = metadata(&end);
        assert_eq!((&said["events"], &said["is_whole"]), (&json!(0), &json!(true)));
        assert_eq!(said["evforge_report"]["sources"].as_array().map(Vec::len), Some(3));
        end.sources = vec![SourceRow { source: "s".into(), ..SourceRow::default() }; 1000];
        let said = metadata(&end);
        assert!(said.to_string().len() < REPORT && said["evforge_report"]["counters"].is_object());
        assert_eq!(said["evforge_report"]["sources"], Value::Null);
    }
}

//! Jobs that write real files.

use super::jobs::{JobPhase, JobRequest, JobState, Jobs};
use super::left_jobs::{self, About, Left, base};
use super::running_job::RunningJob;
use super::text::time;
use crate::file::{FileError, Names, is_there};
use crate::job::{Begin, JobPlan, JobSettings, PlainBases, Until, Window, forget_attempts, set_aside};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Endings of names that lie next to a file.
const OWN_ENDINGS: [&str; 6] = ["writing", "job", "new", "lock", "sha256", "attempts"];

/// How files are written for a conversation.
#[derive(Clone, Debug)]
pub struct JobRunnerSettings {
    /// The folder for files.
    pub files: PathBuf,
    /// The folder of templates: `<instrument>/<instrument>.hdf` is copied first. Without it everything is made from structures.
    pub templates: Option<PathBuf>,
    /// Who writes, by a name that stays the same over restarts: only jobs of the same writer are taken up again. The process is
    /// not to be in it, as it is in a `service_id` that nobody has set.
    pub owner: String,
    /// How jobs are done. Its `bases` are not used: a file begins with a template, or with nothing.
    pub job: JobSettings,
    /// How long before its data Kafka may have a message, by its own times: reading begins so much before the start.
    pub leeway_before: Duration,
    /// How long after the end of a run its messages may come.
    pub leeway_after: Duration,
}

/// A job with what was asked for.
struct Entry {
    /// With the stop as it was set last.
    request: JobRequest,
    /// The file, once it is complete.
    path: PathBuf,
    job: RunningJob,
}

/// Writes files for a conversation, each in a thread of its own. Jobs go on when this is dropped, as long as the program runs.
pub struct JobRunner {
    settings: JobRunnerSettings,
    entries: Vec<Entry>,
}

impl JobRunner {
    /// Takes up all jobs that this writer has left below its folder. `say` gets lines for people.
    ///
    /// # Errors
    /// If there is no such folder, as a sentence.
    pub fn open(mut settings: JobRunnerSettings, say: &mut dyn FnMut(&str)) -> Result<Self, String> {
        // Control programs are told the whole path.
        let files = std::path::absolute(&settings.files).unwrap_or_else(|_| settings.files.clone());
        if !files.is_dir() {
            return Err(format!("the folder for files, {}, is not there, or is no folder", files.display()));
        }
        settings.files = files;
        settings.job.bases = Arc::new(PlainBases);
        let mut entries: Vec<Entry> = Vec::new();
        for Left { request, plan } in left_jobs::find(&settings.files, &settings.owner, say) {
            if entries.iter().any(|entry| entry.request.id == request.id) {
                say(&format!("{}: there is another job {}: it is left alone", plan.file.display(), plan.id));
                continue;
            }
            let path = plan.file.clone();
            let job = match set_aside(&plan) {
                Some(why) => RunningJob::given_up(&plan, why),
                None => RunningJob::take_up(plan, settings.job.clone()),
            };
            entries.push(Entry { request, path, job });
        }
        Ok(Self { settings, entries })
    }

    fn plan(&self, request: &JobRequest) -> Result<JobPlan, String> {
        let file = self.settings.files.join(&request.file);
        let Some(folder) = file.parent().filter(|folder| folder.is_dir()) else {
            let folder = file.parent().unwrap_or(&file);
            return Err(format!("there is no folder {}: it has to be made first", folder.display()));
        };
        if file.extension().is_some_and(|ending| OWN_ENDINGS.iter().any(|own| ending == *own)) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            return Err(format!(
                "{name} is the name of a file that may lie next to one in {}",
                folder.display()
            ));
        }
        is_free(&file)?;
        let said = base(self.settings.templates.as_deref(), request.instrument.as_deref())?;
        let about = About { owner: self.settings.owner.clone(), request: request.clone() };
        let before_ms = i64::try_from(self.settings.leeway_before.as_millis()).unwrap_or(i64::MAX);
        let start_ms = i64::try_from(request.start_ms).unwrap_or(i64::MAX);
        Ok(JobPlan {
            id: request.id.clone(),
            file,
            structure: request.structure.to_string(),
            base: json!(said),
            window: Window { start_ns: ns(request.start_ms), stop_ns: request.stop_ms.map(ns) },
            begin: Begin::Since(start_ms.saturating_sub(before_ms).max(0)),
            until: Until::Stop,
            leeway_after_s: self.settings.leeway_after.as_secs_f64(),
            about: json!(about),
            set_aside: Vec::new(),
        })
    }

    /// The job, unless it has ended.
    fn running(&mut self, id: &str) -> Result<&mut Entry, String> {
        let entry = self.entries.iter_mut().find(|entry| entry.request.id == id);
        let entry = entry.ok_or_else(|| format!("there is no job {id} here"))?;
        match entry.job.state() {
            (_, JobPhase::Writing) => Ok(entry),
            (file, JobPhase::Ended { .. }) => Err(format!("the job has ended: {}", file.display())),
        }
    }
}

/// Whoever ends in good order was not ended by a job.
impl Drop for JobRunner {
    fn drop(&mut self) {
        self.entries.iter().for_each(|entry| forget_attempts(&entry.path));
    }
}

/// That there is nothing of this name yet.
fn is_free(file: &Path) -> Result<(), String> {
    let names = Names::of(file);
    if is_there(file) {
        return Err(FileError::Exists(file.to_owned()).to_string());
    }
    for name in [names.job(), names.writing()] {
        if is_there(&name) {
            return Err(format!(
                "{} exists: a file of this name was begun, and is written or was left unfinished",
                name.display()
            ));
        }
    }
    Ok(())
}

fn ns(ms: u64) -> i64 {
    i64::try_from(ms.saturating_mul(1_000_000)).unwrap_or(i64::MAX)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Jobs for JobRunner {
    fn start(&mut self, request: JobRequest) -> Result<(), String> {
        if self.entries.iter().any(|entry| entry.request.id == request.id) {
            return Err(format!("there is a job {} already", request.id));
        }
        let plan = self.plan(&request)?;
        let path = plan.file.clone();
        let job = RunningJob::start(plan, self.settings.job.clone()).map_err(|error| error.to_string())?;
        self.entries.push(Entry { request, path, job });
        Ok(())
    }

    fn set_stop(&mut self, id: &str, stop_ms: Option<u64>) -> Result<(), String> {
        let now = now_ms();
        let entry = self.running(id)?;
        if let Some(passed) = entry.request.stop_ms.filter(|stop| *stop < now) {
            return Err(format!("the run has ended at {}", time(passed)));
        }
        let stop_ms = stop_ms.unwrap_or(now);
        entry.job.set_stop(ns(stop_ms));
        entry.request.stop_ms = Some(stop_ms);
        Ok(())
    }

    fn abort(&mut self, id: &str) -> Result<(), String> {
        self.running(id)?.job.abort();
        Ok(())
    }

    fn states(&self) -> Vec<JobState> {
        let state = |entry: &Entry| {
            let (file, phase) = entry.job.state();
            JobState { request: entry.request.clone(), file, phase }
        };
        self.entries.iter().map(state).collect()
    }

    fn forget(&mut self, id: &str) {
        self.entries.retain(|entry| entry.request.id != id);
    }

    fn news(&mut self) -> Vec<String> {
        let of_job = |entry: &mut Entry| {
            let id = entry.request.id.clone();
            entry.job.news().into_iter().map(move |line| format!("job {id}: {line}"))
        };
        self.entries.iter_mut().flat_map(of_job).collect()
    }
}

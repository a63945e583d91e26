//! A job's file, made or taken up, with what is asked of the topics first.

use super::attempts::Attempts;
use super::bases::PlainBases;
use super::end::JobEnd;
use super::error::JobError;
use super::partitions::Partitions;
use super::plan::JobPlan;
use super::progress::{Phase, Progress};
use super::rehearsal::{Rehearsal, take_up};
use super::routes::Routes;
use super::running::{ROOM_OF_PARTITION, Running, record_room};
use super::settings::{Bases, JobSettings};
use super::streams::Streams;
use super::topics::Topics;
use crate::file::{FileError, FilePlan, Names, Reopened, Storage, WriterFile, is_there};
use crate::structure::{self, RunTimes, Structure};
use evforge_kafka::client::Deadline;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// What a job finds when it begins.
pub(super) enum Begun {
    /// A file to write into.
    Open(Box<Opened>),
    /// The file was complete, and only lacked its name: it has it now. How the job ended, if that was kept.
    WasComplete(Box<JobEnd>),
}

/// A file that was opened, and where reading goes on.
pub(super) struct Opened {
    pub(super) running: Running,
    pub(super) topics: Topics,
}

/// Makes the file, or takes it up, with what brokers say until the deadline. A file that a writer has left is tried by `rehearsal` first.
pub(super) fn open(
    plan: &mut JobPlan,
    settings: &JobSettings,
    rehearsal: Option<&dyn Rehearsal>,
    deadline: &Deadline,
    attempts: &mut Attempts,
) -> Result<Begun, JobError> {
    let names = Names::of(&plan.file);
    if is_there(&names.job()) {
        attempts.begin();
    }
    let file_plan = file_plan(plan, &*settings.bases, &settings.storage)?;
    let (asked, job_room) = asked(&file_plan.structure);
    let cost = file_plan.cost(job_room)?;
    let kept = if is_there(&names.job()) {
        let (kept, first) = JobPlan::read_all(&names.job())?;
        if kept.id != plan.id {
            return Err(FileError::Exists(names.job()).into());
        }
        // The end may have been set since.
        plan.window = kept.window;
        plan.set_aside = kept.set_aside;
        Some(first)
    } else {
        None
    };
    if let Some(first) = &kept {
        match take_up(&file_plan, rehearsal, &settings.stop)? {
            Reopened::WasComplete => {
                let end = JobPlan::kept_end(&names.job()).unwrap_or_default();
                let _ = fs::remove_file(names.job());
                return Ok(Begun::WasComplete(Box::new(as_complete(end, plan))));
            }
            Reopened::GoesOn(file, job) => {
                let (streams, routes) = Streams::of(&file.modules);
                let topics = attempts.except(|| Topics::open(&settings.client, &routes, deadline))?;
                let partitions = Partitions::of(first, &routes);
                let share = settings.budget.hold(cost);
                let mut running = Running::new(*file, partitions, streams, Arc::new(routes), share);
                running.restore(job).map_err(|why| FileError::Damaged { path: names.writing(), why })?;
                return Ok(Begun::Open(Box::new(Opened { running, topics })));
            }
            Reopened::BeginAgain { aside: None } => {}
            Reopened::BeginAgain { aside: Some(aside) } => {
                plan.set_aside.push(aside);
                plan.keep(&names.job(), first)?;
            }
        }
    }
    // What it takes and what partitions there are is known before anything is made.
    if asked.topics().is_empty() {
        return Err(JobError::Structure(
            "the structure asks for no topic: there is nothing to be written".into(),
        ));
    }
    let share = settings.budget.take(cost)?;
    let is_new = kept.is_none();
    let (topics, first) = attempts.except(|| -> Result<_, JobError> {
        let topics = Topics::open(&settings.client, &asked, deadline)?;
        let first = match kept {
            Some(first) => first,
            None => topics.first(plan.begin, deadline)?,
        };
        Ok((topics, first))
    })?;
    // What the job is comes first: a writer that is killed in between finds it, and begins again.
    let mut is_kept = false;
    let keep = || {
        if is_new {
            // Of another job of this name nothing counts.
            attempts.forget();
            attempts.begin();
            plan.keep_first(&names.job(), &first)?;
            is_kept = true;
        }
        Ok(())
    };
    let made = WriterFile::create(&file_plan, job_room + first.len() * ROOM_OF_PARTITION, keep);
    if made.is_err() && is_kept {
        let _ = fs::remove_file(names.job());
    }
    let file = made?;
    let (streams, routes) = Streams::of(&file.modules);
    let (topics, partitions) = (topics.in_order_of(&routes), Partitions::of(&first, &routes));
    let running = Running::new(file, partitions, streams, Arc::new(routes), share);
    Ok(Begun::Open(Box::new(Opened { running, topics })))
}

/// Takes up the file of a job for nothing but to see that the HDF5 library comes back from it.
///
/// For the process of a [rehearsal](Rehearsal), which is to end at once after it, without a further call of the library.
///
/// # Errors
/// If the description of the job cannot be read.
pub fn rehearse(job: &Path, storage: &Storage) -> Result<(), JobError> {
    let plan = JobPlan::read(job)?;
    WriterFile::rehearse(&file_plan(&plan, &PlainBases, storage)?);
    Ok(())
}

/// What the file of a job is to be.
fn file_plan(plan: &JobPlan, bases: &dyn Bases, storage: &Storage) -> Result<FilePlan, JobError> {
    Ok(FilePlan {
        path: plan.file.clone(),
        base: bases.base(&plan.base).map_err(JobError::Structure)?,
        structure: structure::parse(&plan.structure)
            .map_err(|error| JobError::Structure(error.to_string()))?,
        times: times(plan.window.start_ns, plan.window.stop_ns),
        storage: storage.clone(),
    })
}

/// The end of a job whose file has its name now.
fn as_complete(end: JobEnd, plan: &JobPlan) -> JobEnd {
    let file_bytes = fs::metadata(&plan.file).map_or(0, |about| about.len());
    let progress = Progress { phase: Phase::Complete, file: plan.file.clone(), file_bytes, ..end.progress };
    JobEnd { id: plan.id.clone(), progress, ..end }
}

/// The times of a run as the file has them.
pub(super) fn times(start_ns: i64, stop_ns: Option<i64>) -> RunTimes {
    let ms = |ns: i64| u64::try_from(ns / 1_000_000).unwrap_or(0);
    RunTimes { start_ms: ms(start_ns), stop_ms: stop_ns.map(ms) }
}

/// The topics and sources that a structure asks for, and the bytes of what a commit of its job keeps, without partitions.
fn asked(structure: &Structure) -> (Routes, usize) {
    let (mut routes, mut sources, mut numbered) = (Routes::default(), 0, 0);
    let Ok(()) = structure.each_module(&mut |_, module| -> Result<(), Infallible> {
        for source in &module.sources {
            routes.add(&module.topic, source, &[], 0);
        }
        sources += module.sources.len();
        numbered += if module.kind.has_numbers() { module.sources.len() } else { 0 };
        Ok(())
    });
    (routes, record_room(sources, numbered))
}

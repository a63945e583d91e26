//! A job's file, made or taken up, with what is asked of the topics first.

use super::end::JobEnd;
use super::error::JobError;
use super::partitions::Partitions;
use super::plan::JobPlan;
use super::progress::{Phase, Progress};
use super::running::{Running, record_room};
use super::settings::JobSettings;
use super::streams::Streams;
use super::topics::Topics;
use crate::file::{FileError, FilePlan, Names, Reopened, WriterFile, is_there};
use crate::structure::{self, Group, Node, RunTimes, StreamModule};
use evforge_kafka::client::Deadline;
use std::fs;
use std::path::PathBuf;
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

/// Makes the file, or takes it up, with what brokers say until the deadline.
pub(super) fn open(
    plan: &mut JobPlan,
    settings: &JobSettings,
    set_aside: &mut Vec<(PathBuf, String)>,
    deadline: &Deadline,
) -> Result<Begun, JobError> {
    let structure =
        structure::parse(&plan.structure).map_err(|error| JobError::Structure(error.to_string()))?;
    let names = Names::of(&plan.file);
    let base = settings.bases.base(&plan.base).map_err(JobError::Structure)?;
    let file_plan = FilePlan {
        path: plan.file.clone(),
        base,
        structure,
        times: times(plan.window.start_ns, plan.window.stop_ns),
        storage: settings.storage.clone(),
    };
    let kept = if is_there(&names.job()) {
        let (kept, first) = JobPlan::read(&names.job())?;
        if kept.id != plan.id {
            return Err(FileError::Exists(names.job()).into());
        }
        // The end may have been set since.
        plan.window = kept.window;
        Some(first)
    } else {
        None
    };
    if kept.is_some() {
        match WriterFile::reopen(&file_plan)? {
            Reopened::WasComplete => {
                let end = JobPlan::kept_end(&names.job()).unwrap_or_default();
                let _ = fs::remove_file(names.job());
                return Ok(Begun::WasComplete(Box::new(as_complete(end, plan))));
            }
            Reopened::GoesOn(file, job) => {
                let (streams, routes) = Streams::of(&file.modules);
                let topics = Topics::open(&settings.client, &routes, deadline)?;
                let partitions = Partitions::of(&kept.unwrap_or_default(), &routes);
                let mut running = Running::new(*file, partitions, streams, Arc::new(routes));
                running.restore(job).map_err(|why| FileError::Damaged { path: names.writing(), why })?;
                return Ok(Begun::Open(Box::new(Opened { running, topics })));
            }
            Reopened::BeginAgain { aside } => set_aside.extend(aside),
        }
    }
    // What partitions there are is asked before anything is made.
    let asked = modules_of(&file_plan.structure.root);
    let mut routes = super::routes::Routes::default();
    for module in &asked {
        for source in &module.sources {
            routes.add(&module.topic, source, &[], 0);
        }
    }
    if routes.topics().is_empty() {
        return Err(JobError::Structure(
            "the structure asks for no topic: there is nothing to be written".into(),
        ));
    }
    let topics = Topics::open(&settings.client, &routes, deadline)?;
    let is_new = kept.is_none();
    let first = match kept {
        Some(first) => first,
        None => topics.first(plan.begin, deadline)?,
    };
    let sources: usize = asked.iter().map(|module| module.sources.len()).sum();
    let numbered =
        asked.iter().filter(|module| module.kind.has_numbers()).map(|module| module.sources.len()).sum();
    // What the job is comes first: a writer that is killed in between finds it, and begins again.
    let mut is_kept = false;
    let keep = || {
        if is_new {
            plan.keep_first(&names.job(), &first)?;
            is_kept = true;
        }
        Ok(())
    };
    let made = WriterFile::create(&file_plan, record_room(sources, numbered, first.len()), keep);
    if made.is_err() && is_kept {
        let _ = fs::remove_file(names.job());
    }
    let file = made?;
    let (streams, routes) = Streams::of(&file.modules);
    let partitions = Partitions::of(&first, &routes);
    let running = Running::new(file, partitions, streams, Arc::new(routes));
    Ok(Begun::Open(Box::new(Opened { running, topics })))
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

/// All modules of a structure.
fn modules_of(root: &Group) -> Vec<&StreamModule> {
    let (mut groups, mut modules) = (vec![root], Vec::new());
    while let Some(group) = groups.pop() {
        for child in &group.children {
            match child {
                Node::Group(child) => groups.push(child),
                Node::Stream(module) => modules.push(module),
                Node::Dataset(_) | Node::Link(_) | Node::RunTimes(_) => {}
            }
        }
    }
    modules
}

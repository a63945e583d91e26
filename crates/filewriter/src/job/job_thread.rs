//! The thread of a job: it makes or takes up the file, reads until the run is over, and ends it.

use super::end::{JobEnd, PartitionEnd};
use super::partitions::Partitions;
use super::plan::{JobPlan, Until};
use super::progress::{Phase, Progress};
use super::reader::Readers;
use super::running::{Running, record_room};
use super::settings::JobSettings;
use super::streams::Streams;
use super::topics::{At, EndsWatch, Topics};
use super::window::Window;
use crate::file::{Ending, FileError, FilePlan, Names, Reopened, WriterFile, is_there};
use crate::structure::{self, Group, Node, RunTimes, StreamModule};
use evforge_kafka::client::ClientError;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Rows that wait for a commit, in bytes: beyond it the commit is due, unless the last one has just been. With thousands of columns a
/// commit takes a while, however little is in it.
const WAITING: usize = 48 << 20;
/// Rows that wait for a commit at most.
const MOST_WAITING: usize = 160 << 20;
/// Time between commits for what waits, in times of what the last one took.
const PAUSE: u32 = 10;
/// How long a block is waited for before other things are looked at.
const TURN: Duration = Duration::from_millis(20);
/// How often what others may know is put together.
const SHOW: Duration = Duration::from_millis(500);
/// After a restart nothing is committed for so long: the end of the run may have been said while the writer was away, and is heard
/// now. What was read until then is given back without a trace.
const HELD_BACK: Duration = Duration::from_secs(10);
/// A job that has read no more than this is begun again where rows from after its end were committed, bytes.
const AGAIN_AT_MOST: u64 = 256 << 20;
/// How often the disk is asked whether there is room now.
const ROOM: Duration = Duration::from_secs(1);
/// Times that a file is taken up again in a row without a commit in between.
const ATTEMPTS: u32 = 5;

/// Why a job cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The file.
    #[error("{0}")]
    File(#[from] FileError),
    /// Kafka.
    #[error("{0}")]
    Kafka(#[from] ClientError),
    /// What the file is to contain.
    #[error("{0}")]
    Structure(String),
}

/// What a job is told.
enum Command {
    Stop(Option<i64>),
    Abort,
}

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

/// Nanoseconds since 1970 by the clock of this host.
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A file that was opened, and where reading goes on.
struct Opened {
    running: Running,
    topics: Topics,
}

fn run(
    mut plan: JobPlan,
    settings: &JobSettings,
    told: &Receiver<Command>,
    shown: &Mutex<Progress>,
    began: &SyncSender<Result<(), JobError>>,
) -> JobEnd {
    let mut set_aside = Vec::new();
    let mut opened = match open(&mut plan, settings, &mut set_aside) {
        Ok(Some(opened)) => opened,
        // It was complete, and has its name now.
        Ok(None) => {
            let progress = Progress {
                phase: Phase::Complete,
                file: plan.file.clone(),
                set_aside,
                ..Progress::default()
            };
            let _ = began.send(Ok(()));
            return JobEnd { id: plan.id, progress, ..JobEnd::default() };
        }
        Err(error) => {
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
    let (mut attempts, mut is_aborted) = (0, false);
    loop {
        let mut session = Session::new(&mut plan, settings, told, shown, &set_aside, &mut is_aborted);
        let before = opened.running.commits;
        let error = match session.run(opened) {
            Ok(end) => return end,
            Err(error) => error,
        };
        let gives_back = session.gives_back;
        if session.begins_again {
            let _ = fs::remove_file(Names::of(&plan.file).writing());
        }
        // The file is as the disk has it: it is cut back to its last commit and goes on from there.
        attempts = match error.commits > before {
            _ if gives_back => 0,
            true => 1,
            false => attempts + 1,
        };
        let again = match error.cause {
            cause if attempts > ATTEMPTS => Err(cause),
            JobError::File(FileError::Gone(path)) => Err(JobError::File(FileError::Gone(path))),
            cause => open(&mut plan, settings, &mut set_aside).and_then(|opened| opened.ok_or(cause)),
        };
        opened = match again {
            Ok(opened) => opened,
            Err(error) => {
                let progress = Progress {
                    phase: Phase::Failed(error.to_string()),
                    file: Names::of(&plan.file).writing(),
                    set_aside,
                    ..Progress::default()
                };
                *shown.lock().unwrap_or_else(PoisonError::into_inner) = progress.clone();
                return JobEnd { id: plan.id, progress, ..JobEnd::default() };
            }
        };
    }
}

/// Makes the file, or takes it up. None if it is complete.
fn open(
    plan: &mut JobPlan,
    settings: &JobSettings,
    set_aside: &mut Vec<(PathBuf, String)>,
) -> Result<Option<Opened>, JobError> {
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
                let _ = fs::remove_file(names.job());
                return Ok(None);
            }
            Reopened::GoesOn(file, job) => {
                let (streams, routes) = Streams::of(&file.modules);
                let topics = Topics::open(&settings.client, &routes)?;
                let partitions = Partitions::of(&kept.unwrap_or_default(), &routes);
                let mut running = Running::new(*file, partitions, streams, Arc::new(routes));
                running.restore(job).map_err(|why| FileError::Damaged { path: names.writing(), why })?;
                return Ok(Some(Opened { running, topics }));
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
    let topics = Topics::open(&settings.client, &routes)?;
    let is_new = kept.is_none();
    let first = match kept {
        Some(first) => first,
        None => topics.first(plan.begin)?,
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
    Ok(Some(Opened { running, topics }))
}

/// Why a session cannot go on.
struct Broken {
    cause: JobError,
    commits: u64,
}

/// Reading into one open file, until its end or until it cannot go on.
struct Session<'a> {
    plan: &'a mut JobPlan,
    settings: &'a JobSettings,
    told: &'a Receiver<Command>,
    shown: &'a Mutex<Progress>,
    set_aside: &'a [(PathBuf, String)],
    last_commit: Instant,
    /// How long it kept this thread.
    commit_took: Duration,
    last_shown: Option<Instant>,
    waits: Option<(String, Instant)>,
    is_aborted: &'a mut bool,
    begun: Instant,
    /// What was read is from after the end of the run.
    gives_back: bool,
    /// Nothing of the file is to be kept.
    begins_again: bool,
    ends_known: bool,
    /// Since when the run, and the time for what comes late, have passed.
    late_since: Option<Instant>,
}

impl<'a> Session<'a> {
    fn new(
        plan: &'a mut JobPlan,
        settings: &'a JobSettings,
        told: &'a Receiver<Command>,
        shown: &'a Mutex<Progress>,
        set_aside: &'a [(PathBuf, String)],
        is_aborted: &'a mut bool,
    ) -> Self {
        Self {
            plan,
            settings,
            told,
            shown,
            set_aside,
            last_commit: Instant::now(),
            commit_took: Duration::ZERO,
            last_shown: None,
            waits: None,
            is_aborted,
            begun: Instant::now(),
            gives_back: false,
            begins_again: false,
            ends_known: false,
            late_since: None,
        }
    }

    fn run(&mut self, opened: Opened) -> Result<JobEnd, Broken> {
        let Opened { mut running, topics } = opened;
        match self.read(&mut running, topics) {
            Ok(()) => self.finish(running),
            Err(cause) => {
                let commits = running.commits;
                running.file.let_go();
                Err(Broken { cause, commits })
            }
        }
    }

    /// Reads until the run is over.
    fn read(&mut self, running: &mut Running, topics: Topics) -> Result<(), JobError> {
        if running.is_closed {
            return Ok(());
        }
        let places = running.partitions.places(&running.awaited());
        let readers = Readers::start(&self.settings.client, &running.routes, &places, self.settings.readers)?;
        if self.plan.until == Until::Present {
            self.set_ends(running, &topics.ends()?);
        }
        let ends = EndsWatch::start(topics).map_err(|cause| FileError::Io {
            attempt: "start the thread that asks for the ends of partitions for",
            path: self.plan.file.clone(),
            cause,
        })?;
        loop {
            self.obey(running, &ends)?;
            if *self.is_aborted {
                return Ok(());
            }
            if self.waits.is_none() {
                if let Some((reader, block)) = readers.next(TURN) {
                    running.take(&block, self.plan);
                    readers.give_back(reader, block);
                }
            } else {
                thread::sleep(TURN);
            }
            self.commit(running, &readers)?;
            self.find_ends(running, &ends);
            if self.ends_known && running.partitions.are_over() && self.waits.is_none() {
                return Ok(());
            }
            self.show(running, &readers, &ends);
        }
    }

    /// Does what was told.
    fn obey(&mut self, running: &Running, ends: &EndsWatch) -> Result<(), JobError> {
        loop {
            match self.told.try_recv() {
                Ok(Command::Stop(stop)) => {
                    let stop_ns = stop.unwrap_or_else(now_ns);
                    self.plan.window.stop_ns = Some(stop_ns);
                    self.plan.until = Until::Stop;
                    let path = Names::of(&self.plan.file).job();
                    let (_, first) = JobPlan::read(&path)?;
                    self.plan.keep(&path, &first)?;
                    (self.ends_known, self.late_since) = (false, None);
                    let is_beyond = |last: Option<i64>| last.is_some_and(|last| last > stop_ns);
                    if is_beyond(running.streams.last_ns()) {
                        // What does not belong to the run is given back as far as it was not committed, and read again; all of
                        // it if that is little.
                        self.gives_back = true;
                        self.begins_again = is_beyond(running.committed_ns)
                            && running.bytes_read() <= AGAIN_AT_MOST
                            && ends.have_all_from(&first);
                        return Err(
                            FileError::Content("the run has ended before what was read".into()).into()
                        );
                    }
                }
                Ok(Command::Abort) => *self.is_aborted = true,
                Err(TryRecvError::Empty) => return Ok(()),
                // Whoever has begun it is gone: it goes on to its end.
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Commits what is due, and waits for the disk where there is no room.
    fn commit(&mut self, running: &mut Running, readers: &Readers) -> Result<(), JobError> {
        let was_committing = running.file.is_committing();
        let has_ended = running.file.end_commit(Duration::ZERO)?;
        if was_committing && has_ended {
            readers.tell_offsets(&running.partitions.safe());
        }
        let waiting = running.file.columns.waiting();
        let is_held_back = self.plan.until == Until::Stop
            && self.plan.window.stop_ns.is_none()
            && running.is_restarted()
            && self.begun.elapsed() < HELD_BACK;
        let is_time = self.last_commit.elapsed() >= self.settings.flush_interval && !is_held_back;
        let is_due = waiting > MOST_WAITING
            || (waiting > WAITING && self.last_commit.elapsed() >= self.commit_took * PAUSE)
            || (waiting > 0 && is_time && has_ended);
        let is_turn = match &self.waits {
            Some((_, since)) => since.elapsed() >= ROOM,
            None => is_due,
        };
        if !is_turn {
            return Ok(());
        }
        let begun = Instant::now();
        match running.begin_commit() {
            Ok(()) => {
                self.last_commit = Instant::now();
                self.commit_took = begun.elapsed();
                self.waits = None;
                Ok(())
            }
            Err(error @ FileError::NoSpace { .. }) => {
                running.disk_waits += u64::from(self.waits.is_none());
                self.waits = Some((error.to_string(), Instant::now()));
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Once the run and the time for what comes late have passed: where each partition ends.
    fn find_ends(&mut self, running: &mut Running, ends: &EndsWatch) {
        let (false, Until::Stop, Some(stop)) = (self.ends_known, self.plan.until, self.plan.window.stop_ns)
        else {
            return;
        };
        let late = stop.saturating_add((self.plan.leeway_after_s * 1e9) as i64);
        running.past_ms = Some(late / 1_000_000);
        if now_ns() < late {
            return;
        }
        let since = *self.late_since.get_or_insert_with(Instant::now);
        if let Some(ends) = ends.since(Some(since)) {
            self.set_ends(running, &ends);
        }
    }

    fn set_ends(&mut self, running: &mut Running, ends: &[At]) {
        running.partitions.set_ends(ends);
        self.ends_known = true;
    }

    /// Puts together what others may know.
    fn show(&mut self, running: &Running, readers: &Readers, ends: &EndsWatch) {
        if self.last_shown.is_some_and(|last| last.elapsed() < SHOW) {
            return;
        }
        self.last_shown = Some(Instant::now());
        let stop_has_passed = self.plan.window.stop_ns.is_some_and(|stop| now_ns() > stop);
        let phase = match &self.waits {
            Some((why, _)) => Phase::WaitsForDisk(why.clone()),
            None if stop_has_passed => Phase::Closing,
            None => Phase::Writing,
        };
        let mut progress = self.progress(running, phase);
        progress.lag = ends.since(None).map(|ends| running.partitions.lag(&ends));
        progress.complaints = readers.complaints().iter().map(|complaint| complaint.sentence()).collect();
        if running.partitions.are_fresh() {
            readers.clear_complaints();
        }
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    fn progress(&self, running: &Running, phase: Phase) -> Progress {
        let file = running.file.path();
        Progress {
            phase,
            file_bytes: fs::metadata(&file).map_or(0, |about| about.len()),
            file,
            counters: running.counters(),
            newest_ns: running.newest_ns,
            lag: None,
            never_came: running
                .streams
                .never_came(&running.routes)
                .into_iter()
                .map(|(topic, source)| (topic.to_owned(), source.to_owned()))
                .collect(),
            complaints: Vec::new(),
            set_aside: self.set_aside.to_vec(),
        }
    }

    /// Ends the file.
    fn finish(&mut self, mut running: Running) -> Result<JobEnd, Broken> {
        let commits = running.commits;
        let broken = |cause: JobError| Broken { cause, commits };
        let kept = match running.close() {
            Ok(kept) => kept,
            Err(error) => return Err(broken(error.into())),
        };
        let mut end = JobEnd {
            id: self.plan.id.clone(),
            progress: self.progress(&running, Phase::Closing),
            sources: running.streams.rows(&running.file.modules, &running.routes),
            gaps: running.streams.gap_rows(),
            partitions: running
                .partitions
                .0
                .iter()
                .map(|partition| PartitionEnd {
                    topic: partition.name.clone(),
                    number: partition.number,
                    next: partition.next,
                })
                .collect(),
            refused: running
                .refusals()
                .into_iter()
                .map(|(reason, times, what)| (reason.name().to_owned(), times, what))
                .collect(),
            not_written: running.streams.complaints(&running.file.modules),
        };
        let Window { start_ns, stop_ns } = self.plan.window;
        let end_ns = stop_ns.or(running.newest_ns).unwrap_or_else(now_ns);
        // A run without a beginning of its own begins with its first data.
        let start_ns = if start_ns > 0 { start_ns } else { running.streams.first_ns().unwrap_or(end_ns) };
        let run_times = times(start_ns, Some(end_ns));
        let ending = if *self.is_aborted { Ending::Aborted } else { Ending::Complete };
        let mut file = running.file;
        let path = loop {
            match file.finish(kept.clone(), run_times, ending) {
                Ok(path) => break path,
                Err((Some(again), error)) => {
                    file = *again;
                    end.progress.phase = Phase::WaitsForDisk(error.to_string());
                    *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = end.progress.clone();
                    thread::sleep(ROOM);
                }
                Err((None, error)) => return Err(broken(error.into())),
            }
        };
        let _ = fs::remove_file(Names::of(&self.plan.file).job());
        end.progress.file_bytes = fs::metadata(&path).map_or(0, |about| about.len());
        end.progress.file = path;
        end.progress.phase = if *self.is_aborted { Phase::Aborted } else { Phase::Complete };
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = end.progress.clone();
        Ok(end)
    }
}

/// The times of a run as the file has them.
fn times(start_ns: i64, stop_ns: Option<i64>) -> RunTimes {
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

//! Reading into one open file: what is told, commits, the end of the run.

use super::attempts::Attempts;
use super::block::Block;
use super::end::{JobEnd, PartitionEnd};
use super::error::JobError;
use super::opening::{Opened, times};
use super::plan::{JobPlan, Until};
use super::progress::{Phase, Progress};
use super::reader::Readers;
use super::running::Running;
use super::settings::JobSettings;
use super::topics::{Topics, has_all_from};
use super::window::{Window, now_ns};
use crate::file::{Ending, FileError, Names};
use evforge_kafka::topic::TopicWatch;
use std::fs;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of rows after which the chunks that are full are written. That is no commit: with thousands of columns one takes a while,
/// however little is in it, and is made by the clock.
const WAITING: usize = 48 << 20;
/// Rows that wait at most: where many columns have chunks that are nearly full, only a commit gives the memory back.
const MOST_WAITING: usize = 160 << 20;
/// Commits that take longer than this are made less often than asked for: each one at least so many times its own length after the
/// one before, so that they take no more than a twentieth of the time.
const SHORT_COMMIT: Duration = Duration::from_millis(25);
const PAUSE: u32 = 20;
/// How long a block is waited for before other things are looked at.
const TURN: Duration = Duration::from_millis(20);
/// How often what others may know is put together.
const SHOW: Duration = Duration::from_millis(500);
/// After a restart nothing is committed for so long: the end of the run may have been said while the writer was away, and is heard
/// now. What was read until then is given back without a trace.
const HELD_BACK: Duration = Duration::from_secs(10);
/// A job that has read no more than this is begun again where rows from after its end were committed, bytes.
const AGAIN_AT_MOST: u64 = 256 << 20;
/// A job that has had nothing to write for so long has not ended the process.
const HARMLESS: Duration = Duration::from_secs(60);
/// How often the disk is asked whether there is room now.
const ROOM: Duration = Duration::from_secs(1);

/// What a job is told.
pub(super) enum Command {
    Stop(Option<i64>),
    Abort,
}

/// Why a session cannot go on.
pub(super) struct Broken {
    pub(super) cause: JobError,
    pub(super) commits: u64,
}

/// Reading into one open file, until its end or until it cannot go on.
pub(super) struct Session<'a> {
    plan: &'a mut JobPlan,
    settings: &'a JobSettings,
    told: &'a Receiver<Command>,
    shown: &'a Mutex<Progress>,
    last_commit: Instant,
    /// Time until the next commit at least.
    pause: Duration,
    /// Bytes of rows in chunks that are not full, when those that were had been written.
    left: usize,
    last_shown: Option<Instant>,
    waits: Option<(String, Instant)>,
    is_aborted: &'a mut bool,
    attempts: &'a mut Attempts,
    begun: Instant,
    /// What was read is from after the end of the run.
    pub(super) gives_back: bool,
    /// Nothing of the file is to be kept.
    pub(super) begins_again: bool,
    ends_known: bool,
    /// Since when the run, and the time for what comes late, have passed.
    late_since: Option<Instant>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        plan: &'a mut JobPlan,
        settings: &'a JobSettings,
        told: &'a Receiver<Command>,
        shown: &'a Mutex<Progress>,
        is_aborted: &'a mut bool,
        attempts: &'a mut Attempts,
    ) -> Self {
        Self {
            plan,
            settings,
            told,
            shown,
            last_commit: Instant::now(),
            pause: Duration::ZERO,
            left: 0,
            last_shown: None,
            waits: None,
            is_aborted,
            attempts,
            begun: Instant::now(),
            gives_back: false,
            begins_again: false,
            ends_known: false,
            late_since: None,
        }
    }

    pub(super) fn run(&mut self, opened: Opened) -> Result<JobEnd, Broken> {
        let Opened { mut running, topics } = opened;
        let begun = Instant::now();
        match self.read(&mut running, topics) {
            Ok(()) => self.finish(running, begun.elapsed().as_secs_f64()),
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
        let snapshot = topics.snapshot.clone();
        let places = running.partitions.begin(&running.awaited(), &snapshot);
        let ends = topics.watch()?;
        let (settings, routes) = (&self.settings.client, &running.routes);
        let readers = Readers::start(settings, routes, &places, (&snapshot, &ends), self.settings.readers)?;
        if self.plan.until == Until::Present {
            self.ends_known = running.partitions.set_ends(&snapshot);
        }
        // Of readers that are ahead of others: they read on when these have come as far.
        let mut kept_back: Vec<(usize, Block)> = Vec::new();
        loop {
            self.obey(running, &ends)?;
            if *self.is_aborted {
                return Ok(());
            }
            if self.waits.is_none() {
                match readers.next(TURN) {
                    Some((reader, block)) => {
                        if running.take(&block, self.plan) {
                            (self.ends_known, self.late_since) = (false, None);
                        }
                        kept_back.push((reader, block));
                    }
                    None => running.release_due(),
                }
                if let Some(ends) = ends.since(None) {
                    running.partitions.note_ends(&ends);
                }
                for (reader, block) in
                    kept_back.extract_if(.., |(reader, _)| !running.is_ahead(*reader, &readers))
                {
                    readers.give_back(reader, block);
                }
            } else {
                thread::sleep(TURN);
            }
            self.commit(running, &ends)?;
            self.find_ends(running, &ends);
            if self.ends_known && running.partitions.are_over() && self.waits.is_none() {
                return Ok(());
            }
            self.show(running, &readers, &ends);
        }
    }

    /// Does what was told.
    fn obey(&mut self, running: &Running, ends: &TopicWatch) -> Result<(), JobError> {
        loop {
            match self.told.try_recv() {
                Ok(Command::Stop(stop)) => {
                    let stop_ns = stop.unwrap_or_else(now_ns);
                    self.plan.window.stop_ns = Some(stop_ns);
                    self.plan.until = Until::Stop;
                    let path = Names::of(&self.plan.file).job();
                    let (_, first) = JobPlan::read_all(&path)?;
                    self.plan.keep(&path, &first)?;
                    (self.ends_known, self.late_since) = (false, None);
                    let is_beyond = |last: Option<i64>| last.is_some_and(|last| last > stop_ns);
                    if is_beyond(running.streams.last_ns()) {
                        // What does not belong to the run is given back as far as it was not committed, and read again; all of
                        // it if that is little.
                        self.gives_back = true;
                        self.begins_again = is_beyond(running.committed_ns)
                            && running.bytes_read() <= AGAIN_AT_MOST
                            && ends
                                .since(None)
                                .is_some_and(|ends| has_all_from(&ends, &first, &running.routes));
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
    fn commit(&mut self, running: &mut Running, watch: &TopicWatch) -> Result<(), JobError> {
        let was_committing = running.file.is_committing();
        let has_ended = running.file.end_commit(Duration::ZERO)?;
        if was_committing && has_ended {
            watch.tell(&running.partitions.safe());
            self.attempts.forget();
        }
        let waiting = running.file.columns.waiting();
        if waiting == 0 && self.begun.elapsed() > HARMLESS {
            self.attempts.forget();
        }
        let is_held_back = self.plan.until == Until::Stop
            && self.plan.window.stop_ns.is_none()
            && running.is_restarted()
            && self.begun.elapsed() < HELD_BACK;
        let is_time =
            self.last_commit.elapsed() >= self.settings.flush_interval.max(self.pause) && !is_held_back;
        let commits = self.waits.is_some() || waiting > MOST_WAITING || (waiting > 0 && is_time && has_ended);
        let is_turn = match &self.waits {
            Some((_, since)) => since.elapsed() >= ROOM,
            None => commits || waiting > self.left + WAITING,
        };
        if !is_turn {
            return Ok(());
        }
        let begun = Instant::now();
        let written = if commits { running.begin_commit() } else { running.file.write_full_chunks() };
        match written {
            Ok(()) => {
                if commits {
                    self.last_commit = Instant::now();
                    let took = self.last_commit - begun;
                    self.pause = if took > SHORT_COMMIT { took * PAUSE } else { Duration::ZERO };
                }
                self.left = running.file.columns.waiting();
                self.waits = None;
                Ok(())
            }
            Err(error @ FileError::NoSpace { .. }) => {
                // All of it was in memory.
                self.attempts.forget();
                running.disk_waits += u64::from(self.waits.is_none());
                self.waits = Some((error.to_string(), Instant::now()));
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Once the run and the time for what comes late have passed: where each partition ends.
    fn find_ends(&mut self, running: &mut Running, ends: &TopicWatch) {
        if self.ends_known {
            return;
        }
        let stop = match (self.plan.until, self.plan.window.stop_ns) {
            // What was there is gone: it ends with what is there now.
            (Until::Present, _) => i64::MIN,
            (Until::Stop, Some(stop)) => stop,
            (Until::Stop, None) => return,
        };
        let late = stop.saturating_add((self.plan.leeway_after_s * 1e9) as i64);
        running.past_ms = Some(late / 1_000_000);
        if now_ns() < late {
            return;
        }
        let since = *self.late_since.get_or_insert_with(Instant::now);
        if let Some(ends) = ends.since(Some(since)) {
            self.ends_known = running.partitions.set_ends(&ends);
        }
    }

    /// Puts together what others may know.
    fn show(&mut self, running: &Running, readers: &Readers, ends: &TopicWatch) {
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
            changes: running.changes().0.to_vec(),
            losses: running.changes().1,
            set_aside: self.plan.set_aside.clone(),
        }
    }

    /// Ends the file.
    fn finish(&mut self, mut running: Running, reading_s: f64) -> Result<JobEnd, Broken> {
        let commits = running.commits;
        let broken = |cause: JobError| Broken { cause, commits };
        let kept = running.close();
        let mut end = JobEnd {
            id: self.plan.id.clone(),
            progress: self.progress(&running, Phase::Closing),
            sources: running.streams.rows(&running.file.modules, &running.routes),
            gaps: running.streams.gap_rows(),
            partitions: running
                .partitions
                .all
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
            reading_s,
        };
        let Window { start_ns, stop_ns } = self.plan.window;
        let end_ns = stop_ns.or(running.newest_ns).unwrap_or_else(now_ns);
        // A run without a beginning of its own begins with its first data.
        let start_ns = if start_ns > 0 { start_ns } else { running.streams.first_ns().unwrap_or(end_ns) };
        let run_times = times(start_ns, Some(end_ns));
        let ending = if *self.is_aborted { Ending::Aborted } else { Ending::Complete };
        let job = Names::of(&self.plan.file).job();
        // On a full disk it is not kept: only a writer that is killed between the last two steps of the file would miss it.
        let _ = self.plan.keep_end(&job, &end);
        let mut file = running.file;
        let path = loop {
            match file.finish(&kept, run_times, ending) {
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
        let _ = fs::remove_file(&job);
        end.progress.file_bytes = fs::metadata(&path).map_or(0, |about| about.len());
        end.progress.file = path;
        end.progress.phase = if *self.is_aborted { Phase::Aborted } else { Phase::Complete };
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = end.progress.clone();
        Ok(end)
    }
}

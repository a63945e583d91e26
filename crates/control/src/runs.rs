//! The runs of a service: a program that has one run after the other, and between two of them none.

use crate::control::Refusal;
use std::time::Duration;

/// Where a service is between its beginning and its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunPhase {
    /// No run is there: one can be started.
    #[default]
    BetweenRuns,
    /// One is being started.
    Starting,
    /// One goes on.
    Running,
    /// One is being brought to its end: what was read is formed and written.
    Stopping,
}

impl RunPhase {
    /// In one word, as the HTTP interface has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BetweenRuns => "between_runs",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
        }
    }
}

/// A run that has been started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStarted {
    /// Its number; none if it has none.
    pub number: Option<u64>,
    /// Its title; empty if it has none.
    pub title: String,
    /// The files that it writes.
    pub files: Vec<String>,
    /// When it began: nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// When it is to end by itself: nanoseconds since 1970; none if it goes on until it is stopped.
    pub planned_end_unix_ns: Option<u64>,
}

/// A run that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunEnded {
    /// What it was.
    pub run: RunStarted,
    /// When it ended: nanoseconds since 1970.
    pub ended_unix_ns: u64,
    /// Packets handed to the detector.
    pub packets: u64,
    /// Events formed.
    pub events: u64,
    /// Whether it was good: as the exit status of `evforge run` says it.
    pub is_good: bool,
    /// How it ended, in a sentence.
    pub outcome: String,
}

/// How it stands with the runs of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunsState {
    /// Where the service is.
    pub phase: RunPhase,
    /// The run that is starting, goes on or is stopping; none between runs.
    pub run: Option<RunStarted>,
    /// Runs so far, this one included.
    pub runs: u64,
    /// The last run that has ended; none if none has.
    pub last: Option<RunEnded>,
}

/// A run that somebody asks for. What is left out is as the configuration has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedRun {
    /// Its title.
    pub title: Option<String>,
    /// Its number.
    pub number: Option<u64>,
    /// The experiment that it belongs to.
    pub experiment: Option<String>,
    /// Whose it is.
    pub user: Option<String>,
    /// What is measured.
    pub sample: Option<String>,
    /// After which time it ends by itself.
    pub duration: Option<Duration>,
    /// Keys of the configuration and their values, as `--set` takes them, that hold for this run only.
    pub overrides: Vec<(String, String)>,
}

/// A program that has one run after the other. All of it can be called from any thread; what waits, waits for a bounded time.
pub trait RunService: Send + Sync {
    /// How it stands.
    fn runs(&self) -> RunsState;

    /// Starts a run, and waits until it goes on.
    ///
    /// # Errors
    /// If one goes on already, the configuration with what is wanted is invalid ([`Refusal::Invalid`]), or what it needs (an
    /// address, a file) cannot be had.
    fn start(&self, wanted: WantedRun) -> Result<RunStarted, Refusal>;

    /// Ends the run in good order, and waits until it has ended.
    ///
    /// # Errors
    /// If there is none ([`Refusal::NoRun`]), or it has not ended in time: then it is ended later all the same.
    fn stop(&self) -> Result<RunEnded, Refusal>;

    /// Ends the run, if there is one, in good order, and the program. Does not wait for it.
    fn shut_down(&self);
}

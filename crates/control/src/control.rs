//! What a run answers and does while it goes on.

use evforge_core::change::{Change, ChangeRefusal, ChangeTime, Parameter};
use evforge_core::run_state::RunState;
use std::sync::Arc;

/// What is known of a run from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// Version of evforge.
    pub version: String,
    /// What it was built for, in one word: `evforge-linux-x86_64`.
    pub build: String,
    /// Name of the instrument.
    pub instrument: String,
    /// Section of the detector in the configuration.
    pub detector: String,
    /// The configuration.
    pub configuration: Configuration,
}

/// The configuration that a run has begun with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The file, as it was named.
    pub path: String,
    /// All of it as TOML, with what was overridden in it.
    pub text: String,
    /// What was overridden on the command line or in the environment: `key=value`.
    pub overrides: Vec<String>,
    /// Every value that somebody has given. What is not among them has its default.
    pub values: Vec<ConfiguredValue>,
}

/// A value of a configuration, and who has given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredValue {
    /// Its key: `gdgem.clustering.x.adc_threshold`.
    pub key: String,
    /// The value, as in TOML.
    pub value: String,
    /// Who has given it.
    pub origin: ValueOrigin,
}

/// Who has given a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The file, in this line, counted from 1.
    File {
        /// The line.
        line: usize,
    },
    /// `--set key=value`.
    Set,
    /// This option of the command line, or this variable of the environment.
    Option(String),
}

/// When a change is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedTime {
    /// From the earliest time on that is possible.
    Earliest,
    /// From this many nanoseconds after the earliest time on that is possible.
    After(u64),
    /// From this time on, in nanoseconds on the clock of the events as it runs now.
    At(u64),
    /// From this time on, on the clock of the events as it runs after that many restarts.
    Exactly(ChangeTime),
}

/// A change that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedChange {
    /// The key of the parameter in the configuration, with the section of the detector: `gdgem.clustering.x.adc_threshold`.
    /// `detector` stands for the section.
    pub key: String,
    /// The value.
    pub value: u64,
    /// From when on.
    pub at: WantedTime,
}

/// Why a run does not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A parameter cannot be changed so.
    #[error("{0}")]
    Change(#[from] ChangeRefusal),
    /// It cannot be done in this run.
    #[error("{0}")]
    NotPossible(String),
    /// What was asked for makes no sense, whatever the run: a key that there is not, a value that is none.
    #[error("{0}")]
    Invalid(String),
    /// There is no run.
    #[error(
        "there is no run at the moment: start one (`evforge ctl run start`), or wait until one has been started"
    )]
    NoRun,
    /// The run did not answer: it waits for an output, or has nothing to do.
    #[error(
        "the run has not come to the request within {0:?}: it takes requests between packets. It may still take this one"
    )]
    TimedOut(std::time::Duration),
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
}

/// A run that goes on. All of it can be called from any thread; what waits, waits for a bounded time.
pub trait Control: Send + Sync {
    /// What is known from the beginning.
    fn facts(&self) -> &RunFacts;

    /// The state of the run, as of this moment or at most of the second before.
    fn state(&self) -> Arc<RunState>;

    /// What can be changed while the run goes on, with the keys of the configuration.
    fn parameters(&self) -> Vec<Parameter>;

    /// The earliest time from which a change can hold now; none before the first data.
    ///
    /// # Errors
    /// If the run has ended or does not answer.
    fn earliest_change(&self) -> Result<Option<ChangeTime>, Refusal>;

    /// Changes parameters, one after the other: what happened to each. One that is refused changes nothing.
    fn change(&self, wanted: Vec<WantedChange>) -> Vec<Result<Change, Refusal>>;

    /// Whether raw packets are handed on and no events are formed.
    fn calibration_mode(&self) -> bool;

    /// Switches that.
    ///
    /// # Errors
    /// If no output takes raw packets, so that the data would be lost.
    fn set_calibration_mode(&self, on: bool) -> Result<(), Refusal>;

    /// Forgets what has been gathered for people to look at (not counters, and nothing that goes into files).
    ///
    /// # Errors
    /// If there is nothing of the kind.
    fn clear(&self) -> Result<(), Refusal>;

    /// Ends the run in good order, and with it the program.
    fn shut_down(&self);
}

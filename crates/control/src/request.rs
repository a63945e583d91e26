//! One request and its answer, whoever asks: scripts, people, other programs.

use crate::control::{Configuration, Refusal, RunFacts, WantedChange};
use crate::log_levels::LogGroup;
use crate::named_counters::NamedCounter;
use crate::runs::{RunEnded, RunStarted, RunsState, WantedRun};
use evforge_core::change::{Change, ChangeTime, Parameter};
use evforge_core::run_state::RunState;
use std::sync::Arc;

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// What is known of the run from its beginning.
    Facts,
    /// The state.
    State,
    /// The configuration that it has begun with.
    Configuration,
    /// All counters, in order.
    Counters,
    /// The counter of this name.
    Counter(String),
    /// Which stages have moved on since the same was last asked.
    Activity,
    /// What can be changed.
    Parameters,
    /// From when on something can be changed.
    EarliestChange,
    /// Change this.
    Change(Vec<WantedChange>),
    /// Whether raw packets are handed on and no events are formed.
    CalibrationMode,
    /// Switch that.
    SetCalibrationMode(bool),
    /// Forget what has been gathered for people to look at.
    Clear,
    /// How it stands with the runs of a service.
    Runs,
    /// Start a run of it.
    StartRun(WantedRun),
    /// End that which goes on.
    StopRun,
    /// What each group of messages says.
    LogGroups,
    /// Change that of one group.
    SetLogLevel {
        /// The group.
        group: String,
        /// The least severe messages of it that are said.
        level: String,
    },
    /// End.
    ShutDown,
}

impl Request {
    /// Whether it changes anything.
    pub fn changes_state(&self) -> bool {
        match self {
            Self::Change(_)
            | Self::SetCalibrationMode(_)
            | Self::Clear
            | Self::StartRun(_)
            | Self::StopRun
            | Self::SetLogLevel { .. }
            | Self::ShutDown => true,
            Self::Facts
            | Self::State
            | Self::Configuration
            | Self::Counters
            | Self::Counter(_)
            | Self::Activity
            | Self::Parameters
            | Self::EarliestChange
            | Self::CalibrationMode
            | Self::Runs
            | Self::LogGroups => false,
        }
    }
}

/// What a run answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It is done.
    Done,
    /// What is known from the beginning.
    Facts(RunFacts),
    /// The state.
    State(Arc<RunState>),
    /// The configuration.
    Configuration(Configuration),
    /// Counters, in order.
    Counters(Vec<NamedCounter>),
    /// A counter; none if nothing is called so.
    Counter(Option<NamedCounter>),
    /// A bit for each watched stage: [`WATCHED`](crate::activity::WATCHED).
    Activity(u32),
    /// What can be changed.
    Parameters(Vec<Parameter>),
    /// The earliest time; none before the first data.
    EarliestChange(Option<ChangeTime>),
    /// What happened to each change.
    Changed(Vec<Result<Change, Refusal>>),
    /// Whether raw packets are handed on and no events are formed.
    CalibrationMode(bool),
    /// How it stands with the runs of a service.
    Runs(RunsState),
    /// The run that was started.
    RunStarted(RunStarted),
    /// The run that has been ended.
    RunEnded(RunEnded),
    /// What each group of messages says.
    LogGroups(Vec<LogGroup>),
}

//! The objects of answers.

use crate::json_object::json_object;
use evforge_control::named_counters::NamedCounter;
use evforge_control::{ConfiguredValue, LogGroup, RunEnded, RunStarted, RunsState, ValueOrigin};
use evforge_core::change::{Change, ChangeTime, Parameter};
use serde::Serialize;

json_object! {
    /// Which program answers.
    #[derive(Debug, Serialize)]
    pub(crate) struct VersionAnswer {
        /// The `api` of `/api/health`.
        pub(crate) api: u32,
        /// Version of evforge.
        pub(crate) version: String,
        /// What it was built for, in one word.
        pub(crate) build: String,
    }
}

json_object! {
    /// What is known of a run from its beginning.
    #[derive(Debug, Serialize)]
    pub(crate) struct FactsAnswer {
        /// Name of the instrument.
        pub(crate) instrument: String,
        /// Section of the detector in the configuration.
        pub(crate) detector: String,
        /// The file of the configuration, as it was named.
        pub(crate) configuration: String,
        /// Version of evforge.
        pub(crate) version: String,
        /// What it was built for, in one word.
        pub(crate) build: String,
    }
}

json_object! {
    /// The configuration that a run has begun with.
    #[derive(Debug, Serialize)]
    pub(crate) struct ConfigurationAnswer {
        /// The file, as it was named.
        pub(crate) path: String,
        /// What was overridden on the command line or in the environment: `key=value`, in this order.
        pub(crate) overrides: Vec<String>,
        /// Every value that somebody has given, and who. What is not among them has its default.
        pub(crate) values: Vec<ConfiguredState>,
        /// All of it as TOML, with what was overridden in it.
        pub(crate) text: String,
    }
}

json_object! {
    /// A value of a configuration, and where it comes from.
    #[derive(Debug, Serialize)]
    pub(crate) struct ConfiguredState {
        /// Its key, with its tables.
        pub(crate) key: String,
        /// The value as TOML.
        pub(crate) value: String,
        /// "file", "set" (`--set KEY=VALUE`), or "option" (another option, or a variable of the environment).
        pub(crate) origin: &'static str,
        /// The line in the file, counted from 1; absent if it does not come from there.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) line: Option<u64>,
        /// The option or variable; absent if it does not come from one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) option: Option<String>,
    }
}

impl From<ConfiguredValue> for ConfiguredState {
    fn from(ConfiguredValue { key, value, origin }: ConfiguredValue) -> Self {
        let (origin, line, option) = match origin {
            ValueOrigin::File { line } => ("file", Some(line as u64), None),
            ValueOrigin::Set => ("set", None, None),
            ValueOrigin::Option(name) => ("option", None, Some(name)),
        };
        Self { key, value, origin, line, option }
    }
}

json_object! {
    /// How it stands with a run, in short. `/api/state.json` has all of it.
    #[derive(Debug, Serialize)]
    pub(crate) struct RunState {
        /// Name of the instrument.
        pub(crate) instrument: String,
        /// Seconds since the run began.
        pub(crate) elapsed_s: f64,
        /// What comes in, as the `state` of `FeedState`: "waiting", "live", "stalled", "rejecting" or "ended".
        pub(crate) input: &'static str,
        /// Packets handed to the detector.
        pub(crate) packets: u64,
        /// Packets lost; null where it is not known exactly.
        pub(crate) packets_lost: Option<u64>,
        /// Events formed.
        pub(crate) events: u64,
        /// Where the events go.
        pub(crate) outputs: Vec<OutputSummary>,
        /// What needs attention, in words.
        pub(crate) alarms: Vec<String>,
        /// True while raw packets are handed on and no events are formed.
        pub(crate) calibration_mode: bool,
    }
}

json_object! {
    /// How it stands with an output, in short.
    #[derive(Debug, Serialize)]
    pub(crate) struct OutputSummary {
        /// Its name in the configuration.
        pub(crate) id: String,
        /// Events that it has taken.
        pub(crate) accepted: u64,
        /// Why it has failed; absent if it has not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) failure: Option<String>,
    }
}

json_object! {
    /// A counter.
    #[derive(Debug, Serialize)]
    pub(crate) struct CounterState {
        /// Its name: `stage.counter`.
        pub(crate) name: String,
        /// Its value.
        pub(crate) value: u64,
        /// What it counts: "packets", "events", …
        pub(crate) unit: &'static str,
        /// One sentence for people.
        pub(crate) help: &'static str,
    }
}

impl From<NamedCounter> for CounterState {
    fn from(NamedCounter { name, value, unit, help }: NamedCounter) -> Self {
        Self { name, value, unit: unit.name(), help }
    }
}

json_object! {
    /// Something that can be changed while a run goes on.
    #[derive(Debug, Serialize)]
    pub(crate) struct ParameterState {
        /// Its key in the configuration.
        pub(crate) key: String,
        /// The value that holds from the last change on, which may be in the future.
        pub(crate) value: u64,
        /// The largest value; the smallest is 0.
        pub(crate) largest: u64,
        /// What it is counted in.
        pub(crate) unit: &'static str,
        /// One sentence for people.
        pub(crate) help: &'static str,
    }
}

impl From<Parameter> for ParameterState {
    fn from(Parameter { key, value, largest, unit, help }: Parameter) -> Self {
        Self { key: key.to_string(), value, largest, unit, help }
    }
}

json_object! {
    /// The earliest time from which a change can hold now.
    #[derive(Debug, Serialize)]
    pub(crate) struct EarliestTime {
        /// Nanoseconds on the clock of the events; null before the first data.
        pub(crate) at_ns: Option<u64>,
        /// How often a source's clock has been restarted before; null before the first data.
        pub(crate) restarts: Option<u32>,
    }
}

impl From<Option<ChangeTime>> for EarliestTime {
    fn from(time: Option<ChangeTime>) -> Self {
        Self { at_ns: time.map(|time| time.time_ns), restarts: time.map(|time| time.restarts) }
    }
}

json_object! {
    /// Changes that hold, in the order in which they were asked for.
    #[derive(Debug, Serialize)]
    pub(crate) struct ChangesAnswer {
        /// Each of them.
        pub(crate) changes: Vec<ChangeState>,
    }
}

json_object! {
    /// A change: as it is in the report of the run.
    #[derive(Clone, Debug, Serialize)]
    pub(crate) struct ChangeState {
        /// The parameter.
        pub(crate) key: String,
        /// Its value.
        pub(crate) value: u64,
        /// From which time on it holds: nanoseconds on the clock of the events.
        pub(crate) at_ns: u64,
        /// How often a source's clock has been restarted before.
        pub(crate) restarts: u32,
    }
}

impl From<Change> for ChangeState {
    fn from(Change { at, key, value }: Change) -> Self {
        Self { key: key.to_string(), value, at_ns: at.time_ns, restarts: at.restarts }
    }
}

json_object! {
    /// What happened to one of several changes.
    #[derive(Clone, Debug, Serialize)]
    pub(crate) struct ChangeOutcome {
        /// The change, which holds; absent if it was refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) taken: Option<ChangeState>,
        /// Why it was refused; absent if it holds.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) refused: Option<String>,
    }
}

json_object! {
    /// Whether something is on.
    #[derive(Debug, Serialize)]
    pub(crate) struct SwitchAnswer {
        /// True if it is.
        pub(crate) on: bool,
    }
}

json_object! {
    /// That something has been done.
    #[derive(Debug, Serialize)]
    pub(crate) struct DoneAnswer {
        /// Always true.
        pub(crate) done: bool,
    }
}

json_object! {
    /// How it stands with the runs of a service.
    #[derive(Debug, Serialize)]
    pub(crate) struct RunsAnswer {
        /// "between_runs", "starting", "running" or "stopping".
        pub(crate) phase: &'static str,
        /// The run that is starting, goes on or is stopping; null between runs.
        pub(crate) run: Option<RunAnswer>,
        /// Runs so far, this one included.
        pub(crate) runs: u64,
        /// The last run that has ended; null before the first has.
        pub(crate) last: Option<RunEnd>,
    }
}

json_object! {
    /// A run.
    #[derive(Debug, Serialize)]
    pub(crate) struct RunAnswer {
        /// Its number; null if it has none.
        pub(crate) number: Option<u64>,
        /// Its title; empty if it has none.
        pub(crate) title: String,
        /// The files that it writes.
        pub(crate) files: Vec<String>,
        /// When it began: nanoseconds since 1970.
        pub(crate) began_unix_ns: u64,
        /// When it ends by itself: nanoseconds since 1970; null if it goes on until it is stopped.
        pub(crate) planned_end_unix_ns: Option<u64>,
    }
}

json_object! {
    /// A run that has ended.
    #[derive(Debug, Serialize)]
    pub(crate) struct RunEnd {
        /// What it was.
        pub(crate) run: RunAnswer,
        /// When it ended: nanoseconds since 1970.
        pub(crate) ended_unix_ns: u64,
        /// Packets handed to the detector.
        pub(crate) packets: u64,
        /// Events formed.
        pub(crate) events: u64,
        /// Whether it was good: as an exit status of 0.
        pub(crate) is_good: bool,
        /// How it ended, in a sentence.
        pub(crate) outcome: String,
    }
}

impl From<RunStarted> for RunAnswer {
    fn from(run: RunStarted) -> Self {
        let RunStarted { number, title, files, began_unix_ns, planned_end_unix_ns } = run;
        Self { number, title, files, began_unix_ns, planned_end_unix_ns }
    }
}

impl From<RunEnded> for RunEnd {
    fn from(RunEnded { run, ended_unix_ns, packets, events, is_good, outcome }: RunEnded) -> Self {
        Self { run: run.into(), ended_unix_ns, packets, events, is_good, outcome }
    }
}

impl From<RunsState> for RunsAnswer {
    fn from(RunsState { phase, run, runs, last }: RunsState) -> Self {
        Self { phase: phase.name(), run: run.map(Into::into), runs, last: last.map(Into::into) }
    }
}

json_object! {
    /// A group of messages of the log.
    #[derive(Debug, Serialize)]
    pub(crate) struct LogGroupState {
        /// Its name.
        pub(crate) name: String,
        /// The least severe messages of it that are said.
        pub(crate) level: String,
        /// What its messages are about, in one sentence.
        pub(crate) help: String,
    }
}

impl From<LogGroup> for LogGroupState {
    fn from(LogGroup { name, level, help }: LogGroup) -> Self {
        Self { name, level, help }
    }
}

//! A run without a detector, for what asks and changes runs: what it is told is kept, and everything is answered at once.

use evforge_control::desk::ControlCounts;
use evforge_control::{
    Control, ControlDesk, LogGroup, LogLevels, Note, Refusal, RunEnded, RunFacts, RunPhase, RunService,
    RunStarted, RunsState, WantedChange, WantedRun,
};
use evforge_core::change::{Change, ChangeTime, Parameter, find_parameter};
use evforge_core::counter::CounterSnapshot;
use evforge_core::run_state::RunState;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

evforge_core::counters! {
    /// A detector that counts two things.
    struct Two: "two" {
        packets: Enters(Packets), Packets, "In.";
        used: Leaves(Packets), Packets, "Out.";
    }
}

/// The run.
#[derive(Debug, Default)]
pub struct QuietRun {
    facts: RunFacts,
    state: Arc<RunState>,
    calibrates: AtomicBool,
    has_ended: AtomicBool,
    /// Changes that were made.
    changes: AtomicU64,
    runs: Mutex<RunsState>,
}

impl QuietRun {
    fn new() -> Self {
        let mut state = RunState::default();
        state.ledger.counters = CounterSnapshot::of(&Two { packets: 7, used: 7 });
        let facts = RunFacts {
            version: "0.2.0".into(),
            build: "evforge-test".into(),
            instrument: "nmx".into(),
            detector: "ess_gdgem".into(),
            ..RunFacts::default()
        };
        Self { facts, state: Arc::new(state), ..Self::default() }
    }

    fn runs(&self) -> std::sync::MutexGuard<'_, RunsState> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes that were made.
    pub fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }
}

impl Control for QuietRun {
    fn facts(&self) -> &RunFacts {
        &self.facts
    }

    fn state(&self) -> Arc<RunState> {
        Arc::clone(&self.state)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let parameter = |key: &str, largest, unit| Parameter {
            key: key.into(),
            value: 7,
            largest,
            unit,
            help: "Something that can be changed.",
        };
        vec![
            parameter("clustering.x.adc_threshold", 1023, "ADC values"),
            parameter("min_adc", u64::MAX, "ADC values"),
        ]
    }

    fn earliest_change(&self) -> Result<Option<ChangeTime>, Refusal> {
        Ok(Some(ChangeTime { restarts: 1, time_ns: 1_000_000_000 }))
    }

    fn change(&self, wanted: Vec<WantedChange>) -> Vec<Result<Change, Refusal>> {
        let parameters = self.parameters();
        let change = |wanted: WantedChange| -> Result<Change, Refusal> {
            let key = wanted.key.split_once('.').map_or(wanted.key.as_str(), |(_, key)| key);
            let place = find_parameter(&parameters, key, wanted.value)?;
            self.changes.fetch_add(1, Relaxed);
            Ok(Change {
                at: ChangeTime::default(),
                key: Arc::clone(&parameters[place].key),
                value: wanted.value,
            })
        };
        wanted.into_iter().map(change).collect()
    }

    fn calibration_mode(&self) -> bool {
        self.calibrates.load(Relaxed)
    }

    fn set_calibration_mode(&self, on: bool) -> Result<(), Refusal> {
        self.calibrates.store(on, Relaxed);
        self.changes.fetch_add(1, Relaxed);
        Ok(())
    }

    fn clear(&self) -> Result<(), Refusal> {
        self.changes.fetch_add(1, Relaxed);
        Ok(())
    }

    fn shut_down(&self) {
        self.has_ended.store(true, Relaxed);
        self.changes.fetch_add(1, Relaxed);
    }
}

impl RunService for QuietRun {
    fn runs(&self) -> RunsState {
        self.runs().clone()
    }

    fn start(&self, wanted: WantedRun) -> Result<RunStarted, Refusal> {
        let mut runs = self.runs();
        if runs.run.is_some() {
            return Err(Refusal::NotPossible("a run goes on".to_owned()));
        }
        let started = RunStarted {
            number: wanted.number,
            title: wanted.title.unwrap_or_default(),
            ..RunStarted::default()
        };
        (runs.phase, runs.run, runs.runs) = (RunPhase::Running, Some(started.clone()), runs.runs + 1);
        self.changes.fetch_add(1, Relaxed);
        Ok(started)
    }

    fn stop(&self) -> Result<RunEnded, Refusal> {
        let mut runs = self.runs();
        let run = runs.run.take().ok_or(Refusal::NoRun)?;
        let ended =
            RunEnded { run, is_good: true, outcome: "it was stopped".to_owned(), ..RunEnded::default() };
        (runs.phase, runs.last) = (RunPhase::BetweenRuns, Some(ended.clone()));
        self.changes.fetch_add(1, Relaxed);
        Ok(ended)
    }

    fn shut_down(&self) {
        Control::shut_down(self);
    }
}

impl LogLevels for QuietRun {
    fn groups(&self) -> Vec<LogGroup> {
        vec![LogGroup { name: "input".into(), level: "info".into(), help: "What comes in.".into() }]
    }

    fn set(&self, group: &str, level: &str) -> Result<(), Refusal> {
        if group == "input" && ["error", "warn", "info", "debug", "trace", "off"].contains(&level) {
            self.changes.fetch_add(1, Relaxed);
            return Ok(());
        }
        Err(Refusal::Invalid(format!("there is no group {group:?} with a level {level:?}")))
    }
}

/// A desk for a run of its own, and the run. Every note that the desk makes is looked at.
///
/// # Panics
/// A note panics that would steer a terminal, is longer than a line, or says nothing.
pub fn desk() -> (Arc<ControlDesk>, Arc<QuietRun>) {
    let run = Arc::new(QuietRun::new());
    let say = Arc::new(|note: &Note| {
        let said = note.to_string();
        assert!(!said.chars().any(char::is_control), "{said:?}");
        assert!(note.what.chars().count() <= 130 && !note.outcome.is_empty(), "{said:?}");
    });
    let desk =
        ControlDesk::new(Arc::clone(&run) as Arc<dyn Control>, Arc::new(ControlCounts::default()), say)
            .with_service(Arc::clone(&run) as Arc<dyn RunService>)
            .with_logs(Arc::clone(&run) as Arc<dyn LogLevels>)
            .with_aliases(Arc::new(|name| (name == "efu.in").then(|| "detector.packets".to_owned())));
    (Arc::new(desk), run)
}

//! The runs of a service, as others see and steer them: one after the other, and between two of them none.
//!
//! ```text
//! whoever asks ─► Runs: start, stop ─► the phase that is next ─► the loop of the service: one phase after the other
//!              ◄─────────────────────── what became of it ◄──────┘
//! ```

use crate::control::Refusal;
use crate::runs::{RunEnded, RunPhase, RunService, RunStarted, RunsState, WantedRun};
use evforge_core::sync::{AtomicBool, Condvar, Mutex, MutexGuard, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How long who starts or stops a run waits for it: outputs may have much to write.
const PATIENCE: Duration = Duration::from_secs(120);

/// Makes the phase of a run that is wanted: what it needs is checked, and nothing is opened. It is given the number that the run has
/// if nobody says another.
pub type Prepare<P> = Box<dyn Fn(&WantedRun, u32) -> Result<P, Refusal> + Send + Sync>;

/// The runs of a service, each prepared as a `P`. Clones are the same.
pub struct Runs<P> {
    shared: Arc<Shared<P>>,
}

impl<P> Clone for Runs<P> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<P> std::fmt::Debug for Runs<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runs").finish_non_exhaustive()
    }
}

struct Shared<P> {
    prepare: Prepare<P>,
    /// Ends the phase that goes on.
    stop: Arc<AtomicBool>,
    /// Ends the service.
    end: Arc<AtomicBool>,
    state: Mutex<State<P>>,
    changed: Condvar,
}

struct State<P> {
    seen: RunsState,
    /// The number of the last run.
    number: u32,
    /// What comes behind the phase that goes on.
    next: Option<P>,
    /// Why the run that was to be started was not.
    failure: Option<String>,
    /// Nothing is started any more.
    is_over: bool,
}

impl<P> Runs<P> {
    /// Without any so far; the last one had this number. `stop` ends the phase that goes on, `end` the service.
    pub fn new(prepare: Prepare<P>, stop: Arc<AtomicBool>, end: Arc<AtomicBool>, number: u32) -> Self {
        let seen = RunsState::default();
        let state = Mutex::new(State { seen, number, next: None, failure: None, is_over: false });
        Self { shared: Arc::new(Shared { prepare, stop, end, state, changed: Condvar::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known, and tells those who wait for it.
    fn update<T>(&self, change: impl FnOnce(&mut State<P>) -> T) -> T {
        let changed = change(&mut self.lock());
        self.shared.changed.notify_all();
        changed
    }

    /// Waits until `is_so`.
    fn wait(&self, is_so: impl Fn(&State<P>) -> bool) -> Result<MutexGuard<'_, State<P>>, Refusal> {
        let until = Instant::now() + PATIENCE;
        let mut state = self.lock();
        while !is_so(&state) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Refusal::NotPossible(format!(
                    "this takes longer than {} s and goes on: ask for the state of the runs",
                    PATIENCE.as_secs()
                )));
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(state)
    }

    /// The phase that comes now, if there is to be a run. What was asked of the one before is over.
    pub fn take_next(&self) -> Option<P> {
        // Under the lock, as requests are: one that comes now is of the phase that comes.
        let mut state = self.lock();
        // Whoever ends the service says it in `end` first and in `stop` then, without the lock. An exchange, and not a store: it sees
        // what was written before that which it replaces.
        self.shared.stop.swap(false, Ordering::AcqRel);
        if self.shared.end.load(Ordering::Acquire) {
            self.shared.stop.store(true, Ordering::SeqCst);
        }
        state.next.take()
    }

    /// The run that was to be started goes on.
    pub fn has_begun(&self, run: RunStarted) {
        self.update(|state| {
            state.number = run.number.and_then(|number| u32::try_from(number).ok()).unwrap_or(state.number);
            state.seen.phase = RunPhase::Running;
            state.seen.run = Some(run);
            state.seen.runs += 1;
        });
    }

    /// The run that was to be started cannot be.
    pub fn has_failed(&self, why: String) {
        self.update(|state| {
            state.seen.phase = RunPhase::BetweenRuns;
            state.seen.run = None;
            state.failure = Some(why);
        });
    }

    /// The run has ended, and everything of it is written.
    pub fn has_ended(&self, end: RunEnded) {
        self.update(|state| {
            state.seen.phase = RunPhase::BetweenRuns;
            state.seen.run = None;
            state.seen.last = Some(end);
        });
    }

    /// The program ends.
    pub fn close(&self) {
        self.update(|state| state.is_over = true);
    }
}

impl<P: Send> RunService for Runs<P> {
    fn runs(&self) -> RunsState {
        self.lock().seen.clone()
    }

    fn start(&self, wanted: WantedRun) -> Result<RunStarted, Refusal> {
        let (number, before) = {
            let mut state = self.lock();
            if state.is_over {
                return Err(Refusal::Ended);
            }
            if let Some(run) = Some(&state.seen).filter(|seen| seen.phase != RunPhase::BetweenRuns) {
                let which = match run.run.as_ref().and_then(|run| run.number) {
                    Some(number) => format!("run {number}"),
                    None => "a run".to_owned(),
                };
                let what = match run.phase {
                    RunPhase::Starting => "is being started",
                    RunPhase::Stopping => "is being stopped",
                    RunPhase::BetweenRuns | RunPhase::Running => "goes on: stop it first",
                };
                return Err(Refusal::NotPossible(format!("{which} {what}")));
            }
            state.seen.phase = RunPhase::Starting;
            state.failure = None;
            (state.number.saturating_add(1), state.seen.runs)
        };
        // What goes on between runs is not disturbed by what cannot be.
        let phase = (self.shared.prepare)(&wanted, number).inspect_err(|_| {
            self.update(|state| state.seen.phase = RunPhase::BetweenRuns);
        })?;
        self.update(|state| {
            state.next = Some(phase);
            self.shared.stop.store(true, Ordering::SeqCst);
        });
        let state = self.wait(|state| state.seen.phase != RunPhase::Starting || state.is_over)?;
        match (&state.failure, &state.seen.run) {
            (Some(failure), _) => Err(Refusal::NotPossible(failure.clone())),
            (None, Some(run)) => Ok(run.clone()),
            // So short that it has ended; or the service has, before it came to this run.
            (None, None) => {
                let last = state.seen.last.as_ref().filter(|_| state.seen.runs > before);
                last.map(|last| last.run.clone()).ok_or(Refusal::Ended)
            }
        }
    }

    fn stop(&self) -> Result<RunEnded, Refusal> {
        self.update(|state| match state.seen.phase {
            RunPhase::BetweenRuns => Err(Refusal::NoRun),
            RunPhase::Starting => Err(Refusal::NotPossible("the run is still being started".to_owned())),
            RunPhase::Stopping => Ok(()),
            RunPhase::Running => {
                state.seen.phase = RunPhase::Stopping;
                self.shared.stop.store(true, Ordering::SeqCst);
                Ok(())
            }
        })?;
        let state = self.wait(|state| state.seen.phase != RunPhase::Stopping)?;
        state.seen.last.clone().ok_or(Refusal::Ended)
    }

    fn shut_down(&self) {
        self.shared.end.store(true, Ordering::SeqCst);
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

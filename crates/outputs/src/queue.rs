//! What waits for one output, counted in events and bytes, and everything that is known of it.
//!
//! All counts change under one lock, so that the law of an output holds in every snapshot. The lock is taken a few times per
//! batch, never while an output works.

use crate::settings::{QueueSettings, WhenFull};
use evforge_core::counter::CounterSnapshot;
use evforge_core::output::OutputProgress;
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::{OutputState, RunState};
use evforge_core::sync::{Condvar, Mutex, MutexGuard};
use evforge_net::lateness::Lateness;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

#[cfg(all(test, loom))]
mod models;

/// Longest wait for room before it is looked whether the run is to end.
const LOOK_UP: Duration = Duration::from_millis(50);

/// How the input has ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It came to its end: this is the last state.
    Finish(Arc<RunState>),
    /// It failed before its end.
    Abandon,
    /// It never began: the output is dropped as it is.
    Never,
}

/// What an output has to do next.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// To take a batch. It stays in the queue until [`Queue::taken`].
    Batch(Arc<PulsedBatch>),
    /// To end.
    End(End),
    /// Nothing for now.
    Nothing,
}

/// What waits for an output.
#[derive(Debug)]
pub(crate) struct Queue {
    settings: QueueSettings,
    state: Mutex<State>,
    /// There is something to do.
    work: Condvar,
    /// There is room, or the service is over.
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    batches: VecDeque<Arc<PulsedBatch>>,
    /// The first batch is being offered to the output, so it cannot be dropped.
    is_offering: bool,
    about: OutputState,
    observed: Option<Arc<RunState>>,
    end: Option<End>,
    /// The patience at the end is used up.
    gives_up: bool,
    /// Nothing will be taken any more.
    is_over: bool,
    delays: Lateness,
}

impl State {
    fn add(&mut self, batch: Arc<PulsedBatch>) {
        self.about.counters.queued += batch.len() as u64;
        self.about.counters.queued_bytes += batch.memory() as u64;
        self.batches.push_back(batch);
    }

    fn remove(&mut self, index: usize) -> Option<Arc<PulsedBatch>> {
        let batch = self.batches.remove(index)?;
        self.about.counters.queued -= batch.len() as u64;
        self.about.counters.queued_bytes -= batch.memory() as u64;
        Some(batch)
    }

    fn offered(&mut self, batch: &PulsedBatch) {
        self.about.counters.offered += batch.len() as u64;
    }

    fn drop_batch(&mut self, batch: &PulsedBatch) {
        self.about.counters.dropped += batch.len() as u64;
        self.about.counters.pulses_lost += batch.pulses_begun();
    }

    fn miss(&mut self, batch: &PulsedBatch) {
        self.about.counters.missed += batch.len() as u64;
        self.about.counters.pulses_lost += batch.pulses_begun();
    }
}

impl Queue {
    /// An empty queue of the output called `id`, which calls itself `name`.
    pub(crate) fn new(id: String, name: String, own: CounterSnapshot, settings: QueueSettings) -> Self {
        let about = OutputState { id, name, own, may_drop: settings.may_drop, ..OutputState::default() };
        let state = State { about, ..State::default() };
        Self { settings, state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    /// What is waited for is bounded by these.
    pub(crate) fn settings(&self) -> &QueueSettings {
        &self.settings
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, state: &State, batch: &PulsedBatch) -> bool {
        let counters = &state.about.counters;
        state.batches.is_empty()
            || counters.queued + batch.len() as u64 <= self.settings.events
                && counters.queued_bytes + batch.memory() as u64 <= self.settings.memory
    }

    /// Offers a batch. What happens without room is `when_full`; waiting ends when `stop` is set, and the batch is dropped
    /// then. False if the run is to stop because there is no room.
    pub(crate) fn offer(&self, batch: &Arc<PulsedBatch>, when_full: WhenFull, stop: &AtomicBool) -> bool {
        let mut state = self.state();
        // It counts as offered when it is known what happens to it: while somebody waits here, others look.
        loop {
            if state.is_over {
                state.offered(batch);
                state.miss(batch);
                return true;
            }
            if self.has_room(&state, batch) {
                state.offered(batch);
                state.add(Arc::clone(batch));
                self.work.notify_one();
                return true;
            }
            match when_full {
                WhenFull::Wait if !stop.load(Ordering::Relaxed) => {
                    let waited = self.room.wait_timeout(state, LOOK_UP);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                WhenFull::DropOldest if state.batches.len() > usize::from(state.is_offering) => {
                    let oldest = usize::from(state.is_offering);
                    if let Some(oldest) = state.remove(oldest) {
                        state.drop_batch(&oldest);
                    }
                }
                WhenFull::Wait | WhenFull::DropNewest | WhenFull::DropOldest => {
                    state.offered(batch);
                    state.drop_batch(batch);
                    return true;
                }
                WhenFull::Stop => {
                    state.offered(batch);
                    state.drop_batch(batch);
                    return false;
                }
            }
        }
    }

    /// Shows the state of the run, in place of one that has not been looked at yet.
    pub(crate) fn show(&self, run: &Arc<RunState>) {
        self.state().observed = Some(Arc::clone(run));
        self.work.notify_one();
    }

    /// The state of the run, if there is a new one.
    pub(crate) fn observed(&self) -> Option<Arc<RunState>> {
        self.state().observed.take()
    }

    /// The input has ended.
    pub(crate) fn end(&self, end: End) {
        self.state().end = Some(end);
        self.work.notify_one();
    }

    /// The patience at the end is used up.
    pub(crate) fn give_up(&self) {
        self.state().gives_up = true;
        self.work.notify_one();
    }

    /// True if the patience at the end is used up.
    pub(crate) fn gives_up(&self) -> bool {
        self.state().gives_up
    }

    /// What is to be done next.
    pub(crate) fn next(&self) -> Work {
        let mut state = self.state();
        if let Some(batch) = state.batches.front().map(Arc::clone) {
            state.is_offering = true;
            return Work::Batch(batch);
        }
        state.end.clone().map_or(Work::Nothing, Work::End)
    }

    /// Waits until there is something to do, but no longer than this.
    pub(crate) fn wait(&self, time: Duration) {
        let state = self.state();
        let has_work = state.observed.is_some() || !state.batches.is_empty() || state.end.is_some();
        if !has_work {
            // Whatever wakes it is looked at by the caller.
            let _ = self.work.wait_timeout(state, time);
        }
    }

    /// Waits whatever there is to do, unless the patience at the end is used up.
    pub(crate) fn pause(&self, time: Duration) {
        let state = self.state();
        if !state.gives_up {
            let _ = self
                .work
                .wait_timeout_while(state, time, |state| !state.gives_up && state.observed.is_none());
        }
    }

    /// The first batch was taken, so long after its packets came in.
    pub(crate) fn taken(&self, progress: OutputProgress, own: CounterSnapshot, delay_ns: Option<u64>) {
        let mut state = self.state();
        state.is_offering = false;
        if let Some(batch) = state.remove(0) {
            let events = batch.len() as u64;
            state.about.counters.accepted += events;
            if let Some(delay) = delay_ns {
                state.delays.add_many(delay, events);
            }
        }
        state.about.counters.set_progress(progress);
        state.about.own = own;
        drop(state);
        self.room.notify_one();
    }

    /// The first batch was not taken.
    pub(crate) fn not_taken(&self) {
        self.state().is_offering = false;
    }

    /// Notes how far the output is.
    pub(crate) fn progressed(&self, name: Option<String>, progress: OutputProgress, own: CounterSnapshot) {
        let mut state = self.state();
        state.about.counters.set_progress(progress);
        state.about.own = own;
        if let Some(name) = name {
            state.about.name = name;
        }
    }

    /// The output tries something again.
    pub(crate) fn retries(&self) {
        self.state().about.counters.retries += 1;
    }

    /// The output waits for a cause to pass; none if it does not any more. True if it has just begun to wait.
    pub(crate) fn waits(&self, reason: Option<&str>) -> bool {
        let about = &mut self.state().about;
        let begins = about.waiting.is_none() && reason.is_some();
        if let (true, Some(reason)) = (begins, reason) {
            about.counters.interruptions += 1;
            about.interruption.get_or_insert_with(|| reason.to_owned());
        }
        about.waiting = reason.map(str::to_owned);
        begins
    }

    /// Nothing will be taken any more: all that waits, and what was taken and is not where it belongs, is missed.
    pub(crate) fn is_over(&self, failure: Option<String>, note: Option<String>) {
        let mut state = self.state();
        state.is_offering = false;
        while let Some(batch) = state.remove(0) {
            state.miss(&batch);
        }
        let about = &mut state.about;
        about.counters.missed += std::mem::take(&mut about.counters.pending);
        if failure.is_some() || about.failure.is_none() {
            about.failure = failure;
        }
        about.note = note;
        about.waiting = None;
        state.is_over = true;
        drop(state);
        self.room.notify_all();
    }

    /// True if nothing will be taken any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.state().is_over
    }

    /// The output and its counts at this moment.
    pub(crate) fn about(&self) -> OutputState {
        self.state().about.clone()
    }

    /// From the arrival of packets to the moment at which the output had taken their events.
    pub(crate) fn delays(&self) -> Lateness {
        self.state().delays.clone()
    }
}

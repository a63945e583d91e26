//! All outputs of a run.

use crate::queue::{End, Queue};
use crate::service::{OnWaiting, Service};
use crate::settings::{QueueSettings, WhenFull};
use evforge_core::output::Output;
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::{OutputState, RunState};
use evforge_core::time::Clock;
use evforge_log::group::OUTPUT;
use evforge_net::lateness::Lateness;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it is looked whether all outputs have ended.
const LOOK_UP: Duration = Duration::from_millis(5);

/// What happened to an output.
#[derive(Clone, Debug, Default)]
pub struct OutputOutcome {
    /// Its state at the end.
    pub state: OutputState,
    /// From the arrival of packets to the moment at which it had taken their events; of a batch, all its events count as
    /// the earliest one. Empty if that was not measured.
    pub delays: Lateness,
}

/// Hands batches to outputs, each of which has a queue and a thread of its own.
pub struct OutputSet {
    outputs: Vec<(Arc<Queue>, JoinHandle<()>)>,
    is_live: bool,
    clock: Arc<dyn Clock>,
    wants_stop: Option<String>,
}

impl OutputSet {
    /// Starts a thread for each output, given with its name in the configuration and its queue. With input that `is_live`
    /// the policies of the queues hold; from a file every queue waits, unless its policy is to stop the run.
    ///
    /// `on_waiting` is given a sentence when one of them begins to wait for a cause to pass.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn start(
        outputs: Vec<(String, Box<dyn Output>, QueueSettings)>,
        is_live: bool,
        clock: &Arc<dyn Clock>,
        on_waiting: &OnWaiting,
    ) -> io::Result<Self> {
        let mut set = Self { outputs: Vec::new(), is_live, clock: Arc::clone(clock), wants_stop: None };
        for (id, output, settings) in outputs {
            tracing::debug!(target: OUTPUT, output = id, "{} has begun", output.name());
            let queue = Arc::new(Queue::new(id, output.name(), output.counters(), settings));
            let mut service =
                Service::new(output, Arc::clone(&queue), Arc::clone(clock), Arc::clone(on_waiting));
            let served = Arc::clone(&queue);
            let thread = std::thread::Builder::new().name("output".into()).spawn(move || {
                // The output may be in any state then, and is not used again.
                if catch_unwind(AssertUnwindSafe(|| service.run())).is_err() {
                    served.is_over(Some("its thread panicked: please report this".to_owned()), None);
                }
            })?;
            set.outputs.push((queue, thread));
        }
        Ok(set)
    }

    /// True without outputs.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Offers a batch to every output. Where the policy is to wait, that ends when `stop` is set.
    pub fn offer(&mut self, batch: PulsedBatch, stop: &AtomicBool) {
        let batch = Arc::new(batch);
        for (queue, _) in &self.outputs {
            let when_full = match queue.settings().when_full {
                policy if self.is_live => policy,
                WhenFull::Stop => WhenFull::Stop,
                _ => WhenFull::Wait,
            };
            if !queue.offer(&batch, when_full, stop) && self.wants_stop.is_none() {
                let name = queue.about().name;
                self.wants_stop = Some(format!("the run was stopped because the queue of {name} was full"));
            }
        }
    }

    /// Why the run is to stop, if it is: the queue of an output whose policy is to stop was full.
    pub fn wants_stop(&self) -> Option<&str> {
        self.wants_stop.as_deref()
    }

    /// Shows every output the state of the run.
    pub fn show(&self, state: &Arc<RunState>) {
        for (queue, _) in &self.outputs {
            queue.show(state);
        }
    }

    /// The outputs at this moment.
    pub fn states(&self) -> Vec<OutputState> {
        self.outputs.iter().map(|(queue, _)| queue.about()).collect()
    }

    /// Ends all outputs and waits for them. `state` is the last one of a run that came to its end; without it they leave
    /// nothing behind that looks whole. As long as `patient` says so nobody is hurried; from then on each output has the
    /// time that its settings give it.
    pub fn end(mut self, state: Option<&Arc<RunState>>, patient: impl Fn() -> bool) -> Vec<OutputOutcome> {
        for (queue, _) in &self.outputs {
            queue.end(state.map_or(End::Abandon, |state| End::Finish(Arc::clone(state))));
        }
        let mut hurried_since = None;
        while !self.outputs.iter().all(|(queue, _)| queue.has_ended()) {
            let now = self.clock.elapsed();
            if hurried_since.is_none() && !patient() {
                hurried_since = Some(now);
            }
            if let Some(since) = hurried_since {
                let waited = now.saturating_sub(since);
                let late = |queue: &&Arc<Queue>| waited >= queue.settings().finish_within;
                self.outputs.iter().map(|(queue, _)| queue).filter(late).for_each(|queue| queue.give_up());
            }
            self.clock.sleep(LOOK_UP);
        }
        let outcome = |(queue, thread): (Arc<Queue>, JoinHandle<()>)| {
            // Panics are caught inside.
            let _ = thread.join();
            let outcome = OutputOutcome { state: queue.about(), delays: queue.delays() };
            say_end(&outcome.state);
            outcome
        };
        std::mem::take(&mut self.outputs).into_iter().map(outcome).collect()
    }
}

/// Says how an output has ended. People read it in the report.
fn say_end(state: &OutputState) {
    let (name, events) = (&state.name, state.counters.committed);
    match &state.failure {
        None => tracing::debug!(target: OUTPUT, events, "{name} has ended"),
        Some(why) => tracing::error!(target: OUTPUT, unshown = true, events, "{name} has failed: {why}"),
    }
}

impl Drop for OutputSet {
    /// A run that could not begin leaves nothing; one that broke off leaves nothing that looks whole.
    fn drop(&mut self) {
        for (queue, thread) in std::mem::take(&mut self.outputs) {
            let has_begun = queue.about().counters.offered > 0;
            queue.end(if has_begun { End::Abandon } else { End::Never });
            queue.give_up();
            // Panics are caught inside.
            let _ = thread.join();
        }
    }
}

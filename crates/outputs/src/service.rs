//! Serves one output: offers it what waits, polls it, tries again what may succeed later, and ends it.
//!
//! One [`Service::step`] does one thing and never waits, so that a test can drive it with a clock of its own; the thread
//! of an output only steps and waits.

use crate::queue::{End, Queue, Work};
use evforge_core::output::{Output, OutputError, Taken};
use evforge_core::time::Clock;
use evforge_log::group::OUTPUT;
use std::sync::Arc;
use std::time::Duration;

/// Longest time between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Until a batch is offered again for which there was no room.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(10);
/// Until something is tried again for the first time; twice as long each time after that.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest time until something is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What a step has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Something was done: there may be more.
    Worked,
    /// There is nothing to do before something comes, or this time is over.
    Idle(Duration),
    /// Nothing can be done before this time is over.
    Paused(Duration),
    /// It is over.
    Over,
}

/// Calls that are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Take,
    Poll,
    Finish,
}

/// Something that did not succeed and is tried again.
#[derive(Clone, Copy, Debug)]
struct Retry {
    call: Call,
    at: Duration,
    pause: Duration,
}

/// Is given a sentence that an output waits, and for what.
pub type OnWaiting = Arc<dyn Fn(&str) + Send + Sync>;

pub(crate) struct Service {
    output: Box<dyn Output>,
    queue: Arc<Queue>,
    clock: Arc<dyn Clock>,
    polled: Duration,
    retry: Option<Retry>,
    /// The last state could not be shown to it.
    cannot_observe: bool,
    /// Told when the output begins to wait for a cause to pass.
    on_waiting: OnWaiting,
}

impl Service {
    pub(crate) fn new(
        output: Box<dyn Output>,
        queue: Arc<Queue>,
        clock: Arc<dyn Clock>,
        on_waiting: OnWaiting,
    ) -> Self {
        let polled = clock.elapsed();
        Self { output, queue, clock, polled, retry: None, cannot_observe: false, on_waiting }
    }

    /// Serves until it is over.
    pub(crate) fn run(&mut self) {
        loop {
            match self.step() {
                Step::Worked => {}
                Step::Idle(time) => self.queue.wait(time),
                Step::Paused(time) => self.queue.pause(time),
                Step::Over => return,
            }
        }
    }

    /// Does one thing.
    pub(crate) fn step(&mut self) -> Step {
        if let Some(state) = self.queue.observed() {
            return match self.output.observe(&state) {
                Err(OutputError::Final(reason)) => self.fail(reason),
                // The next state comes within a second: it is shown instead.
                Err(OutputError::Retry(reason)) => {
                    self.cannot_observe = true;
                    self.waits(&reason);
                    Step::Worked
                }
                Ok(()) => {
                    if std::mem::take(&mut self.cannot_observe) && self.retry.is_none() {
                        self.queue.waits(None);
                    }
                    self.note_progress(true);
                    Step::Worked
                }
            };
        }
        let now = self.clock.elapsed();
        let pause = |call: Call| {
            let retry = self.retry.filter(|retry| retry.call == call)?;
            retry.at.checked_sub(now).filter(|left| !left.is_zero())
        };
        let polls_again = pause(Call::Poll);
        if now.saturating_sub(self.polled) >= POLL_INTERVAL && polls_again.is_none() {
            self.polled = now;
            return match self.output.poll() {
                Ok(()) => {
                    self.succeeded(Call::Poll);
                    self.note_progress(false);
                    Step::Worked
                }
                Err(error) => self.failed(Call::Poll, error),
            };
        }
        let work = self.queue.next();
        let call = match &work {
            Work::Batch(_) => Call::Take,
            Work::End(_) => Call::Finish,
            Work::Nothing => return Step::Idle(POLL_INTERVAL),
        };
        if self.queue.gives_up() && self.retry.is_some() {
            self.queue.not_taken();
            let reason = self.queue.about().waiting.unwrap_or_default();
            let within = self.queue.settings().finish_within;
            return self.fail(format!("{reason}; given up {within:?} after the end of the run"));
        }
        if let Some(left) = pause(call) {
            self.queue.not_taken();
            return Step::Paused(left.min(POLL_INTERVAL));
        }
        match work {
            Work::Batch(batch) => match self.output.take(&batch) {
                Ok(Taken::Yes) => {
                    self.succeeded(Call::Take);
                    let now = self.clock.unix_ns();
                    let delay = batch.arrival_ns().map(|arrival| now.saturating_sub(arrival));
                    self.queue.taken(self.output.progress(), self.output.counters(), delay);
                    Step::Worked
                }
                Ok(Taken::NotNow) => {
                    self.queue.not_taken();
                    if self.queue.gives_up() {
                        let within = self.queue.settings().finish_within;
                        return self.fail(format!(
                            "it had no room for more events {within:?} after the end of the run"
                        ));
                    }
                    Step::Paused(NO_ROOM_PAUSE)
                }
                Err(error) => {
                    self.queue.not_taken();
                    self.failed(Call::Take, error)
                }
            },
            Work::End(End::Finish(state)) => match self.output.finish(&state) {
                Ok(()) => {
                    self.note_progress(true);
                    self.queue.is_over(None, None);
                    Step::Over
                }
                Err(error) => self.failed(Call::Finish, error),
            },
            Work::End(End::Abandon) => {
                let note = self.output.abandon();
                self.note_progress(true);
                self.queue.is_over(None, note);
                Step::Over
            }
            Work::End(End::Never) => {
                self.queue.is_over(None, None);
                Step::Over
            }
            Work::Nothing => Step::Idle(POLL_INTERVAL),
        }
    }

    fn note_progress(&self, with_name: bool) {
        let name = with_name.then(|| self.output.name());
        self.queue.progressed(name, self.output.progress(), self.output.counters());
    }

    /// A call has succeeded: if it was tried again, the cause has passed.
    fn succeeded(&mut self, call: Call) {
        if self.retry.is_some_and(|retry| retry.call == call) {
            self.retry = None;
            self.queue.waits(None);
        }
    }

    fn failed(&mut self, call: Call, error: OutputError) -> Step {
        let reason = match error {
            OutputError::Final(reason) => return self.fail(reason),
            OutputError::Retry(reason) => reason,
        };
        let before = self.retry.filter(|retry| retry.call == call).map(|retry| retry.pause);
        let pause = before.map_or(FIRST_PAUSE, |before| (2 * before).min(LONGEST_PAUSE));
        self.retry = Some(Retry { call, at: self.clock.elapsed() + pause, pause });
        self.queue.retries();
        self.waits(&reason);
        self.note_progress(false);
        Step::Worked
    }

    /// The output waits for a cause to pass.
    fn waits(&self, reason: &str) {
        if self.queue.waits(Some(reason)) {
            tracing::debug!(target: OUTPUT, reason, "{} is waiting", self.output.name());
            (self.on_waiting)(&format!("{} is waiting: {reason}", self.output.name()));
        }
    }

    /// The output cannot go on.
    fn fail(&mut self, reason: String) -> Step {
        let note = self.output.abandon();
        self.note_progress(true);
        self.queue.is_over(Some(reason), note);
        Step::Over
    }
}

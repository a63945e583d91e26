//! Asking a run while it goes on, and changing its parameters.
//!
//! The thread that forms events looks at two flags before each slab; it never waits for who asks. Who asks waits, for a bounded
//! time: requests that concern the detector are taken between slabs, so that no packet is formed half with an old value
//! and half with a new one by chance. What decides which value holds is the time of each readout alone.

use crate::monitor_tap::MonitorTap;
use evforge_config::Config;
use evforge_control::desk::ControlCounts;
use evforge_control::requests::{NotTaken, Requests};
use evforge_control::{Control, Refusal, RunFacts, WantedChange, WantedTime};
use evforge_core::change::{Change, ChangeRecord, ChangeRefusal, ChangeTime, Parameter};
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::Detector;
use evforge_core::run_state::RunState;
use evforge_outputs::packet_tap::PacketTap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long who asks waits for the forming thread, which may wait for an output.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long who asks for the state waits for a new one.
const STATE_PATIENCE: Duration = Duration::from_millis(250);
/// A state that is younger is good enough.
const FRESH: Duration = Duration::from_millis(50);
/// Requests that wait at a time.
const MOST_WAITING: usize = 1024;

/// A handle on a run; clones belong to the same run. The default is one that nobody can ask.
#[derive(Clone, Debug, Default)]
pub struct RunControl {
    shared: Arc<Shared>,
}

/// What a run is asked for: called when somebody clears what is gathered to be looked at.
pub type ClearHook = Box<dyn Fn() + Send + Sync>;

struct Shared {
    facts: RunFacts,
    /// Set to end the run; none if nobody can ask.
    stop: Option<Arc<AtomicBool>>,
    monitor: MonitorTap,
    packets: PacketTap,
    counts: Arc<ControlCounts>,
    clear: Mutex<Vec<ClearHook>>,
    requests: Requests<Request>,
    parameters: Mutex<Vec<Parameter>>,
    state_asked: AtomicBool,
    state: Mutex<Shown>,
    state_shown: Condvar,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            facts: RunFacts::default(),
            stop: None,
            monitor: MonitorTap::default(),
            packets: PacketTap::default(),
            counts: Arc::default(),
            clear: Mutex::default(),
            requests: Requests::new(MOST_WAITING),
            parameters: Mutex::default(),
            state_asked: AtomicBool::default(),
            state: Mutex::default(),
            state_shown: Condvar::default(),
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("facts", &self.facts).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shown {
    state: Arc<RunState>,
    at: Option<Instant>,
    has_ended: bool,
}

/// What the forming thread is asked for.
enum Request {
    Change(Vec<WantedChange>, SyncSender<Vec<Result<Change, Refusal>>>),
    EarliestChange(SyncSender<Option<ChangeTime>>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunControl {
    /// For a run that ends when `stop` is set, with these monitor data and raw packets.
    pub fn new(facts: RunFacts, stop: Arc<AtomicBool>, monitor: MonitorTap, packets: PacketTap) -> Self {
        Self { shared: Arc::new(Shared { facts, stop: Some(stop), monitor, packets, ..Shared::default() }) }
    }

    /// For a run of a program that counts what is asked over all of its runs, in `counts`.
    pub fn counting_in(
        facts: RunFacts,
        stop: Arc<AtomicBool>,
        monitor: MonitorTap,
        packets: PacketTap,
        counts: Arc<ControlCounts>,
    ) -> Self {
        let shared = Shared { facts, stop: Some(stop), monitor, packets, counts, ..Shared::default() };
        Self { shared: Arc::new(shared) }
    }

    /// The counters of what is asked, which the state of the run shows: for the desk that the requests go through.
    pub fn counts(&self) -> Arc<ControlCounts> {
        Arc::clone(&self.shared.counts)
    }

    /// Has `clear` called, too, when somebody clears what is gathered to be looked at.
    pub fn when_cleared(&self, clear: ClearHook) {
        lock(&self.shared.clear).push(clear);
    }

    /// Whether anybody can ask.
    pub(crate) fn is_used(&self) -> bool {
        self.shared.stop.is_some()
    }

    /// Whether somebody waits for the state.
    pub(crate) fn wants_state(&self) -> bool {
        self.shared.state_asked.load(Ordering::Relaxed)
    }

    /// The state of the run, for those who ask.
    pub(crate) fn show(&self, state: &Arc<RunState>) {
        let shared = &self.shared;
        shared.state_asked.store(false, Ordering::Relaxed);
        let mut shown = lock(&shared.state);
        shown.state = Arc::clone(state);
        shown.at = Some(Instant::now());
        drop(shown);
        shared.state_shown.notify_all();
    }

    /// The forming thread's side. The record begins with the changes of the configuration.
    pub(crate) fn begin(self, config: &Config, detector: &dyn Detector) -> ControlledDetector {
        let mut record = ChangeRecord::default();
        let configured = config.changes.iter().map(|entry| entry.change().with_section(config.section));
        configured.for_each(|change| record.push(change));
        let controlled = ControlledDetector { control: self, section: config.section, record };
        controlled.show_parameters(detector);
        controlled
    }

    /// Puts a request into the queue, and waits for the answer.
    fn ask<T>(&self, request: impl FnOnce(SyncSender<T>) -> Request) -> Result<T, Refusal> {
        let (give, answer): (_, Receiver<T>) = sync_channel(1);
        self.shared.requests.put(request(give)).map_err(|why| match why {
            NotTaken::Ended => Refusal::Ended,
            NotTaken::Full(waiting) => Refusal::NotPossible(format!(
                "{waiting} requests wait already: the run does not come to them"
            )),
        })?;
        answer.recv_timeout(PATIENCE).map_err(|error| match error {
            std::sync::mpsc::RecvTimeoutError::Timeout => Refusal::TimedOut(PATIENCE),
            std::sync::mpsc::RecvTimeoutError::Disconnected => Refusal::Ended,
        })
    }
}

impl Control for RunControl {
    fn facts(&self) -> &RunFacts {
        &self.shared.facts
    }

    fn state(&self) -> Arc<RunState> {
        let shared = &self.shared;
        let shown = lock(&shared.state);
        let is_fresh = |shown: &Shown| shown.has_ended || shown.at.is_some_and(|at| at.elapsed() < FRESH);
        if is_fresh(&shown) {
            return Arc::clone(&shown.state);
        }
        shared.state_asked.store(true, Ordering::Relaxed);
        let waited = shared.state_shown.wait_timeout_while(shown, STATE_PATIENCE, |shown| !is_fresh(shown));
        let (shown, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&shown.state)
    }

    fn parameters(&self) -> Vec<Parameter> {
        lock(&self.shared.parameters).clone()
    }

    fn earliest_change(&self) -> Result<Option<ChangeTime>, Refusal> {
        self.ask(Request::EarliestChange)
    }

    fn change(&self, wanted: Vec<WantedChange>) -> Vec<Result<Change, Refusal>> {
        let count = wanted.len();
        match self.ask(|give| Request::Change(wanted, give)) {
            Ok(outcomes) => outcomes,
            Err(refusal) => vec![Err(refusal); count],
        }
    }

    fn calibration_mode(&self) -> bool {
        self.shared.packets.calibrates()
    }

    fn set_calibration_mode(&self, on: bool) -> Result<(), Refusal> {
        if on && !self.shared.packets.is_asked() {
            let problem = "no output of this run takes raw packets, so that in calibration mode they would be lost: \
                           configure one (docs/kafka-packets.md)";
            return Err(Refusal::NotPossible(problem.to_owned()));
        }
        self.shared.packets.calibrate(on);
        Ok(())
    }

    fn clear(&self) -> Result<(), Refusal> {
        let hooks = lock(&self.shared.clear);
        let monitor = &self.shared.monitor;
        if hooks.is_empty() && !monitor.is_on() {
            let problem = "nothing is gathered to be looked at: monitor data are off, and there is no page";
            return Err(Refusal::NotPossible(problem.to_owned()));
        }
        if monitor.is_on() {
            monitor.forget();
        }
        hooks.iter().for_each(|clear| clear());
        Ok(())
    }

    fn shut_down(&self) {
        if let Some(stop) = &self.shared.stop {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

/// The forming thread's side of a [`RunControl`].
#[derive(Debug, Default)]
pub(crate) struct ControlledDetector {
    control: RunControl,
    section: &'static str,
    record: ChangeRecord,
}

impl ControlledDetector {
    /// Does what has been asked for. Between packets.
    #[inline]
    pub(crate) fn serve(&mut self, detector: &mut dyn Detector) {
        if self.control.shared.requests.are_there() {
            self.serve_all(detector);
        }
    }

    #[cold]
    fn serve_all(&mut self, detector: &mut dyn Detector) {
        let control = self.control.clone();
        // Who does not wait any more is not told; what was changed is in the record.
        control.shared.requests.serve(|request| match request {
            Request::EarliestChange(give) => {
                let _ = give.try_send(detector.earliest_change());
            }
            Request::Change(wanted, give) => {
                let outcomes = wanted.iter().map(|wanted| self.change(wanted, detector)).collect();
                let _ = give.try_send(outcomes);
            }
        });
        self.show_parameters(detector);
    }

    fn change(&mut self, wanted: &WantedChange, detector: &mut dyn Detector) -> Result<Change, Refusal> {
        let earliest = detector.earliest_change();
        let at = match wanted.at {
            WantedTime::Earliest => earliest.unwrap_or_default(),
            WantedTime::After(later) => {
                let ChangeTime { restarts, time_ns } = earliest.ok_or(ChangeRefusal::NoTimeYet)?;
                ChangeTime { restarts, time_ns: time_ns.saturating_add(later) }
            }
            WantedTime::At(time_ns) => {
                ChangeTime { restarts: earliest.map_or(0, |earliest| earliest.restarts), time_ns }
            }
            WantedTime::Exactly(at) => at,
        };
        let change = Change { at, key: wanted.key.as_str().into(), value: wanted.value };
        detector.change(&change.in_section(self.section))?;
        let change = change.with_section(self.section);
        self.record.push(change.clone());
        Ok(change)
    }

    /// The parameters with the keys of the configuration.
    fn show_parameters(&self, detector: &dyn Detector) {
        if !self.control.is_used() {
            return;
        }
        let mut parameters = detector.parameters();
        for parameter in &mut parameters {
            parameter.key = format!("{}.{}", self.section, parameter.key).into();
        }
        *lock(&self.control.shared.parameters) = parameters;
    }

    /// All changes so far, those of the configuration first.
    pub(crate) fn record(&self) -> ChangeRecord {
        self.record.clone()
    }

    /// The counters of what was asked; none if nobody can ask.
    pub(crate) fn stage(&self) -> Option<(&'static str, CounterSnapshot)> {
        self.control.is_used().then(|| self.control.shared.counts.stage())
    }

    /// Nothing more is done: who waits is told.
    pub(crate) fn end(&self) {
        // Without their other side, those who wait know.
        self.control.shared.requests.end();
        lock(&self.control.shared.state).has_ended = true;
        self.control.shared.state_shown.notify_all();
    }
}

impl Drop for ControlledDetector {
    fn drop(&mut self) {
        self.end();
    }
}

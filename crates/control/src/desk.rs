//! The place that all requests go through: each is counted, and noted with who asked.

use crate::activity::Activity;
use crate::control::{Control, Refusal};
use crate::log_levels::LogLevels;
use crate::named_counters::{NamedCounter, named_counters};
use crate::request::{Answer, Request};
use crate::runs::RunService;
use crate::slot::ControlSlot;
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::printable::printable;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

evforge_core::counters! {
    /// What has been asked of a run.
    pub struct ControlCounters: "control" {
        connections: Information, Times, "Connections to the command port that were taken.";
        connections_refused: Information, Times, "Connections to the command port that were closed as there were too many at a time: at once, or before they had asked for anything.";
        connections_timed_out: Information, Times, "Connections to the command port that were closed because nothing came or went for too long.";
        commands: Information, Times, "Commands and requests.";
        commands_unknown: Information, Times, "Commands that nobody knows, or whose arguments or size were wrong.";
        commands_refused: Information, Times, "Commands and requests that were understood and refused.";
        commands_held_back: Information, Times, "Commands that had to wait because a client sent too many at a time.";
        tokens_wrong: Information, Times, "Requests over HTTP with a wrong token.";
        requests_unauthorised: Information, Times, "Requests over HTTP that would have changed something, and were refused because of their token: none, a wrong one, or too many wrong ones before.";
        requests_limited: Information, Times, "Requests over HTTP that were refused because there were too many at a time.";
        requests_too_large: Information, Times, "Requests over HTTP with a body that was too large, or came too slowly.";
        state_changes: Information, Times, "Commands and requests that have changed something.";
    }
}

/// The counters while they count.
#[derive(Debug, Default)]
pub struct ControlCounts {
    counts: Mutex<ControlCounters>,
}

impl ControlCounts {
    /// Counts.
    pub fn count(&self, count: impl FnOnce(&mut ControlCounters)) {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The counters now.
    pub fn snapshot(&self) -> ControlCounters {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stage with its counters, for the state of a run.
    pub fn stage(&self) -> (&'static str, CounterSnapshot) {
        (ControlCounters::STAGE, CounterSnapshot::of(&self.snapshot()))
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// By which way: `command port`.
    pub way: &'static str,
    /// From where; none for what asks from inside of the program.
    pub peer: Option<SocketAddr>,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.peer {
            Some(peer) => write!(f, "{} ({peer})", self.way),
            None => f.write_str(self.way),
        }
    }
}

/// Something that was asked for, for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Who asked.
    pub origin: Origin,
    /// For what: printable, and at most some hundred characters.
    pub what: String,
    /// How it ended: "done", or why not.
    pub outcome: String,
    /// Whether anything was changed.
    pub changed: bool,
    /// How many requests there were so far, this one included.
    pub number: u64,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} asked for {}: {}", self.origin, self.what, self.outcome)
    }
}

/// Is told of every request.
pub type Say = Arc<dyn Fn(&Note) + Send + Sync>;

/// Other names by which counters can be asked for: gives the name that a counter has here.
pub type Aliases = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The place that all requests go through.
pub struct ControlDesk {
    slot: ControlSlot,
    service: Option<Arc<dyn RunService>>,
    logs: Option<Arc<dyn LogLevels>>,
    counts: Arc<ControlCounts>,
    say: Say,
    aliases: Option<Aliases>,
    activity: Mutex<Activity>,
    requests: AtomicU64,
}

impl std::fmt::Debug for ControlDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlDesk").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl ControlDesk {
    /// For this run; `counts` are those that its state shows.
    pub fn new(control: Arc<dyn Control>, counts: Arc<ControlCounts>, say: Say) -> Self {
        Self::of_slot(ControlSlot::of(control), counts, say)
    }

    /// For whichever run is in `slot` at the time; `counts` are those that the states of its runs show.
    pub fn of_slot(slot: ControlSlot, counts: Arc<ControlCounts>, say: Say) -> Self {
        Self {
            slot,
            service: None,
            logs: None,
            counts,
            say,
            aliases: None,
            activity: Mutex::default(),
            requests: AtomicU64::new(0),
        }
    }

    /// Runs can be started and stopped, by this service.
    #[must_use]
    pub fn with_service(mut self, service: Arc<dyn RunService>) -> Self {
        self.service = Some(service);
        self
    }

    /// What the log says can be changed.
    #[must_use]
    pub fn with_logs(mut self, logs: Arc<dyn LogLevels>) -> Self {
        self.logs = Some(logs);
        self
    }

    /// Counters can also be asked for by the names that `aliases` knows.
    #[must_use]
    pub fn with_aliases(mut self, aliases: Aliases) -> Self {
        self.aliases = Some(aliases);
        self
    }

    /// The counters of what was asked.
    pub fn counts(&self) -> &ControlCounts {
        &self.counts
    }

    /// Does what is asked, and notes it. `what` is how it was asked for.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn answer(&self, origin: &Origin, what: &str, request: Request) -> Result<Answer, Refusal> {
        let changes = request.changes_state();
        let answer = self.fulfil(request);
        let refused = match &answer {
            Ok(Answer::Changed(each)) => each.iter().find_map(|one| one.as_ref().err()).cloned(),
            Ok(_) => None,
            Err(refusal) => Some(refusal.clone()),
        };
        let changed = changes
            && match &answer {
                Ok(Answer::Changed(each)) => each.iter().any(Result::is_ok),
                Ok(_) => true,
                Err(_) => false,
            };
        self.count_and_note(origin, what, refused.map(|refusal| refusal.to_string()), changed);
        answer
    }

    /// Looks at something that belongs to a request which has been counted and noted already.
    ///
    /// # Errors
    /// Why it is refused; so is what would change something.
    pub fn look(&self, request: Request) -> Result<Answer, Refusal> {
        if request.changes_state() {
            return Err(Refusal::NotPossible("nothing is changed by a look".to_owned()));
        }
        self.fulfil(request)
    }

    /// Has something done that others than a run do (the switch of monitor data), and notes it as what was asked of the run.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn have_done(
        &self,
        origin: &Origin,
        what: &str,
        change: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let outcome = change();
        self.count_and_note(origin, what, outcome.clone().err(), outcome.is_ok());
        outcome
    }

    fn count_and_note(&self, origin: &Origin, what: &str, refused: Option<String>, changed: bool) {
        self.counts.count(|counts| {
            counts.commands += 1;
            counts.commands_refused += u64::from(refused.is_some());
            counts.state_changes += u64::from(changed);
        });
        let outcome = refused.map_or_else(|| "done".to_owned(), |refusal| format!("refused: {refusal}"));
        self.note(origin, what, outcome, changed);
    }

    /// Notes something that needs no run to be answered.
    pub fn answered(&self, origin: &Origin, what: &str) {
        self.counts.count(|counts| counts.commands += 1);
        self.note(origin, what, "done".to_owned(), false);
    }

    /// Notes something that was refused because of who asked, or how often: not what it would have done.
    pub fn turned_away(
        &self,
        origin: &Origin,
        what: &str,
        why: &str,
        count: impl FnOnce(&mut ControlCounters),
    ) {
        self.counts.count(|counts| {
            counts.commands += 1;
            counts.commands_refused += 1;
            count(counts);
        });
        self.note(origin, what, format!("refused: {why}"), false);
    }

    /// Notes something that could not be understood.
    pub fn misunderstood(&self, origin: &Origin, what: &str, why: &str) {
        self.counts.count(|counts| {
            counts.commands += 1;
            counts.commands_unknown += 1;
        });
        self.note(origin, what, why.to_owned(), false);
    }

    fn note(&self, origin: &Origin, what: &str, outcome: String, changed: bool) {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        (self.say)(&Note { origin: origin.clone(), what: printable(what, NOTED), outcome, changed, number });
    }

    fn fulfil(&self, request: Request) -> Result<Answer, Refusal> {
        // What needs no run.
        Ok(match request {
            Request::Facts => Answer::Facts(self.slot.facts()),
            Request::Configuration => Answer::Configuration(self.slot.facts().configuration),
            Request::Runs => Answer::Runs(self.service()?.runs()),
            Request::StartRun(wanted) => Answer::RunStarted(self.service()?.start(wanted)?),
            Request::StopRun => Answer::RunEnded(self.service()?.stop()?),
            Request::LogGroups => Answer::LogGroups(self.logs()?.groups()),
            Request::SetLogLevel { group, level } => done(self.logs()?.set(&group, &level))?,
            Request::ShutDown => {
                match &self.service {
                    Some(service) => service.shut_down(),
                    None => self.slot.run()?.shut_down(),
                }
                Answer::Done
            }
            of_a_run => self.ask_run(&*self.slot.run()?, of_a_run)?,
        })
    }

    fn ask_run(&self, control: &dyn Control, request: Request) -> Result<Answer, Refusal> {
        Ok(match request {
            Request::State => Answer::State(control.state()),
            Request::Counters => Answer::Counters(named_counters(&control.state())),
            Request::Counter(name) => Answer::Counter(self.counter(control, &name)),
            Request::Activity => {
                let state = control.state();
                let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
                Answer::Activity(activity.observe(&state))
            }
            Request::Parameters => Answer::Parameters(control.parameters()),
            Request::EarliestChange => Answer::EarliestChange(control.earliest_change()?),
            Request::Change(wanted) => Answer::Changed(control.change(wanted)),
            Request::CalibrationMode => Answer::CalibrationMode(control.calibration_mode()),
            Request::SetCalibrationMode(on) => done(control.set_calibration_mode(on))?,
            Request::Clear => done(control.clear())?,
            // Asked of the program before.
            Request::Facts
            | Request::Configuration
            | Request::Runs
            | Request::StartRun(_)
            | Request::StopRun
            | Request::LogGroups
            | Request::SetLogLevel { .. }
            | Request::ShutDown => return self.fulfil(request),
        })
    }

    fn service(&self) -> Result<&dyn RunService, Refusal> {
        let problem = "this program has one run, which began with it and ends with it: `evforge serve` has runs that are \
                       started and stopped";
        self.service.as_deref().ok_or_else(|| Refusal::NotPossible(problem.to_owned()))
    }

    fn logs(&self) -> Result<&dyn LogLevels, Refusal> {
        let problem = "what this program says cannot be changed while it goes on";
        self.logs.as_deref().ok_or_else(|| Refusal::NotPossible(problem.to_owned()))
    }

    fn counter(&self, control: &dyn Control, name: &str) -> Option<NamedCounter> {
        let all = named_counters(&control.state());
        let here = |name: &str| all.iter().find(|counter| counter.name == name).cloned();
        here(name).or_else(|| {
            let known_here = self.aliases.as_ref()?(name)?;
            // As it was asked for.
            here(&known_here).map(|counter| NamedCounter { name: name.to_owned(), ..counter })
        })
    }
}

fn done(outcome: Result<(), Refusal>) -> Result<Answer, Refusal> {
    outcome.map(|()| Answer::Done)
}

/// Characters of a request that a note has.
const NOTED: usize = 120;

#[cfg(test)]
mod tests;

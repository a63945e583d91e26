//! The place that all requests go through: each is counted, and noted with who asked.

use crate::activity::Activity;
use crate::control::{Control, Refusal};
use crate::named_counters::{NamedCounter, named_counters};
use crate::request::{Answer, Request};
use evforge_core::counter::{CounterSet, CounterSnapshot};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

evforge_core::counters! {
    /// What has been asked of a run.
    pub struct ControlCounters: "control" {
        connections: Information, Times, "Connections to the command port that were taken.";
        connections_refused: Information, Times, "Connections to the command port that were closed at once: too many at a time.";
        connections_timed_out: Information, Times, "Connections to the command port that were closed because nothing came or went for too long.";
        commands: Information, Times, "Commands and requests.";
        commands_unknown: Information, Times, "Commands that nobody knows, or whose arguments or size were wrong.";
        commands_refused: Information, Times, "Commands and requests that were understood and refused.";
        commands_held_back: Information, Times, "Commands that had to wait because a client sent too many at a time.";
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
    control: Arc<dyn Control>,
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
        Self { control, counts, say, aliases: None, activity: Mutex::default(), requests: AtomicU64::new(0) }
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
        self.counts.count(|counts| {
            counts.commands += 1;
            counts.commands_refused += u64::from(refused.is_some());
            counts.state_changes += u64::from(changed);
        });
        let outcome = refused.map_or_else(|| "done".to_owned(), |refusal| format!("refused: {refusal}"));
        self.note(origin, what, outcome, changed);
        answer
    }

    /// Notes something that needs no run to be answered.
    pub fn answered(&self, origin: &Origin, what: &str) {
        self.counts.count(|counts| counts.commands += 1);
        self.note(origin, what, "done".to_owned(), false);
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
        (self.say)(&Note { origin: origin.clone(), what: printable(what), outcome, changed, number });
    }

    fn fulfil(&self, request: Request) -> Result<Answer, Refusal> {
        let control = &self.control;
        Ok(match request {
            Request::Facts => Answer::Facts(control.facts().clone()),
            Request::State => Answer::State(control.state()),
            Request::Configuration => Answer::Configuration(control.facts().configuration.clone()),
            Request::Counters => Answer::Counters(named_counters(&control.state())),
            Request::Counter(name) => Answer::Counter(self.counter(&name)),
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
            Request::ShutDown => {
                control.shut_down();
                Answer::Done
            }
        })
    }

    fn counter(&self, name: &str) -> Option<NamedCounter> {
        let all = named_counters(&self.control.state());
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

/// What a note shows of what somebody has sent: nothing that could do anything to a terminal or a log.
fn printable(what: &str) -> String {
    let shown = what.chars().take(NOTED).map(|c| if c.is_control() { '·' } else { c });
    let cut = if what.chars().nth(NOTED).is_some() { " …" } else { "" };
    shown.chain(cut.chars()).collect()
}

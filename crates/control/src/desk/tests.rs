//! Requests of a service: between runs, and over several runs.

use super::*;
use crate::control::{RunFacts, WantedChange};
use crate::log_levels::LogGroup;
use crate::runs::{RunEnded, RunPhase, RunStarted, RunsState, WantedRun};
use evforge_core::change::{Change, ChangeTime, Parameter};
use evforge_core::run_state::RunState;
use std::sync::atomic::AtomicBool;

/// A run that is only there, and called by its instrument.
struct Run(RunFacts);

impl Control for Run {
    fn facts(&self) -> &RunFacts {
        &self.0
    }
    fn state(&self) -> Arc<RunState> {
        Arc::default()
    }
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
    fn earliest_change(&self) -> Result<Option<ChangeTime>, Refusal> {
        Ok(None)
    }
    fn change(&self, wanted: Vec<WantedChange>) -> Vec<Result<Change, Refusal>> {
        wanted.iter().map(|_| Err(Refusal::Ended)).collect()
    }
    fn calibration_mode(&self) -> bool {
        false
    }
    fn set_calibration_mode(&self, _: bool) -> Result<(), Refusal> {
        Ok(())
    }
    fn clear(&self) -> Result<(), Refusal> {
        Ok(())
    }
    fn shut_down(&self) {}
}

/// Puts runs into the slot, and takes them away.
#[derive(Default)]
struct Service {
    slot: ControlSlot,
    runs: AtomicU64,
    ended: AtomicBool,
}

fn run(instrument: String) -> Arc<dyn Control> {
    Arc::new(Run(RunFacts { instrument, ..RunFacts::default() }))
}

impl RunService for Service {
    fn runs(&self) -> RunsState {
        let phase = if self.slot.run().is_ok() { RunPhase::Running } else { RunPhase::BetweenRuns };
        RunsState { phase, runs: self.runs.load(Ordering::Relaxed), ..RunsState::default() }
    }
    fn start(&self, wanted: WantedRun) -> Result<RunStarted, Refusal> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let title = wanted.title.unwrap_or_default();
        self.slot.set(Some(run(title.clone())));
        Ok(RunStarted { title, ..RunStarted::default() })
    }
    fn stop(&self) -> Result<RunEnded, Refusal> {
        self.slot.run()?;
        self.slot.set(None);
        Ok(RunEnded::default())
    }
    fn shut_down(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

struct Logs;

impl LogLevels for Logs {
    fn groups(&self) -> Vec<LogGroup> {
        Vec::new()
    }
    fn set(&self, group: &str, _: &str) -> Result<(), Refusal> {
        Err(Refusal::Invalid(format!("no group {group}")))
    }
}

const ORIGIN: Origin = Origin { way: "test", peer: None };

fn ask(desk: &ControlDesk, request: Request) -> Result<Answer, Refusal> {
    desk.answer(&ORIGIN, "it", request)
}

fn instrument(desk: &ControlDesk) -> String {
    match ask(desk, Request::Facts) {
        Ok(Answer::Facts(facts)) => facts.instrument,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_service_is_asked_between_its_runs_and_each_run_while_it_goes_on() {
    let facts = RunFacts { instrument: "the service".into(), ..RunFacts::default() };
    let slot = ControlSlot::new(facts);
    let service = Arc::new(Service { slot: slot.clone(), ..Service::default() });
    let counts = Arc::new(ControlCounts::default());
    let desk = ControlDesk::of_slot(slot, Arc::clone(&counts), Arc::new(|_| {}))
        .with_service(Arc::clone(&service) as Arc<dyn RunService>)
        .with_logs(Arc::new(Logs));
    assert_eq!(instrument(&desk), "the service");
    for request in
        [Request::State, Request::Counters, Request::Clear, Request::EarliestChange, Request::StopRun]
    {
        assert_eq!(ask(&desk, request), Err(Refusal::NoRun));
    }
    for number in 1..=3 {
        let title = format!("run {number}");
        let wanted = WantedRun { title: Some(title.clone()), ..WantedRun::default() };
        assert!(
            matches!(ask(&desk, Request::StartRun(wanted)), Ok(Answer::RunStarted(run)) if run.title == title)
        );
        assert_eq!(instrument(&desk), title);
        assert_eq!(ask(&desk, Request::Clear), Ok(Answer::Done));
        assert!(matches!(ask(&desk, Request::StopRun), Ok(Answer::RunEnded(_))));
        assert_eq!(ask(&desk, Request::Clear), Err(Refusal::NoRun));
        let Ok(Answer::Runs(runs)) = ask(&desk, Request::Runs) else { panic!("no runs") };
        assert_eq!((runs.phase, runs.runs), (RunPhase::BetweenRuns, number));
    }
    let level = Request::SetLogLevel { group: "none".into(), level: "debug".into() };
    assert_eq!(ask(&desk, level), Err(Refusal::Invalid("no group none".into())));
    assert_eq!(ask(&desk, Request::ShutDown), Ok(Answer::Done));
    assert!(service.ended.load(Ordering::Relaxed), "the service is ended, not a run of it");
    let counters = counts.snapshot();
    assert_eq!((counters.commands, counters.commands_refused, counters.state_changes), (26, 9, 10));
}

#[test]
fn a_program_of_one_run_names_the_one_that_has_several() {
    let desk = ControlDesk::new(run("one".into()), Arc::default(), Arc::new(|_| {}));
    for request in [Request::Runs, Request::StartRun(WantedRun::default()), Request::StopRun] {
        let refusal = ask(&desk, request).unwrap_err();
        assert!(refusal.to_string().contains("`evforge serve`"), "{refusal}");
    }
    assert!(matches!(ask(&desk, Request::LogGroups), Err(Refusal::NotPossible(_))));
}

#[test]
fn what_others_have_done_is_counted_and_noted_as_well() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&notes);
    let say: Say = Arc::new(move |note: &Note| kept.lock().unwrap().push(note.to_string()));
    let desk = ControlDesk::new(run("one".into()), Arc::default(), say);
    assert_eq!(desk.have_done(&ORIGIN, "monitor on", || Ok(())), Ok(()));
    assert!(desk.have_done(&ORIGIN, "monitor off", || Err("they stay on".into())).is_err());
    let expected = ["test asked for monitor on: done", "test asked for monitor off: refused: they stay on"];
    assert_eq!(*notes.lock().unwrap(), expected);
    assert_eq!(desk.counts().snapshot().state_changes, 1);
}

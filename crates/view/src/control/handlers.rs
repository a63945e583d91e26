//! What is done for each path.

use super::answers::{
    ChangeOutcome, ChangesAnswer, ConfigurationAnswer, CounterState, DoneAnswer, EarliestTime, FactsAnswer,
    LogGroupState, OutputSummary, ParameterState, RunAnswer, RunEnd, RunState, RunsAnswer, SwitchAnswer,
    VersionAnswer,
};
use super::body;
use super::door::Peer;
use super::refused::Refused;
use super::wanted::{ChangesWanted, LevelWanted, RunWanted, SwitchWanted};
use crate::at_work::at_work;
use crate::handlers::{Server, json};
use crate::protocol::API_VERSION;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{Response, StatusCode};
use evforge_control::request::{Answer, Request as Asked};
use evforge_control::{ControlDesk, Refusal};
use evforge_core::change::Change;
use evforge_core::run_state::LedgerTotals;
use evforge_outputs::MonitorControl;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::time::timeout;

/// What every handler has of a request.
pub(crate) type Of = (State<Server>, Extension<Peer>);

type Outcome = Result<Response<Body>, Refused>;

/// Has a thread that may wait ask the desk.
async fn with_desk(
    server: &Server,
    work: impl FnOnce(&ControlDesk) -> Outcome + Send + 'static,
) -> Response<Body> {
    let Some(desk) = server.door.desk().cloned() else {
        let message = "there is no run to ask: this page shows something else";
        return Refused::not_found(message, "ask the page of evforge run or evforge demo").into_response();
    };
    on_a_thread(server, move || work(&desk)).await
}

async fn on_a_thread(server: &Server, work: impl FnOnce() -> Outcome + Send + 'static) -> Response<Body> {
    let busy = |message: String| {
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message, "ask again later").into_response()
    };
    let place =
        timeout(server.shared.options.request_timeout, Arc::clone(&server.door.places).acquire_owned());
    let Ok(Ok(place)) = place.await else {
        return busy("the requests before this one are still worked on".into());
    };
    let done = at_work(move || {
        let _place = place;
        work()
    });
    match done.await {
        Ok(outcome) => outcome.unwrap_or_else(Refused::into_response),
        Err(error) => busy(error.to_string()),
    }
}

/// Asks the desk, and gives the answer its shape.
async fn ask(
    (State(server), Extension(peer)): Of,
    what: impl Into<String>,
    asked: Asked,
    shape: impl FnOnce(Answer) -> Option<Response<Body>> + Send + 'static,
) -> Response<Body> {
    let what = what.into();
    with_desk(&server, move |desk| {
        let answer = desk.answer(&peer.origin(), &what, asked)?;
        // An answer of another kind than was asked for: none is there.
        shape(answer).ok_or_else(|| Refusal::NotPossible("the run has answered something else".into()).into())
    })
    .await
}

/// Reads the body, and asks the desk for what is in it.
async fn ask_with<T: DeserializeOwned>(
    of: Of,
    request: Request,
    wanted: impl FnOnce(T) -> Result<(String, Asked), Refused>,
    shape: impl FnOnce(Answer) -> Option<Response<Body>> + Send + 'static,
) -> Response<Body> {
    match read(&of, request).await.and_then(wanted) {
        Ok((what, asked)) => ask(of, what, asked, shape).await,
        Err(refused) => refused.into_response(),
    }
}

/// Reads the body; what is none is noted.
async fn read<T: DeserializeOwned>(
    (State(server), Extension(peer)): &Of,
    request: Request,
) -> Result<T, Refused> {
    let what = format!("{} {}", request.method(), request.uri().path());
    let outcome = body::read(request, server.shared.options.request_timeout).await;
    if let (Err(refused), Some(desk)) = (&outcome, server.door.desk()) {
        match refused.code {
            "invalid" => desk.misunderstood(&peer.origin(), &what, &refused.message),
            _ => desk.turned_away(&peer.origin(), &what, &refused.message, |counts| {
                counts.requests_too_large += 1
            }),
        }
    }
    outcome
}

fn list<T, A: From<T> + Serialize>(all: Vec<T>) -> Response<Body> {
    json(&all.into_iter().map(A::from).collect::<Vec<A>>())
}

fn done(answer: Answer) -> Option<Response<Body>> {
    matches!(answer, Answer::Done).then(|| json(&DoneAnswer { done: true }))
}

pub(crate) async fn version(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "version", Asked::Facts, |answer| match answer {
        Answer::Facts(facts) => {
            Some(json(&VersionAnswer { api: API_VERSION, version: facts.version, build: facts.build }))
        }
        _ => None,
    })
    .await
}

pub(crate) async fn facts(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "facts", Asked::Facts, |answer| match answer {
        Answer::Facts(facts) => Some(json(&FactsAnswer {
            instrument: facts.instrument,
            detector: facts.detector,
            configuration: facts.configuration.path,
            version: facts.version,
            build: facts.build,
        })),
        _ => None,
    })
    .await
}

pub(crate) async fn configuration(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "configuration", Asked::Configuration, |answer| match answer {
        Answer::Configuration(found) => Some(json(&ConfigurationAnswer {
            path: found.path,
            overrides: found.overrides,
            values: found.values.into_iter().map(Into::into).collect(),
            text: found.text,
        })),
        _ => None,
    })
    .await
}

pub(crate) async fn state(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    let origin = peer.origin();
    with_desk(&state.0, move |desk| {
        let Answer::State(run) = desk.answer(&origin, "state", Asked::State)? else {
            return Err(Refusal::Ended.into());
        };
        let Answer::Facts(facts) = desk.look(Asked::Facts)? else { return Err(Refusal::Ended.into()) };
        let calibrates = desk.look(Asked::CalibrationMode)?;
        let totals = LedgerTotals::of(&run.ledger);
        Ok(json(&RunState {
            instrument: facts.instrument,
            elapsed_s: run.elapsed.as_secs_f64(),
            input: run.feed.name(),
            packets: totals.packets,
            events: totals.events,
            outputs: run
                .outputs
                .iter()
                .map(|output| OutputSummary {
                    id: output.id.clone(),
                    accepted: output.counters.accepted,
                    failure: output.failure.clone(),
                })
                .collect(),
            packets_lost: run.loss().exactly(),
            alarms: run.alarms().into_iter().map(|alarm| alarm.text).collect(),
            calibration_mode: matches!(calibrates, Answer::CalibrationMode(true)),
        }))
    })
    .await
}

pub(crate) async fn counters(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "counters", Asked::Counters, |answer| match answer {
        Answer::Counters(all) => Some(list::<_, CounterState>(all)),
        _ => None,
    })
    .await
}

pub(crate) async fn counter(
    state: State<Server>,
    peer: Extension<Peer>,
    Path(name): Path<String>,
) -> Response<Body> {
    let what = format!("counter {name}");
    ask((state, peer), what, Asked::Counter(name.clone()), move |answer| match answer {
        Answer::Counter(Some(counter)) => Some(json(&CounterState::from(counter))),
        Answer::Counter(None) => {
            let shown: String = name.chars().take(100).collect();
            let message = format!("there is no counter {shown:?}");
            Some(Refused::not_found(message, "GET /api/control/counters lists them").into_response())
        }
        _ => None,
    })
    .await
}

pub(crate) async fn parameters(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "parameters", Asked::Parameters, |answer| match answer {
        Answer::Parameters(all) => Some(list::<_, ParameterState>(all)),
        _ => None,
    })
    .await
}

pub(crate) async fn earliest(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "earliest change", Asked::EarliestChange, |answer| match answer {
        Answer::EarliestChange(time) => Some(json(&EarliestTime::from(time))),
        _ => None,
    })
    .await
}

pub(crate) async fn change(state: State<Server>, peer: Extension<Peer>, request: Request) -> Response<Body> {
    let wanted = |wanted: ChangesWanted| {
        let wanted = wanted.wanted()?;
        let each: Vec<String> = wanted.iter().map(|one| format!("{}={}", one.key, one.value)).collect();
        Ok((format!("change {}", each.join(", ")), Asked::Change(wanted)))
    };
    ask_with((state, peer), request, wanted, |answer| match answer {
        Answer::Changed(each) => Some(changed(each)),
        _ => None,
    })
    .await
}

fn changed(each: Vec<Result<Change, Refusal>>) -> Response<Body> {
    let Some(first) = each.iter().find_map(|one| one.as_ref().err()).cloned() else {
        return json(&ChangesAnswer { changes: each.into_iter().flatten().map(Into::into).collect() });
    };
    let outcome = |one: Result<Change, Refusal>| match one {
        Ok(change) => ChangeOutcome { taken: Some(change.into()), refused: None },
        Err(refusal) => ChangeOutcome { taken: None, refused: Some(refusal.to_string()) },
    };
    let changes = each.into_iter().map(outcome).collect();
    Refused { changes, ..first.into() }.into_response()
}

pub(crate) async fn calibration(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "calibration mode", Asked::CalibrationMode, |answer| match answer {
        Answer::CalibrationMode(on) => Some(json(&SwitchAnswer { on })),
        _ => None,
    })
    .await
}

pub(crate) async fn set_calibration(
    state: State<Server>,
    peer: Extension<Peer>,
    request: Request,
) -> Response<Body> {
    let of = (state, peer);
    let SwitchWanted { on } = match read(&of, request).await {
        Ok(wanted) => wanted,
        Err(refused) => return refused.into_response(),
    };
    let what = format!("calibration mode {}", if on { "on" } else { "off" });
    ask(of, what, Asked::SetCalibrationMode(on), move |_| Some(json(&SwitchAnswer { on }))).await
}

pub(crate) async fn clear(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "clear", Asked::Clear, done).await
}

pub(crate) async fn runs(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "runs", Asked::Runs, |answer| match answer {
        Answer::Runs(runs) => Some(json(&RunsAnswer::from(runs))),
        _ => None,
    })
    .await
}

pub(crate) async fn start_run(
    state: State<Server>,
    peer: Extension<Peer>,
    request: Request,
) -> Response<Body> {
    let wanted = |wanted: RunWanted| {
        let wanted = wanted.wanted()?;
        Ok((format!("start of a run {:?}", wanted.title.as_deref().unwrap_or("")), Asked::StartRun(wanted)))
    };
    ask_with((state, peer), request, wanted, |answer| match answer {
        Answer::RunStarted(run) => Some(json(&RunAnswer::from(run))),
        _ => None,
    })
    .await
}

pub(crate) async fn stop_run(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "stop of the run", Asked::StopRun, |answer| match answer {
        Answer::RunEnded(run) => Some(json(&RunEnd::from(run))),
        _ => None,
    })
    .await
}

fn monitor_of(server: &Server) -> Result<Arc<dyn MonitorControl>, Refused> {
    let message = "this page has no monitor data: it was started without a detector to monitor";
    let monitor = server.shared.options.monitor.clone();
    monitor.ok_or_else(|| Refused::not_found(message, "ask the page of evforge run or evforge demo"))
}

pub(crate) async fn monitor(State(server): State<Server>) -> Response<Body> {
    match monitor_of(&server) {
        Ok(control) => json(&SwitchAnswer { on: control.is_on() }),
        Err(refused) => refused.into_response(),
    }
}

pub(crate) async fn set_monitor(
    state: State<Server>,
    peer: Extension<Peer>,
    request: Request,
) -> Response<Body> {
    let of = (state, peer);
    let outcome = read(&of, request).await.and_then(|SwitchWanted { on }| Ok((on, monitor_of(&of.0)?)));
    let (on, control) = match outcome {
        Ok(found) => found,
        Err(refused) => return refused.into_response(),
    };
    let (State(server), Extension(peer)) = of;
    with_desk(&server, move |desk| {
        let what = format!("monitor data {}", if on { "on" } else { "off" });
        desk.have_done(&peer.origin(), &what, || control.switch(on)).map_err(Refusal::NotPossible)?;
        Ok(json(&SwitchAnswer { on: control.is_on() }))
    })
    .await
}

pub(crate) async fn log_groups(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "log groups", Asked::LogGroups, |answer| match answer {
        Answer::LogGroups(groups) => Some(list::<_, LogGroupState>(groups)),
        _ => None,
    })
    .await
}

pub(crate) async fn set_log(
    state: State<Server>,
    peer: Extension<Peer>,
    Path(group): Path<String>,
    request: Request,
) -> Response<Body> {
    let wanted = |LevelWanted { level }: LevelWanted| {
        Ok((format!("log {group}={level}"), Asked::SetLogLevel { group, level }))
    };
    ask_with((state, peer), request, wanted, done).await
}

pub(crate) async fn shutdown(state: State<Server>, peer: Extension<Peer>) -> Response<Body> {
    ask((state, peer), "shutdown", Asked::ShutDown, done).await
}

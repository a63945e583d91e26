//! Whether a stop (6s4t) can be followed.

use super::reply::Reply;
use super::start::{NO_STOP_MS, Refusal, TOO_LATE_MS, given};
use super::text::{is_uuid, short, time};
use evforge_messages::S6s4t;
use uuid::Uuid;

/// What is known of the job that is meant.
pub(super) enum Meant {
    /// No job runs.
    Nothing,
    /// Others run.
    Other,
    /// It runs; its start, milliseconds since 1970.
    Running(u64),
}

/// A stop that can be followed.
pub(super) struct Stop<'a> {
    pub(super) id: &'a str,
    pub(super) command_id: String,
    /// None for now.
    pub(super) stop_ms: Option<u64>,
    pub(super) warning: Option<&'static str>,
}

/// Checks a stop.
pub(super) fn check<'a>(message: &S6s4t<'a>, meant: impl Fn(&str) -> Meant) -> Result<Stop<'a>, Refusal> {
    let Some(id) = given(message.job_id) else {
        return Err(Refusal::new(Reply::NoJobId, ""));
    };
    let start_ms = match meant(id) {
        Meant::Nothing => return Err(Refusal::new(Reply::NothingRuns, "")),
        Meant::Other => return Err(Refusal::new(Reply::OtherJobRuns, format!("`{}`", short(id)))),
        Meant::Running(start_ms) => start_ms,
    };
    let (command_id, warning) = match given(message.command_id) {
        Some(given) if is_uuid(given) => (given.to_owned(), None),
        Some(given) => {
            return Err(Refusal::new(Reply::CommandIdInvalid, format!("`{}` is no UUID", short(given))));
        }
        None => (Uuid::new_v4().to_string(), Some("it has no command_id, and was given one")),
    };
    let stop_ms = Some(message.stop_time).filter(|stop| *stop != 0);
    // Whoever aborts does not care when.
    if let Some(stop) = stop_ms.filter(|_| !message.abort) {
        let refuse = |what: String| Err(Refusal::new(Reply::StopTimeInvalid, what));
        if stop >= TOO_LATE_MS {
            let hint = if stop == NO_STOP_MS { " (a stop that is open is none)" } else { "" };
            let found = time(stop);
            return refuse(format!("{stop} ms is {found}, expected milliseconds before 2100{hint}"));
        }
        if stop < start_ms {
            return refuse(format!("{} is before the start of the run, {}", time(stop), time(start_ms)));
        }
    }
    Ok(Stop { id, command_id, stop_ms, warning })
}

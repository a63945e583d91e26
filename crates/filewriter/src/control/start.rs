//! Whether a start (pl72) can be followed, and with what.

use super::jobs::JobRequest;
use super::reply::Reply;
use super::text::{is_topic, is_uuid, short, time};
use evforge_messages::Pl72;
use std::path::{Component, Path, PathBuf};

/// Times from here on (the year 2100) are taken for mistakes, milliseconds since 1970.
pub(super) const TOO_LATE_MS: u64 = 4_102_444_800_000;
/// What file writers say for "no end yet": the last millisecond that fits into 64 bits of nanoseconds.
pub(super) const NO_STOP_MS: u64 = 9_223_372_036_854;

/// Why a command is not followed.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reply: Reply,
    /// What was found; empty if the sentence says it all.
    pub(super) what: String,
}

impl Refusal {
    pub(super) fn new(reply: Reply, what: impl Into<String>) -> Self {
        Self { reply, what: what.into() }
    }
}

/// What a start is checked against.
pub(super) struct Situation<'a> {
    pub(super) now_ms: u64,
    /// As many jobs run as may.
    pub(super) is_at_limit: bool,
    /// Ids and files of jobs that run.
    pub(super) running: &'a [(&'a str, &'a Path)],
}

/// A start that can be followed.
pub(super) struct Start {
    pub(super) request: JobRequest,
    pub(super) control_topic: String,
    /// What is odd about it.
    pub(super) warnings: Vec<String>,
}

/// Looks at everything that can be seen before the file is begun.
pub(super) fn check(message: &Pl72<'_>, situation: &Situation<'_>) -> Result<Start, Refusal> {
    let (id, structure, file) =
        (given(message.job_id), given(message.nexus_structure), given(message.filename));
    let (Some(id), Some(structure), Some(name)) = (id, structure, file) else {
        let names = [("job_id", id), ("nexus_structure", structure), ("filename", file)];
        let missing: Vec<&str> =
            names.iter().filter(|(_, found)| found.is_none()).map(|(name, _)| *name).collect();
        return Err(Refusal::new(Reply::Incomplete, format!("{} missing or empty", missing.join(", "))));
    };
    if situation.is_at_limit {
        let count = situation.running.len();
        return Err(Refusal::new(Reply::AtLimit, format!("{count} running, which is the most that may")));
    }
    if !is_uuid(id) {
        return Err(Refusal::new(Reply::JobIdInvalid, format!("`{}` is no UUID", short(id))));
    }
    let Some(control_topic) = given(message.control_topic) else {
        return Err(Refusal::new(Reply::NoControlTopic, ""));
    };
    if !is_topic(control_topic) {
        return Err(Refusal::new(Reply::ControlTopicInvalid, format!("`{}`", short(control_topic))));
    }
    if situation.running.iter().any(|(running, _)| *running == id) {
        return Err(Refusal::new(Reply::JobRuns, id));
    }
    let file = file_below(name)
        .map_err(|why| Refusal::new(Reply::FileInvalid, format!("`{}`: {why}", short(name))))?;
    if let Some((running, _)) = situation.running.iter().find(|(_, running)| *running == file) {
        return Err(Refusal::new(Reply::FileInUse, format!("`{}` is written by {running}", short(name))));
    }
    let instrument = given(message.instrument_name);
    if let Some(instrument) = instrument
        && (instrument.contains(['/', '\0']) || instrument == ".." || instrument == ".")
    {
        let what = format!("`{}` is no name of a folder of templates", short(instrument));
        return Err(Refusal::new(Reply::InstrumentInvalid, what));
    }
    let (start_ms, stop_ms) = times(message, situation.now_ms)?;
    let metadata = given(message.metadata);
    let mut warnings = Vec::new();
    if metadata.is_some_and(|text| super::text::object(text).is_none()) {
        warnings.push("its metadata are no JSON object and are left out".to_owned());
    }
    Ok(Start {
        request: JobRequest {
            id: id.to_owned(),
            file,
            structure: structure.into(),
            instrument: instrument.map(str::to_owned),
            run_name: message.run_name.unwrap_or_default().to_owned(),
            start_ms,
            stop_ms,
            metadata: metadata.map(str::to_owned),
            control_topic: Some(control_topic.to_owned()),
        },
        control_topic: control_topic.to_owned(),
        warnings,
    })
}

/// A text that is there and has something in it.
pub(super) fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// Start and stop of a run: 0 is now, and not known yet.
fn times(message: &Pl72<'_>, now_ms: u64) -> Result<(u64, Option<u64>), Refusal> {
    let refuse = |what: String| Err(Refusal::new(Reply::TimesInvalid, what));
    let start = if message.start_time == 0 { now_ms } else { message.start_time };
    let stop = Some(message.stop_time).filter(|stop| *stop != 0 && *stop != NO_STOP_MS);
    for (name, found) in [("start_time", Some(start)), ("stop_time", stop)] {
        if let Some(found) = found.filter(|found| *found >= TOO_LATE_MS) {
            return refuse(format!(
                "{name} {found} ms is {}, expected milliseconds before 2100",
                time(found)
            ));
        }
    }
    match stop {
        Some(stop) if stop < start => {
            refuse(format!("the stop, {}, is before the start, {}", time(stop), time(start)))
        }
        stop => Ok((start, stop)),
    }
}

/// The path below the folder for files, without detours.
fn file_below(name: &str) -> Result<PathBuf, &'static str> {
    if name.contains('\0') {
        return Err("it has a zero in it");
    }
    if name.ends_with('/') || name.ends_with("/.") {
        return Err("it names a folder");
    }
    let mut path = PathBuf::new();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir => return Err("it leads out of a folder, and must not have `..` in it"),
            Component::RootDir | Component::Prefix(_) => {
                return Err("it must be relative to the folder for files");
            }
        }
    }
    if path.as_os_str().is_empty() { Err("it names a folder") } else { Ok(path) }
}

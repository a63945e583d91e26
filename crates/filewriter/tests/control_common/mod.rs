//! What the tests of the conversation share: jobs that write nothing, and messages.
#![allow(dead_code)] // each test program uses a part

pub(crate) mod kafka;

use evforge_filewriter::control::{
    Action, Conversation, ConversationSettings, Heard, Identity, JobPhase, JobRequest, JobState, Jobs,
    Origin, Sent,
};
use evforge_messages::{Encoder, Message, Pl72, S6s4t, decode};
use evforge_testkit::patience::wait_until;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) const JOB: &str = "11111111-2222-4333-8444-555555555555";
pub(crate) const JOB_2: &str = "22222222-2222-4333-8444-555555555555";
pub(crate) const JOB_3: &str = "33333333-2222-4333-8444-555555555555";
pub(crate) const COMMAND: &str = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
pub(crate) const POOL: &str = "pool";
/// The group of those that take starts from the pool.
pub(crate) const WRITERS: &str = "writers";
pub(crate) const OWN: &str = "freia_filewriter_status";
pub(crate) const CONTROL: &str = "freia_filewriter";
pub(crate) const SERVICE: &str = "writer-1";
/// 2026-11-23T00:00:00Z
pub(crate) const NOW: u64 = 1_795_392_000_000;

pub(crate) fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis())
        .expect("a time")
}

/// What was asked of the jobs, in order.
#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) states: Vec<JobState>,
    pub(crate) calls: Vec<String>,
    /// The most that ran at once.
    pub(crate) most: usize,
    /// Jobs end by themselves when their stop has passed.
    pub(crate) ends_by_itself: bool,
    /// A start takes as long as this is so.
    pub(crate) is_start_held: bool,
}

/// Jobs that write nothing. Copies are the same.
#[derive(Clone, Default)]
pub(crate) struct FakeJobs(pub(crate) Arc<Mutex<Inner>>);

impl FakeJobs {
    pub(crate) fn with<T>(&self, what: impl FnOnce(&mut Inner) -> T) -> T {
        what(&mut self.0.lock().expect("no test has panicked"))
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.with(|inner| std::mem::take(&mut inner.calls))
    }

    pub(crate) fn running(&self) -> Vec<String> {
        self.with(|inner| {
            let writing = inner.states.iter().filter(|state| state.phase == JobPhase::Writing);
            writing.map(|state| state.request.id.clone()).collect()
        })
    }

    pub(crate) fn end(&self, id: &str, error: Option<&str>, metadata: &str) {
        self.with(|inner| {
            for state in inner.states.iter_mut().filter(|state| state.request.id == id) {
                let error = error.map(str::to_owned);
                state.phase = JobPhase::Ended { error, metadata: metadata.to_owned() };
            }
        });
    }

    fn find(inner: &mut Inner, id: &str) -> Result<usize, String> {
        inner
            .states
            .iter()
            .position(|state| state.request.id == id)
            .ok_or_else(|| format!("there is no job {id}"))
    }
}

impl Jobs for FakeJobs {
    fn start(&mut self, request: JobRequest) -> Result<(), String> {
        wait_until("the start goes on", || !self.with(|inner| inner.is_start_held));
        self.with(|inner| {
            inner.calls.push(format!("start {} {}", request.id, request.file.display()));
            assert!(!inner.states.iter().any(|state| state.request.id == request.id), "two jobs with one id");
            if serde_json::from_str::<Value>(&request.structure).is_err() {
                return Err("the structure is no JSON".to_owned());
            }
            let file = PathBuf::from("/data").join(&request.file);
            inner.states.push(JobState { request, file, phase: JobPhase::Writing });
            inner.most = inner.most.max(inner.states.len());
            Ok(())
        })
    }

    fn set_stop(&mut self, id: &str, stop_ms: Option<u64>) -> Result<(), String> {
        self.with(|inner| {
            inner.calls.push(format!("stop {id} {stop_ms:?}"));
            let place = Self::find(inner, id)?;
            let request = &mut inner.states[place].request;
            if request.run_name == "has ended" {
                return Err("the end of the run has passed".to_owned());
            }
            request.stop_ms = stop_ms.or_else(|| Some(now_ms()));
            Ok(())
        })
    }

    fn abort(&mut self, id: &str) -> Result<(), String> {
        self.with(|inner| {
            inner.calls.push(format!("abort {id}"));
            let place = Self::find(inner, id)?;
            let (error, metadata) = (Some("aborted".to_owned()), "{}".to_owned());
            inner.states[place].phase = JobPhase::Ended { error, metadata };
            Ok(())
        })
    }

    fn states(&self) -> Vec<JobState> {
        self.with(|inner| {
            for state in inner.states.iter_mut().filter(|_| inner.ends_by_itself) {
                if state.phase == JobPhase::Writing
                    && state.request.stop_ms.is_some_and(|stop| stop <= now_ms())
                {
                    let metadata = r#"{"events": 5}"#.to_owned();
                    state.phase = JobPhase::Ended { error: None, metadata };
                }
            }
            inner.states.clone()
        })
    }

    fn news(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn forget(&mut self, id: &str) {
        self.with(|inner| {
            inner.calls.push(format!("forget {id}"));
            inner.states.retain(|state| state.request.id != id);
        });
    }
}

/// Jobs that note when they are asked for the first time: whatever is sent to the service from then on is read by it.
pub(crate) struct Asked<J> {
    pub(crate) jobs: J,
    pub(crate) are_asked: Arc<AtomicBool>,
}

impl<J: Jobs> Jobs for Asked<J> {
    fn start(&mut self, request: JobRequest) -> Result<(), String> {
        self.jobs.start(request)
    }

    fn set_stop(&mut self, id: &str, stop_ms: Option<u64>) -> Result<(), String> {
        self.jobs.set_stop(id, stop_ms)
    }

    fn abort(&mut self, id: &str) -> Result<(), String> {
        self.jobs.abort(id)
    }

    fn states(&self) -> Vec<JobState> {
        self.are_asked.store(true, Ordering::Relaxed);
        self.jobs.states()
    }

    fn news(&mut self) -> Vec<String> {
        self.jobs.news()
    }

    fn forget(&mut self, id: &str) {
        self.jobs.forget(id);
    }
}

/// A job as it is found after a restart.
pub(crate) fn found(id: &str, control_topic: Option<&str>, start_ms: u64, stop_ms: Option<u64>) -> JobState {
    let request = JobRequest {
        id: id.to_owned(),
        file: format!("{id}.nxs").into(),
        structure: "{}".into(),
        instrument: None,
        run_name: String::new(),
        start_ms,
        stop_ms,
        metadata: None,
        control_topic: control_topic.map(str::to_owned),
    };
    JobState { file: request.file.clone(), request, phase: JobPhase::Writing }
}

/// A start as ESS's control programs send it.
pub(crate) fn start_message() -> Pl72<'static> {
    Pl72 {
        start_time: NOW,
        run_name: Some("r"),
        instrument_name: Some(""),
        nexus_structure: Some(r#"{"children": []}"#),
        job_id: Some(JOB),
        broker: Some("b:9092"),
        service_id: Some(""),
        filename: Some("run_1.nxs"),
        metadata: Some(r#"{"proposal": 7, "events": "?"}"#),
        control_topic: Some(CONTROL),
        ..Pl72::default()
    }
}

pub(crate) fn stop_message() -> S6s4t<'static> {
    S6s4t {
        stop_time: NOW + 60_000,
        run_name: Some("r"),
        job_id: Some(JOB),
        service_id: Some(""),
        command_id: Some(COMMAND),
        abort: false,
    }
}

pub(crate) fn pl72(message: &Pl72<'_>) -> Vec<u8> {
    message.encode(&mut Encoder::new()).to_vec()
}

pub(crate) fn s6s4t(message: &S6s4t<'_>) -> Vec<u8> {
    message.encode(&mut Encoder::new()).to_vec()
}

pub(crate) fn settings(jobs_at_most: usize) -> ConversationSettings {
    ConversationSettings {
        identity: Identity {
            service_id: SERVICE.to_owned(),
            host_name: "host".to_owned(),
            process_id: 42,
            interval_ms: 2000,
        },
        pool_topic: Some(POOL.to_owned()),
        command_topic: OWN.to_owned(),
        is_command_topic_quiet: false,
        jobs_at_most,
    }
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) topic: String,
    pub(crate) kind: Sent,
    pub(crate) payload: Vec<u8>,
    /// Its fields; null for what cannot be read.
    pub(crate) json: Value,
}

/// A conversation with fake jobs, and what it has done.
pub(crate) struct Stage {
    pub(crate) conversation: Conversation,
    pub(crate) jobs: FakeJobs,
    pub(crate) said: Vec<Said>,
    pub(crate) lines: Vec<String>,
    /// `+topic@since` and `-topic`.
    pub(crate) followed: Vec<String>,
    pub(crate) now: u64,
}

impl Stage {
    pub(crate) fn new(settings: ConversationSettings) -> Self {
        Self {
            conversation: Conversation::new(settings),
            jobs: FakeJobs::default(),
            said: Vec::new(),
            lines: Vec::new(),
            followed: Vec::new(),
            now: NOW,
        }
    }

    fn act<T>(
        &mut self,
        what: impl FnOnce(&mut Conversation, u64, &mut FakeJobs, &mut dyn FnMut(Action)) -> T,
    ) -> T {
        let (said, lines, followed) = (&mut self.said, &mut self.lines, &mut self.followed);
        let mut act = |action| match action {
            Action::Send { topic, payload, kind } => {
                let json = decode(&payload).map_or(Value::Null, |message: Message<'_>| message.to_json());
                said.push(Said { topic, kind, payload, json });
            }
            Action::Follow { topic, since_ms } => followed.push(format!("+{topic}@{since_ms}")),
            Action::Unfollow { topic } => followed.push(format!("-{topic}")),
            Action::Say(line) => lines.push(line),
        };
        what(&mut self.conversation, self.now, &mut self.jobs, &mut act)
    }

    pub(crate) fn hear_as(&mut self, heard: &Heard<'_>) -> bool {
        self.act(|conversation, now, jobs, act| conversation.hear(heard, now, jobs, act))
    }

    /// A message that was sent just now.
    pub(crate) fn hear(&mut self, origin: Origin<'_>, payload: &[u8]) -> bool {
        let (time_ms, read_until_ms) = (Some(self.now), self.now);
        self.hear_as(&Heard { origin, payload, time_ms, read_until_ms, is_echo: false })
    }

    pub(crate) fn pool(&mut self, message: &Pl72<'_>) -> bool {
        self.hear(Origin::Pool, &pl72(message))
    }

    pub(crate) fn stop(&mut self, topic: &str, message: &S6s4t<'_>) {
        self.hear(Origin::Topic(topic), &s6s4t(message));
    }

    pub(crate) fn tick(&mut self) {
        self.act(|conversation, now, jobs, act| conversation.tick(now, jobs, act));
    }

    pub(crate) fn resume(&mut self) {
        self.act(|conversation, now, jobs, act| conversation.resume(now, jobs, act));
    }

    pub(crate) fn farewell(&mut self) {
        self.act(|conversation, _, jobs, act| conversation.farewell(jobs, act));
    }

    /// What was sent since the last time.
    pub(crate) fn take(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }
}

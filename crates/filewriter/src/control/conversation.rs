//! The conversation itself, without Kafka and without a clock: messages and states of jobs in, actions out.

use super::heard::{Action, Heard, Origin, Sent};
use super::jobs::{JobPhase, JobRequest, JobState, Jobs};
use super::reply::Reply;
use super::talks::{Talk, Talks};
use super::text::{is_topic, merged, object, short};
use super::voice::{Answer, Identity, Status, Voice, stop_or_open};
use super::waiting::{Queue, Waiting};
use evforge_messages::{Message, RefusedCounters, decode};
use std::collections::VecDeque;

/// What a conversation is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationSettings {
    /// Who speaks.
    pub identity: Identity,
    /// Starts that any one of several writers takes; none without a pool.
    pub pool_topic: Option<String>,
    /// Commands for this writer; its state while it is idle.
    pub command_topic: String,
    /// Nothing is ever said on the command topic: others own it, as ISIS's programs do `<INST>_runInfo`.
    pub is_command_topic_quiet: bool,
    /// Jobs at once, at least 1.
    pub jobs_at_most: usize,
}

/// Takes actions, in their order.
pub type Act<'a> = &'a mut dyn FnMut(Action);

/// A conversation with control programs about all jobs of this writer.
#[derive(Debug)]
pub struct Conversation {
    pub(super) settings: ConversationSettings,
    pub(super) voice: Voice,
    pub(super) talks: Talks,
    pub(super) others: Others,
    pub(super) waiting: Queue,
    pub(super) next_status_ms: u64,
    /// When this program was started.
    pub(super) begun_ms: u64,
    refused: RefusedCounters,
}

impl Conversation {
    /// A conversation that has not begun.
    pub fn new(settings: ConversationSettings) -> Self {
        let voice = Voice::new(settings.identity.clone());
        Self {
            settings,
            voice,
            talks: Talks::default(),
            others: Others::default(),
            waiting: Queue::default(),
            next_status_ms: 0,
            begun_ms: 0,
            refused: RefusedCounters::default(),
        }
    }

    /// True if another job may be begun.
    pub fn has_room(&self) -> bool {
        self.talks.len() < self.settings.jobs_at_most
    }

    /// Messages that could not be read, by reason.
    pub fn refused(&self) -> &RefusedCounters {
        &self.refused
    }

    /// Begins, and goes on with the jobs that are there already: commands for them are read from the beginning of each.
    pub fn resume(&mut self, now_ms: u64, jobs: &dyn Jobs, act: Act<'_>) {
        self.begun_ms = now_ms;
        for JobState { request, phase, .. } in jobs.states() {
            let answers = request.control_topic.clone();
            let (pool, own) = (&self.settings.pool_topic, &self.settings.command_topic);
            // Those without answers were begun on the pool or on the command topic.
            let followed: Vec<&String> = match &answers {
                Some(topic) => vec![topic],
                None => pool.iter().chain([own]).collect(),
            };
            let since_ms = request.start_ms.min(now_ms);
            for topic in &followed {
                act(Action::Follow { topic: (*topic).clone(), since_ms });
            }
            let listens = followed.first().map(|topic| (*topic).clone()).into_iter().collect();
            self.settings.is_command_topic_quiet |= answers.is_none() && pool.is_none();
            if phase == JobPhase::Writing {
                act(Action::Say(format!("job {} goes on: {}", request.id, request.file.display())));
            }
            let talk = Talk { is_resumed: true, ..Talk::new(&request, listens, answers, now_ms) };
            self.talks.insert(request.id, talk);
        }
    }

    /// Takes a message. False if it was left for another writer: a start from the pool while there is no room.
    pub fn hear(&mut self, heard: &Heard<'_>, now_ms: u64, jobs: &mut dyn Jobs, act: Act<'_>) -> bool {
        let message = match decode(heard.payload) {
            Ok(message) => message,
            Err(refused) => {
                self.refused.count(refused.reason());
                if self.refused.of(refused.reason()) == 1 {
                    let place = self.place(heard.origin);
                    act(Action::Say(format!("a message on {place} cannot be read: {refused}")));
                }
                return true;
            }
        };
        match &message {
            Message::Pl72(start) => return self.hear_start(start, heard, now_ms, jobs, act),
            Message::S6s4t(stop) => self.hear_stop(stop, heard, now_ms, jobs, act),
            Message::Answ(answ)
                if answ.service_id != self.voice.service_id()
                    && answ.status_code == Reply::Started.code() =>
            {
                self.others.note(answ.job_id);
            }
            Message::X5f2(state) if state.service_id != Some(self.voice.service_id()) => {
                let json = state.status_json.and_then(object).unwrap_or_default();
                self.others.note(json.get("job_id").and_then(|id| id.as_str()).unwrap_or_default());
            }
            _ => {}
        }
        true
    }

    /// Looks at the jobs: ends are said at once, states when it is time.
    pub fn tick(&mut self, now_ms: u64, jobs: &mut dyn Jobs, act: Act<'_>) {
        let states = jobs.states();
        for state in &states {
            if let JobPhase::Ended { error, metadata } = &state.phase {
                jobs.forget(&state.request.id);
                self.end(&state.request.id, &state.file.to_string_lossy(), error.as_deref(), metadata, act);
                self.next_status_ms = now_ms;
            }
        }
        let is_known = |id: &str| states.iter().any(|state| state.request.id == id);
        let lost: Vec<String> =
            self.talks.iter().filter(|(id, _)| !is_known(id)).map(|(id, _)| id.to_owned()).collect();
        for id in lost {
            let file = self.talks.get(&id).map(|talk| talk.file.to_string_lossy().into_owned());
            self.end(&id, &file.unwrap_or_default(), Some("the job is gone"), "{}", act);
        }
        self.follow_what_waits(now_ms, jobs, act);
        if now_ms >= self.next_status_ms {
            let states = jobs.states();
            self.say_states(&states, false, act);
            // A late one does not bring others after it.
            let next = self.next_status_ms.saturating_add(self.voice.interval_ms());
            self.next_status_ms = if next > now_ms { next } else { now_ms + self.voice.interval_ms() };
        }
    }

    /// The last word: the state, and that no other state follows.
    pub fn farewell(&mut self, jobs: &dyn Jobs, act: Act<'_>) {
        for job in self.waiting.starts() {
            act(Action::Say(format!(
                "job {} has waited for another one to end, and was not begun",
                short(job)
            )));
        }
        self.say_states(&jobs.states(), true, act);
    }

    /// Takes the commands that have waited, as if they came now.
    fn follow_what_waits(&mut self, now_ms: u64, jobs: &mut dyn Jobs, act: Act<'_>) {
        while let Some(Waiting { topic, payload, time_ms, heard_ms, .. }) = self.waiting.pop(self.has_room())
        {
            let (origin, read_until_ms) = (Origin::Topic(&topic), heard_ms);
            let heard = Heard { origin, payload: &payload, time_ms, read_until_ms, is_echo: false };
            match decode(&payload) {
                Ok(Message::Pl72(start)) => drop(self.hear_start(&start, &heard, heard_ms, jobs, act)),
                Ok(Message::S6s4t(mut stop)) => {
                    // "Now" was then.
                    if stop.stop_time == 0 {
                        stop.stop_time = time_ms.unwrap_or(heard_ms);
                    }
                    self.hear_stop(&stop, &heard, now_ms, jobs, act);
                }
                // They could be read when they came.
                _ => {}
            }
        }
    }

    /// Says that a job has ended.
    fn end(&mut self, id: &str, file: &str, error: Option<&str>, metadata: &str, act: Act<'_>) {
        let how = error.map_or_else(|| "ended".to_owned(), |error| format!("ended with an error: {error}"));
        act(Action::Say(format!("job {id} {how}: {file}")));
        let Some((talk, free)) = self.talks.remove(id) else { return };
        if let Some(topic) = talk.answers {
            let metadata = merged(talk.metadata.as_deref(), metadata);
            let payload = self.voice.end(id, file, &metadata, error);
            act(Action::Send { topic, payload, kind: Sent::End });
        }
        for topic in free {
            act(Action::Unfollow { topic });
        }
    }

    fn say_states(&mut self, states: &[JobState], is_last: bool, act: Act<'_>) {
        let writing = |state: &&JobState| state.phase == JobPhase::Writing;
        let (mut is_idle, command_topic) = (true, self.settings.command_topic.clone());
        for state in states.iter().filter(writing) {
            let JobRequest { id, start_ms, stop_ms, .. } = &state.request;
            is_idle = false;
            // Of a job that nobody asked to hear of, this writer's own topic tells.
            let topic = self.talks.get(id).and_then(|talk| talk.answers.clone());
            let Some(topic) = topic.or_else(|| self.own_topic()) else { continue };
            let status = Status {
                file_being_written: &state.file.to_string_lossy(),
                job_id: id,
                start_time: *start_ms,
                stop_time: stop_or_open(*stop_ms),
                state: "writing",
            };
            let payload = self.voice.status(&status, is_last);
            act(Action::Send { topic, payload, kind: Sent::Status });
        }
        if is_idle && self.own_topic().is_some() {
            let payload = self.voice.status(&Status::IDLE, is_last);
            act(Action::Send { topic: command_topic, payload, kind: Sent::Status });
        }
    }

    pub(super) fn answer(
        &mut self,
        reply: Reply,
        (job_id, command_id): (&str, &str),
        what: &str,
        stop_ms: u64,
        topics: Vec<String>,
        act: Act<'_>,
    ) {
        for topic in topics {
            let payload = self.voice.answer(&Answer { reply, job_id, command_id, what, stop_ms });
            act(Action::Send { topic, payload, kind: Sent::Answer });
        }
    }

    /// The command topic, if something may be said there.
    fn own_topic(&self) -> Option<String> {
        (!self.settings.is_command_topic_quiet).then(|| self.settings.command_topic.clone())
    }

    /// Those of the topics, each once, on which something may be said.
    pub(super) fn speakable(&self, topics: &[&str], quiet: Option<&str>) -> Vec<String> {
        let is_quiet = |topic: &str| {
            Some(topic) == quiet
                || Some(topic) == self.settings.pool_topic.as_deref()
                || topic == self.settings.command_topic && self.settings.is_command_topic_quiet
                || self.talks.is_quiet(topic)
        };
        let mut found: Vec<String> = Vec::new();
        for topic in topics.iter().filter(|topic| is_topic(topic) && !is_quiet(topic)) {
            if !found.iter().any(|known| known == topic) {
                found.push((*topic).to_owned());
            }
        }
        found
    }

    /// The topic that a message was read from.
    pub(super) fn place<'a>(&'a self, origin: Origin<'a>) -> &'a str {
        match origin {
            Origin::Pool => self.settings.pool_topic.as_deref().unwrap_or_default(),
            Origin::Topic(topic) => topic,
        }
    }
}

/// How many are remembered, the newest.
const REMEMBERED: usize = 256;

/// Jobs that other writers have answered for, or have said that they write.
#[derive(Debug, Default)]
pub(super) struct Others {
    jobs: VecDeque<String>,
}

impl Others {
    /// Remembers a job.
    pub(super) fn note(&mut self, job: &str) {
        // A UUID in whatever form; what is longer is no job.
        if job.is_empty() || job.len() > 45 || self.knows(job) {
            return;
        }
        if self.jobs.len() >= REMEMBERED {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job.to_owned());
    }

    /// True for a job that was remembered.
    pub(super) fn knows(&self, job: &str) -> bool {
        self.jobs.iter().any(|known| known == job)
    }
}

//! What follows a start (pl72).

use super::conversation::{Act, Conversation};
use super::heard::{Action, Heard, Origin, Sent};
use super::jobs::{JobRequest, Jobs};
use super::reply::Reply;
use super::start::{self, Refusal, Situation, given};
use super::talks::Talk;
use super::text::{is_topic, short, time};
use super::too_old;
use super::voice::{sentence, stop_or_open};
use super::waiting::Waiting;
use evforge_messages::Pl72;
use std::path::Path;

impl Conversation {
    /// Takes a start. False if it was left for another writer.
    pub(super) fn hear_start(
        &mut self,
        message: &Pl72<'_>,
        heard: &Heard<'_>,
        now_ms: u64,
        jobs: &mut dyn Jobs,
        act: Act<'_>,
    ) -> bool {
        let id = message.job_id.unwrap_or_default();
        let known = self.talks.get(id);
        if let Origin::Topic(topic) = heard.origin {
            let is_repeated =
                known.is_some_and(|talk| talk.listens.iter().any(|one| one == topic)) || self.waiting.has(id);
            let is_for_another =
                given(message.service_id).is_some_and(|service| service != self.voice.service_id());
            if heard.is_echo || is_repeated || topic != self.settings.command_topic || is_for_another {
                return true;
            }
        } else if heard.is_echo {
            return true;
        }
        let place = self.place(heard.origin).to_owned();
        if let Some(age) = too_old(heard.time_ms, now_ms) {
            let id = short(id);
            act(Action::Say(format!("a start of job {id} on {place} is {age} s old and is not followed")));
            return true;
        }
        if heard.origin == Origin::Pool {
            // This program was ended after the job was begun, and before the pool knew that.
            let file = Path::new(message.filename.unwrap_or_default());
            if let Some(talk) = known.filter(|talk| talk.is_resumed && talk.file == file) {
                let answers = talk.answers.iter().cloned().collect();
                let what = "it was begun before this program started";
                self.answer(Reply::Started, (id, id), what, stop_or_open(talk.stop_ms), answers, act);
                return true;
            }
            if !self.has_room() {
                return false;
            }
        }
        let control = message.control_topic.unwrap_or_default();
        let is_bare = given(message.service_id).is_none() && given(message.broker).is_none();
        // As ISIS starts runs. On a pool nothing is ever said: other writers would take an echo for a start.
        let is_silent = is_topic(control)
            && (Some(control) == self.settings.pool_topic.as_deref() || control == place && is_bare);
        self.settings.is_command_topic_quiet |= is_silent && control == self.settings.command_topic;
        let running = self.talks.files();
        let situation = Situation { now_ms, is_at_limit: !self.has_room(), running: &running };
        match start::check(message, &situation) {
            Ok(mut start) => {
                let since_ms = heard.time_ms.unwrap_or(now_ms).min(now_ms);
                act(Action::Follow { topic: start.control_topic.clone(), since_ms });
                if is_silent {
                    start.request.control_topic = None;
                } else {
                    let (topic, payload) = (start.control_topic.clone(), heard.payload.to_vec());
                    act(Action::Send { topic, payload, kind: Sent::Echo });
                }
                self.begin(start, now_ms, jobs, act);
            }
            // Nobody would send it again.
            Err(Refusal { reply: Reply::AtLimit, .. })
                if is_silent && self.keep(id, true, &place, heard, now_ms) =>
            {
                act(Action::Say(format!("job {} waits for another one to end", short(id))));
            }
            Err(Refusal { reply, what }) => {
                let topics = [place.as_str(), self.settings.command_topic.as_str(), control];
                let topics = self.speakable(&topics, is_silent.then_some(control));
                act(Action::Say(format!("job {}: {}", short(id), sentence(reply, &what))));
                self.answer(reply, (id, id), &what, 0, topics, act);
            }
        }
        true
    }

    /// Has a command wait; false if there is no place for it.
    pub(super) fn keep(
        &mut self,
        job: &str,
        is_start: bool,
        topic: &str,
        heard: &Heard<'_>,
        now_ms: u64,
    ) -> bool {
        self.waiting.push(Waiting {
            job: job.to_owned(),
            is_start,
            topic: topic.to_owned(),
            payload: heard.payload.to_vec(),
            time_ms: heard.time_ms,
            heard_ms: now_ms,
        })
    }

    /// Has a file begun, and says how that went.
    fn begin(&mut self, start: start::Start, now_ms: u64, jobs: &mut dyn Jobs, act: Act<'_>) {
        let start::Start { request, control_topic, warnings } = start;
        let JobRequest { id, file, start_ms, stop_ms, .. } = &request;
        let (id, file, stop) = (id.clone(), file.display().to_string(), stop_or_open(*stop_ms));
        let until = stop_ms.map_or_else(|| "not known yet".to_owned(), time);
        let mut what = format!("start time {}, stop time {until}", time(*start_ms));
        let answers = request.control_topic.clone();
        let topics: Vec<String> = answers.iter().cloned().collect();
        let talk = Talk::new(&request, vec![control_topic], answers, now_ms);
        match jobs.start(request) {
            Ok(()) => {
                self.talks.insert(id.clone(), talk);
                self.next_status_ms = now_ms;
                for warning in warnings {
                    what = format!("{what}; {warning}");
                }
                act(Action::Say(format!("job {id} started: {file}, {what}")));
                self.answer(Reply::Started, (&id, &id), &what, stop, topics, act);
            }
            Err(why) => {
                act(Action::Say(format!("job {id}: {}", sentence(Reply::StartFailed, &why))));
                self.answer(Reply::StartFailed, (&id, &id), &why, 0, topics, act);
                for topic in talk.listens.into_iter().filter(|topic| !self.talks.needs(topic)) {
                    act(Action::Unfollow { topic });
                }
            }
        }
    }
}
